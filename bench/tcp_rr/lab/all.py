"""TCP_RR, all set-ups: all.py FOLDER_OF_THE_BUILD [OPTION...]. What scripts/bench tcp-rr runs.

First (a), in process, by mqsteer-bench-tcp-rr; then (b), (c) and (d) between real kernels, by main.py.
Prints a table of each, and last the line `BENCH tcp-rr ...`, whose figures are those of (a).
Needs root. Exit: 0 done, 1 wrong usage, 2 it cannot run here, 3 a measurement failed.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
from statistics import median

import main as kernels
import plots

USUAL_FLOWS, USUAL_WORK_NS, MOST_FLOWS = 1_000, 300, 1_000_000


def at(points, mode, flows=USUAL_FLOWS, work_ns=USUAL_WORK_NS):
    return next((p for p in points if (p["mode"], p["flows"], p["work_ns"]) == (mode, flows, work_ns)), None)


def tps(point):
    return median(point["tps"]) if point else 0


def over(point, base):
    """The median of the rounds' own ratios: rounds are neighbours in time."""
    pairs = zip(point["tps"], base["tps"]) if point and base else ()
    ratios = [mine / theirs for mine, theirs in pairs if theirs]
    return median(ratios) if ratios else 0


def break_even(points):
    """The work a request at which rps overtakes none, between the two measured points around it."""
    works = sorted({p["work_ns"] for p in points if p["flows"] == USUAL_FLOWS})
    before = None
    for work in works:
        ratio = over(at(points, "rps", work_ns=work), at(points, "none", work_ns=work))
        if ratio >= 1:
            if before is None:
                return f"<{work}" if work else "0"
            return f"{before[0] + (work - before[0]) * (1 - before[1]) / (ratio - before[1]):.0f}"
        before = (work, ratio)
    return f">{works[-1]}" if works else "-"


def bench_line(result):
    points = result["points"]
    rfs = at(points, "rfs")
    hops = median(rfs["hops_pct"]) if rfs else 0
    return (f"BENCH tcp-rr none_tps={tps(at(points, 'none')):.0f} rps_tps={tps(at(points, 'rps')):.0f} "
            f"softrss_tps={tps(at(points, 'soft-rss')):.0f} rfs_tps={tps(rfs):.0f} "
            f"rps_over_none={over(at(points, 'rps'), at(points, 'none')):.2f} rfs_over_rps={over(rfs, at(points, 'rps')):.2f} "
            f"breakeven_ns={break_even(points)} rfs_hops_pct={hops:.2f} "
            f"rfs_1m_over_1k={over(at(points, 'rfs', MOST_FLOWS), rfs):.2f} "
            f"reordered={result['reordered']} checked={result['checked']}")


def draw(result, folder):
    """By flows with the usual work as the other set-ups; and by work with the usual flows."""
    by_flows = [{**p, "setup": "a"} for p in result["points"] if p["work_ns"] == USUAL_WORK_NS]
    by_work = [{**p, "setup": "a_work", "flows": p["work_ns"]} for p in result["points"] if p["flows"] == USUAL_FLOWS]
    made = plots.draw({"setups": {"a": f"{result['setup']}, {USUAL_WORK_NS} ns of work"}, "points": by_flows}, folder)
    return made + plots.draw({"setups": {"a_work": f"{USUAL_FLOWS:,} flows, by ns of work a request"}, "points": by_work}, folder)


def in_process(build, quick, folder):
    """Runs (a). returns: its exit code and its figures, None where it made none"""
    file = pathlib.Path(folder) / "in_process.json"
    command = [f"{build}/bench/tcp_rr/mqsteer-bench-tcp-rr", "--json", str(file)]
    if quick:
        command += ["--rounds", "1", "--length-ms", "50", "--flows", "50,1000", "--memory-mb", "1024"]
    code = subprocess.run(command, check=False, timeout=3600).returncode
    return code, json.loads(file.read_text()) if file.exists() and file.stat().st_size else None


def main(arguments):
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--only", choices=["in-process", "kernels"])
    parser.add_argument("--json")
    parser.add_argument("--plots")
    own, rest = parser.parse_known_args(arguments)
    if {"-h", "--help"} & set(rest):
        print("--only in-process|kernels: (a) alone, or (b), (c), (d) alone\n")
        kernels.parse(["--help"])
    plan = kernels.parse(rest)
    if own.plots:
        plots.check(own.plots)
    result, code = {"bench": "tcp-rr"}, 0
    with tempfile.TemporaryDirectory() as folder:
        if own.only != "kernels":
            print("(a) in process", flush=True)
            code, result["in_process"] = in_process(plan.programs, plan.quick, folder)
        if own.only != "in-process":
            file = pathlib.Path(folder) / "kernels.json"
            more = ["--plots", own.plots] if own.plots else []
            code = kernels.main([*rest, "--json", str(file), *more]) or code
            result["kernels"] = json.loads(file.read_text()) if file.exists() and file.stat().st_size else None
    if own.json:
        pathlib.Path(own.json).write_text(json.dumps(result, indent=2) + "\n")
    if result.get("in_process"):
        if own.plots:
            print("\n".join(f"plot: {file}" for file in draw(result["in_process"], own.plots)))
        print(bench_line(result["in_process"]))
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
