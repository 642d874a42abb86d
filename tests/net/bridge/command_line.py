"""Wrong words on the command lines: the exit status, and a line that says what is allowed or how to mend it."""

import json
import re

from checks import PROGRAMS, ends_well, main, need, net

DAEMON, CONTROL, RR, SIM = (f"{PROGRAMS}/apps/{name}/{name}" for name in ("mqsteerd", "mqsteerctl", "mqrr", "mqsim"))

# Program, words, exit status, what its last or only line says.
WRONG = (
    (DAEMON, "--nonsense", 1, r"not expected: --nonsense"),
    (DAEMON, "--bridge eth1", 1, r"^mqsteerd: error: --bridge: 'eth1' .*--bridge eth1,eth2$"),
    (DAEMON, "--bridge eth1,eth1", 1, r"^mqsteerd: error: --bridge: .*'eth1'"),
    (DAEMON, "--bridge eth1,eth2 --mode fast", 1, r"--mode: 'fast' .*allowed: none, rps, soft-rss, rfs$"),
    (DAEMON, "--bridge eth1,eth2 --lcores 99999", 1, r"--lcores: .*99999.*allowed: "),
    (DAEMON, "--bridge eth1,eth2 --lcores x", 1, r"--lcores: 'x' .*allowed: auto, .*0,2-3$"),
    (DAEMON, "--bridge eth1,eth2 --instance a/b", 1, r"--instance: 'a/b' .*allowed: 1\.\.32"),
    (DAEMON, "--bridge eth1,eth2 --offloads mend", 1, r"--offloads: 'mend' .*allowed: check, fix, ignore"),
    (DAEMON, "--config /nowhere/mqsteer.yaml --offloads fix", 1, r"--offloads requires --bridge"),
    (DAEMON, "--bridge nosuch1,nosuch2", 2, r"nosuch1: no kernel interface of that name here"),
    (DAEMON, "--config /nowhere/mqsteer.yaml", 1, r"^mqsteerd: error: /nowhere/mqsteer.yaml: .*No such file"),
    (DAEMON, "--config /nowhere/mqsteer.yaml --bridge eth1,eth2", 1, r"--config excludes --bridge"),
    (CONTROL, "", 1, r"^mqsteerctl: an object is missing; allowed: config, .*steering, .*worker$"),
    (CONTROL, "walk", 1, r"^mqsteerctl: 'walk' is not an object.*allowed: config, "),
    (CONTROL, "stats", 1, r"^mqsteerctl: stats: a command is missing; allowed: show$"),
    (CONTROL, "stats walk", 1, r"'walk' is not a command of stats; allowed: show$"),
    (CONTROL, "steering set", 1, r"needs one key at least; allowed: mode=none\|rps\|soft-rss\|rfs "),
    (CONTROL, "flow explain tcp 10.0.0.1:1", 1, r"flow explain: TO is missing; allowed: PROTOCOL FROM TO"),
    (CONTROL, "flow pin tcp 10.0.0.1:1 10.0.0.2:2 wrker=1", 1, r"'wrker' is not a key of flow pin, perhaps worker"),
    (CONTROL, "steering set walk=1", 1, r"'walk' is not a key of steering set; allowed: mode, workers, weights"),
    (CONTROL, "flow explain tcp 10.0.0.1:1 10.0.0.2:2 extra", 1, r"^mqsteerctl: flow explain: 'extra' is one word too many; allowed: PROTOCOL FROM TO$"),
    (CONTROL, "top count=x", 1, r"^mqsteerctl: top: count: 'x' is not in the range; allowed: 1\.\.1000000000$"),
    (RR, "--bogus", 1, r"^mqrr: error: '--bogus' is not expected; see mqrr --help$"),
    (RR, "clint", 1, r"'clint' is not a command; allowed: server, client; see mqrr --help$"),
    (RR, "client --bogus", 1, r"'--bogus' is not expected; see mqrr client --help$"),
    (RR, "client 10.0.0.1 --threads 0", 1, r"--threads: .*256.*; see mqrr client --help$"),
    (RR, "client 10.0.0.1 --stall nan", 1, r"--stall: 'nan' is not SECONDS in \[0\.1 - 3600\]; see mqrr client --help$"),
    (SIM, "--bogus", 1, r"^mqsim: '--bogus' is not expected "),
    (SIM, "--mode rfs --workers 2 --consumers-move -1 x.pcap", 1, r"--consumers-move: Value -1 not in range 0 to 1000000000"),
    (CONTROL, "-i nobody stats show", 2, r"^mqsteerctl: instance nobody is not running: .*(start mqsteerd|allowed: -i with one that runs)"),
)

# To a daemon that runs, on two lcores or one: what is malformed for every box ends with 1, what this one refuses with 2.
REFUSED = (
    ("steering set mode=fast", 1, r"'fast'.*allowed: none, rps, soft-rss"),
    ("steering set workers=77", 2, r"77"),
    ("steering set workers=0 weights=1,2", 2, r"2 weights do not fit 1 workers; allowed: weights=equal"),
    ("steering set weights=1,1,1", 2, r"3 weights do not fit . workers; allowed: weights=equal"),
    ("steering set weights=0", 1, r"weights.*1\.\.1000"),
    ("steering set weights=x", 1, r"weights: 'x' .*allowed: equal, "),
    ("steering set weights=", 1, r"weights: .*allowed: equal, "),
    ("steering set rss_buckets=100", 1, r"rss_buckets.*power of two"),
    ("worker abandon worker=77", 2, r"77"),
    ("worker abandon worker=one", 1, r"worker: 'one' is not a worker's number; allowed: 0-"),
    ("flow explain icmp 10.0.0.1:1 10.0.0.2:2", 1, r"'icmp' is not a protocol with ports"),
    ("flow explain tcp 10.0.0.1 10.0.0.2:2", 1, r"'10\.0\.0\.1' has no port"),
    ("flow pin tcp 10.0.0.1:1 10.0.0.2:2 worker=77", 2, r"77"),
    ("flow pin tcp 10.0.0.1:1 10.0.0.2:2 worker=", 1, r"worker: an empty text is not a worker's number; allowed: 0-"),
    ("flow pin tcp 10.0.0.1:1 10.0.0.2:2 worker=0", 2, r"only mode rfs steers single flows"),
    ("flow unpin tcp 10.0.0.1:1 10.0.0.2:2", 2, r"is not pinned"),
)


def says(words, done, status, pattern, most=2):
    lines = (done.stderr + done.stdout).strip().splitlines()
    need(done.returncode == status, f"{words}: exit {done.returncode}, expected {status}: {lines}")
    need(any(re.search(pattern, line) for line in lines), f"{words}: no line like {pattern}: {lines}")
    need(len(lines) <= most, f"{words}: more than a line and a hint: {lines}")
    return next(line for line in lines if re.search(pattern, line))


def wrong_words(program, words, status, pattern):
    most = 3 if "nosuch" in words else 2  # a line for each port
    return says(words, net.run(program, *words.split(), check=False), status, pattern, most)


def refused(daemon, words, status, pattern):
    text = says(words, daemon.ctl(*words.split(), check=False), status, pattern)
    answer = daemon.ctl("-j", *words.split(), check=False)
    need(set(json.loads(answer.stdout)["error"]) == {"what", "allowed"}, f"-j {words}: {answer.stdout}")
    return text


def merging_is_mended(lab):
    """Links with the kernel's own offloads: refused, both ports in one go, and --offloads fix mends and undoes it."""
    ends = (("a", "eth0"), ("b", "eth0"))
    for host, device in ends:
        lab.run(host, "ethtool", "-K", device, "tx", "on")
    daemon = net.Daemon(lab, PROGRAMS, "--bridge", "left,right", "--offloads", "check").launch()
    net.until(lambda: daemon.child.poll() is not None, 20, "mqsteerd refuses")
    lines = [line for line in daemon.said().splitlines() if "ethtool -K eth0 tx off" in line and "--offloads fix" in line]
    need(daemon.child.returncode == 2 and len(lines) == 2, f"exit {daemon.child.returncode}: {daemon.said()}")
    fixing = net.Daemon(lab, PROGRAMS, "--bridge", "left,right", "--offloads", "fix").start()
    checksums = lambda: ["tx-checksumming: on" in lab.run(host, "ethtool", "-k", device).stdout for host, device in ends]
    need(checksums() == [False, False], "the offloads are still on")
    ends_well(fixing)
    need(checksums() == [True, True], "the offloads are not put back")
    return lines[0]


def unchanged(daemon, before):
    """Steering, but for what a stray packet counts."""
    def settings(view):
        workers = [{key: each[key] for key in ("worker", "state", "weight", "buckets")} for each in view["workers"]]
        return {**view, "workers": workers}
    after = daemon.ask("steering", "show")
    need(settings(after) == settings(before), f"{before}, then {after}")


def body(checks):
    for program, words, status, pattern in WRONG:
        name = f"{program.rpartition('/')[2]} {words}"
        checks.check(name, lambda p=program, w=words, s=status, t=pattern: wrong_words(p, w, s, t))
    with net.Lab("words") as lab:
        daemon = net.Daemon(lab, PROGRAMS, "--bridge", "left,right").start()
        before = daemon.ask("steering", "show")
        for words, status, pattern in REFUSED:
            checks.check(f"mqsteerctl {words}", lambda w=words, s=status, t=pattern: refused(daemon, w, s, t))
        checks.check("what was refused changed nothing", lambda: unchanged(daemon, before))
        checks.check("stop", lambda: ends_well(daemon))
        checks.check("offloads with --bridge", lambda: merging_is_mended(lab))


main(body)
