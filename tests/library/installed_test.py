#!/usr/bin/env python3
"""The library as others use it (docs/cpp.md): installed into an empty folder, found by CMake and by pkg-config, with samples/cpp built on it.

Run by ctest where SHALE_LIBRARY is on, or by hand: SHALE_BUILD=build/release SHALE=build/release/shale python3 installed_test.py
"""

import os
import pathlib
import re
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = os.environ["SHALE_BUILD"]
SHALE = os.environ["SHALE"]
CXX = os.environ.get("CXX", "c++")
# What a program may see of the library: what the public headers declare, and what an exception needs to be caught.
PUBLIC = re.compile(
    r"shale::(Dataset|Writer)::|shale::(convert|verify)\(shale::(Convert|Verify)Options const&|shale::describe\[abi:cxx11\]\(shale::Finding const&\)"
    r"|shale::name_of\(shale::Kind\)|(typeinfo|typeinfo name|vtable) for shale::Error$"
)


def run(*words, **named):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, **named)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, words))}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.work = pathlib.Path(cls.folder.name)
        cls.prefix = cls.work / "prefix"
        run("cmake", "--install", BUILD, "--prefix", cls.prefix, "--component", "library")
        cls.library = next(cls.prefix.rglob("libshale.so")).resolve()
        cls.pkg_config = {**os.environ, "PKG_CONFIG_PATH": str(next(cls.prefix.rglob("shale.pc")).parent)}

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_the_samples_write_and_read(self):
        build = self.work / "samples"
        run("cmake", "-S", ROOT / "samples/cpp", "-B", build, f"-DCMAKE_PREFIX_PATH={self.prefix}", f"-DCMAKE_CXX_COMPILER={CXX}")
        run("cmake", "--build", build)
        waves = self.work / "waves"
        written = run(build / "write_waves", waves)
        self.assertRegex(written, "^1000 samples, content digest [0-9a-f]{32}\n$")
        self.assertEqual(run(build / "read_waves", waves), "wave/7 is fast\n1000 samples, energy 49495\n")
        run(SHALE, "verify", waves, "--deep", "--quiet")
        self.assertIn(written.split()[-1], run(SHALE, "info", waves, "--json"))
        # The errors of the library are caught as what they are.
        missing = subprocess.run([build / "read_waves", self.work / "missing"], capture_output=True, text=True)
        self.assertEqual(missing.returncode, 1)
        self.assertRegex(missing.stderr, "^.*/missing: .*\nhint: ")

    def test_pkg_config_knows_all_that_it_takes(self):
        flags = run("pkg-config", "--cflags", "--libs", "shale", env=self.pkg_config).split()
        program = self.work / "read_waves"
        run(CXX, "-std=c++20", ROOT / "samples/cpp/read_waves.cpp", "-o", program, *flags, f"-Wl,-rpath,{self.library.parent}")
        self.assertNotEqual(subprocess.run([program, self.work], capture_output=True).returncode, 0)
        version = re.search(r"project\(shale VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
        self.assertEqual(run("pkg-config", "--modversion", "shale", env=self.pkg_config).strip(), version)

    def test_headers_compile_without_a_warning(self):
        headers = sorted(header.name for header in (self.prefix / "include/shale").iterdir())
        self.assertEqual(headers, sorted(header.name for header in (ROOT / "lib/shale").glob("*.hpp")))
        text = "".join(f"#include <shale/{header}>\n" for header in headers)
        run(*f"{CXX} -std=c++20 -Wall -Wextra -Wconversion -Werror -fsyntax-only -I{self.prefix}/include -x c++ -".split(), input=text)

    def test_the_code_of_the_page_is_that_of_the_samples_and_compiles(self):
        page = (ROOT / "docs/cpp.md").read_text()
        samples = [path.read_text() for path in sorted((ROOT / "samples/cpp").glob("*.cpp"))]
        blocks = re.findall(r"^```cpp\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
        self.assertEqual(sorted(block for block in blocks if block in samples), samples)
        others = "".join(f"void block_{i}() {{\n{block}}}\n" for i, block in enumerate(blocks) if block not in samples)
        text = f"#include <cstdio>\n#include <shale/convert.hpp>\n#include <shale/verify.hpp>\n{others}"
        run(CXX, "-std=c++20", f"-I{self.prefix}/include", "-fsyntax-only", "-x", "c++", "-", input=text)

    def test_every_other_symbol_is_hidden(self):
        lines = run("nm", "--dynamic", "--defined-only", "--demangle", self.library).splitlines()
        names = [line.split(maxsplit=2)[2] for line in lines]
        self.assertGreater(len(names), 20)
        self.assertEqual([name for name in names if not PUBLIC.match(name)], [])


if __name__ == "__main__":
    unittest.main()
