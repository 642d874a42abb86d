#!/usr/bin/python3
"""Compiles (syntax only) every header of the product as the only line of a file of its own.

    headers_alone.py SOURCE_DIR COMPILER "DPDK'S FLAGS"

Before that it must refuse a planted header that lacks what it needs.
"""

import concurrent.futures
import os
import pathlib
import subprocess
import sys
import tempfile


def compile_alone(compiler, flags, folder, header):
    """The compiler's words where the header does not stand alone, else an empty string."""
    run = subprocess.run(
        [compiler, "-std=gnu++20", "-fsyntax-only", f"-I{folder}", *flags, "-x", "c++", "-"],
        input=f"#include <{header}>\n", text=True, capture_output=True, timeout=120, check=False)
    return "" if run.returncode == 0 else f"{header}:\n{run.stderr}"


def check_planted(compiler):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("lame.h", "std::uint32_t f();\n"), ("sound.h", "#include <cstdint>\nstd::uint32_t f();\n")):
            (pathlib.Path(folder) / name).write_text(text)
        if not compile_alone(compiler, [], folder, "lame.h"):
            sys.exit("FAIL: a planted header without its #include was taken")
        if compile_alone(compiler, [], folder, "sound.h"):
            sys.exit("FAIL: a planted header that stands alone was refused")


def main():
    root, compiler = pathlib.Path(sys.argv[1]), sys.argv[2]
    check_planted(compiler)
    flags = [f"-I{root / 'include'}", f"-I{root / 'src'}", f"-I{root}", *sys.argv[3].split()]
    headers = [(folder, file.relative_to(folder).as_posix())
               for folder, below in ((root / "include", "mqsteer"), (root / "src", ""), (root, "drivers"))
               for file in sorted((folder / below).rglob("*.h"))]
    if not headers:
        sys.exit(f"FAIL: no header below {root}")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        wrong = [text for text in pool.map(lambda h: compile_alone(compiler, flags, *h), headers) if text]
    print("\n".join(wrong))
    if wrong:
        sys.exit(f"FAIL: {len(wrong)} of {len(headers)} headers do not compile alone")
    print(f"PASS: {len(headers)} headers compile alone")


main()
