"""From measurements to points, ratios and a table."""

from statistics import median

NOISE = 25  # percent of a CPU; ksoftirqd, which is the kernel's own work here, takes up to 10 on a quiet machine
LATENCIES = {"p50_us": "p50", "p90_us": "p90", "p99_us": "p99", "p99_9_us": "p99_9", "max_us": "max"}


def find(points, setup, mode, flows):
    return next((each for each in points if (each["setup"], each["mode"], each["flows"]) == (setup, mode, flows)), None)


def add(points, setup, mode, flows, number, figures):
    """A round's figures to their point: every value is a list with an entry for each of `rounds`."""
    point = find(points, setup, mode, flows)
    if point is None:
        point = {"setup": setup, "mode": mode, "flows": flows, "rounds": [], "tps": [], **{name: [] for name in LATENCIES}, "cpu": [], "box": []}
        points.append(point)
    point["rounds"].append(number)
    point["tps"].append(figures["tps"])
    for name, source in LATENCIES.items():
        point[name].append(figures["latency_us"][source])
    point["cpu"].append(figures["cpu"])
    if "box" in figures:
        point["box"].append(figures["box"])


def ratios(points):
    """Every mode over the set-up's first one, and rfs over rps; medians of the rounds' own ratios.

    Only within a set-up and a number of flows. Rounds are neighbours in time, so what the machine does to one
    contender of a round it mostly does to the other."""
    found = []
    for point in points:
        first = next(each for each in points if (each["setup"], each["flows"]) == (point["setup"], point["flows"]))
        bases = [first] if point is not first else []
        rps = find(points, point["setup"], "rps", point["flows"])
        if point["mode"] == "rfs" and rps and rps is not first:
            bases.append(rps)
        for base in bases:
            theirs = dict(zip(base["rounds"], base["tps"]))
            each = [tps / theirs[number] for number, tps in zip(point["rounds"], point["tps"]) if theirs.get(number)]
            if each:
                found.append({"setup": point["setup"], "flows": point["flows"], "mode": point["mode"], "over": base["mode"],
                              "median": median(each), "least": min(each), "most": max(each)})
    return found


def middle(values):
    return median(values) if values else 0


def cpu(point, name):
    return middle([each[name] for each in point["cpu"] if name in each])


def bottleneck(point):
    """What kept the transactions from being more."""
    if not point["cpu"]:
        return ""
    if lost(point) >= 1:
        return f"losses: {lost(point):.0f} % of the packets found no room in the box's rings, and TCP waits to send again"
    users = {name: cpu(point, name) for name in ("client", "server", "mqsteerd")}
    most = max(users, key=users.get)
    if cpu(point, "busy") >= 90:
        return f"CPU, most of it {most}'s ({users[most]:.0f}), softirq {cpu(point, 'softirq'):.0f}"
    return f"waiting: {100 - cpu(point, 'busy'):.0f} % idle"


def hops(point):
    """Packets handed from one worker to another, percent of all, over the rounds."""
    packets = sum(each["rx"] for each in point["box"])
    return 100 * sum(each["handed_over"] for each in point["box"]) / packets if packets else 0


def lost(point):
    """Packets that the box's ports or workers lost, percent of all, over the rounds."""
    packets = sum(each["rx"] + each["missed"] for each in point["box"])
    return 100 * sum(each["missed"] + sum(each["drops"].values()) for each in point["box"]) / packets if packets else 0


def fastest(result):
    """The best of each set-up by number of connections. No contenders: (c) has a box and a link more than (d)."""
    lines = []
    for flows in sorted({each["flows"] for each in result["points"]}):
        best = {}
        for setup in result["setups"]:
            points = [each for each in result["points"] if (each["setup"], each["flows"]) == (setup, flows)]
            if points:
                best[setup] = max(points, key=lambda each: middle(each["tps"]))
        line = f"fastest at {flows} connections: " + ", ".join(
            f"({setup}) {point['mode']} {middle(point['tps']):.0f}" for setup, point in best.items())
        if {"c", "d"} <= best.keys():
            line += f"; the kernels alone are {middle(best['d']['tps']) / middle(best['c']['tps']):.2f} times as fast as across the bridge"
        lines.append(line)
    return lines


def text(result):
    head = (f"{'mode':<9} {'conns':>6} {'tps':>9} {'least':>8} {'most':>8} {'p50 us':>9} {'p99 us':>9} {'p99.9 us':>9} "
            f"{'busy %':>6} {'client':>6} {'server':>6} {'mqsteerd':>8} {'others':>6} {'softirq':>7} {'hops %':>6} {'lost %':>6}  bottleneck")
    lines = []
    for setup, what in result["setups"].items():
        lines += ["", f"({setup}) {what}", head]
        for point in sorted((each for each in result["points"] if each["setup"] == setup), key=lambda each: each["flows"]):
            lines.append(
                f"{point['mode']:<9} {point['flows']:>6} {middle(point['tps']):>9.0f} {min(point['tps']):>8.0f} "
                f"{max(point['tps']):>8.0f} {middle(point['p50_us']):>9.1f} {middle(point['p99_us']):>9.1f} "
                f"{middle(point['p99_9_us']):>9.1f} {cpu(point, 'busy'):>6.0f} {cpu(point, 'client'):>6.0f} "
                f"{cpu(point, 'server'):>6.0f} {cpu(point, 'mqsteerd'):>8.0f} {cpu(point, 'others'):>6.0f} {cpu(point, 'softirq'):>7.0f} "
                f"{hops(point):>6.1f} {lost(point):>6.2f}  {bottleneck(point)}")
        lines += [f"  {each['mode']} over {each['over']}, {each['flows']} connections: {each['median']:.3f} "
                  f"({each['least']:.3f} to {each['most']:.3f})" for each in result["ratios"] if each["setup"] == setup]
    checked = sum(box["order_checked"] for point in result["points"] for box in point["box"])
    if checked:
        reordered = sum(box["reordered"] for point in result["points"] for box in point["box"])
        lines += ["", f"order: {checked} checked at TX, {reordered} reordered"]
    lines += ["", *fastest(result)]
    machine = result["machine"]
    lines += ["", f"{machine['cpus']} CPUs ({machine['cpu']}), Linux {machine['kernel']}; client, server, mqsteerd and both kernels "
              f"share them. Percent of one CPU; busy: of all; softirq is within the others. {result['seconds']} s in all"]
    noisy = [point for point in result["points"] if cpu(point, "others") > NOISE]
    if noisy:
        lines.append(f"NOT QUIET: other programs took more than {NOISE} % of a CPU in {len(noisy)} of {len(result['points'])} points; "
                     "their figures say little")
    return "\n".join(lines + [f"FAULT {fault}" for fault in result["faults"]])
