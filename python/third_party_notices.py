"""Writes THIRD_PARTY.txt into an unpacked wheel: name, version and licence of everything in it that is not shale's.

    python third_party_notices.py UNPACKED

The libraries are those of auditwheel's bill of materials; what was compiled in is found by a file of its package.
"""

import importlib.metadata
import json
import os
import pathlib
import re
import subprocess
import sys
import urllib.parse

COMPILED_IN = [
    "/usr/include/boost/program_options.hpp",
    "/usr/include/fmt/format.h",
    "/usr/include/msgpack.hpp",
    "/usr/include/nlohmann/json.hpp",
    subprocess.run(["g++", "-print-file-name=libstdc++.a"], capture_output=True, text=True, check=True).stdout.strip(),
]
COMMON = pathlib.Path("/usr/share/common-licenses")


def bundled(dist_info):
    """(Debian package, version) of each library that auditwheel put in."""
    for bill in sorted(dist_info.glob("sboms/auditwheel*.json")):
        for component in json.loads(bill.read_text())["components"]:
            if component["purl"].startswith("pkg:deb/"):
                yield component["name"], urllib.parse.unquote(component["version"])


def compiled_in():
    """(Debian package, version) of what is part of shale's own binaries."""
    for path in COMPILED_IN:
        owner = subprocess.run(["dpkg-query", "-S", os.path.realpath(path)], capture_output=True, text=True, check=True)
        package = owner.stdout.split(":")[0]
        shown = subprocess.run(["dpkg-query", "-W", "-f=${Version}", package], capture_output=True, text=True, check=True)
        yield package, shown.stdout


def copyright_of(package):
    return pathlib.Path("/usr/share/doc", package, "copyright").read_text(encoding="utf-8", errors="replace")


def licences_in(text):
    """The short names in a Debian copyright file of the machine-readable kind, or a word that says where to look."""
    names = dict.fromkeys(re.findall(r"^License: *(\S.*?) *$", text, re.MULTILINE))
    return ", ".join(names) or "see its text below"


def nanobind():
    package = importlib.metadata.distribution("nanobind")
    text = "\n".join(file.read_text() for file in package.files if "license" in file.name.lower())
    return package.version, text


def main(unpacked):
    (dist_info,) = pathlib.Path(unpacked).glob("*.dist-info")
    libraries = sorted(set(bundled(dist_info)))
    if not libraries:
        sys.exit(f"{dist_info}: no Debian package in auditwheel's bill of materials\nhint: make the wheel on Debian 12")
    texts = {f"{name} {version}": copyright_of(name) for name, version in sorted({*libraries, *compiled_in()})}
    version, text = nanobind()
    if not text:
        sys.exit("nanobind: its package holds no licence\nhint: look what its files are called now")
    lines = ["Software in this wheel that is not shale's. The licences follow.", ""]
    lines += [f"{name}: {licences_in(text)}" for name, text in texts.items()]
    lines += [f"nanobind {version}: BSD-3-Clause"]
    texts[f"nanobind {version}"] = text
    named = set(re.findall(rf"{COMMON}/([\w.-]*\w)", "".join(texts.values())))
    texts.update({name: (COMMON / name).read_text(encoding="utf-8") for name in sorted(named) if (COMMON / name).is_file()})
    for name, text in texts.items():
        lines += ["", "=" * 80, name, "=" * 80, text]
    (dist_info / "licenses").mkdir(exist_ok=True)
    (dist_info / "licenses" / "THIRD_PARTY.txt").write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
