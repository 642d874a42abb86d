"""Plots of a result by gnuplot: transactions a second and p99, by mode and connections."""

import math
import pathlib
import shutil
import tempfile

from report import middle
from setups import net

TERMINALS = {"png": "pngcairo size 900,560 noenhanced font 'Sans,11'", "svg": "svg size 900,560 noenhanced font 'Sans,11'"}
FIGURES = {"tps": ("tps", "transactions per second", ""), "p99": ("p99_us", "p99 of the response time, us", "set logscale y")}


def check(folder):
    if shutil.which("gnuplot") is None:
        raise net.Unavailable("--plots takes gnuplot; install the package gnuplot-nox")
    try:
        pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as fault:
        raise net.Unavailable(f"--plots: {fault}") from fault


def table(points, value):
    """One row a number of connections, one column a mode; what was not measured is a gap."""
    modes = list(dict.fromkeys(each["mode"] for each in points))
    rows = [" ".join(['"connections"', *(f'"{mode}"' for mode in modes)])]
    for flows in sorted({each["flows"] for each in points}):
        cells = {each["mode"]: str(middle(each[value])) for each in points if each["flows"] == flows}
        rows.append(" ".join([f'"{flows:,}"', *(cells.get(mode, "NaN") for mode in modes)]))
    return "\n".join(rows) + "\n", len(modes)


def script(kind, output, data, columns, figure, title, least):
    _, label, extra = figure
    bars = ", ".join(f"'{data}' using {column}{':xtic(1)' if column == 2 else ''} title columnheader"
                     for column in range(2, columns + 2))
    return "\n".join((f"set terminal {TERMINALS[kind]}", f"set output '{output}'", f"set title \"{title}\"", extra,
                      "set style data histogram", "set style histogram clustered gap 1", "set style fill solid 0.8",
                      "set boxwidth 0.9", "set key outside right", "set grid ytics", "set xlabel 'connections'",
                      f"set ylabel '{label}'", f"set yrange [{least}:*]", f"plot {bars}", ""))


def draw(result, folder):
    """Writes tcp_rr_SETUP_FIGURE.png and .svg, with the data beside them as .dat; returns the pictures' names."""
    folder, made = pathlib.Path(folder), []
    for setup, what in result["setups"].items():
        points = [each for each in result["points"] if each["setup"] == setup]
        for name, figure in FIGURES.items() if points else ():
            base = folder / f"tcp_rr_{setup}_{name}"
            rows, columns = table(points, figure[0])
            data, least = base.with_suffix(".dat"), 0
            if figure[2]:  # logarithmic: from the power of ten below
                least = 10 ** math.floor(math.log10(max(1, min(middle(each[figure[0]]) for each in points))))
            data.write_text(rows)
            for kind in TERMINALS:
                output, commands = base.with_suffix(f".{kind}"), base.with_suffix(".gnuplot")
                commands.write_text(script(kind, output, data, columns, figure, f"TCP_RR ({setup}): {what}", least))
                net.run("gnuplot", str(commands), timeout=60)
                commands.unlink()
                made.append(str(output))
    return made
