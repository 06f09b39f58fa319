#!/usr/bin/env python3
"""What goes to stderr: --progress json, colors, and nothing else than messages where stderr is not a terminal.

    SHALE=build/release/shale tests/cli/stderr_test.py
"""

import json
import os
import pathlib
import pty
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from shale_tool import RGB_JPEG, SHALE, write


class StderrTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for name in ("cats/a.jpg", "cats/b.jpg", "dogs/c.jpg"):
            write(self.folder / "photos" / name, RGB_JPEG)

    def shale(self, *words, code=0, **variables):
        done = subprocess.run(
            [SHALE, *words], capture_output=True, text=True, check=False, cwd=self.folder, env={**os.environ, **variables}
        )
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def on_a_terminal(self, *words, **variables):
        """What the program writes if stderr is a terminal."""
        ours, theirs = pty.openpty()
        child = subprocess.Popen([SHALE, *words], stderr=theirs, stdout=subprocess.DEVNULL, cwd=self.folder, env={**os.environ, **variables})
        os.close(theirs)
        text = b""
        while True:
            try:
                more = os.read(ours, 65536)
            except OSError:  # the other end is closed
                break
            if not more:
                break
            text += more
        child.wait()
        os.close(ours)
        return text.decode()


class Events(StderrTest):
    def events(self, *words, code=0, **variables):
        """All of stderr, which must be events of one command, from `start` to `end` with the exit code."""
        done = self.shale(*words, code=code, **variables)
        events = [json.loads(line) for line in done.stderr.splitlines()]
        self.assertEqual({(event["version"], event["command"]) for event in events}, {(1, words[0])})
        self.assertEqual(events[0]["event"], "start")
        self.assertEqual((events[-1]["event"], events[-1]["exit_code"]), ("end", code))
        return events

    def test_the_first_and_the_last_progress_are_told(self):
        events = self.events("convert", "photos", "out", "--to", "record", "--progress", "json", "--jobs", "1")
        progress = [event for event in events if event["event"] == "progress"]
        self.assertEqual((progress[-1]["done"], progress[-1]["total"], progress[-1]["share"]), (3, 3, 1))
        self.assertEqual(progress[-1]["bytes"], 3 * len(RGB_JPEG))
        for event in progress:
            self.assertLessEqual({"seconds", "bytes_per_second"}, event.keys())

    def test_notes_are_events(self):
        words = ["convert", "photos", "out", "--to", "record", "--verbose", "--jobs", "1"]
        notes = [event for event in self.events(*words, SHALE_PROGRESS="json") if event["event"] == "note"]
        self.assertIn("1 thread (--jobs)", notes[0]["message"])

    def test_findings_are_events_with_their_place(self):
        self.shale("convert", "photos", "out", "--to", "record")
        shard = self.folder / "out/shard-000000.tfrecord"
        content = bytearray(shard.read_bytes())
        content[200] ^= 1
        shard.write_bytes(content)
        events = self.events("verify", "out", "--progress", "json", code=3)
        findings = [event for event in events if event["event"] == "finding"]
        self.assertTrue(findings)
        self.assertTrue(all(event["file"] == "shard-000000.tfrecord" for event in findings))
        self.assertEqual([event["event"] for event in events[-2:]], ["hint", "end"])

    def test_an_error_is_an_event_and_with_json_an_object_on_stdout(self):
        events = self.events("verify", "nowhere", "--progress", "json", code=1)
        self.assertEqual([event["event"] for event in events], ["start", "error", "end"])
        self.assertEqual((events[1]["code"], events[1]["file"]), ("not_found", "nowhere"))
        self.assertTrue(events[1]["hint"])
        done = self.shale("verify", "nowhere", "--progress", "json", "--json", code=1)
        self.assertEqual(json.loads(done.stdout)["error"]["code"], "not_found")

    def test_quiet_tells_only_errors_as_text(self):
        self.shale("convert", "photos", "out", "--to", "record")
        self.assertEqual(self.shale("verify", "out", "--quiet", "--progress", "json").stderr, "")


class Environment(StderrTest):
    def test_an_option_wins_over_its_variable(self):
        words = ["convert", "photos", "out", "--to", "record", "--dry-run", "--verbose"]
        both = {"SHALE_JOBS": "3", "SHALE_MEMORY": "32MiB"}
        self.assertIn("3 threads (SHALE_JOBS), 32 MiB of memory (SHALE_MEMORY)", self.shale(*words, **both).stderr)
        done = self.shale(*words, "--jobs", "2", "--memory", "16MiB", **both)
        self.assertIn("2 threads (--jobs), 16 MiB of memory (--memory)", done.stderr)
        self.shale(*words, "--io", "direct", "--progress", "none", SHALE_IO="wrong", SHALE_PROGRESS="wrong")

    def test_a_wrong_variable_is_named(self):
        words = ["convert", "photos", "out", "--to", "record", "--dry-run"]
        for name, value, fact in (
            ("SHALE_JOBS", "many", "SHALE_JOBS: 'many' is not a whole number"),
            ("SHALE_JOBS", "0", "SHALE_JOBS 0 is not between 1 and 1024"),
            ("SHALE_MEMORY", "1X", "SHALE_MEMORY: '1X' has an unknown unit"),
            ("SHALE_IO", "dirct", "SHALE_IO 'dirct' is not one of auto, direct, buffered"),
            ("SHALE_PROGRESS", "on", "SHALE_PROGRESS 'on' is not one of auto, plain, json, none"),
        ):
            with self.subTest(f"{name}={value}"):
                self.assertIn(fact, self.shale(*words, code=2, **{name: value}).stderr)

    def test_an_empty_variable_is_not_set_and_one_that_a_command_does_not_need_is_not_read(self):
        empty = dict.fromkeys(("SHALE_JOBS", "SHALE_MEMORY", "SHALE_IO", "SHALE_PROGRESS"), "")
        self.shale("convert", "photos", "out", "--to", "record", **empty)
        wrong = dict.fromkeys(empty, "wrong")
        self.shale("info", "out", **wrong)
        self.shale("formats", **wrong)

    def test_the_bytes_are_the_same(self):
        self.shale("convert", "photos", "a", "--to", "record")
        self.shale("convert", "photos", "b", "--to", "record", SHALE_JOBS="1", SHALE_MEMORY="16MiB", SHALE_IO="buffered")
        for file in (self.folder / "a").iterdir():
            self.assertEqual(file.read_bytes(), (self.folder / "b" / file.name).read_bytes(), file.name)


class Colors(StderrTest):
    def test_errors_and_hints_are_colored_on_a_terminal(self):
        text = self.on_a_terminal("info", "nowhere", TERM="xterm", NO_COLOR="")
        self.assertIn("\x1b[1;31mshale:\x1b[0m nowhere: ", text)
        self.assertIn("\x1b[1mhint:\x1b[0m ", text)

    def test_no_color_a_dumb_terminal_and_a_file_get_none(self):
        for variables in ({"TERM": "xterm", "NO_COLOR": "1"}, {"TERM": "dumb", "NO_COLOR": ""}):
            self.assertNotIn("\x1b", self.on_a_terminal("info", "nowhere", **variables))
        self.assertNotIn("\x1b", self.shale("info", "nowhere", code=1, TERM="xterm").stderr)

    def test_a_short_run_writes_no_progress_into_a_file(self):
        self.shale("convert", "photos", "out", "--to", "record")
        self.assertEqual(self.shale("verify", "out").stderr, "")


if __name__ == "__main__":
    unittest.main()
