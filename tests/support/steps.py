"""Runs shale with steps.c preloaded: counts the calls that change what is on disk, dies at one of them, or records them all.

A C compiler is needed, and a program that is linked dynamically without a sanitizer: where() says so or skips the test.
"""

import collections
import os
import pathlib
import shutil
import signal
import subprocess

from shale_tool import IS_SANITIZED, SHALE, Run, run, start

SOURCE = pathlib.Path(__file__).with_name("steps.c")
Step = collections.namedtuple("Step", "number name path other")


class Steps:
    """The library, compiled into a folder; counts calls below `under`."""

    def __init__(self, case, folder, under):
        compiler = shutil.which("cc")
        if compiler is None or IS_SANITIZED:
            case.skipTest("steps are counted by a preloaded library: no compiler, or a sanitizer that must come first")
        self.library = folder / "steps.so"
        self.under, self.log, self.saved = under, folder / "steps.log", folder / "saved"
        self.stdin = os.devnull  # what every run gets
        self.limit = lambda: None  # called in every run before it begins: sets its limits
        subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", self.library, SOURCE, "-ldl"], check=True)
        listed = subprocess.run([SHALE, "--version"], env={**os.environ, **self.environment(log=self.log)}, capture_output=True)
        if listed.returncode != 0 or b"cannot be preloaded" in listed.stderr:
            case.skipTest(f"the library cannot be preloaded: {listed.stderr!r}")

    def environment(self, **options):
        values = {f"STEPS_{name.upper()}": str(value) for name, value in options.items()}
        return {"LD_PRELOAD": str(self.library), "STEPS_UNDER": str(self.under), **values}

    def recorded(self, words, *, saves=False):
        """All steps of an undisturbed run; with `saves` the content of each file at each sync is in `saved`/NUMBER, and a journal's tail before each write."""
        self.log.unlink(missing_ok=True)
        options = {"log": self.log}
        if saves:
            shutil.rmtree(self.saved, ignore_errors=True)
            self.saved.mkdir()
            options["save"] = self.saved
        done = self.run(*words, environment=self.environment(**options))
        lines = self.log.read_text(errors="surrogateescape").splitlines() if self.log.exists() else []
        steps = [Step(int(number), *rest) for number, *rest in (line.split("\t") for line in lines)]
        return done, steps

    def stopped(self, words, number, meanwhile):
        """A run that stands still before the step of this number while `meanwhile` is called; then it goes on, to its end."""
        process = start(*words, environment=self.environment(stop=number))
        _, status = os.waitpid(process.pid, os.WUNTRACED)
        if os.WIFSTOPPED(status):
            try:
                meanwhile()
            finally:
                process.send_signal(signal.SIGCONT)
        else:
            process.returncode = os.waitstatus_to_exitcode(status)
        out, err = (text.decode("utf-8", errors="surrogateescape") for text in process.communicate())
        return Run(process.returncode, out, err, 0)

    def killed(self, words, number):
        """A run that dies at the step of this number: its exit code."""
        return self.run(*words, environment=self.environment(kill=number)).code

    def run(self, *words, **options):
        with open(self.stdin, "rb") as stdin:
            return run(*words, stdin=stdin, preexec_fn=self.limit, **options)
