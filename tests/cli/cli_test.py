#!/usr/bin/env python3
"""Golden tests of the command line: what is typed, what comes out, and the exit code, in tests/cli/cases/*.txt.

    SHALE=build/release/shale tests/cli/cli_test.py [CASE ...] [--update]

A case is read from the top:
    # a sentence            for the reader
    % shell command         run quietly; must succeed
    $ shell command         checked: the lines below it are its stdout ("1| "), its stderr ("2| ") and its exit code ("= 3")
Commands run under `sh -e` in a fresh folder that holds what make_inputs() below makes; `shale` is the program under test.
--update writes what came out into the cases: read the difference before it is committed.
What differs from machine to machine is replaced: {version}, {threads}, {memory}, {size} of images that were encoded. With --json, stdout must be one JSON object.
"""

import functools
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest
import zipfile

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import shale_tool
from shale_tool import CMYK_JPEG, GRAY_JPEG, RGB_JPEG, SHALE, npy, png, write

CASES = HERE / "cases"
VERSION = subprocess.run([SHALE, "--version"], capture_output=True, text=True).stdout.split()[1]


def make_inputs(root):
    """photos: two classes, seven images, nothing bad. bad: three of six images are. flat: no classes. splits. arrays."""
    for name, content in {
        "photos/cats/a.jpg": RGB_JPEG,
        "photos/cats/b.jpeg": GRAY_JPEG,
        "photos/cats/nested/c.PNG": png(3, 2),
        "photos/cats/README.txt": b"not a sample\n",
        "photos/cats/.DS_Store": b"not a sample either",
        "photos/dogs/d.jpg": RGB_JPEG,
        "photos/dogs/e.jpg": CMYK_JPEG,
        "photos/dogs/f.png": RGB_JPEG,  # wrong suffix
        "photos/dogs/g.png": png(40, 30),
        "bad/cats/a.jpg": RGB_JPEG,
        "bad/cats/cut.jpg": RGB_JPEG[:-2],
        "bad/cats/empty.jpg": b"",
        "bad/dogs/b.jpg": GRAY_JPEG,
        "bad/dogs/c.png": png(4, 4),
        "bad/dogs/text.png": b"no image\n",
        "flat/1.jpg": RGB_JPEG,
        "flat/2.jpg": GRAY_JPEG,
        "flat/sub/3.png": png(5, 5),
        "splits/train/cats/1.jpg": RGB_JPEG,
        "splits/train/dogs/2.jpg": GRAY_JPEG,
        "splits/val/dogs/3.jpg": CMYK_JPEG,
        **arrays(),
        "images.tar": b"",
        "labels.csv": b"path,label\n1.jpg,dog\n2.jpg,cat\nsub/3.png,dog\n",
        "classes.txt": b"dogs\nbirds\ncats\n",
    }.items():
        write(root / name, content)


def arrays():
    """x: ten rows of (2, 3) bytes. y: ten labels. The rest is odd or broken."""
    pixels = bytes(range(60))
    labels = b"".join(n.to_bytes(4, "little") for n in range(10))
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as members:
        members.writestr(zipfile.ZipInfo("images.npy"), npy("|u1", (10, 2, 3), pixels))
        members.writestr(zipfile.ZipInfo("labels.npy"), npy("<i4", (10,), labels))
        members.writestr(zipfile.ZipInfo("names.txt"), "no array")
    return {
        "x.npy": npy("|u1", (10, 2, 3), pixels),
        "y.npy": npy("<i4", (10,), labels),
        "nine.npy": npy("<i4", (9,), labels[:36]),
        "fortran.npy": npy("|u1", (10, 2, 3), pixels, fortran_order=True),
        "big.npy": npy(">f4", (10,), labels),
        "zero-d.npy": npy("<i4", (), labels[:4]),
        "objects.npy": npy("|O", (10,), b"pickle"),
        "cut.npy": npy("|u1", (10, 2, 3), pixels[:50]),
        "long.npy": npy("|u1", (10, 2, 3), pixels + b"more"),
        "noise.npy": b"\x93NUMPY",
        "both.npz": archive.getvalue(),
    }


def normalized(text):
    text = re.sub(rf"\b{re.escape(VERSION)}\b", "{version}", text)
    # Kept where they were given on the command line.
    text = re.sub(r"\d+ threads? \((?!--jobs|SHALE_)[^()]*\)", "{threads}", text)
    # What the codecs of this machine make of images.
    if re.search(r"^ *image work: (?!.*encode raw)", text, flags=re.MULTILINE):
        text = re.sub(r"\([\d.]+ [KMGT]?i?B of payload(, [\d.]+ [KMGT]?i?B of files)?\)", "({size})", text)
        text = re.sub(r"\(about [\d.]+ [KMGT]?i?B, estimated", "(about {size}, estimated", text)
    return re.sub(r"[\d.]+ [KMGT]?i?B of memory \((?!--memory|SHALE_)[^()]*\)", "{memory}", text)


class Case:
    """A file of tests/cli/cases: notes, and steps (mark, command, expected lines)."""

    def __init__(self, path):
        self.path = path
        self.lines = []  # (mark, text); expectations of a step follow it
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
            mark = line[:2]
            if mark in ("1|", "2|", "= "):
                continue
            if line and mark not in ("# ", "% ", "$ "):
                raise SystemExit(f"{path}:{number}: a line begins with '# ', '% ', '$ ', '1|', '2|' or '= '")
            self.lines.append(line)

    def played(self, folder):
        """The case's text as it is when its commands run now."""
        text = []
        for line in self.lines:
            text.append(line)
            if line.startswith("% "):
                done = shell(line[2:], folder)
                if done.returncode != 0:
                    raise AssertionError(f"{self.path.name}: {line}\n{done.stdout}{done.stderr}")
            elif line.startswith("$ "):
                done = shell(line[2:], folder)
                check_json(line, done)
                check_hints(line, done)
                text += marked("1|", done.stdout) + marked("2|", done.stderr) + [f"= {done.returncode}"]
        return "\n".join(text)


def shell(command, folder):
    environment = {**os.environ, "PATH": f"{folder}/.bin:{os.environ['PATH']}", "LC_ALL": "C", "TAR_OPTIONS": "--sort=name"}
    done = subprocess.run(
        ["sh", "-e", "-c", command], cwd=folder / "case", env=environment, stdin=subprocess.DEVNULL, capture_output=True
    )
    for stream in ("stdout", "stderr"):
        setattr(done, stream, normalized(getattr(done, stream).decode("utf-8", errors="backslashreplace")))
    if "--verbose" not in command and "SLURM_MEM" not in command:
        # Said by machines only where a cgroup or an affinity mask grants less than usual.
        done.stderr = re.sub(r"^note: [^\n]* of memory \([^\n]*\)\n", "", done.stderr, flags=re.MULTILINE)
    return done


def marked(mark, text):
    lines = text.split("\n")
    last = [] if lines[-1] == "" else [f"{mark}{lines[-1]}\\"]  # a last line without its end shows
    return [f"{mark}{line}" for line in lines[:-1]] + last


def check_json(line, done):
    if "--json" not in line or re.search(r"[|>;]", line):
        return
    if not isinstance(json.loads(done.stdout), dict) or done.stdout.count("\n") != 1:
        raise AssertionError(f"{line}: stdout is not one JSON object on one line: {done.stdout}")


@functools.lru_cache(None)
def options_of(command):
    """The options of a command; none if there is no such command."""
    done = subprocess.run([SHALE, command, "--help"], capture_output=True, text=True)
    return set(re.findall(r"^  (--[a-z-]+)", done.stdout, re.MULTILINE)) if done.returncode == 0 else set()


def check_hints(line, done):
    """Each option that a hint names is one of the command that was typed, or of one that the hint names."""
    for hint in re.findall(r"^(?:hint|note|next): .*", done.stderr + done.stdout, re.MULTILINE):
        quoted = re.findall(r"'([^']*)'", hint)
        for command in (re.match(r"shale ([a-z]+)((?: .*)?)$", words) for words in quoted):
            if not command or (command[1] == "help" and not command[2].strip()):
                continue
            known = options_of(command[1]) if command[1] != "help" else options_of(command[2].strip())
            unknown = set(re.findall(r"(?<![\w-])--[a-z-]+", command[2])) - known
            if unknown or not known:
                raise AssertionError(f"{line}: no such command, or option of it: {hint}")
        # What remains: of the command itself, or of one that the sentence names; not of other programs.
        rest = re.sub(r"'[^']*'|made with .*|(?:sbatch|tar|without) --[a-z]+(?: and --[a-z]+)?", "", hint)
        named = set(re.findall(r"\bshale ([a-z]+)", line)) | set(re.findall(r"\b(convert|verify|index|repair|ls|merge)\b", rest))
        unknown = set(re.findall(r"(?<![\w-])--[a-z-]+", rest)) - set().union(*map(options_of, named))
        if unknown and not re.search(r"unknown option|needs a value", done.stderr):
            raise AssertionError(f"{line}: {named} has no {unknown}: {hint}")


def make_test(path):
    def test(self):
        folder = shale_tool.Folder()
        self.addCleanup(folder.remove)
        (folder / ".bin").mkdir()
        (folder / ".bin/shale").symlink_to(SHALE)
        shutil.copytree(self.inputs.path, folder / "case")
        found = Case(path).played(folder)
        expected = path.read_text(encoding="utf-8")
        if UPDATE:
            if found != expected:
                path.write_text(found, encoding="utf-8")
                print(f"updated {path.name}")
            return
        self.assertEqual(found.split("\n"), expected.split("\n"), f"{path.name}: read it, then --update if it is meant to be so")

    return test


class Cli(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.inputs = shale_tool.Folder()
        cls.addClassCleanup(cls.inputs.remove)
        make_inputs(cls.inputs.path)


for case_path in sorted(CASES.glob("*.txt")):
    setattr(Cli, f"test_{case_path.stem}", make_test(case_path))

UPDATE = "--update" in sys.argv
if __name__ == "__main__":
    names = [word if word.startswith("-") else f"Cli.test_{word.removesuffix('.txt')}" for word in sys.argv[1:]]
    unittest.main(argv=[sys.argv[0], *(name for name in names if name != "--update")])
