#!/usr/bin/env python3
"""Completion, asked of the shells themselves: bash runs the function, fish and zsh complete lines.

    SHALE=build/release/shale tests/cli/completion_test.py

Commands, options and values must be those of the help. A shell that is not installed is not tested (tests/install-deps.sh --ci installs
all three).
"""

import json
import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from shale_tool import SHALE

PATIENCE_S = 60
BASH_ASK = """
source ./script; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _shale; printf '%s\\n' "${COMPREPLY[@]}"
"""
# ^X^D writes the line as it is edited into a file. Keys that come before the line editor has begun would be lost.
ZSH_SET_UP = r"""
PS1=; unsetopt beep; setopt no_auto_menu; autoload -Uz compinit; compinit -u -d dump; source ./script
keep() { print -r -- "$BUFFER" > line.new; mv line.new line; BUFFER=; }
zle -N keep; bindkey '^X^D' keep; bindkey '^I' complete-word
zle-line-init() { : > started }
zle -N zle-line-init
"""


def output_of(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, check=True, **options).stdout


def help_of(command):
    return output_of(SHALE, command, "--help")


def options_of(command):
    return re.findall(r"^  (--[a-z-]+)", help_of(command), re.MULTILINE)


def commands():
    return re.findall(r"^  ([a-z]+) {2,}", output_of(SHALE), re.MULTILINE)


def formats():
    return [format["name"] for format in json.loads(output_of(SHALE, "formats", "--json"))["formats"]]


class Completion:
    """What each shell must offer; `offered` returns the completions of the last of the words."""

    shell = ""

    def setUp(self):
        if shutil.which(self.shell) is None:
            self.skipTest(f"{self.shell} is not installed")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "script").write_text(output_of(SHALE, "completion", self.shell))
        (self.folder / "data set.npy").write_bytes(b"")
        (self.folder / "data folder").mkdir()

    def offered(self, *words):
        raise NotImplementedError

    def test_commands(self):
        self.assertLessEqual({*commands(), "help"}, set(self.offered("")))
        self.assertEqual(self.offered("resa"), ["resample"])
        self.assertEqual(self.offered("help", "resa"), ["resample"])

    def test_options_are_those_of_the_help(self):
        for command in commands():
            with self.subTest(command):
                self.assertEqual(sorted(self.offered(command, "--")), sorted(options_of(command)))

    def test_values(self):
        self.assertEqual(sorted(self.offered("convert", "in", "out", "--to", "")), sorted(formats()))
        self.assertEqual(sorted(self.offered("convert", "--io", "")), ["auto", "buffered", "direct"])
        self.assertEqual(self.offered("convert", "--on-error", "k"), ["keep"])
        self.assertEqual(sorted(self.offered("completion", "")), ["bash", "fish", "zsh"])

    def test_files(self):
        self.assertEqual(self.offered("convert", "data s"), ["data set.npy"])
        self.assertEqual(self.offered("resample", "--weights", "data s"), ["data set.npy"])
        self.assertEqual([name.rstrip("/") for name in self.offered("verify", "--index-dir", "data")], ["data folder"])
        self.assertEqual(self.offered("resample", "--rows", "data"), [])


class Bash(Completion, unittest.TestCase):
    shell = "bash"

    def offered(self, *words):
        text = output_of("bash", "--norc", "-c", BASH_ASK, "bash", "shale", *words, cwd=self.folder)
        return [line for line in text.split("\n") if line]

    def test_a_value_after_an_equals_sign(self):
        self.assertEqual(self.offered("convert", "--io", "=", "d"), ["direct"])  # as readline splits it
        self.assertEqual(sorted(self.offered("convert", "--io", "=")), ["auto", "buffered", "direct"])


class Fish(Completion, unittest.TestCase):
    shell = "fish"

    def offered(self, *words):
        line = " ".join(["shale", *(word.replace(" ", "\\ ") for word in words)])
        ask = 'source ./script; complete -C "$argv[1]"'
        text = output_of("fish", "--no-config", "-c", ask, line, cwd=self.folder, env={**os.environ, "HOME": str(self.folder)})
        return [found.split("\t")[0].replace("\\ ", " ") for found in text.split("\n") if found]


class Zsh(Completion, unittest.TestCase):
    """zsh completes only while a line is edited: Tab is pressed on a terminal, and the line is read."""

    shell = "zsh"

    def setUp(self):
        super().setUp()
        (self.folder / ".zshrc").write_text(ZSH_SET_UP)
        self.child, self.terminal = pty.fork()
        if self.child == 0:
            os.chdir(self.folder)
            os.execvpe("zsh", ["zsh", "-d", "-i"], {**os.environ, "TERM": "dumb", "ZDOTDIR": str(self.folder), "LC_ALL": "C.UTF-8"})
        self.addCleanup(self.end)
        self.read_until(lambda _: (self.folder / "started").exists())

    def end(self):
        os.close(self.terminal)
        os.waitpid(self.child, 0)

    def type(self, text):
        os.write(self.terminal, text.encode())

    def read_until(self, is_enough):
        text, end = "", time.monotonic() + PATIENCE_S
        while not is_enough(text):
            ready, _, _ = select.select([self.terminal], [], [], 0.05)
            if ready:
                text += os.read(self.terminal, 65536).decode(errors="replace").replace("\r", "")
            self.assertLess(time.monotonic(), end, text)
        return text

    def completed(self, line):
        """The line after Tab."""
        (self.folder / "line").unlink(missing_ok=True)
        self.type(f"{line}\t\x18\x04")
        self.read_until(lambda _: (self.folder / "line").exists())
        return (self.folder / "line").read_text()[:-1]

    def test_commands(self):
        self.assertEqual(self.completed("shale resa"), "shale resample ")
        self.assertEqual(self.completed("shale help resa"), "shale help resample ")

    def test_options_are_those_of_the_help(self):
        for command in commands():
            for option in options_of(command):
                with self.subTest(f"{command} {option}"):
                    line = self.completed(f"shale {command} {option}")
                    self.assertIn(line, [f"shale {command} {option}{end}" for end in ("", " ", "=")])
        self.assertEqual(self.completed("shale verify --dee"), "shale verify --deep ")
        self.assertEqual(self.completed("shale verify --shu"), "shale verify --shu")

    def test_values(self):
        self.assertEqual(self.completed("shale convert --to rec"), "shale convert --to record ")
        self.assertEqual(self.completed("shale convert --io=d"), "shale convert --io=direct ")
        self.assertEqual(self.completed("shale completion z"), "shale completion zsh ")

    def test_files(self):
        self.assertEqual(self.completed("shale convert data\\ s"), "shale convert data\\ set.npy ")
        self.assertEqual(self.completed("shale verify --index-dir data"), "shale verify --index-dir data\\ folder/")
        self.assertEqual(self.completed("shale resample --rows data"), "shale resample --rows data")


if __name__ == "__main__":
    unittest.main()
