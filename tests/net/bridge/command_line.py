"""Wrong words on the command lines: the exit status, and a line that says what is allowed or how to mend it."""

import json
import re

from checks import PROGRAMS, ends_well, main, need, net

DAEMON, CONTROL = f"{PROGRAMS}/apps/mqsteerd/mqsteerd", f"{PROGRAMS}/apps/mqsteerctl/mqsteerctl"

# Program, words, exit status, what its last or only line says.
WRONG = (
    (DAEMON, "--nonsense", 1, r"not expected: --nonsense"),
    (DAEMON, "--bridge eth1", 1, r"^mqsteerd: error: --bridge: 'eth1' .*--bridge eth1,eth2$"),
    (DAEMON, "--bridge eth1,eth1", 1, r"^mqsteerd: error: --bridge: .*'eth1'"),
    (DAEMON, "--bridge eth1,eth2 --mode fast", 1, r"--mode: 'fast' .*allowed: none, rps, soft-rss, rfs$"),
    (DAEMON, "--bridge eth1,eth2 --lcores 99999", 1, r"--lcores: .*99999.*allowed: "),
    (DAEMON, "--bridge eth1,eth2 --lcores x", 1, r"--lcores: 'x' .*allowed: auto, .*0,2-3$"),
    (DAEMON, "--bridge eth1,eth2 --instance a/b", 1, r"--instance: 'a/b' .*allowed: 1\.\.32"),
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
    (CONTROL, "-i nobody stats show", 2, r"^mqsteerctl: instance nobody is not running: .*(start mqsteerd|allowed: -i with one that runs)"),
)

# To a daemon that runs, on two lcores or one.
REFUSED = (
    ("steering set mode=fast", r"'fast'.*allowed: none, rps, soft-rss"),
    ("steering set workers=77", r"77"),
    ("steering set workers=0 weights=1,2", r"weights"),
    ("steering set weights=0", r"weights.*1\.\.1000"),
    ("steering set rss_buckets=100", r"rss_buckets.*power of two"),
    ("worker abandon worker=77", r"77"),
    ("flow explain icmp 10.0.0.1:1 10.0.0.2:2", r"'icmp' is not a protocol with ports"),
    ("flow explain tcp 10.0.0.1 10.0.0.2:2", r"'10\.0\.0\.1' has no port"),
    ("flow pin tcp 10.0.0.1:1 10.0.0.2:2 worker=77", r"77"),
    ("flow pin tcp 10.0.0.1:1 10.0.0.2:2 worker=0", r"only mode rfs steers single flows"),
    ("flow unpin tcp 10.0.0.1:1 10.0.0.2:2", r"is not pinned"),
)


def says(words, done, status, pattern):
    lines = (done.stderr + done.stdout).strip().splitlines()
    need(done.returncode == status, f"{words}: exit {done.returncode}, expected {status}: {lines}")
    need(any(re.search(pattern, line) for line in lines), f"{words}: no line like {pattern}: {lines}")
    need(len(lines) <= 2, f"{words}: more than a line and a hint: {lines}")
    return next(line for line in lines if re.search(pattern, line))


def wrong_words(program, words, status, pattern):
    return says(words, net.run(program, *words.split(), check=False), status, pattern)


def refused(daemon, words, pattern):
    text = says(words, daemon.ctl(*words.split(), check=False), 2, pattern)
    answer = daemon.ctl("-j", *words.split(), check=False)
    need(set(json.loads(answer.stdout)["error"]) == {"what", "allowed"}, f"-j {words}: {answer.stdout}")
    return text


def body(checks):
    for program, words, status, pattern in WRONG:
        name = f"{program.rpartition('/')[2]} {words}"
        checks.check(name, lambda p=program, w=words, s=status, t=pattern: wrong_words(p, w, s, t))
    with net.Lab("words") as lab:
        daemon = net.Daemon(lab, PROGRAMS, "--bridge", "left,right").start()
        before = daemon.ask("steering", "show")
        for words, pattern in REFUSED:
            checks.check(f"mqsteerctl {words}", lambda w=words, t=pattern: refused(daemon, w, t))
        checks.check("what was refused changed nothing", lambda: need(daemon.ask("steering", "show") == before, "it did"))
        checks.check("stop", lambda: ends_well(daemon))


main(body)
