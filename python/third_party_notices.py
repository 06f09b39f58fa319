"""Writes THIRD_PARTY_LICENSES into an unpacked wheel: name, version and licence of everything in it that is not shale's.

    python third_party_notices.py UNPACKED

Debian's packages tell, so it takes a Debian. (auditwheel's own bill of materials misses what dpkg knows by /lib.)
"""

import importlib.metadata
import os
import pathlib
import re
import subprocess
import sys

COMPILED_IN = [
    "/usr/include/boost/program_options.hpp",
    "/usr/include/fmt/format.h",
    "/usr/include/msgpack.hpp",
    "/usr/include/nlohmann/json.hpp",
    subprocess.run(["g++", "-print-file-name=libstdc++.a"], capture_output=True, text=True, check=True).stdout.strip(),
]
COMMON = pathlib.Path("/usr/share/common-licenses")


def asked(*words):
    return subprocess.run(["dpkg-query", *words], capture_output=True, text=True, check=True).stdout


def owner_of(pattern):
    """The Debian package and version that a file is of; dpkg knows it by /lib or by /usr/lib."""
    package = asked("-S", pattern).splitlines()[0].split(":")[0]
    return package, asked("-W", "-f=${Version}\n", package).splitlines()[0]


def original_name(library):
    """libfmt-4f700944.so.9.1.0, as auditwheel calls it, is libfmt.so.9.1.0."""
    return re.sub(r"-[0-9a-f]{8}(?=\.)", "", library)


def copyright_of(package):
    return pathlib.Path("/usr/share/doc", package, "copyright").read_text(encoding="utf-8", errors="replace")


def licences_in(text):
    """The short names in a Debian copyright file of the machine-readable kind, or a word that says where to look."""
    names = dict.fromkeys(re.findall(r"^License: *(\S.*?) *$", text, re.MULTILINE))
    return ", ".join(names) or "see its text below"


def nanobind():
    package = importlib.metadata.distribution("nanobind")
    text = "\n".join(file.read_text() for file in package.files if "license" in file.name.lower())
    if not text:
        sys.exit("nanobind: its package holds no licence\nhint: look what its files are called now")
    return package.version, text


def main(unpacked):
    (dist_info,) = pathlib.Path(unpacked).glob("*.dist-info")
    files = {}
    for library in sorted(pathlib.Path(unpacked).glob("*.libs/*")):
        name = original_name(library.name)
        files.setdefault(owner_of(f"*/{name}"), []).append(name)
    for path in COMPILED_IN:
        files.setdefault(owner_of(os.path.realpath(path)), []).append("compiled in")
    lines = ["Software in this wheel that is not shale's. The licences follow.", ""]
    titles = {}  # by text: packages of one source have one
    for (package, version), names in sorted(files.items()):
        text = copyright_of(package)
        titles.setdefault(text, []).append(package)
        lines.append(f"{package} {version} ({', '.join(names)}): {licences_in(text)}")
    version, text = nanobind()
    titles[text] = ["nanobind"]
    lines.append(f"nanobind {version} (compiled in): BSD-3-Clause")
    for name in sorted(set(re.findall(rf"{COMMON}/([\w.-]*\w)", "".join(titles)))):
        if (COMMON / name).is_file():
            titles.setdefault((COMMON / name).read_text(encoding="utf-8"), []).append(name)
    for text, names in titles.items():
        lines += ["", "=" * 80, " ".join(names), "=" * 80, text]
    (dist_info / "licenses").mkdir(exist_ok=True)
    (dist_info / "licenses" / "THIRD_PARTY_LICENSES").write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
