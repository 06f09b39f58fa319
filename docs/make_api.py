#!/usr/bin/env python3
"""Writes docs/api.md from the docstrings of the package. It reads the sources, so nothing has to be built.

    docs/make_api.py            writes docs/api.md
    docs/make_api.py --check    fails if docs/api.md is not what it would write (tests/house asks)
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
import textwrap
from pathlib import Path
from typing import Dict, Iterator, List, NamedTuple, Optional, Union

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "python"
OUTPUT = ROOT / "docs" / "api.md"

# The modules, with what is said of each before its names. A module without __all__ shows its public classes.
MODULES = {
    "shale": "Everything here is imported by `import shale`, which needs only NumPy. [python.md](python.md) is the guide.",
    "shale.torch": "`import shale` makes it available; it is imported when it is first used. Replacements for torchvision's datasets. They need Pillow; torch itself is needed only to train.",
    "shale.torch.transforms": "The transforms that `shale.torch.Loader` does while it decodes, with the names, parameters and defaults of `torchvision.transforms.v2`, for those who do not have torchvision; [loading.md](loading.md#images). Called by themselves they take and return one image: a `PIL.Image`, or a tensor (C, H, W) with 1 or 3 channels, uint8 if it is scaled.",
    "shale.lmdb": "The read side of py-lmdb without liblmdb. [lmdb.md](lmdb.md) says what differs, and lists the errors, which are py-lmdb's.",
}
# Names whose documentation is another library's.
HIDDEN = {"shale.lmdb": re.compile(r".*Error$|^_|^MemoryError$")}

# Headings of docstrings, and what they become.
SECTIONS = {"Args:": "Arguments", "Attributes:": "Attributes", "Returns:": "Returns", "Yields:": "Yields", "Raises:": "Raises",
            "Example:": "Example", "Examples:": "Examples"}

# Special methods that are shown if they have a docstring.
SPECIAL = ("__getitem__", "__getitems__", "__iter__", "__len__", "__enter__", "__exit__", "__bool__", "__call__")

Definition = Union[ast.FunctionDef, ast.ClassDef]


class Found(NamedTuple):
    """A definition, the module that it stands in, and the lines of that file."""

    node: Definition
    module: str
    lines: List[str]


def file_of(module: str) -> Optional[Path]:
    path = PACKAGE / Path(*module.split("."))
    for candidate in (path / "__init__.py", path.with_suffix(".py"), path.with_suffix(".pyi")):
        if candidate.is_file():
            return candidate
    return None


def imports_of(tree: ast.Module) -> Iterator[tuple]:
    """(name here, module, name there) of everything that a module imports from another, at any depth."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                yield alias.asname or alias.name, node.module, alias.name


def find(module: str, name: str) -> Optional[Found]:
    """The class or function that `module.name` is, through any number of imports."""
    file = file_of(module)
    if file is None:
        return None
    text = file.read_text(encoding="utf-8")
    tree = ast.parse(text)
    for node in [*tree.body, *(each for branch in tree.body if isinstance(branch, ast.If) for each in branch.body)]:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name == name:
            return Found(node, module, text.splitlines())
    for here, origin, there in imports_of(tree):
        if here == name:
            return find(origin, there)
    return None


def public_names(module: str) -> List[str]:
    file = file_of(module)
    assert file is not None, module
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(isinstance(target, ast.Name) and target.id == "__all__" for target in node.targets):
            names = list(ast.literal_eval(node.value))
            break
    else:
        names = [node.name for node in tree.body if isinstance(node, ast.ClassDef)]
    hidden = HIDDEN.get(module, re.compile("^_"))
    return sorted((name for name in names if not hidden.match(name)), key=str.lower)


# --- docstrings


def inline(text: str) -> str:
    return text.replace("``", "`")


def table(lines: List[str]) -> List[str]:
    """A simple table of reStructuredText as one of Markdown."""
    begins = [match.start() for match in re.finditer(r"=+", lines[0])]
    ends: List[Optional[int]] = [*begins[1:], None]
    rows: List[List[str]] = []
    for line in lines:
        if line.startswith("=") or not line.strip():
            continue
        cells = [inline(line[begin:end].strip()) for begin, end in zip(begins, ends)]
        if cells[0] or not rows:
            rows.append(cells)
        else:
            rows[-1] = [" ".join(part for part in pair if part) for pair in zip(rows[-1], cells)]
    header, *body = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return [header, "|" + "---|" * len(begins), *body]


def items(lines: List[str]) -> List[str]:
    """Entries `name: text` with continuation lines, as a list."""
    made: List[str] = []
    for line in inspect.cleandoc("\n".join(lines)).splitlines():
        entry = re.match(r"([\w.*]+(?:, [\w.*]+)*): +(.*)", line)
        if entry and not line.startswith(" "):
            names = ", ".join(f"`{name}`" for name in entry[1].split(", "))
            made.append(f"- {names}: {inline(entry[2])}")
        elif made and line.strip():
            made.append(f"  {inline(line.strip())}")
        elif line.strip():
            made.append(inline(line))
    return made


def blocks(text: str) -> Iterator[List[str]]:
    block: List[str] = []
    for line in [*text.splitlines(), ""]:
        if line.strip():
            block.append(line)
        elif block:
            yield block
            block = []


def code(lines: List[str]) -> List[str]:
    return ["```python", *textwrap.dedent("\n".join(lines)).splitlines(), "```"]


def markdown(docstring: str) -> List[str]:
    made: List[str] = []
    for block in blocks(inspect.cleandoc(docstring)):
        head = block[0].strip()
        if head in SECTIONS:
            example = code(block[1:])
            made += [f"**{SECTIONS[head]}**", "", *(example if head.startswith("Example") else items(block[1:])), ""]
        elif re.match(r"=+ +=+", head):
            made += [*table(block), ""]
        elif block[0].startswith("    ") or head.startswith(">>>"):
            made += [*code(block), ""]
        elif head != "::":
            block[-1] = re.sub(r"::$", ":", block[-1])
            made += [*(inline(line) for line in block), ""]
    return made


# --- definitions


def signature(name: str, node: ast.FunctionDef, is_method: bool) -> List[str]:
    arguments = node.args
    if is_method and arguments.args:
        del arguments.args[0]
    returns = "" if node.returns is None or name.endswith("__init__") else f" -> {ast.unparse(node.returns)}"
    shown = name.removesuffix(".__init__")
    text = f"{shown}({ast.unparse(arguments)}){returns}"
    if len(text) <= 110:
        return ["```python", text, "```", ""]
    # One argument a line, as the source has it.
    parts: List[str] = []
    depth, begin, written = 0, 0, ast.unparse(arguments)
    for position, letter in enumerate(written):
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0:
            parts.append(written[begin:position].strip())
            begin = position + 1
    parts.append(written[begin:].strip())
    return ["```python", f"{shown}(", *(f"    {part}," for part in parts), f"){returns}", "```", ""]


def decorators(node: ast.FunctionDef) -> str:
    return " ".join(ast.unparse(decorator) for decorator in node.decorator_list)


def function(name: str, node: ast.FunctionDef, is_method: bool, level: str) -> List[str]:
    docstring = ast.get_docstring(node)
    if docstring is None:
        return []
    if "property" in decorators(node):
        returns = "" if node.returns is None else f": `{ast.unparse(node.returns)}`"
        return [f"{level} {name}{returns}", "", *markdown(docstring)]
    return [f"{level} {name}", "", *signature(name, node, is_method and "staticmethod" not in decorators(node)), *markdown(docstring)]


def fields(found: Found) -> List[str]:
    """The annotated attributes of a class that have no value of their own, with the comment `#:` beside or above each."""
    made = []
    for node in found.node.body:
        if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Name) or node.target.id.startswith("_"):
            continue
        beside = found.lines[(node.end_lineno or node.lineno) - 1].partition("#:")[2]
        above = found.lines[node.lineno - 2].strip()
        comment = beside.strip() or (above[2:].strip() if above.startswith("#:") else "")
        made.append(f"- `{node.target.id}`: `{ast.unparse(node.annotation)}`{'. ' + inline(comment) if comment else ''}")
    return made


def is_dataclass(node: ast.ClassDef) -> bool:
    return any("dataclass" in ast.unparse(decorator) for decorator in node.decorator_list) or any(
        ast.unparse(base) == "NamedTuple" for base in node.bases
    )


def methods_of(node: ast.ClassDef, module: str) -> Dict[str, ast.FunctionDef]:
    """Its own by name, then those of its bases with a name that begins with an underscore, or in such a module."""
    methods = {each.name: each for each in node.body if isinstance(each, ast.FunctionDef)}
    for base in node.bases:
        found = find(module, ast.unparse(base))
        if found and isinstance(found.node, ast.ClassDef) and "._" in f"{found.module}.{found.node.name}":
            methods = {**methods_of(found.node, found.module), **methods}
    return methods


def class_page(module: str, name: str, found: Found) -> List[str]:
    node = found.node
    assert isinstance(node, ast.ClassDef)
    bases = ", ".join(f"`{ast.unparse(base)}`" for base in node.bases if ast.unparse(base) not in ("NamedTuple", "object"))
    made = [f"### {module}.{name}", ""]
    methods = methods_of(node, found.module)
    if "__init__" in methods and not is_dataclass(node):
        made += signature(f"{module}.{name}.__init__", methods["__init__"], True)
    elif bases:
        made += [f"A subclass of {bases}.", ""]
    made += markdown(ast.get_docstring(node) or "")
    listed = fields(found) if is_dataclass(node) else []
    made += [*listed, ""] if listed else []
    for method_name, method in methods.items():
        if (method_name in SPECIAL or not method_name.startswith("_")) and "setter" not in decorators(method):
            made += function(f"{name}.{method_name}", method, True, "####")
    return made


def anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def page() -> str:
    made = [
        "# API of the Python package",
        "",
        "<!-- Written by docs/make_api.py from the docstrings in python/shale. Edit those, then run it. -->",
        "",
        "Made from the docstrings, which `help()` shows too. A path is a `str`, `bytes` or `os.PathLike`; a size is a number of bytes or a string",
        'such as `"64MiB"`. Every error is a subclass of [`shale.Error`](#shaleerror).',
        "",
    ]
    for module, introduction in MODULES.items():
        pages = []
        names = []
        for name in public_names(module):
            found = find(module, name)
            if found is None or ast.get_docstring(found.node) is None:
                continue
            names.append(name)
            if isinstance(found.node, ast.ClassDef):
                pages += class_page(module, name, found)
            else:
                pages += function(f"{module}.{name}", found.node, False, "###")
        links = ", ".join(f"[`{name}`](#{anchor(f'{module}.{name}')})" for name in names)
        made += [f"## {module}", "", introduction, "", links, "", *pages]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(made)).rstrip() + "\n"


def main() -> int:
    text = page()
    if sys.argv[1:] == ["--check"]:
        if OUTPUT.is_file() and OUTPUT.read_text(encoding="utf-8") == text:
            return 0
        print("docs/api.md is not what the docstrings say\nhint: run docs/make_api.py", file=sys.stderr)
        return 1
    OUTPUT.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
