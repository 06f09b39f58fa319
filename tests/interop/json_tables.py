#!/usr/bin/env python3
"""The tables of docs/json.md, made from docs/json.schema.json: all that is below the marker of the page.

    tests/interop/json_tables.py        rewrites them; test_json_schema.py fails if they are not up to date
"""

import json
import pathlib

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
PAGE, SCHEMA = DOCS / "json.md", DOCS / "json.schema.json"
MARKER = "<!-- From here on made from json.schema.json by tests/interop/json_tables.py -->\n"


def definitions():
    return json.loads(SCHEMA.read_text(encoding="utf-8"))["$defs"]


def type_of(member):
    if "const" in member:
        return f"`{json.dumps(member['const'])}`"
    if "$ref" in member:
        return "object"
    kind = member["type"]
    if kind == "array":
        inner = type_of(member["items"])
        if inner.startswith("list of "):
            return f"list of lists of {inner.removeprefix('list of ')}"
        return f"list of {inner}{'' if ' or ' in inner else 's'}"
    return " or ".join(kind) if isinstance(kind, list) else kind


def table(name, definition):
    lines = [f"### {name}", "", definition["description"], "", "| member | type | meaning |", "|---|---|---|"]
    for member, facts in definition["properties"].items():
        presence = "" if member in required_of(definition) else "; optional"
        words = "; one of " + ", ".join(f"`{word}`" for word in facts["enum"]) if "enum" in facts else ""
        lines.append(f"| `{member}` | {type_of(facts)}{presence} | {facts['description']}{words} |")
    return "\n".join(lines) + "\n"


def required_of(definition):
    return definition.get("then", definition)["required"]


def page():
    """The whole page as it should be."""
    head, _, _ = PAGE.read_text(encoding="utf-8").partition(MARKER)
    tables = [table(name, facts) for name, facts in definitions().items() if "properties" in facts and not name.startswith("event_")]
    return head + MARKER + "\n" + "\n".join(tables)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
