#!/usr/bin/env python3
"""The words that users never read: each one is refused, with the better word, in all that users see, and in comments.

Run by ctest, or by hand: python3 tests/house/words_test.py
An exception is a line in EXCEPTIONS, with its reason.
"""

import ast
import functools
import os
import pathlib
import re
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cpp_text

ROOT = pathlib.Path(__file__).resolve().parents[2]

# What is refused (a blank is any run of white space, upper and lower case are alike), and what to write.
WORDS = {
    r"\banew\b": "again; for 'make anew': rebuild",
    r"\bmend(?:s|ed|ing)?\b": "fix",
    r"\broads?\b": "strategy, method, way",
    r"\bendur(?:e|es|ed|ing)\b": "tolerate",
    r"\bvouch\w*": "verify, prove",
    r"\b(?:one|an? \w+) a (?:class|row|sample|field|shard|file|line|format|column|command|value|batch|process|call)\b": "one per class",
    r"(?<!there )\b(?:is|are) no\b(?! (?:longer|more|need|defence|proof|reason|use|better|different|slower|faster|worse|larger|smaller))": "is not a ...; unknown ...",
    r"\ba text\b(?! (?:file|field|column|editor|table))": "a string",
    r"\bby way of\b": "through, with",
    r"\bmeanwhile\b": "in the meantime, or nothing",
    r"\bcannot be asked for\b": "cannot be determined",
    r"\bcut\b(?!\.\w| (?:into|across|off)\b)": "truncated; split",
    r"\b(?:the|a) house\b|\brooms\b": "the code base; modules",
    r"\bthere (?:is|are) such\b": "any",
    r"\blook at the (?:path|input)\b": "check the path",
    r"\bis there already\b": "already exists",
    r"\bcommand's words are off\b": "usage error",
    r"\bstands? (?:beside|behind|in(?! for)|under|at)\b": "is in, is next to, follows",
    r"\bwhere (?:it|they) lies?\b|\bas it lies\b": "in place; where it is",
    r"\bgoes? on (?:at|behind|where)\b": "continues after, continues where",
    r"\bas ever\b": "as always, or nothing",
}
# In comments these are words of the trade: shale_room and tests/house are names, and a batch may be cut from a source.
WORDS_OF_USERS_ONLY = {r"\bcut\b(?!\.\w| (?:into|across|off)\b)", r"\b(?:the|a) house\b|\brooms\b"}
WORDS_OF_MAN_PAGES = {r"(?m)^(?-i:Of) [^.\n]*:": "'(datasets only) ...' instead of a label 'Of a dataset: ...'"}

# (file, part of the line) -> reason.
EXCEPTIONS: dict = {}


def files(*patterns):
    return sorted({path for pattern in patterns for path in ROOT.glob(pattern) if path.is_file() and "__pycache__" not in path.parts})


def whole(path):
    yield 1, path.read_text(encoding="utf-8")


def cpp_literals(path):
    literals = r'(?:"(?:\\.|[^"\\\n])*"\s*)+'
    for line, match in cpp_text.find_all(literals, cpp_text.without_comments(path.read_text(encoding="utf-8"))):
        yield line, cpp_text.literal_value(match[0])


def python_literals(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def joined(comments):
    """(line, text) of comments, those that follow one another line by line as one: a sentence goes over several."""
    first, lines = None, []
    for line, text in comments:
        if first is not None and line != first + len(lines):
            yield first, "\n".join(lines)
            first = None
        if first is None:
            first, lines = line, []
        lines += text.splitlines()
    if first is not None:
        yield first, "\n".join(lines)


def cpp_comments(path):
    comments = cpp_text.comments(path.read_text(encoding="utf-8"))
    return joined((line, re.sub(r"(?m)^\s*(?://[/!]?<?|/?\*+/?)|\*/$", " ", comment)) for line, comment in comments)


def hash_comments(path):
    lines = enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
    return joined((line, match[1]) for line, match in ((line, re.search(r"(?:^|\s)#(.*)", text)) for line, text in lines) if match)


def golden_output(path):
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line[:2] in ("1|", "2|"):
            yield number, line[2:]


# Where users read: the files, and how their texts are found.
PLACES = {
    "documents": (files("*.md", "docs/**/*.md", "python/README.md", "bench/README.md", "packaging/README.md", ".github/**/*.md"), whole),
    "formats": (files("formats/*/FORMAT.md"), whole),
    "man pages": (files("tools/man/*.1"), whole),
    "tools": (files("tools/*.[ch]pp"), cpp_literals),
    "lib": (files("lib/**/*.[ch]pp", "formats/**/*.[ch]pp"), cpp_literals),
    "bindings": (files("python/bindings/*.[ch]pp"), cpp_literals),
    "python": (files("python/shale/**/*.py", "python/shale/**/*.pyi"), python_literals),
    "golden output": (files("tests/cli/cases/*.txt"), golden_output),
    "comments in C++": (files("lib/**/*.[ch]pp", "formats/**/*.[ch]pp", "tools/*.[ch]pp", "python/bindings/*.[ch]pp", "samples/*.cpp"), cpp_comments),
    "comments in scripts": (
        files("python/**/*.py", "docs/*.py", "samples/**/*.py", "**/CMakeLists.txt", "*/*.sh", "tests/**/*.sh", ".ci/run", ".github/**/*.yml"),
        hash_comments,
    ),
}

@functools.cache
def spaced(pattern):
    """The pattern, upper and lower case alike, with every blank standing for any run of white space; those in look-arounds stay one character."""
    parts = re.split(r"(\(\?<[=!][^)]*\))", pattern)
    return re.compile("".join(part if part.startswith("(?<") else part.replace(" ", r"\s+") for part in parts), re.IGNORECASE)


def refused(text, words):
    """Yields (line, what was found, the better word), lines counted from 0."""
    for pattern, better in words.items():
        for match in spaced(pattern).finditer(text):
            yield text.count("\n", 0, match.start()), " ".join(match[0].split()), better


class Words(unittest.TestCase):
    def offences(self, paths, texts_of, words):
        for path in paths:
            name = path.relative_to(ROOT).as_posix()
            lines = path.read_text(encoding="utf-8").splitlines()
            for first, text in texts_of(path):
                for below, found, better in refused(text, words):
                    line = lines[min(first + below, len(lines)) - 1]
                    if not any(name == file and part in line for file, part in EXCEPTIONS):
                        yield f"{name}:{first + below}: '{found}': write {better}"

    def check(self, place):
        paths, texts_of = PLACES[place]
        words = {**WORDS, **WORDS_OF_MAN_PAGES} if place == "man pages" else WORDS
        if place.startswith("comments"):
            words = {pattern: better for pattern, better in WORDS.items() if pattern not in WORDS_OF_USERS_ONLY}
        self.assertTrue(paths, f"no files: {place}")
        offences = list(self.offences(paths, texts_of, words))
        if offences:
            self.fail(f"{len(offences)} words that a native reader would stumble over\n  " + "\n  ".join(offences))

    def test_exceptions_are_needed(self):
        for (name, part), reason in EXCEPTIONS.items():
            lines = [line for line in (ROOT / name).read_text(encoding="utf-8").splitlines() if part in line]
            self.assertTrue(any(True for line in lines for _ in refused(line, WORDS)), f"{name}: {part}: no longer refused ({reason})")


for _place in PLACES:
    setattr(Words, "test_words_of_" + _place.replace(" ", "_"), lambda self, place=_place: self.check(place))


# ---- one fact, one message -----------------------------------------------------------------------------------------------

LITERALS = r'(?:"(?:\\.|[^"\\\n])*"\s*)+'
MESSAGE = (
    r"\bError\b(?:\s+\w+)?\s*[({]\s*Code::\w+\s*,\s*(?P<error>" + LITERALS + r")"
    r"|(?:\bmessage\s*=|\bfinding(?:_of)?\s*\((?:\s*\w+\s*,)?)\s*(?:fmt::format\(\s*)?(?P<finding>" + LITERALS + r")"
)
SMALL_WORDS = set("a an the is are of it its in that this has have and or to for be at on with by now again".split())
LIKENESS = 0.85

# Pairs of messages that are nearly alike and yet are two facts.
TWO_FACTS = {
    # A declared shape, and rows that are to be unpacked: found at different times, with different numbers.
    ("dataset '{}' claims more than 2^63 bytes", "dataset '{}' claims {} rows of {} bytes, which is more than 2^63"),
    # A key in an HDF5 file, and a file that is read whole.
    ("a key of {} bytes, more than the limit of {}", "{} bytes, more than the limit of {}"),
    # The system refuses a second descriptor; the library refuses what it does with one.
    ("cannot be reopened for the HDF5 library", "the HDF5 library cannot {} '{}'"),
    # Judged by the name of an input, and by the bytes of an array.
    ("does not start like {} file", "file does not start like an npy file"),
    # A sample alone, and one of very many fields.
    ("sample is {} bytes, but --memory leaves {} for samples", "sample of {} takes {} bytes in memory, but --memory leaves {} for samples"),
    # More than there are, and any of none.
    ("{} rows requested from a source without rows", "{} rows requested without replacement from a source of {}"),
}


def messages(paths):
    """(text, "file:line") of each message of an error or finding that is made by a literal."""
    for path in paths:
        for line, match in cpp_text.find_all(MESSAGE, cpp_text.without_comments(path.read_text(encoding="utf-8"))):
            text = cpp_text.literal_value(match["error"] or match["finding"])
            if re.sub(r"\{[^}]*\}|\W", "", text):
                yield text, f"{path.relative_to(ROOT).as_posix()}:{line}"


def words_of(text):
    return set(re.findall(r"[a-z0-9-]+", re.sub(r"\{[^}]*\}", "", text.lower()))) - SMALL_WORDS


def likeness(left, right):
    return 2 * len(left & right) / (len(left) + len(right))


def nearly_alike(texts):
    """Pairs of different texts of three words and more that share nearly all of them."""
    words = [(text, words_of(text)) for text in sorted(set(texts))]
    words = [(text, found) for text, found in words if len(found) >= 3]
    for at, (text, left) in enumerate(words):
        for other, right in words[at + 1 :]:
            if likeness(left, right) >= LIKENESS and not TWO_FACTS & {(text, other), (other, text)}:
                yield text, other


# Of tar, zstd, sbatch and shale itself, which messages name.
OPTIONS_OF_OTHERS = {"dereference", "concatenate", "list", "long", "ultra", "array", "version"}


class HintsNameWhatThereIs(unittest.TestCase):
    def test_messages_name_options_that_exist(self):
        """In what the program says, an option is one of some command; in a quoted command, one of that command."""

        def offences():
            options = cpp_text.options_in((ROOT / "tools/option_table.cpp").read_text(encoding="utf-8"))
            commands = set().union(*options.values()) | {"help"}
            for path in files("lib/**/*.[ch]pp", "formats/**/*.[ch]pp", "tools/*.[ch]pp"):
                for line, text in cpp_literals(path):
                    for name in re.findall(r"(?<![\w-])--([a-z][a-z-]*[a-z])", text):
                        if name not in options and name not in OPTIONS_OF_OTHERS:
                            yield f"{path.relative_to(ROOT)}:{line}: there is no --{name}"
                    for command, rest in re.findall(r"'shale ([a-z]+)((?: [^']*)?)'", text):
                        if command not in commands:
                            yield f"{path.relative_to(ROOT)}:{line}: there is no 'shale {command}'"
                        for name in re.findall(r"--([a-z][a-z-]*[a-z])", rest):
                            if command not in options.get(name, ()):
                                yield f"{path.relative_to(ROOT)}:{line}: 'shale {command}' has no --{name}"

        self.assertEqual(list(offences()), [], "a hint that names what does not exist helps nobody")


class OneFactOneMessage(unittest.TestCase):
    """Users search the web for a message: it has one wording, and one function that makes it."""

    def setUp(self):
        self.places = {}
        for text, place in messages(files("lib/**/*.[ch]pp", "formats/**/*.[ch]pp", "tools/*.[ch]pp")):
            self.places.setdefault(text, []).append(place)

    def test_a_message_has_one_call_site(self):
        twice = [f"{', '.join(where)}: {text!r}" for text, where in sorted(self.places.items()) if len(where) > 1]
        self.assertEqual(twice, [], "share the function that makes the message; do not reword it")

    def test_a_fact_has_one_wording(self):
        pairs = [f"{text!r} ({self.places[text][0]})\n    {other!r} ({self.places[other][0]})" for text, other in nearly_alike(self.places)]
        self.assertEqual(pairs, [], "one fact in two wordings: share the function that makes the message\n  " + "\n  ".join(pairs))

    def test_both_see_what_they_should(self):
        alike = ("there is no such dataset", "there is no such dataset here", "file is {} bytes long, expected {}", "the file is {} bytes long, expected {}")
        self.assertEqual(len(list(nearly_alike(alike))), 2)
        self.assertEqual(list(nearly_alike(["the shard is damaged", "the index is damaged", "key is missing"])), [])
        self.assertGreater(len(self.places), 300)


class TheTableSeesWhatItShould(unittest.TestCase):
    """Each row on small sentences: a pattern that matches nothing would always pass."""

    def test_what_is_refused(self):
        for text in (
            "made the index anew", "mend what the system names", "the same road", "at least 10 are endured", "vouched for",
            "one a class", "a line\na format", "'--x' is no option", "is\n no image", "give a text", "by way of a scratch file",
            "nothing read meanwhile", "its size cannot be asked for", "the file was cut", "the rules of the house", "there are such files",
            "look at the path", "out.npy is there already", "The command's words are off", "it stands beside the file",
            "read where they lie", "goes on behind the last shard", "ignored, as ever",
        ):  # fmt: skip
            self.assertTrue(list(refused(text, WORDS)), text)
        self.assertTrue(list(refused(".It Fl -fields\nOf a dataset: only these", WORDS_OF_MAN_PAGES)))

    def test_what_is_not(self):
        for text in (
            "broad", "there is no manifest", "is no longer read", "a text file", "cut into ranges", "shortcut", "one per class",
            "amended", "a warehouse", "is not a JPEG", "needs no more than", "stands in for", "goes on until",
        ):  # fmt: skip
            self.assertFalse(list(refused(text, WORDS)), text)

    def test_comments_are_read_across_their_lines(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "a"
            path.write_text("int a;  // the file is\n// no image\n\nint b;  /* vouched\n * for */ auto c = \"// one a file\";\n")
            self.assertEqual([(line, " ".join(text.split())) for line, text in cpp_comments(path)], [(1, "the file is no image"), (4, "vouched for")])
            path.write_text("a=1  # the file is\n# no image\nb='#no'\n")
            self.assertEqual([(line, " ".join(text.split())) for line, text in hash_comments(path)], [(1, "the file is no image")])
        self.assertLess(WORDS_OF_USERS_ONLY, WORDS.keys())

    def test_the_line_is_that_of_the_word(self):
        self.assertEqual([line for line, _, _ in refused("a\nb road\n", WORDS)], [1])


if __name__ == "__main__":
    unittest.main()
