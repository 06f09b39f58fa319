"""The base of the tests that kill a command at its steps: the calls that change what is on disk (tests/support/steps.c)."""

import os
import re
import shutil
import signal

from fault_case import FaultCase
from shale_tool import snapshot
from steps import Steps

# Kills per command, spread evenly over all steps; tests/soak.sh asks for more.
KILLS = int(os.environ.get("RESUME_KILLS", 3))
ABSENT = ""


class StepsCase(FaultCase):
    """Commands work in `place`; what each needs there is laid out before every run."""

    kills = 0

    def setUp(self):
        super().setUp()
        self.place = self.folder / "place"
        self.steps = Steps(self, self.folder, self.place)

    def lay_out(self, prepare):
        shutil.rmtree(self.place, ignore_errors=True)
        self.place.mkdir()
        prepare()

    def kill_at_steps(self, command, *, prepare=lambda: None, check=lambda: None, expected=None, may_exist=False, may_leave=None, most=None):
        """Kills at steps of `command` (a function of --jobs and --memory); the same command then gives `expected`, or what an undisturbed run does.

        Half of the continuations are killed, too. check: what must hold after each kill. may_exist: of an output that stands already the
        command says so, with exit 1. may_leave: a pattern of what its manual page says that a killed command leaves.
        """
        self.lay_out(prepare)
        done, steps = self.steps.recorded(command("1", "64MiB"))
        self.assertIn(done.code, (0, 4), done.err)
        whole = snapshot(self.place)
        if expected is not None:
            self.assertEqual(whole, expected)
        apart = max(1, len(steps) // (most or KILLS))
        # Each time from another step on, so that the soak sees them all.
        for number in range(1 + self.dice.randrange(apart), len(steps) + 1, apart):
            self.lay_out(prepare)
            self.assertEqual(self.steps.killed(command("1", "64MiB"), number), -signal.SIGKILL, steps[number - 1])
            check()
            type(self).kills += 1
            if self.dice.randrange(2):
                self.steps.killed(command("2", "32MiB"), self.dice.randrange(1, len(steps)))
                check()
            done = self.steps.run(*command(self.dice.choice("13"), self.dice.choice(("16MiB", "256MiB"))))
            story = f"killed at {steps[number - 1]}: {command('J', 'M')}\n{done.err}"
            stands = may_exist and done.code == 1 and "already exists" in done.err
            self.assertTrue(done.code in (0, 4) or stands, story)
            differing = [name for name in self.differing(whole) if not (may_leave and re.fullmatch(may_leave, os.fsdecode(name)))]
            self.assertEqual(differing, [], story)

    def differing(self, whole):
        left = snapshot(self.place)
        return sorted(name for name in left.keys() | whole.keys() if left.get(name, ABSENT) != whole.get(name, ABSENT))

    @classmethod
    def tearDownClass(cls):
        print(f"{cls.__name__}: {cls.kills} kills", flush=True)
        super().tearDownClass()
