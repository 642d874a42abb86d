"""The bench of TCP_RR between real kernels, in short: quick.py FOLDER_OF_THE_BUILD."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import types

TOP = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(TOP / "tests/net/bridge"), str(TOP / "bench/tcp_rr/lab")]
from checks import PROGRAMS, main, need, net  # noqa: E402 pylint: disable=wrong-import-position
import all as whole  # noqa: E402 pylint: disable=wrong-import-position
from setups import FLOW_ENTRIES, Kernel, cpu_mask  # noqa: E402 pylint: disable=wrong-import-position

BENCH = ("/usr/bin/python3", "-B", str(TOP / "bench/tcp_rr/lab/main.py"))
WHOLE = (*BENCH[:2], str(TOP / "bench/tcp_rr/lab/all.py"))  # with (a) as well
CONTENDERS = {("b", "none"), ("b", "rps"), ("b", "soft-rss"), ("b", "rfs"), ("c", "none"), ("c", "rps"), ("c", "soft-rss"),
              ("c", "rfs"), ("d", "off"), ("d", "rps"), ("d", "rfs")}


def bench(*options, timeout=60, program=BENCH, **others):
    return subprocess.run([*program, PROGRAMS, *options], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=timeout, check=False, **others)


def nothing_left(entries):
    left = [name for name in net.run("ip", "netns", "list").stdout.split() if name.startswith("mqs-rr-")]
    need(not left and FLOW_ENTRIES.read_text() == entries, f"left: {left}, {FLOW_ENTRIES}: {FLOW_ENTRIES.read_text()}, was {entries}")


def everything_once(folder, seen):
    entries = FLOW_ENTRIES.read_text()
    options = ("--plots", str(folder)) if shutil.which("gnuplot") else ()
    done = bench("--quick", "--order-check", "--json", str(folder / "all.json"), *options)
    if done.returncode == 2:
        raise net.Unavailable(done.stderr.strip())
    need(done.returncode == 0, f"exit {done.returncode}: {done.stdout[-2000:]} {done.stderr}")
    seen.update(json.loads((folder / "all.json").read_text()))
    got = {(each["setup"], each["mode"]) for each in seen["points"]}
    need(got == CONTENDERS and not seen["faults"] and not seen["left_out"], f"{got}, {seen['faults']}, {seen['left_out']}")
    need(all(len(each["tps"]) == 1 and each["tps"][0] > 500 and each["flows"] == 50 for each in seen["points"]), f"{seen['points']}")
    pictures = [path for path in folder.glob("tcp_rr_?_*.*") if path.suffix in (".png", ".svg") and path.stat().st_size > 1000]
    need(len(pictures) == (12 if options else 0), f"pictures: {pictures}")
    nothing_left(entries)
    return f"{len(got)} contenders in {seen['seconds']} s, {len(pictures)} pictures"


def point(seen, setup, mode):
    return next(each for each in seen["points"] if (each["setup"], each["mode"]) == (setup, mode))


def the_kernel_steers(seen):
    """Packets go to the other CPU by interrupt where RPS is on, and only there."""
    asked = {mode: point(seen, "d", mode)["cpu"][0]["rps_ipis_per_s"] for mode in ("off", "rps", "rfs")}
    need(asked["off"] < 100 and asked["rps"] > 1000, f"packets handed to the other CPU, a second: {asked}")
    return f"CPUs asked to take packets, a second: {asked}"


def the_box_steers(seen):
    hops = {}
    for mode in ("none", "rps", "soft-rss", "rfs"):
        box = point(seen, "b", mode)["box"][0]
        hops[mode] = 100 * box["handed_over"] / box["rx"]
        need(box["reordered"] == 0 and box["order_checked"] > 1000, f"{mode}: {box}")
    need(hops["none"] == 0 and hops["rfs"] < 5 and hops["rfs"] < hops["rps"], f"hops %: {hops}")
    return f"hops %: {hops}"


def ratios_are_of_the_points(seen):
    for ratio in seen["ratios"]:
        ours, base = (point(seen, ratio["setup"], ratio[name])["tps"][0] for name in ("mode", "over"))
        need(abs(ratio["median"] - ours / base) < 1e-9, f"{ratio}: {ours} over {base}")
    need(len(seen["ratios"]) == 3 + 1 + 3 + 1 + 2 + 1, f"{seen['ratios']}")
    return f"{len(seen['ratios'])} ratios"


def terminated(folder, setup, mode, under_way):
    entries = FLOW_ENTRIES.read_text()
    out = folder / "terminated.txt"
    with out.open("wb") as file:
        child = subprocess.Popen([*BENCH, PROGRAMS, "--setups", setup, "--modes", "rps", "--kernel-modes", mode,
                                  "--connections", "50", "--duration", "30"],
                                 stdin=subprocess.DEVNULL, stdout=file, stderr=file)
    try:
        net.until(lambda: child.poll() is not None or under_way(child.pid), 20, "the bench under way")
        child.send_signal(signal.SIGTERM)
        child.wait(20)
    finally:
        child.kill()
        child.wait()
    need(child.returncode == 128 + signal.SIGTERM, f"exit {child.returncode}: {out.read_text()}")
    nothing_left(entries)
    need(not sockets(child.pid), "mqsteerd left its socket")
    return "SIGTERM: processes and namespaces gone, Linux's flow table as it was"


def sockets(bench_pid):
    return list(pathlib.Path("/run/mqsteer").glob(f"mqs-rr-box-{bench_pid}-*/control.sock"))


def refused(status, words, *options, **others):
    done = bench(*options, **others)
    lines = done.stderr.strip().splitlines()
    need(done.returncode == status and len(lines) == 1 and all(word in lines[0] for word in words),
         f"exit {done.returncode}: {done.stderr or done.stdout}")
    return lines[0]


def the_table_is_put_back():
    """Linux's table of flows is as before after each measurement of (d), not at the end of them all."""
    before, seen = FLOW_ENTRIES.read_text(), []
    kernel = Kernel.__new__(Kernel)
    kernel.lab = types.SimpleNamespace(run=lambda *_: None, stop=lambda _: None)
    kernel.serve, kernel.ask = lambda: None, lambda *_: seen.append(FLOW_ENTRIES.read_text())
    kernel.measure("rfs", 1)
    need(seen == ["32768\n"] and FLOW_ENTRIES.read_text() == before, f"{seen}, then {FLOW_ENTRIES.read_text()}, before {before}")
    return "and 32768 entries during it"


def point_of(mode, tps, flows=1000, work_ns=300, rounds=None):
    rounds = list(range(len(tps))) if rounds is None else rounds
    return {"mode": mode, "flows": flows, "work_ns": work_ns, "rounds": rounds, "tps": tps, "hops_pct": [1.0] * len(tps)}


def the_last_line():
    """Ratios are of the same rounds, and what was not measured is not a number."""
    none, rps = point_of("none", [100, 400], rounds=[0, 1]), point_of("rps", [800, 150], rounds=[1, 2])
    need(whole.over(rps, none) == 2, f"ratio {whole.over(rps, none)}")
    need(whole.over(rps, point_of("none", [])) is None, "a ratio to nothing")
    line = whole.bench_line({"points": [none, rps, point_of("rfs", [])], "reordered": 0, "checked": 9})
    need(line == "BENCH tcp-rr none_tps=250 rps_tps=475 softrss_tps=n/a rfs_tps=n/a rps_over_none=2.00 rfs_over_rps=n/a "
                 "breakeven_ns=<300 rfs_hops_pct=n/a rfs_1m_over_1k=n/a reordered=0 checked=9", line)
    empty = whole.bench_line({"points": [], "reordered": 0, "checked": 0})
    need("breakeven_ns=n/a" in empty and "none_tps=n/a" in empty, empty)
    between = [point_of(mode, [tps], work_ns=work) for mode, work, tps in (("none", 0, 100), ("rps", 0, 50), ("none", 100, 100), ("rps", 100, 150))]
    need(whole.break_even(between) == "50", f"{whole.break_even(between)}")
    return line


def terminated_in_process(folder):
    """SIGTERM during (a): its process does not go on."""
    if not os.access(whole.bench_of(PROGRAMS), os.X_OK):
        raise net.Unavailable(f"{whole.bench_of(PROGRAMS)} is not built")
    out = folder / "in-process.txt"
    with out.open("wb") as file:
        child = subprocess.Popen([*WHOLE, PROGRAMS, "--only", "in-process"], stdin=subprocess.DEVNULL, stdout=file, stderr=file)
    children = lambda: pathlib.Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text().split()
    try:
        [other] = net.until(lambda: child.poll() is None and children(), 20, "the bench in process")
        child.send_signal(signal.SIGTERM)
        child.wait(20)
    finally:
        child.kill()
        child.wait()
    need(child.returncode == 128 + signal.SIGTERM, f"exit {child.returncode}: {out.read_text()}")
    need(not pathlib.Path(f"/proc/{other}").exists(), f"process {other} goes on")
    need("Traceback" not in out.read_text(), out.read_text())
    return "SIGTERM: its process is gone"


def a_late_one_is_ended():
    need(whole.run_to_its_end(["sleep", "100"], limit_s=0.1) == 3, "not ended")
    return "exit 3"


def help_is_whole():
    done = bench("--help", program=WHOLE)
    need(done.returncode == 0 and "(a) in process" in done.stdout and "--kernel-modes" in done.stdout, done.stdout + done.stderr)
    need("FOLDER_OF_THE_BUILD" not in done.stdout and "programs" not in done.stdout, done.stdout)
    return f"{len(done.stdout.splitlines())} lines"


def masks():
    need([cpu_mask(cpus) for cpus in (1, 2, 5, 32, 33, 64)] == ["1", "3", "1f", "ffffffff", "1,ffffffff", "ffffffff,ffffffff"],
         "masks of CPUs")
    return "1 to 64 CPUs"


def body(checks):
    if os.geteuid() != 0:
        raise net.Unavailable("network namespaces take root: start this as root")
    if not FLOW_ENTRIES.exists():
        raise net.Unavailable("this kernel has no RPS")
    with tempfile.TemporaryDirectory(prefix="mqs-rr-test-") as name:
        folder, seen = pathlib.Path(name), {}
        checks.check("everything once", lambda: everything_once(folder, seen))
        if seen:
            checks.check("the kernel steers", lambda: the_kernel_steers(seen))
            checks.check("the box steers, in order", lambda: the_box_steers(seen))
            checks.check("ratios", lambda: ratios_are_of_the_points(seen))
        checks.check("ended in (c)", lambda: terminated(folder, "c", "off", sockets))
        checks.check("ended in (d)", lambda: terminated(folder, "d", "rfs", lambda _: FLOW_ENTRIES.read_text() == "32768\n"))
        checks.check("unknown mode", lambda: refused(1, ("'rsp'", "none, rps, soft-rss, rfs"), "--modes", "none,rsp"))
        checks.check("no gnuplot", lambda: refused(2, ("gnuplot-nox",), "--plots", str(folder), env={"PATH": "/nowhere"}))
        checks.check("unwritable file", lambda: refused(2, ("--json", "/nowhere"), "--json", "/nowhere/x.json"))
        for name, program in (("kernels", BENCH), ("whole", WHOLE)):
            checks.check(f"unwritable folder, {name}",
                         lambda p=program: refused(2, ("--plots", "/proc/nothing"), "--plots", "/proc/nothing", program=p))
        checks.check("unwritable file, whole", lambda: refused(2, ("--json", "/nowhere"), "--json", "/nowhere/x.json", program=WHOLE))
        checks.check("wrong words, whole", lambda: refused(1, ("--rounds", "1 to 1000"), "--rounds", "0", program=WHOLE))
        checks.check("as nobody, whole", lambda: refused(2, ("needs root",), program=("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *WHOLE)))
        checks.check("help, whole", help_is_whole)
        checks.check("the last line", the_last_line)
        checks.check("flow table put back", the_table_is_put_back)
        checks.check("late", a_late_one_is_ended)
        checks.check("ended in (a)", lambda: terminated_in_process(folder))
        checks.check("masks of CPUs", masks)


main(body)
