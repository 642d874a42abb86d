"""TCP_RR between real kernels, in every steering mode: main.py FOLDER_OF_THE_BUILD [OPTION...].

Set-ups (b), (c) and (d) of setups.py. Contenders are measured in turn within each round, and the turn
begins with another one in each round; medians over the rounds are printed, and ratios within a set-up.
Needs root. Exit: 0 done, 1 wrong usage, 2 it cannot run here, 3 a measurement failed.
"""

import argparse
import itertools
import json
import os
import pathlib
import platform
import resource
import sys
import time

import plots
import report
import setups
from setups import net


def words_of(allowed):
    def parse(text):
        words = text.split(",")
        unknown = [word for word in words if word not in allowed]
        if unknown:
            raise argparse.ArgumentTypeError(f"'{unknown[0]}'; allowed: {', '.join(allowed)}")
        return list(dict.fromkeys(words))
    return parse


def numbers(least, most):
    def parse(text):
        try:
            values = [int(word) for word in text.split(",")]
        except ValueError:
            values = []
        if not values or any(not least <= value <= most for value in values):
            raise argparse.ArgumentTypeError(f"{text}; allowed: {least} to {most}")
        return values
    return parse


def one(kind, least, most):
    def parse(text):
        try:
            value = kind(text)
        except ValueError:
            value = least - 1
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"{text}; allowed: {least} to {most}")
        return value
    return parse


class Formatter(argparse.ArgumentDefaultsHelpFormatter, argparse.RawDescriptionHelpFormatter):
    """Descriptions as they stand, and every default."""

    def _get_help_string(self, action):
        return action.help if action.default is None or action.default is False else super()._get_help_string(action)


class Parser(argparse.ArgumentParser):
    def error(self, message):
        self.exit(1, f"bench tcp-rr: {message}; see --help\n")


def make_parser(description=__doc__.split("\n\n")[1], **more):
    parser = Parser(prog="bench tcp-rr", description=description, formatter_class=Formatter, allow_abbrev=False, **more)
    parser.add_argument("programs", help=argparse.SUPPRESS)  # what scripts/bench has built
    add = parser.add_argument
    add("--setups", type=words_of(setups.SETUPS), default=["b", "c", "d"], help="of b, c, d")
    add("--modes", type=words_of(setups.MODES), default=list(setups.MODES), help="of (b) and (c)")
    add("--kernel-modes", type=words_of(setups.Kernel.modes), default=list(setups.Kernel.modes), help="of (d)")
    add("--connections", type=numbers(1, 50_000), default=[50, 1_000, 10_000], help="connections at once")
    add("--rounds", type=one(int, 1, 1000), default=5, help="interleaved rounds")
    add("--duration", type=one(float, 0.2, 3600), default=3.0, help="seconds of each measurement")
    add("--warmup", type=one(float, 0, 600), default=0.5, help="seconds before each")
    add("--connect", type=one(float, 1, 600), default=30.0, help="seconds for all connections to open")
    add("--size", type=one(int, 1, 1 << 20), default=1, help="bytes of a request")
    add("--threads", type=one(int, 1, 256), default=2, help="of client and server, each")
    add("--work-ns", type=one(int, 0, 100_000), default=0, help="extra work a request in (b)")
    add("--rx-descriptors", type=one(int, 64, 32768), default=4096, help="of each of mqsteerd's ports")
    add("--order-check", action="store_true", help="mqsteerd verifies every flow's order at TX, at its cost")
    add("--json", metavar="FILE", help="write all figures to this file")
    add("--plots", metavar="FOLDER", help="write plots there, as PNG and SVG; takes gnuplot")
    add("--quick", action="store_true", help="one short round of 50 connections: does it work at all?")
    return parser


def parse(parser, arguments):
    plan = parser.parse_args(arguments)
    if plan.quick:
        plan.connections, plan.rounds, plan.duration, plan.warmup = [50], 1, 0.4, 0.1
    return plan


def allow_descriptors(plan):
    """For both ends of the most connections; the processes to come inherit it."""
    need = max(plan.connections) + 1000
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < need:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (need, max(hard, need)))
        except (ValueError, OSError) as fault:
            raise net.Unavailable(f"{need} file descriptors: {fault}; raise fs.nr_open, or use fewer connections") from fault


def contenders(labs, plan):
    """(set-up, mode) of all that this build and machine have, set-ups in turn, and why the others are left out."""
    wanted, left_out = [], []
    every = [[(setup, mode) for mode in (plan.kernel_modes if setup.key == "d" else plan.modes)] for setup in labs]
    for setup, mode in (each for turn in itertools.zip_longest(*every) for each in turn if each):
        why = setup.refused(mode)
        if why:
            left_out.append({"setup": setup.key, "mode": mode, "why": why})
        else:
            wanted.append((setup, mode))
    return wanted, left_out


def run(plan, result):
    with setups.Labs(plan) as labs:
        wanted, result["left_out"] = contenders(labs, plan)
        for each in result["left_out"]:
            print(f"left out: ({each['setup']}) {each['mode']}: {each['why']}", flush=True)
        for number in range(plan.rounds):
            first = number % max(1, len(wanted))
            for connections in plan.connections:
                for setup, mode in wanted[first:] + wanted[:first]:
                    measure(setup, mode, connections, number, result)


def measure(setup, mode, connections, number, result):
    where = f"({setup.key}) {mode}, {connections} connections, round {number + 1}"
    try:
        figures = setup.measure(mode, connections)
    except net.Fault as fault:
        result["faults"].append(f"{where}: {fault}")
        print(f"FAULT {where}: {fault}", flush=True)
        return
    report.add(result["points"], setup.key, mode, connections, number, figures)
    print(f"{where}: {figures['tps']:.0f} transactions/s, p99 {figures['latency_us']['p99']:.0f} us", flush=True)


def machine():
    names = [line.split(":", 1)[1].strip() for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines()
             if line.startswith("model name")]
    return {"cpu": names[0] if names else platform.machine(), "cpus": len(names), "kernel": platform.release()}


def check(plan):
    """What would only be noticed after all the measuring."""
    if os.geteuid() != 0:
        raise net.Unavailable("needs root: it makes network namespaces")
    for program in ("mqrr", "mqsteerd", "mqsteerctl"):
        if not os.access(pathlib.Path(plan.programs) / "apps" / program / program, os.X_OK):
            raise net.Unavailable(f"{plan.programs}: {program} is not built there")
    if plan.plots:
        plots.check(plan.plots)
    if plan.json:
        try:
            with pathlib.Path(plan.json).open("a", encoding="utf-8"):  # an older run's figures stay until there are new ones
                pass
        except OSError as fault:
            raise net.Unavailable(f"--json: {fault}") from fault


def main(arguments):
    plan = parse(make_parser(), arguments)
    net.quit_on_signals()
    return measure_all(plan)


def measure_all(plan):
    """Measures as planned, and says and writes what came out. returns: the exit code"""
    result = {"bench": "tcp-rr", "machine": machine(), "plan": {name: value for name, value in vars(plan).items() if name not in ("programs", "json", "plots")},
              "setups": {key: setups.SETUPS[key].what for key in plan.setups}, "points": [], "faults": []}
    begin = time.monotonic()
    try:
        check(plan)
        allow_descriptors(plan)
        run(plan, result)
    except net.Unavailable as reason:
        print(f"bench tcp-rr: {reason}", file=sys.stderr)
        return 2
    except (net.Fault, OSError) as fault:
        result["faults"].append(str(fault))
    result["seconds"] = round(time.monotonic() - begin, 1)
    result["ratios"] = report.ratios(result["points"])
    print(report.text(result), flush=True)
    if plan.json:
        pathlib.Path(plan.json).write_text(json.dumps(result, indent=2) + "\n")
    if plan.plots:
        try:
            print("\n".join(f"plot: {file}" for file in plots.draw(result, plan.plots)))
        except (net.Fault, OSError) as fault:
            print(f"bench tcp-rr: plots: {fault}", file=sys.stderr)
            return 3
    return 3 if result["faults"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
