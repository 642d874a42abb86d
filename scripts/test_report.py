"""Collects the results of scripts/test, one a line, and closes with what counts.

    test_report.py add RESULTS STAGE JUNIT_FILE     one ctest run's results
    test_report.py close RESULTS [ALLOWED_SKIPS]    the summary; exit 1 where something failed

A line of RESULTS is: stage, test, PASS|FAIL|SKIP, reason, with tabs between. A test program says what it
left out and why by `SKIP name: reason`, or as GoogleTest does; ctest alone would count it as passed.
"""

import fnmatch
import re
import sys
import xml.etree.ElementTree

GOOGLE_SKIP = re.compile(r": Skipped\n(.*?)\n*\[  SKIPPED \] (\S+) \(\d+ ms\)", re.DOTALL)
PLAIN_SKIP = re.compile(r"^SKIP ([^:\n]+): (.+)$", re.MULTILINE)


def one_line(text):
    return " ".join(text.split()) or "no reason was printed"


def parts_left_out(name, output):
    """What the program says it left out: (name of the part, reason)."""
    found = [(part, reason) for reason, part in GOOGLE_SKIP.findall(output)] + PLAIN_SKIP.findall(output)
    return [(f"{name}/{part}", one_line(reason)) for part, reason in found]


def why_failed(output):
    """The first lines that say so: ours, GoogleTest's, or what the program printed last."""
    said = re.findall(r"^FAIL (.+)$", output, re.MULTILINE) or re.findall(r"\[  FAILED  \] (\S+) \(\d+ ms\)", output)
    return one_line("; ".join(said[:3]) or output.strip().rpartition("\n")[2])[:300]


def results_of(case):
    """One ctest entry as a list of (test, result, reason)."""
    name, output = case.get("name"), case.findtext("system-out") or ""
    left_out = parts_left_out(name, output)
    if case.find("failure") is not None or case.get("status") == "fail":
        return [(name, "FAIL", why_failed(output))]
    if case.find("skipped") is not None or case.get("status") in ("notrun", "disabled"):
        return [(name, "SKIP", left_out[-1][1] if left_out else one_line(output.strip().rpartition("\n")[2]))]
    return [(name, "PASS", "")] + [(part, "SKIP", reason) for part, reason in left_out]


def add(results, stage, junit):
    cases = xml.etree.ElementTree.parse(junit).getroot().iter("testcase")
    with open(results, "a", encoding="utf-8") as file:
        for case in cases:
            for test, result, reason in results_of(case):
                file.write(f"{stage}\t{test}\t{result}\t{reason}\n")


def read_allowed(path):
    """Names (with * and ? as in a shell) of tests that may be skipped; each line gives a reason too."""
    with open(path, encoding="utf-8") as file:
        lines = [line.strip() for line in file if line.strip() and not line.startswith("#")]
    for line in lines:
        if not re.fullmatch(r"\S.* = \S.*", line):
            sys.exit(f"{path}: {line}: expected NAME = REASON")
    return [line.split(" = ")[0].strip() for line in lines]


def close(results, allowed_path=None):
    with open(results, encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file]
    skipped = [row for row in rows if row[2] == "SKIP"]
    failed = [row for row in rows if row[2] == "FAIL"]
    passed = len(rows) - len(skipped) - len(failed)
    print("\nSkipped, and why:" if skipped else "\nNothing was skipped.")
    for stage, test, _, reason in skipped:
        print(f"  {stage}: {test}: {reason}")
    if allowed_path:
        allowed = read_allowed(allowed_path)
        refused = [row for row in skipped if not any(fnmatch.fnmatchcase(row[1], name) for name in allowed)]
        for stage, test, _, _ in refused:
            print(f"  {stage}: {test}: not on {allowed_path}, so it counts as failed")
        failed += refused
        skipped = [row for row in skipped if row not in refused]
    if failed:
        print("Failed:")
    for stage, test, _, reason in failed:
        print(f"  {stage}: {test}: {reason}")
    print(f"\n{passed} passed, {len(failed)} failed, {len(skipped)} skipped")
    if passed == 0:
        print("no test passed: that is a failure too")
    return 1 if failed or passed == 0 else 0


def main():
    if sys.argv[1] == "add":
        return add(*sys.argv[2:])
    return close(*sys.argv[2:])


sys.exit(main())
