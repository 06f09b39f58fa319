"""Manifests that are valid in form, absurd in content, and sealed with a right hash of their own."""

import re

import xxhash

NUMBERS = (b"0", b"1", b"-1", b"2147483648", b"4294967296", b"9223372036854775808", b"18446744073709551615", b"1e308", b"99999999999999999999999")
TEXTS = (
    b'""', b'"../../x"', b'"/etc/passwd"', b'"\\u001b]0;pwn\\u0007"', b'"\\u202e"', b'"' + b"n" * 5000 + b'"', b'"npy"', b'"record"', b'"shard-000000.tfrecord"',
    b'".shale"', b'"dataset.json"', b'"\\u0000"',
)  # fmt: skip
OTHERS = (b"null", b"true", b"[]", b"{}", b"[[[[[[[[[[[[0]]]]]]]]]]]]", b"[" * 100_000, b'{"a":' * 100_000, b" " * 1_000_000 + b"0")
NUMBER, TEXT = re.compile(rb"(?<=[:\[,])-?\d+"), re.compile(rb'(?<=[:\[,])"[^"]*"')


def sealed(text):
    """The manifest with the hash of all of its bytes but the hash's own digits."""
    head, tail = re.fullmatch(rb'(.*"hash": ")[0-9a-f]{32}("\n}\n)', text, re.DOTALL).groups()
    return head + xxhash.xxh3_128_hexdigest(head + tail).encode() + tail


def hostile_manifest(whole, dice):
    text = whole
    for _ in range(dice.randint(1, 2)):
        body = text.rindex(b'"hash"')
        pattern, values = dice.choice(((NUMBER, NUMBERS), (NUMBER, NUMBERS), (TEXT, TEXTS), (TEXT, OTHERS), (NUMBER, OTHERS)))
        place = dice.choice(list(pattern.finditer(text, 0, body)))
        text = text[: place.start()] + dice.choice(values) + text[place.end() :]
    return sealed(text)
