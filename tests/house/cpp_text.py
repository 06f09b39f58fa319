"""Reads C++ source as text, well enough for the house rules: what is code, what is a literal, where a function ends."""

import collections
import functools
import re

_TOKEN = re.compile(
    r"""(?P<comment>//(?:\\\n|[^\n])*|/\*.*?\*/)
      | (?P<raw>(?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)")
      | (?P<string>(?:u8|[uUL])?"(?:\\.|[^"\\\n])*")
      | (?P<number>\b[0-9](?:'?[0-9A-Za-z_.])*)
      | (?P<char>(?:u8|[uUL])?'(?:\\.|[^'\\\n])+')""",
    re.VERBOSE | re.DOTALL,
)
_BLANK = re.compile(r"[^\n]")


@functools.cache  # many rules read the same file
def without_comments(text):
    """The source with every comment blanked out; literals stay, and every line keeps its number."""
    return _TOKEN.sub(lambda m: _BLANK.sub(" ", m[0]) if m["comment"] else m[0], text)


def comments(text):
    """Yields (line, comment) for each comment, marks included."""
    for match in _TOKEN.finditer(text):
        if match["comment"]:
            yield line_of(text, match.start()), match[0]


@functools.cache
def code_only(text):
    """The source with comments and the insides of literals blanked out; every offset and line stays."""

    def blank(match):
        if match["number"]:
            return match[0]
        if match["comment"]:
            return _BLANK.sub(" ", match[0])
        return match[0][0] + _BLANK.sub(" ", match[0][1:-1]) + match[0][-1]

    return _TOKEN.sub(blank, text)


def strings(text):
    """Yields (line, content) for each plain string literal."""
    for match in _TOKEN.finditer(text):
        if match["string"]:
            yield line_of(text, match.start()), match["string"].split('"', 1)[1][:-1]


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def find_all(pattern, text):
    """Yields (line, match) for each match of a pattern."""
    for match in re.finditer(pattern, text, re.MULTILINE):
        yield line_of(text, match.start()), match


def includes(text):
    """Yields (line, "<" or '"', name) for each #include."""
    for line, match in find_all(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', without_comments(text)):
        yield line, match[1], match[2]


def pipelines_before_other_members(text):
    """Yields (line, name) for each member of type OrderedPipeline that another member follows."""
    text = code_only(text)
    member = r"^ +OrderedPipeline<.*> (\w+_)\b.*;"
    for line, match in find_all(member, text):
        rest = text[match.end() : text.index("};", match.end())]
        if re.sub(member, "", rest, flags=re.MULTILINE).strip():
            yield line, match[1]


_ATTRIBUTES = re.compile(r"\[\[[^\]]*\]\]|\balignas\s*\([^()]*\)|\bexport\b")
_CONTAINER = re.compile(r'^(?:inline\s+)?(?:namespace|class|struct|union|enum|extern\s*")')


def _without_template(header):
    header = header.lstrip()
    while header.startswith("template"):
        depth, at = 0, header.find("<")
        if at < 0:
            break
        while at < len(header):
            depth += {"<": 1, ">": -1}.get(header[at], 0)
            if depth == 0:
                break
            at += 1
        header = header[at + 1 :].lstrip()
    return header


def _kind_of(header):
    """What a brace opens, judged by the code before it: "container", "function" or "value"."""
    header = _without_template(_ATTRIBUTES.sub(" ", header).strip())
    if _CONTAINER.match(header) and "(" not in header:
        return "container"
    before = header.split("(", 1)[0]
    if ")" in header and not re.search(r"(?<!operator)(?<![=!<>])=(?!=)", before):
        return "function"
    return "value"


def functions(text):
    """Yields (first line, last line, name) for every function that is not inside another one."""
    code = re.sub(r"^[ \t]*#(?:\\\n|[^\n])*", lambda m: _BLANK.sub(" ", m[0]), code_only(text), flags=re.MULTILINE)
    stack, header_begin, function_begin = [], 0, None
    for mark in re.finditer(r"[{};:]", code):
        at, char = mark.start(), mark[0]
        inside = function_begin is not None
        if char == "{":
            kind = "body" if inside else _kind_of(code[header_begin:at])
            if kind == "function":
                function_begin = header_begin
            stack.append(kind)
            if kind == "container":
                header_begin = at + 1
        elif char == "}" and stack:
            kind = stack.pop()
            if kind == "function":
                rest = code[at + 1 :].lstrip()
                is_initialiser = re.match(r",|\{|try\b|catch\b", rest) is not None  # a member in braces: the body follows
                begin, function_begin = function_begin, None
                if is_initialiser:
                    header_begin = begin
                else:
                    start = begin + len(code[begin:at]) - len(code[begin:at].lstrip())
                    name = re.search(r"([\w:~]+|operator\W+?)\s*\(", code[start:at])
                    yield line_of(code, start), line_of(code, at), name[1] if name else "?"
                    header_begin = at + 1
            elif kind == "container":
                header_begin = at + 1
        elif not inside and char == ";":
            header_begin = at + 1
        elif not inside and char == ":" and re.search(r"\b(public|private|protected)\s*$", code[header_begin:at]):
            header_begin = at + 1


def literal_value(literals):
    """The characters of one or more adjacent string literals, escapes left as they are written."""
    return "".join(m[0].split('"', 1)[1][:-1] for m in re.finditer(r'"(?:\\.|[^"\\\n])*"', literals))


def balanced(text, begin):
    """The offset just past the parenthesis that closes the one at `begin`. Strings in `text` must be whole."""
    depth = 0
    for match in re.compile(r'"(?:\\.|[^"\\\n])*"|[()]').finditer(text, begin):
        depth += {"(": 1, ")": -1}.get(match[0], 0)
        if depth == 0:
            return match.end()
    return len(text)


def options_in(table):
    """The rows of tools/option_table.cpp: {name: commands that have it}."""
    options = collections.defaultdict(set)
    for row in re.finditer(r'\{((?:"[a-z ]+"\s*)+),\s*"([a-z][a-z0-9-]*)",', without_comments(table)):
        options[row[2]].update(literal_value(row[1]).split())
    return dict(options)
