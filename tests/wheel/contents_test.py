#!/usr/bin/env python3
"""What lies in an installed wheel: where its libraries come from, what it shows to others, whose licences it carries.

    python3 tests/wheel/contents_test.py SITE_PACKAGES [-v]
"""

import pathlib
import re
import subprocess
import sys
import unittest

SITE = pathlib.Path(sys.argv.pop(1))
# packaging/release.sh links everything statically; python/build_wheel.sh brings Debian's libraries along.
STATIC = not (SITE / "shale.libs").exists()
# What PEP 600 lets a wheel expect of the machine, as far as we do.
OF_THE_MACHINE = re.compile(r"linux-vdso|ld-linux|lib(c|m|dl|rt|pthread|resolv|stdc\+\+|gcc_s|z)\.so")


def said_by(*command):
    return subprocess.run([*map(str, command)], capture_output=True, text=True, check=True).stdout


def binaries():
    files = [path for folder in ("shale", "shale.libs") for path in (SITE / folder).rglob("*") if path.is_file()]
    return [path for path in files if path.read_bytes()[:4] == b"\x7fELF"]


class Contents(unittest.TestCase):
    def test_program_and_module_find_all_libraries_inside(self):
        folders = {"shale", "bin"} if STATIC else {"shale", "shale.libs", "bin"}
        self.assertLessEqual(folders, {path.parent.name for path in binaries()})
        for path in binaries():
            for line in said_by("ldd", path).splitlines():
                with self.subTest(path.name, line=line.strip()):
                    self.assertTrue("/shale.libs/" in line or OF_THE_MACHINE.search(line))
                    self.assertNotIn("not found", line)

    def test_the_module_shows_its_entry_point_and_nothing_else(self):
        (module,) = SITE.glob("shale/_shale*.so")
        self.assertEqual([line.split()[-1] for line in said_by("nm", "-D", "--defined-only", module).splitlines()], ["PyInit__shale"])

    def test_nothing_carries_symbols_for_a_debugger(self):
        for path in binaries():
            with self.subTest(path.name):
                self.assertNotRegex(said_by("readelf", "-SW", path), r"\.(symtab|debug_info)\b")

    def test_every_library_inside_is_named_with_its_licence(self):
        (notice,) = SITE.glob("shale-*.dist-info/licenses/THIRD_PARTY_LICENSES")
        listed, *texts = re.split(r"(?m)^={80}\n(.+)\n={80}$", notice.read_text(encoding="utf-8"))
        texts = {name: text for names, text in zip(texts[::2], texts[1::2]) for name in names.split()}
        if STATIC:
            names = re.findall(r"(?m)^(\S+) .*\((?:module|shale-linux)[^)]*\)$", listed)
            self.assertLessEqual({"hdf5", "libjpeg-turbo", "libaec", "nanobind", "robin-map", "libc++", "musl"}, set(names))
            for name in names:
                with self.subTest(name):
                    self.assertGreater(len(texts[name]), 500, "with a text")
        for path in SITE.glob("shale.libs/*"):
            name = re.sub(r"-[0-9a-f]{8}(?=\.)", "", path.name)
            with self.subTest(name):
                row = re.search(rf"(?m)^(\S+) \S+ \(.*\b{re.escape(name)}[,)].*: \S", listed)
                self.assertIsNotNone(row, "is in the list")
                self.assertGreater(len(texts[row[1]]), 500, "with a text")

    def test_the_wheel_runs_from_the_glibc_that_is_promised(self):
        (wheel,) = SITE.glob("shale-*.dist-info/WHEEL")
        tag = re.search(r"(?m)^Tag: \S+-manylinux_2_(\d+)_\w+$", wheel.read_text())
        self.assertIsNotNone(tag, wheel.read_text())
        self.assertLessEqual(int(tag[1]), 28 if STATIC else 34)


if __name__ == "__main__":
    unittest.main()
