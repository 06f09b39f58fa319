#!/usr/bin/env python3
"""Every source and every header compiles alone: without a precompiled header, and without what a joined build puts before it.

Run by ctest, or by hand: COMPILE_ALONE=all python3 tests/house/alone_test.py
COMPILE_ALONE=all (tests/soak.sh) leaves none out. Otherwise one in sixty is compiled, from where SHALE_TEST_SEED says, and what the last
commits changed.
"""

import concurrent.futures
import os
import pathlib
import random
import shutil
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cpp_text

ROOT = pathlib.Path(__file__).resolve().parents[2]
ONE_IN, LAST_COMMITS, MOST_CHANGED = 60, 10, 8
FLAGS = "-std=c++20 -fsyntax-only -Wall -Wextra -Wconversion -Werror -Ilib -I. -Itests -DMSGPACK_NO_BOOST -x c++".split()
# What CMake defines for a source; fuzz targets have names of their own, and the bindings need nanobind.
DEFINITIONS = ["-DSHALE_VERSION=\"0\"", "-DSHALE_LIBRARIES=\"\"", "-DSHALE_COMPILER=\"\"", "-DSHALE_CODECS=\"\""]


def units():
    """Sources, and headers that no source of their own includes first: a source proves that of its header."""
    proved = set()
    sources = sorted(path for folder in ("lib", "formats", "tools", "tests") for path in (ROOT / folder).rglob("*.cpp") if "fuzz" not in path.parts)
    for source in sources:
        first = list(cpp_text.includes(source.read_text(encoding="utf-8")))[:1]
        header = source.with_suffix(".hpp")
        if first and header.exists() and header.as_posix().endswith(first[0][2]):
            proved.add(header)
    headers = sorted(path for folder in ("lib", "formats", "tools", "tests") for path in (ROOT / folder).rglob("*.hpp") if "fuzz" not in path.parts)
    return sources + [header for header in headers if header not in proved]


def changed(among):
    """What the last commits touched, and what is not committed yet; nothing where this is not a clone."""
    names = set()
    for words in (["log", f"-{LAST_COMMITS}", "--name-only", "--pretty="], ["diff", "--name-only", "HEAD"]):
        run = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)
        names.update(run.stdout.split() if run.returncode == 0 else [])
    return [unit for unit in among if unit.relative_to(ROOT).as_posix() in names]


def chosen():
    everything = units()
    if os.environ.get("COMPILE_ALONE") == "all":
        return everything
    seed = int(os.environ.get("SHALE_TEST_SEED", "0"))
    touched = changed(everything)
    random.Random(seed).shuffle(touched)
    return sorted({*everything[seed % ONE_IN :: ONE_IN], *touched[:MOST_CHANGED]})


def includes_of_libraries():
    flags = []
    for library in ("hdf5-serial", "lmdb"):
        run = subprocess.run(["pkg-config", "--cflags", library], text=True, capture_output=True)
        flags += run.stdout.replace("-I", "-isystem").split()
    return flags


class Alone(unittest.TestCase):
    def test_every_source_and_header_compiles_alone(self):
        compiler = shutil.which(os.environ.get("CXX", "g++"))
        self.assertIsNotNone(compiler, "no C++ compiler: set CXX, or run tests/install-deps.sh")
        flags = [*includes_of_libraries(), *FLAGS, *DEFINITIONS]

        def fault_of(path):
            name = path.relative_to(ROOT).as_posix()
            words = [compiler, *flags, "-"] if path.suffix == ".hpp" else [compiler, *flags, name]
            run = subprocess.run(words, input=f'#include "{name}"\n', text=True, capture_output=True, cwd=ROOT)
            return f"{name}:\n{run.stderr.strip()}" if run.returncode else None

        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            faults = [fault for fault in pool.map(fault_of, chosen()) if fault]
        if faults:
            self.fail("does not compile alone, without a warning\n  " + "\n  ".join(faults))


if __name__ == "__main__":
    unittest.main()
