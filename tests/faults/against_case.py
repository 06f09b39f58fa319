"""The base of the tests of verify --against: what it says of a dataset and its sources."""

import json

from fault_case import IN_MEMORY, FaultCase


class AgainstCase(FaultCase):
    base = IN_MEMORY

    def verdict(self, dataset, *sources, code=0, words=()):
        """The verdict, in JSON."""
        against = [word for source in sources for word in ("--against", source)]
        told = self.ok("verify", dataset, *against, *words, "--json", code=code)
        facts = json.loads(told.out)
        self.assertEqual(facts["ok"], code == 0, told.out)
        self.words, self.code = ("verify", dataset, *against, *words), code
        return facts["comparison"]["verdict"]

    @property
    def said(self):
        """The text of the same command."""
        text = self.ok(*self.words, code=self.code)
        return text.out + text.err

    def made(self, source, name, *words, code=0):
        sources = source if isinstance(source, (list, tuple)) else [source]
        out = self.folder / name
        self.ok("convert", *sources, out, *([] if "." in name or "--to" in words else ["--to", "record"]), *words, code=code)
        return out
