"""TCP_RR, all set-ups: all.py FOLDER_OF_THE_BUILD [OPTION...]. What scripts/bench tcp-rr runs.

First (a), in process, by mqsteer-bench-tcp-rr; then (b), (c) and (d) between real kernels, by main.py.
Prints a table of each, and last the line `BENCH tcp-rr ...`, whose figures are those of (a).
Needs root. Exit: 0 done, 1 wrong usage, 2 it cannot run here, 3 a measurement failed.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
from statistics import median

import main as kernels
import plots
from setups import net

DESCRIPTION = """\
TCP_RR in every steering mode, in four set-ups:

  (a) in process   client and rr handler on one ring port, without a kernel between them
  (b) endpoint     host a -- veth -- mqsteerd, which answers itself (the rr handler)
  (c) bridge       host a -- veth -- mqsteerd -- veth -- host b
  (d) kernel       host a -- veth -- host b, with Linux's own RPS and RFS

Contenders are measured in turn within each round; medians over the rounds are printed, and ratios of the
rounds' own figures. The options but --only, --json, --plots and --quick are for (b), (c) and (d)."""
EPILOG = """\
(a) has a plan of its own: 50 to 1,000,000 flows at 300 ns of work a request, and 0 to 1,000 ns at 1,000
flows, 5 rounds of 300 ms each; mqsteer-bench-tcp-rr --help has its options.
The last line is `BENCH tcp-rr FIGURE=...`, of (a); n/a: not measured.
Needs root. Exit: 0 done, 1 wrong usage, 2 it cannot run here, 3 a measurement failed."""

USUAL_FLOWS, USUAL_WORK_NS, MOST_FLOWS = 1_000, 300, 1_000_000


def at(points, mode, flows=USUAL_FLOWS, work_ns=USUAL_WORK_NS):
    return next((p for p in points if (p["mode"], p["flows"], p["work_ns"]) == (mode, flows, work_ns)), None)


def tps(point):
    return median(point["tps"]) if point and point["tps"] else None


def over(point, base):
    """The median of the ratios of the rounds that both have; None without any. A round's figures are neighbours in time."""
    if not point or not base:
        return None
    theirs = dict(zip(base["rounds"], base["tps"]))
    ratios = [mine / theirs[number] for number, mine in zip(point["rounds"], point["tps"]) if theirs.get(number)]
    return median(ratios) if ratios else None


def break_even(points):
    """The work a request, in ns, at which rps overtakes none, between the two measured points around it; None where the two
    were not measured together. `0`: without any already; `<N`, `>N`: beyond what was measured."""
    before = None
    for work in sorted({p["work_ns"] for p in points if p["flows"] == USUAL_FLOWS}):
        ratio = over(at(points, "rps", work_ns=work), at(points, "none", work_ns=work))
        if ratio is None:
            continue
        if ratio >= 1:
            if before is None:
                return f"<{work}" if work else "0"
            return f"{before[0] + (work - before[0]) * (1 - before[1]) / (ratio - before[1]):.0f}"
        before = (work, ratio)
    return f">{before[0]}" if before else None


def shown(value, digits=0):
    """A figure of the last line; `n/a`: not measured."""
    return "n/a" if value is None else value if isinstance(value, str) else f"{value:.{digits}f}"


def bench_line(result):
    points = result["points"]
    usual = {mode: at(points, mode) for mode in ("none", "rps", "soft-rss", "rfs")}
    rfs = usual["rfs"]
    hops = median(rfs["hops_pct"]) if rfs and rfs["hops_pct"] else None
    rates = " ".join(f"{mode.replace('-', '')}_tps={shown(tps(point))}" for mode, point in usual.items())
    return (f"BENCH tcp-rr {rates} "
            f"rps_over_none={shown(over(usual['rps'], usual['none']), 2)} rfs_over_rps={shown(over(rfs, usual['rps']), 2)} "
            f"breakeven_ns={shown(break_even(points))} rfs_hops_pct={shown(hops, 2)} "
            f"rfs_1m_over_1k={shown(over(at(points, 'rfs', MOST_FLOWS), rfs), 2)} "
            f"reordered={result['reordered']} checked={result['checked']}")


def draw(result, folder):
    """By flows with the usual work as the other set-ups; and by work with the usual flows."""
    by_flows = [{**p, "setup": "a"} for p in result["points"] if p["work_ns"] == USUAL_WORK_NS]
    by_work = [{**p, "setup": "a_work", "flows": p["work_ns"]} for p in result["points"] if p["flows"] == USUAL_FLOWS]
    made = plots.draw({"setups": {"a": f"{result['setup']}, {USUAL_WORK_NS} ns of work"}, "points": by_flows}, folder)
    return made + plots.draw({"setups": {"a_work": f"{USUAL_FLOWS:,} flows, by ns of work a request"}, "points": by_work}, folder)


def run_to_its_end(command, limit_s=3600):
    """Its exit code; 3 where it had to be ended. It does not outlive this process, however that ends."""
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, preexec_fn=net.die_with_parent)
    try:
        return child.wait(limit_s)
    except subprocess.TimeoutExpired:
        print(f"bench tcp-rr: {command[0]}: not done in {limit_s} s", file=sys.stderr)
        return 3
    finally:
        if child.poll() is None:
            child.kill()
            child.wait()


def bench_of(build):
    return f"{build}/bench/tcp_rr/mqsteer-bench-tcp-rr"


def in_process(build, quick, folder):
    """Runs (a). returns: its exit code and its figures, None where it made none"""
    file = pathlib.Path(folder) / "in_process.json"
    command = [bench_of(build), "--json", str(file)]
    if quick:
        command += ["--rounds", "1", "--length-ms", "50", "--flows", "50,1000", "--memory-mb", "1024"]
    code = run_to_its_end(command)
    return code, json.loads(file.read_text()) if file.exists() and file.stat().st_size else None


def parse(arguments):
    parser = kernels.make_parser(DESCRIPTION, epilog=EPILOG)
    parser.add_argument("--only", choices=["in-process", "kernels"], help="(a) alone, or (b), (c) and (d) alone")
    return kernels.parse(parser, arguments)


def measure_all(plan, folder):
    """Both halves, in turn. returns: the exit code and the figures"""
    result, code = {"bench": "tcp-rr"}, 0
    if plan.only != "kernels":
        print("(a) in process", flush=True)
        code, result["in_process"] = in_process(plan.programs, plan.quick, folder)
    if plan.only != "in-process":
        file = pathlib.Path(folder) / "kernels.json"
        code = kernels.measure_all(argparse.Namespace(**{**vars(plan), "json": str(file)})) or code
        result["kernels"] = json.loads(file.read_text()) if file.exists() and file.stat().st_size else None
    return code, result


def main(arguments):
    plan = parse(arguments)
    net.quit_on_signals()
    try:
        kernels.check(plan)
        if not os.access(bench_of(plan.programs), os.X_OK):
            raise net.Unavailable(f"{bench_of(plan.programs)} is not built")
    except net.Unavailable as reason:
        print(f"bench tcp-rr: {reason}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        code, result = measure_all(plan, folder)
    if plan.json:
        pathlib.Path(plan.json).write_text(json.dumps(result, indent=2) + "\n")
    if result.get("in_process"):
        if plan.plots:
            try:
                print("\n".join(f"plot: {file}" for file in draw(result["in_process"], plan.plots)))
            except (net.Fault, OSError) as fault:
                print(f"bench tcp-rr: plots: {fault}", file=sys.stderr)
                code = code or 3
        print(bench_line(result["in_process"]))
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
