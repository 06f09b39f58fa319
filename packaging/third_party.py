"""Prints THIRD_PARTY_LICENSES: name and version of everything in a release that is not shale's, then the licences.

    python third_party.py LIBRARIES ZIG SITE_PACKAGES
    LIBRARIES: what libraries.sh printed; ZIG: the folder of the compiler; SITE_PACKAGES: where nanobind is installed
"""

import pathlib
import re
import sys

COMMON = pathlib.Path("/usr/share/common-licenses")


def text_of(path):
    return path.read_text(encoding="utf-8", errors="replace")


def version_in(site, package):
    (metadata,) = site.glob(f"{package}-*.dist-info/METADATA")
    return re.search(r"(?m)^Version: (.+)$", text_of(metadata))[1]


def robin_map(site):
    """nanobind bundles it: the notice is the head of each header."""
    header = text_of(site / "nanobind/ext/robin_map/include/tsl/robin_hash.h")
    return header[: header.index("*/")].strip("/* \n")


def of_program_options(text):
    """Debian's copyright file of Boost is of all its 150 libraries, 2 MB: what is said of all, and of the one that is linked."""
    paragraphs = re.split(r"\n\s*\n", text)
    kept, licences = [], set()
    for paragraph in paragraphs[1:]:
        files = re.match(r"Files:((?: .*|\n .*)*)", paragraph)
        if files and (files[1].strip() == "*" or re.search(r"libs/program_options/(src|include)/|libs/program_options/\*", files[1])):
            about = paragraph[files.end() :].strip()
            kept.append(about)
            licences.add(re.search(r"(?m)^License: *(\S+)", about)[1])
    return "\n\n".join(kept + [one for one in paragraphs if re.match(r"License: *(\S+)", one) and one.split()[1] in licences])


def main(libraries, zig, site):
    libraries, zig, site = pathlib.Path(libraries), pathlib.Path(zig), pathlib.Path(site)
    rows = []  # name, version, where, text
    for line in text_of(libraries / "notices.list").splitlines():
        name, version = line.split()
        text = text_of(libraries / "notices" / name)
        rows.append((name, version, "module and program", of_program_options(text) if name.startswith("boost") else text))
    compiler = version_in(site, "ziglang")
    (nanobind,) = site.glob("nanobind-*.dist-info/licenses/LICENSE")
    rows += [
        ("nanobind", version_in(site, "nanobind"), "module", text_of(nanobind)),
        ("robin-map", "of nanobind", "module", robin_map(site)),
        ("libc++", f"of zig {compiler}", "module and program", text_of(zig / "lib/libcxx/LICENSE.TXT")),
        ("libc++abi", f"of zig {compiler}", "module and program", text_of(zig / "lib/libcxxabi/LICENSE.TXT")),
        ("libunwind", f"of zig {compiler}", "module and program", text_of(zig / "lib/libunwind/LICENSE.TXT")),
        ("compiler-rt", f"of zig {compiler}", "module and program", text_of(zig / "LICENSE")),
        ("glibc-startup", f"of zig {compiler}", "module and program of the wheels", text_of(zig / "lib/libc/glibc/LICENSES")),
        ("musl", f"of zig {compiler}", "shale-linux-x86_64", text_of(zig / "lib/libc/musl/COPYRIGHT")),
    ]
    print("Software in a release of shale that is not shale's: in the extension module and the program of the wheels, and in")
    print("shale-linux-x86_64. The Debian package links Debian's libraries, whose licences Debian installs with them.")
    print("The licences follow.\n")
    for name, version, where, _ in rows:
        print(f"{name} {version} ({where})")
    titles = {}  # by text: some have the same
    for name, _, _, text in rows:
        titles.setdefault(text, []).append(name)
    for name in sorted(set(re.findall(rf"{COMMON}/([\w.-]*\w)", "".join(titles)))):
        if (COMMON / name).is_file():
            titles.setdefault(text_of(COMMON / name), []).append(name)
    for text, names in titles.items():
        print("", "=" * 80, " ".join(names), "=" * 80, text, sep="\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
