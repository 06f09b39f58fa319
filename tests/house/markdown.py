"""Reads just enough of a Markdown page to check its links: link targets, and the anchors that GitHub gives to headings."""

import functools
import re


def without_code(text):
    """The page with its fenced blocks and inline code blanked out; lines stay where they are."""
    text = re.sub(r"^(```|~~~).*?^\1", lambda block: "\n" * block[0].count("\n"), text, flags=re.M | re.S)
    return re.sub(r"`[^`\n]*`", "", text)


def links(text):
    """Yields (line, target) for each [text](target) and [name]: target."""
    text = without_code(text)
    for match in re.finditer(r"\]\(([^()\s]+)\)|^\[[^\]]+\]:\s*(\S+)", text, re.M):
        yield text.count("\n", 0, match.start()) + 1, match[1] or match[2]


@functools.cache  # many links lead to one page
def anchors(text):
    """The anchors of the headings: lower case, punctuation dropped, blanks as hyphens, repetitions numbered."""
    found, blocks = [], re.sub(r"^(```|~~~).*?^\1", "", text, flags=re.M | re.S)
    for heading in re.findall(r"^#{1,6} +(.*?) *#*$", blocks, re.M):
        slug = re.sub(r"[^\w\- ]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()).replace(" ", "-")
        repeated = sum(1 for earlier in found if re.fullmatch(re.escape(slug) + r"(-\d+)?", earlier))
        found.append(f"{slug}-{repeated}" if repeated else slug)
    return set(found)
