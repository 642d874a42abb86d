"""What the tests of mqrr share: the checks of tests/net/bridge, and the lab of two hosts."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "bridge"))
from checks import PROGRAMS, main, need, net  # noqa: E402,F401 pylint: disable=wrong-import-position,unused-import
from rr_lab import Mqrr, Pair, allow_many  # noqa: E402,F401 pylint: disable=wrong-import-position,unused-import


def sound(figures, connections):
    """What holds of every run without trouble."""
    times = figures["latency_us"]
    need(figures["connections"] == connections, f"{figures['connections']} connections")
    need((figures["lost"], figures["wrong"], figures["silent"], figures["trouble"]) == (0, 0, 0, ""), f"{figures}")
    need(sum(figures["series"]) == figures["transactions"] > 0, f"series {figures['series']} of {figures['transactions']}")
    need(0 < times["p50"] <= times["p90"] <= times["p99"] <= times["p99_9"] <= times["max"], f"latencies {times}")
    # In a closed loop each connection always has a request under way.
    outstanding = figures["tps"] * times["p50"] / 1e6
    need(outstanding < 2 * connections, f"{outstanding:.1f} requests under way on {connections} connections")
    return f"{figures['tps']:.0f} transactions/s, p50 {times['p50']:.0f} us, p99 {times['p99']:.0f} us"
