#!/usr/bin/env python3
"""The rules of the house (docs/architecture.md, "The modules"; CONTRIBUTING.md), each one a test that says what is off, and where.

Run by ctest, or by hand: python3 tests/house/house_test.py [HouseRules.test_...]
An exception to a rule is a line in a table of rules.py, with its reason.
"""

import ast
import collections
import graphlib
import os
import pathlib
import re
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cpp_text
import markdown
from covered_by import COVERED_BY
from named_formats import NAMES_A_FORMAT
from rules import (
    BEFORE_THE_CHECKOUT,
    FORMAT_MAY_INCLUDE,
    INSTALLED,
    MACROS_THAT_CONFIGURE_A_LIBRARY,
    MAX_ROOM_LINES,
    MAY_EXIT,
    MAY_FORK,
    RAW_MEMORY_IS_NEEDED,
    ROOMS,
    ROOMS_OF_FORMATS,
    STILL_TOO_LARGE,
    SYSTEM_HEADER,
    THIRD_PARTIES,
    THREADS_LIVE_IN,
)

ROOT = pathlib.Path(__file__).resolve().parents[2]

MAX_FILE_LINES = 600
MAX_FUNCTION_LINES = 80


def relative(path):
    return path.relative_to(ROOT).as_posix()


def files(*patterns, below=("lib", "formats", "tools", "tests", "samples", "python", "bench")):
    """Paths below the given folders whose names fit one of the patterns, sorted; caches left out."""
    found = set()
    for folder in below:
        for pattern in patterns:
            found.update(p for p in (ROOT / folder).rglob(pattern) if p.is_file() and "__pycache__" not in p.parts)
    return sorted(found)


def cpp(*below):
    return files("*.cpp", "*.hpp", below=below)


def read(path):
    return path.read_text(encoding="utf-8", errors="surrogateescape")


def documents():
    """Every Markdown page."""
    return [*ROOT.glob("*.md"), *files("*.md", below=("docs", "formats", "python", "bench", "packaging", "tests", "samples"))]


def python_name(path):
    """ "shale.torch.transforms" for python/shale/torch/transforms.py, "shale.torch" for its __init__.py."""
    return ".".join(path.relative_to(ROOT / "python").with_suffix("").parts).removesuffix(".__init__")


def python_imports(text):
    """(line, "shale.errors") for each import of a module of the package, wherever it stands."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, each.name) for each in node.names if each.name.startswith("shale."))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "shale":
            for each in node.names:
                whole = f"{node.module}.{each.name}"
                is_module = any((ROOT / "python" / whole.replace(".", "/")).with_suffix(suffix).exists() for suffix in ("", ".py"))
                yield node.lineno, whole if is_module else node.module


def room_of(name):
    """ "base" for lib/shale/base/error.hpp and shale/base/error.hpp, "error.hpp" for shale/error.hpp, else None."""
    match = re.match(r"(?:lib/)?shale/(\w+(?=/)|\w+\.hpp$)", name)
    return match[1] if match else None


def format_room_of(name):
    """ "hdf5/foreign" for formats/hdf5/foreign/hdf5_probe.hpp, else None."""
    match = re.match(r"formats/(\w+(?:/\w+)*)/\w+\.[ch]pp$", name)
    return match[1] if match else None


class HouseRules(unittest.TestCase):
    maxDiff = None

    def none_of(self, offences, rule):
        offences = list(offences)
        if offences:
            self.fail(f"{rule}\n  " + "\n  ".join(offences))

    def offences_by_pattern(self, paths, pattern, says):
        for path in paths:
            for line, match in cpp_text.find_all(pattern, cpp_text.code_only(read(path))):
                yield f"{relative(path)}:{line}: {says.format(match[0].strip())}"

    # ---- who may include whom

    def test_lib_rooms_include_only_rooms_below_them(self):
        def offences():
            for path in cpp("lib"):
                room = room_of(relative(path))
                if room not in ROOMS:
                    yield f"{relative(path)}: '{room}' is not a room of the house"
                    continue
                allowed = {room, *ROOMS[room].split()}
                for line, mark, name in cpp_text.includes(read(path)):
                    if mark == '"' and room_of(name) not in allowed:
                        yield f'{relative(path)}:{line}: includes "{name}"; {room} may include {" ".join(sorted(allowed))}'

        self.none_of(offences(), 'lib includes go down only, and are written "shale/<room>/<file>.hpp"')

    def test_includes_make_no_circle(self):
        """Neither of rooms nor of units, a unit being a header with its source."""

        def circles(arrows):
            try:
                graphlib.TopologicalSorter(arrows).prepare()
            except graphlib.CycleError as circle:
                yield " -> ".join(reversed(circle.args[1]))

        units = {}
        for path in cpp("lib", "formats"):
            name = relative(path).removeprefix("lib/").rpartition(".")[0]
            targets = (target.rpartition(".")[0] for _, mark, target in cpp_text.includes(read(path)) if mark == '"')
            units.setdefault(name, set()).update(target for target in targets if target != name)
        modules = {}
        for path in files("*.py", below=("python/shale",)):
            modules[python_name(path)] = {name for _, name in python_imports(read(path))} - {python_name(path), "shale"}
        self.none_of(circles(modules), "what imports a module of the package is not imported by it, not even for type checkers")
        self.none_of(circles({room: below.split() for room, below in ROOMS.items()}), "the rooms are layers")
        self.none_of(circles(units), "what includes a unit is not included by it")

    def test_formats_include_the_seam_and_never_each_other(self):
        def offences():
            for path in cpp("formats"):
                name = relative(path)
                own = name.split("/")[1] if name.count("/") > 1 else None
                for line, mark, target in cpp_text.includes(read(path)):
                    if mark == "<" or room_of(target) in FORMAT_MAY_INCLUDE:
                        continue
                    is_registry = own is None and re.fullmatch(r"formats/(table|(\w+)/\2_format)\.hpp", target)
                    if not is_registry and not (own and target.startswith(f"formats/{own}/")):
                        yield f'{name}:{line}: includes "{target}"'

        self.none_of(
            offences(),
            f"a format includes lib/shale/{{{','.join(FORMAT_MAY_INCLUDE)}}} and its own folder; formats/table.hpp includes the rows",
        )

    def test_the_rooms_of_a_format_are_layers(self):
        def offences():
            for path in cpp("formats"):
                name = relative(path)
                own = format_room_of(name)
                for line, _, target in cpp_text.includes(read(path)):
                    other = format_room_of(target)
                    is_row = name == f"formats/{own}/{own}_format.cpp"
                    if own and other and other != own and not is_row and other not in ROOMS_OF_FORMATS.get(own, "").split():
                        yield f'{name}:{line}: includes "{target}"'

        self.none_of(offences(), "ROOMS_OF_FORMATS says which folder of a format may include which; its row may include all")

    def test_tools_and_python_never_include_formats(self):
        def offences():
            for path in cpp("tools", "python"):
                for line, _, name in cpp_text.includes(read(path)):
                    if name.startswith("formats/"):
                        yield f'{relative(path)}:{line}: includes "{name}"'

        self.none_of(offences(), "tools and python know formats only through all_formats()")

    def test_no_format_is_named_outside_formats(self):
        """By a literal that is its name, another name of it, or a suffix: what differs is a fact of its row (struct Format)."""
        words = {path.name for path in (ROOT / "formats").iterdir() if path.is_dir()}
        for row in files("*_format.cpp", below=("formats",)):
            tables = re.findall(r"k(?:More)?(?:Suffixes|Aliases)\[\] = \{([^}]*)\}|\.suffix = ([^,]*),", read(row))
            words |= set(re.findall(r'"([\w.]+)"', str(tables).replace("'", " ")))
        self.assertLess({"lmdb", ".lmdb", "tfrecord", ".pt"}, words)

        def offences():
            named = set()
            for path in cpp("lib", "tools", "python"):
                for line, literal in cpp_text.strings(read(path)):
                    if literal not in words:
                        continue
                    named.add((relative(path), literal))
                    if (relative(path), literal) not in NAMES_A_FORMAT:
                        yield f'{relative(path)}:{line}: "{literal}"'
            for path, literal in sorted(set(NAMES_A_FORMAT) - named):
                yield f'{path}: its line for "{literal}" in NAMES_A_FORMAT is not needed'

        self.none_of(offences(), "lib, tools and python know no format by its name")

    def test_third_parties_stay_in_their_rooms(self):
        def offences():
            for path in cpp("lib", "formats", "tools", "python", "samples", "tests"):
                name = relative(path)
                for line, mark, header in cpp_text.includes(read(path)):
                    if mark == '"' or SYSTEM_HEADER.match(header):
                        continue
                    party = next((p for p in THIRD_PARTIES if header.startswith(p)), None)
                    if party is None:
                        yield f"{name}:{line}: <{header}> is in no room: add it to THIRD_PARTIES, or do without"
                    elif not name.startswith(("tests/", *THIRD_PARTIES[party])):
                        yield f"{name}:{line}: <{header}> belongs to {' '.join(THIRD_PARTIES[party]) or 'tests/'}"

        self.none_of(offences(), "a third party is included in one room only")

    def test_lib_and_format_headers_show_no_third_party_but_fmt(self):
        # What a library's users in one folder share: nothing else includes it.
        exceptions = {
            "formats/hdf5/hdf5_library.hpp",  # handles and the lock
            "lib/shale/report/report_json.hpp",  # the facts of a report, which are JSON
            "lib/shale/manifest/untrusted_json.hpp",  # members of a manifest, which is JSON
            "lib/shale/image/jpeg_decompressor.hpp",  # the guard around libjpeg's errors
            "lib/shale/image/png_reader.hpp",  # the same around libpng's
        }

        def offences():
            for path in files("*.hpp", below=("lib", "formats")):
                if relative(path) in exceptions:
                    continue
                for line, mark, header in cpp_text.includes(read(path)):
                    is_known = header.startswith("fmt/") and room_of(relative(path)) not in INSTALLED
                    if mark == "<" and not SYSTEM_HEADER.match(header) and not is_known:
                        yield f"{relative(path)}:{line}: <{header}>"

        self.none_of(offences(), "no third-party type in a header, but fmt in those that are not installed")

    # ---- size and names

    def test_no_file_is_longer_than_600_lines(self):
        def offences():
            for path in files("*.cpp", "*.hpp", "*.py", "*.sh"):
                count = read(path).count("\n")
                if count > MAX_FILE_LINES:
                    yield f"{relative(path)}: {count} lines"

        self.none_of(offences(), f"a file has at most {MAX_FILE_LINES} lines")

    def test_no_room_is_larger_than_5500_lines(self):
        lines = collections.Counter()
        for path in cpp("lib", "formats"):
            name = relative(path)
            lines[room_of(name) or "/".join(name.split("/")[:2])] += read(path).count("\n")  # of a format with the folders in it
        too_large = {room for room, count in lines.items() if count > MAX_ROOM_LINES}
        self.none_of(
            (f"{room}: {lines[room]} lines" for room in sorted(too_large ^ set(STILL_TOO_LARGE))),
            f"a room of lib/shale or formats has at most {MAX_ROOM_LINES} lines, and STILL_TOO_LARGE names those that have not got there",
        )

    def test_no_function_is_longer_than_80_lines(self):
        def offences():
            for path in cpp("lib", "formats", "tools", "tests", "samples", "python"):
                for first, last, name in cpp_text.functions(read(path)):
                    if last - first + 1 > MAX_FUNCTION_LINES:
                        yield f"{relative(path)}:{first}: {name}: {last - first + 1} lines"

        self.none_of(offences(), f"a function has at most {MAX_FUNCTION_LINES} lines")

    def test_cpp_file_names_are_unique(self):
        homes = collections.defaultdict(list)
        for path in cpp("lib", "formats", "tools", "tests", "samples", "python", "bench"):
            if path.name not in INSTALLED or path.parent.name != "shale":  # those have the names of what they offer
                homes[path.name].append(relative(path))
        self.none_of(
            (f"{name}: {', '.join(paths)}" for name, paths in sorted(homes.items()) if len(paths) > 1),
            "C++ file names are unique in the whole repository",
        )

    def test_man_page_says_what_does_not_go_together(self):
        table = (ROOT / "lib/shale/requests/combinations.cpp").read_text()
        header = (ROOT / "lib/shale/requests/combinations.hpp").read_text()
        names = dict(re.findall(r'(k\w+) =\s+"([^"]*)"', table + header))
        options = collections.defaultdict(list)
        for option, place in re.findall(r'^    \{"([^"]+)", (k\w+|"[^"]+"),', table, re.M):
            options[option].append(names.get(place) or place.strip('"'))
        self.assertGreater(len(options), 10, "rows of kExclusions")
        mark = lambda option: re.sub(r" (?!No|or|Fl|-)", " Cm ", option.replace(" or --", " No or Fl -"))
        lines = [f".It Fl -{mark(option)}\n{'; '.join(places)}\n" for option, places in sorted(options.items())]
        page = (ROOT / "tools/man/shale-convert.1").read_text()
        self.assertIn("".join(lines), page, "the section WHAT DOES NOT GO TOGETHER is not what lib/shale/requests/combinations.cpp says")

    def test_type_names_are_unique(self):
        places = collections.defaultdict(list)
        for path in files("*.hpp", below=("lib", "formats")):
            for match in re.finditer(r"^(?:class|struct|enum class|enum) (\w+)[^;{]*\{", read(path), re.M):
                places[match[1]].append(relative(path))
        self.none_of(
            (f"{name}: {', '.join(where)}" for name, where in sorted(places.items()) if len(where) > 1),
            "two types of one name are one type to the linker, which does not say so",
        )

    def test_every_header_begins_with_pragma_once(self):
        def offences():
            for path in files("*.hpp"):
                if not cpp_text.without_comments(read(path)).lstrip().startswith("#pragma once"):
                    yield relative(path)

        self.none_of(offences(), "a header begins with #pragma once")

    def test_unit_tests_mirror_lib(self):
        def offences():
            for path in files("*.cpp", below=("tests/unit",)):
                parts = path.relative_to(ROOT / "tests/unit").parts
                match = re.fullmatch(r"test_(\w+)\.cpp", path.name)
                if not match and "TEST_CASE" not in read(path):
                    continue  # what the tests of a room share
                if len(parts) != 2 or not match:
                    yield f"{relative(path)}: not unit/<room>/test_<file>.cpp"
                elif not any((ROOT / "lib/shale" / parts[0] / (match[1] + suffix)).exists() for suffix in (".hpp", ".cpp")):
                    yield f"{relative(path)}: there is no lib/shale/{parts[0]}/{match[1]}.hpp or .cpp"

        self.none_of(offences(), "tests/unit/<room>/test_<file>.cpp tests lib/shale/<room>/<file>")

    def test_every_unit_of_lib_is_tested(self):
        """By tests/unit/<room>/test_<unit>.cpp, or by the test that COVERED_BY names."""

        def offences():
            units = {relative(path).removeprefix("lib/shale/").removesuffix(".cpp") for path in files("*.cpp", below=("lib",))}
            for unit in sorted(units | set(COVERED_BY)):
                room, _, name = unit.partition("/")
                has_test = (ROOT / "tests/unit" / room / f"test_{name}.cpp").exists()
                test, words = COVERED_BY.get(unit, (None, None))
                if test is None and not has_test:
                    yield f"{unit}: no tests/unit/{room}/test_{name}.cpp, and no line in COVERED_BY"
                elif test and (has_test or unit not in units):
                    yield f"{unit}: its line in COVERED_BY is not needed"
                elif test and not ((ROOT / test).exists() and words in read(ROOT / test)):
                    yield f"{unit}: there is no '{words}' in {test}"

        self.none_of(offences(), "every unit of lib is tested")

    # ---- the language

    def test_no_using_namespace(self):
        paths = cpp("lib", "formats", "tools")
        self.none_of(self.offences_by_pattern(paths, r"\busing\s+namespace\b", "{}"), "no 'using namespace'")

    def test_no_macros(self):
        def offences():
            for path in cpp("lib", "formats", "tools", "tests", "samples", "python"):
                for line, match in cpp_text.find_all(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", cpp_text.code_only(read(path))):
                    if not MACROS_THAT_CONFIGURE_A_LIBRARY.fullmatch(match[1]):
                        yield f"{relative(path)}:{line}: {match[1]}"

        self.none_of(offences(), "no macros but those that configure a library")

    def test_no_raw_memory(self):
        pattern = (
            r"(?<!operator )\bnew\b(?!>|\s*\((?!\s*std::nothrow))"  # placement new takes no memory
            r"|(?<!= )(?<!=)(?<!operator )\bdelete\b"
            r"|(?<![\w.>])(?:std::|::)?(?:malloc|calloc|realloc|free|aligned_alloc|posix_memalign)\s*\("
        )
        paths = [p for p in cpp("lib", "formats", "tools", "samples", "python") if relative(p) not in RAW_MEMORY_IS_NEEDED]
        self.none_of(self.offences_by_pattern(paths, pattern, "{}"), "memory has an owner: no raw new, delete, malloc or free")

    def test_threads_live_in_four_places(self):
        paths = [p for p in cpp("lib", "formats", "tools", "python") if not relative(p).startswith(THREADS_LIVE_IN) and relative(p) not in MAY_FORK]
        pattern = r"\bstd::(?:j?thread\b(?!::)|async\b)|\bpthread_create\b|(?<![\w.>])fork\s*\("
        self.none_of(self.offences_by_pattern(paths, pattern, "{}"), f"threads are made in {', '.join(THREADS_LIVE_IN)}")

    def test_a_member_that_joins_threads_is_the_last_one(self):
        self.none_of(
            (f"{relative(path)}:{line}: {name}" for path in cpp() for line, name in cpp_text.pipelines_before_other_members(read(path))),
            "an OrderedPipeline is declared after every member that its tasks may use: it is joined before they go",
        )

    def test_todos_name_a_person_and_an_issue(self):
        def offences():
            for path in files("*.cpp", "*.hpp", "*.py", "*.sh", "CMakeLists.txt"):
                if path == pathlib.Path(__file__).resolve():
                    continue
                for line, match in cpp_text.find_all(r"\b(TODO|FIXME|XXX|HACK)\b.*", read(path)):
                    if not re.match(r"TODO\([\w.-]+, #?\d+\)", match[0]):
                        yield f"{relative(path)}:{line}: {match[0]}"

        self.none_of(offences(), "an open end is written TODO(name, issue)")

    # ---- who talks, who stops

    def test_only_tools_print(self):
        pattern = (
            r"\bstd::(?:cout|cerr|clog|print|println)\b|\bfmt::print(?:ln)?\s*\(|(?<![\w.>])(?:std::|::)?"
            r"(?:printf|fprintf|vfprintf|puts|fputs|putchar|perror|dprintf|psignal)\s*\(|\bSTD(?:OUT|ERR)_FILENO\b"
        )
        self.none_of(self.offences_by_pattern(cpp("lib", "formats"), pattern, "{}"), "only tools/ prints")

    def test_only_main_ends_the_process(self):
        paths = [p for p in cpp("lib", "formats", "tools", "python") if relative(p) not in MAY_EXIT]
        pattern = r"(?<![\w.>])(?:std::|::)?(?:exit|_exit|_Exit|quick_exit|abort|terminate)\s*\("
        self.none_of(self.offences_by_pattern(paths, pattern, "{}"), "only main returns exit codes; all others throw")

    def test_names_of_test_cases_are_names_of_ctests(self):
        def offences():
            for path in cpp("tests"):
                for match in re.finditer(r'^TEST_CASE(?:_FIXTURE)?\(\s*(?:\w+,\s*)?((?:"(?:[^"\\]|\\.)*"\s*)+)', read(path), re.MULTILINE):
                    if found := re.search(r"[][;]|\\", match[1]):
                        yield f"{relative(path)}: {found[0]!r} in {match[1].strip()}"

        self.none_of(offences(), "doctest's CMake module loses test cases that have one of ;[]\\\" in their names")

    # ---- scripts and documents

    def test_scripts_stop_at_the_first_error(self):
        scripts = [*files("*.sh"), *(p for p in [ROOT / ".ci/run"] if p.exists())]
        self.none_of(
            (relative(p) for p in scripts if not re.search(r"^set -euo pipefail$", read(p), re.MULTILINE)),
            "a script says 'set -euo pipefail'",
        )

    def test_workflows_only_call_scripts(self):
        def offences():
            for path in (ROOT / ".github/workflows").glob("*.yml"):
                for line, match in cpp_text.find_all(r"^[ -]*run:(.*)", read(path)):
                    for command in match[1].split("&&"):
                        first, *rest = command.split() or [""]
                        if (first, *rest[:1]) not in BEFORE_THE_CHECKOUT and not (first and os.access(ROOT / first, os.X_OK)):
                            yield f"{relative(path)}:{line}: '{command.strip()}'"

        self.none_of(offences(), "a workflow calls scripts of the repository, one line each, so that everybody can run what it runs")

    def test_no_file_names_a_package_registry(self):
        hosts = (
            r"pypi\.(?:org|python)|pythonhosted|download\.pytorch|anaconda\.org|conda-forge|npmjs|deb\.debian\.org"
            r"|--(?:extra-)?index-url|--find-links"
        )
        listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True)
        names = listed.stdout.splitlines() if listed.returncode == 0 else [relative(p) for p in files("*")]

        def offences():
            for path in (ROOT / name for name in names):
                if path == pathlib.Path(__file__).resolve() or not path.is_file():
                    continue
                for line, match in cpp_text.find_all(hosts, read(path)):
                    yield f"{relative(path)}:{line}: {match[0]}"

        self.none_of(offences(), "packages come from whatever registry the machine is set up for")

    def test_no_file_points_outside_the_repository(self):
        outside = r"\.\./shared\b|\bDESIGN\.md\b|\bDESIGN:"
        below = ["lib", "formats", "tools", "python", "tests", "bench", "docs", "samples"]
        listed = subprocess.run(["git", "ls-files", *below], cwd=ROOT, capture_output=True, text=True)
        names = listed.stdout.splitlines() if listed.returncode == 0 else [relative(p) for p in files("*", below=below)]

        def offences():
            for path in (ROOT / name for name in names):
                if path == pathlib.Path(__file__).resolve() or not path.is_file():
                    continue
                for line, match in cpp_text.find_all(outside, read(path)):
                    yield f"{relative(path)}:{line}: {match[0]}"

        self.none_of(offences(), "a comment says the fact itself: what it points to outside the repository no reader has")

    def test_links_in_documents_resolve(self):
        def offences():
            for page in documents():
                text = read(page)
                for line, link in markdown.links(text):
                    path, _, anchor = link.partition("#")
                    target = page.parent / path if path else page
                    if re.match(r"[a-z]+:", link):
                        continue  # another site
                    if not target.exists():
                        yield f"{relative(page)}:{line}: {link}: there is no such file"
                    elif anchor and anchor not in markdown.anchors(read(target)):
                        yield f"{relative(page)}:{line}: {link}: there is no such heading"

        self.none_of(offences(), "a relative link leads to a file of the repository, and its anchor to a heading")

    def test_every_page_is_in_the_index(self):
        index = read(ROOT / "docs/README.md")
        self.none_of((p.name for p in (ROOT / "docs").glob("*.md") if p.name != "README.md" and f"]({p.name}" not in index), "docs/README.md names every page")

    def test_the_api_page_is_what_the_docstrings_say(self):
        run = subprocess.run([sys.executable, ROOT / "docs/make_api.py", "--check"], capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stderr)

    def test_paths_in_documents_exist(self):
        def offences():
            for page in (page for page in documents() if page.name != "CHANGELOG.md"):  # which names what was
                for line, match in cpp_text.find_all(r"`((?:lib|formats|tools|tests|python|bench|samples|docs)/[\w./-]+)`", read(page)):
                    if not (ROOT / match[1]).exists():
                        yield f"{relative(page)}:{line}: {match[1]}"

        self.none_of(offences(), "a path that a document names in backquotes exists")

    def test_man_pages_and_options_agree(self):
        """Each page with the options of its command; those that many commands have may be on another page."""

        def offences():
            options = cpp_text.options_in(read(ROOT / "tools/option_table.cpp"))
            documented = {}
            for page in files("shale-*.1", below=("tools/man",)):
                items = "\n".join(line for line in read(page).replace("\\-", "-").splitlines() if line.startswith(".It "))
                documented[page.stem.removeprefix("shale-")] = set(re.findall(r"\bFl -([a-z][a-z0-9-]*)", items))
            common = "jobs memory progress quiet verbose json help".split()
            for name, commands in sorted(options.items()):
                yield from (f"--{name} of {one} is not in its man page" for one in commands if name not in documented[one] and name not in common)
            for command, names in sorted(documented.items()):
                yield from (f"--{name} in the man page of {command} is not one of its options" for name in names if command not in options.get(name, ()))

        self.none_of(offences(), "man pages name exactly the options that exist")


class TheRulesSeeWhatTheyShould(unittest.TestCase):
    """The readers of cpp_text on small sources: a rule that sees nothing would always pass."""

    def test_comments_and_literals_are_not_code(self):
        text = 'int a = 1\'000; // new\nauto s = "delete \\" // new"; /* free(\n */ auto r = R"x(new)")x"; char c = \'"\'; int z;'
        code = cpp_text.code_only(text)
        self.assertNotRegex(code, "new|delete|free")
        self.assertIn("int z;", code)
        self.assertEqual(code.count("\n"), text.count("\n"))
        self.assertEqual(len(code), len(text))

    def test_includes_are_read_with_their_lines(self):
        text = '#include <vector>\n// #include "no.hpp"\n#  include "shale/base/error.hpp"\n'
        self.assertEqual(list(cpp_text.includes(text)), [(1, "<", "vector"), (3, '"', "shale/base/error.hpp")])

    def test_functions_are_found_at_every_level(self):
        text = """namespace a {
constexpr int kTable[] = {f(1), 2};
template <class T, class U = std::pair<T, int>>
struct B final : public C<T> {
  B(int x) : y_{x}, z_(x) {
    if (x) { g(); }
  }
  bool operator==(const B&) const = default;
  B& operator=(B&& other) {
    return *this;
  }
  int y_ = g({1, 2});
};
const Format kRow = {
    .name = "x{",
    .kinds = {1, 2},
};
TEST_CASE("a: b") {
  auto l = [&](int v) { return v; };
}
void long_one(int a,
              int b) {

}
}  // namespace a
"""
        found = [(first, last, name) for first, last, name in cpp_text.functions(text)]
        self.assertEqual(
            found, [(5, 7, "B"), (9, 11, "operator="), (18, 20, "TEST_CASE"), (21, 24, "long_one")], "line by line"
        )

    def test_pipelines_before_other_members_are_found(self):
        before = "class A {\n  OrderedPipeline<int> pipeline_;\n  int used_ = 0;\n};\n"
        last = "class A {\n  int used_ = 0;\n  OrderedPipeline<int> one_{1};  // last\n  OrderedPipeline<int> two_;\n};\n"
        self.assertEqual(list(cpp_text.pipelines_before_other_members(before)), [(2, "pipeline_")])
        self.assertEqual(list(cpp_text.pipelines_before_other_members(last)), [])

    def test_links_and_anchors_are_read_from_a_page(self):
        page = "# One, `two` (3)\n[a](b.md#c) `[no](no)`\n```\n# no\n[no](no)\n```\n## A\n## A\n[d]: e\n"
        self.assertEqual(list(markdown.links(page)), [(2, "b.md#c"), (9, "e")])
        self.assertEqual(markdown.anchors(page), {"one-two-3", "a", "a-1"})

    def test_options_are_read_from_their_table(self):
        text = '{"ls cat "\n "report",\n "jobs", "N", "", "help"},\n // {"a", "no"}\n{"ls", "tsv", "", "", "{a}", kPlain, "x"},'
        self.assertEqual(cpp_text.options_in(text), {"jobs": {"ls", "cat", "report"}, "tsv": {"ls"}})

    def test_adjacent_literals_are_one_message(self):
        self.assertEqual(cpp_text.literal_value('"a {} "\n   "b"  '), "a {} b")


if __name__ == "__main__":
    unittest.main()
