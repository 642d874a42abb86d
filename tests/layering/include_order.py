#!/usr/bin/python3
"""Holds every #include of the product against the one order of its folders.

    include_order.py SOURCE_DIR

A folder may include itself and what stands below it, not its sibling. Before it judges the tree it
judges planted violations, each of which it must find.
"""

import pathlib
import re
import sys
import tempfile

# From the top down. Two names in one step are siblings, which know nothing of each other.
ORDER = (
    ("apps",),
    ("control",),
    ("runtime",),
    ("handlers", "capture"),
    ("steering",),
    ("backlog",),
    ("port", "packet"),
    ("drivers",),
    ("eal",),
    ("config",),
    ("mqsteer",),  # include/mqsteer, the public types
)
STEP = {folder: step for step, folders in enumerate(ORDER) for folder in folders}
SUFFIXES = {".h", ".hpp", ".cpp", ".cc", ".c"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def folder_of(path):
    """The folder, as the table names it, of a file relative to the source directory."""
    parts = path.parts
    if parts[0] == "include":
        return parts[1]
    return parts[1] if parts[0] == "src" else parts[0]


def fault(path, quote, target):
    """What is wrong with one #include of the file `path`; None where nothing is."""
    own = folder_of(path)
    if own not in STEP:
        return f"folder {own} is not in the order of folders"
    if ".." in pathlib.PurePosixPath(target).parts:
        return "an #include may not go up by .., name the folder"
    head = target.split("/")[0] if "/" in target else None
    if quote == "<" and head != "mqsteer":
        return None if head not in STEP else f"include {target} with quotes"
    if own == "apps" and head in (None, path.parts[1]):
        return None  # an application's own headers
    if head is None:
        return "name the folder of the header"
    if head == own:
        return None
    if head not in STEP:
        return f"{head} is not a folder of the product"
    if STEP[head] > STEP[own]:
        return None
    return f"{own} may not use {head}: " + " -> ".join("/".join(step) for step in ORDER)


def faults(root):
    """Every violation in the tree below root, as file:line: text."""
    found, files = [], 0
    for top in ("include/mqsteer", "src", "drivers", "apps"):
        for file in sorted((root / top).rglob("*")):
            if file.suffix not in SUFFIXES:
                continue
            files += 1
            path = file.relative_to(root)
            for number, line in enumerate(file.read_text().splitlines(), 1):
                match = INCLUDE.match(line)
                wrong = match and fault(path, *match.groups())
                if wrong:
                    found.append(f"{path}:{number}: {line.strip()}: {wrong}")
    return found, files


PLANTED = (  # file, its one line, must it be found?
    ("src/packet/a.h", '#include "steering/table.h"', True),
    ("src/packet/a.h", '#include "port/port.h"', True),
    ("src/capture/a.cpp", '#include "handlers/handler.h"', True),
    ("src/config/a.cpp", '#include "eal/eal.h"', True),
    ("src/runtime/a.cpp", '#include "control/server.h"', True),
    ("src/runtime/a.cpp", '#include "../port/port.h"', True),
    ("src/runtime/a.cpp", '  #  include   "control/server.h"', True),
    ("src/runtime/a.cpp", "#include <port/port.h>", True),
    ("src/runtime/a.cpp", '#include "plan.h"', True),
    ("src/unheard_of/a.cpp", "#include <mqsteer/id.h>", True),
    ("include/mqsteer/a.h", '#include "packet/flow_key.h"', True),
    ("drivers/a.cpp", '#include "port/port.h"', True),
    ("apps/mqsteerd/main.cpp", '#include "support/packet_builder.h"', True),
    ("apps/mqsim/main.cpp", '#include "mqsteerd/options.h"', True),
    ("src/handlers/a.cpp", '#include "steering/table.h"', False),
    ("src/port/a.cpp", '#include "drivers/nic_table.h"', False),
    ("src/port/a.cpp", "#include <mqsteer/id.h>", False),
    ("src/port/a.cpp", "#include <linux/if_link.h>", False),
    ("apps/mqsteerd/main.cpp", '#include "control/server.h"', False),
    ("apps/mqsteerd/main.cpp", '#include "options.h"', False),
    ("apps/mqsteerd/main.cpp", '#include "mqsteerd/options.h"', False),
    ("include/mqsteer/a.h", "#include <mqsteer/id.h>", False),
)


def check_planted():
    for file, line, must_find in PLANTED:
        with tempfile.TemporaryDirectory() as root:
            path = pathlib.Path(root) / file
            path.parent.mkdir(parents=True)
            path.write_text(line + "\n")
            found, _ = faults(pathlib.Path(root))
            if bool(found) != must_find:
                sys.exit(f"FAIL: planted {file}: {line}: {'missed' if must_find else found}")


def main():
    check_planted()
    print(f"PASS: {len(PLANTED)} planted lines judged rightly")
    found, files = faults(pathlib.Path(sys.argv[1]))
    if not files:
        sys.exit(f"FAIL: no source below {sys.argv[1]}")
    print("\n".join(found))
    if found:
        sys.exit(f"FAIL: {len(found)} includes against the order of the folders")
    print(f"PASS: {files} files keep the order of the folders")


main()
