"""The page of `shale report` in a real browser: it runs nothing of a hostile dataset, asks for nothing, and is readable for everybody."""

import base64
import hashlib
import html
import importlib.util
import io
import json
import os
import pathlib
import random
import re
import subprocess
import xml.etree.ElementTree

import numpy as np
import pytest
from conftest import SHALE, jpeg, run_shale, write
from headless_chromium import PROGRAM, Chromium
from PIL import Image

needs_chromium = pytest.mark.skipif(PROGRAM is None, reason="chromium is not installed (tests/install-deps.sh --peers installs it)")
XHTML = "{http://www.w3.org/1999/xhtml}"
THEMES, WIDTHS = ("light", "dark"), (1280, 320)
# What takes long looks at the pages one way on each run: SHALE_TEST_SEED decides which.
ONE_WAY = random.Random(os.environ.get("SHALE_TEST_SEED")).choice([(theme, width) for theme in THEMES for width in WIDTHS])
# What a page must never run: each sets window.pwned if it is taken for markup or script.
HOSTILE = (
    "<img src=x onerror=window.pwned=1>",
    '"><svg onload=window.pwned=1>',
    "' autofocus onfocus='window.pwned=1",
    "<script>window.pwned=1<",
    "javascript:window.pwned=1",
    "line\nfeed\u202egpj.\u05d0\u05d1",
    "&lt;b&gt;",
)


def page_of(dataset, out, *options, code=0):
    run_shale("report", dataset, "-o", out, *options, code=code)
    return out


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Chromium(tmp_path_factory.mktemp("chromium")) as browser:
        yield browser


@pytest.fixture(scope="module")
def plain_page(tmp_path_factory):
    """Photos of five classes, one of them nearly empty, with a torn one and a few odd ones."""
    root = tmp_path_factory.mktemp("report")
    for seed in range(90):
        write(root / "photos", f"class {min(seed % 7, 4)}/{seed:04}.jpg", jpeg(seed))
    write(root / "photos", "rare/alone.jpg", jpeg(1000))
    file = io.BytesIO()
    Image.frombytes("CMYK", (40, 30), random.Random(5).randbytes(4800)).save(file, "JPEG")
    write(root / "photos", "rare/cmyk.jpg", file.getvalue())
    run_shale("convert", root / "photos", root / "photos set", "--to", "record", "--shard-samples", "30")
    return page_of(root / "photos set", root / "report.html")


@pytest.fixture(scope="module")
def hostile_page(tmp_path_factory):
    """Names of the path, classes, keys and skipped files are markup and script."""
    root = tmp_path_factory.mktemp("hostile")
    for number, name in enumerate(HOSTILE):
        for seed in range(3):
            write(root / "in", f"{name}/{name} {seed}.jpg", jpeg(10 * number + seed))
        write(root / "in", f"{name}/torn {name}.jpg", jpeg(number)[:50])
    bad = os.fsencode(root / "in" / HOSTILE[0]) + b"/\xff\xfe<b>.jpg"
    pathlib.Path(os.fsdecode(bad)).write_bytes(jpeg(77))
    dataset = root / HOSTILE[1]
    run_shale("convert", root / "in", dataset, "--to", "record", "--on-error", "skip", code=4)
    return page_of(dataset, root / "report.html")


@pytest.fixture(scope="module")
def array_page(tmp_path_factory):
    """Numbers of every kind under names that are markup: small images, vectors, scalars, a constant, NaN."""
    root = tmp_path_factory.mktemp("arrays")
    dice = np.random.default_rng(3)
    columns = {
        "<img src=x onerror=pwned=1>": dice.random((50, 12, 12, 3)).astype("float32"),
        "vector": dice.normal(size=(50, 40)),
        "constant": np.ones(50, "int32"),
        "holes": np.where(dice.random(50) < 0.2, np.nan, dice.random(50)),
    }
    np.savez(root / "rows.npz", **columns)
    run_shale("convert", root / "rows.npz", root / "out", "--to", "hdf5")
    return page_of(root / "out", root / "report.html")


@pytest.fixture(scope="module")
def page_of_everything(tmp_path_factory):
    """From the unit test: every string of the facts is markup."""
    program = pathlib.Path(SHALE).parent / "tests/unit_report"
    if not program.exists():
        pytest.skip(f"{program} is not built")
    out = tmp_path_factory.mktemp("everything") / "report.html"
    word = "\"'><img src=x onerror=window.pwned=1></title></style><script>window.pwned=1</script>"
    environment = os.environ | {"SHALE_REPORT_PAGE_TO": str(out), "SHALE_REPORT_PAGE_WORD": word}
    subprocess.run([program, "-tc=report page: written to a file on request"], env=environment, check=True, capture_output=True)
    return out


PAGES = ("plain_page", "hostile_page", "array_page", "page_of_everything")


@pytest.fixture(params=PAGES)
def any_page(request):
    return request.getfixturevalue(request.param)


# ---- without a browser


def test_the_page_is_xml_and_its_policy_names_its_style_and_script_by_their_hashes(any_page):
    tree = xml.etree.ElementTree.parse(any_page)
    policy = tree.find(f".//{XHTML}meta[@http-equiv='Content-Security-Policy']").get("content")
    for tag, directive in (("style", "style-src"), ("script", "script-src")):
        elements = list(tree.iter(f"{XHTML}{tag}"))
        assert len(elements) == 1
        digest = base64.b64encode(hashlib.sha256(elements[0].text.encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy


def test_headings_go_down_one_step_at_a_time_and_tables_name_their_columns(any_page):
    tree = xml.etree.ElementTree.parse(any_page)
    levels = [int(each.tag[-1]) for each in tree.iter() if re.fullmatch(re.escape(XHTML) + "h[1-6]", each.tag)]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after <= before + 1 for before, after in zip(levels, levels[1:]))
    for table in tree.iter(f"{XHTML}table"):
        assert all(head.get("scope") in ("col", "row") for head in table.iter(f"{XHTML}th"))


# ---- in the browser


@needs_chromium
@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_a_page_shows_itself_without_errors_and_asks_for_nothing(browser, any_page, theme, width):
    page = browser.open(any_page, theme=theme, width=width)
    page.settled()
    assert page.problems == []
    assert page.requests[0] == any_page.as_uri()
    assert all(address.startswith("data:image/") for address in page.requests[1:])
    # Nothing has to be moved sideways to be read.
    assert page.value("document.scrollingElement.scrollWidth") <= width
    page.close()


@needs_chromium
def test_screenshots_of_themes_and_widths_are_not_empty_and_differ(browser, plain_page):
    page = browser.open(plain_page)
    seen = {}
    for theme in THEMES:
        for width in WIDTHS:
            page.look(theme=theme, width=width)
            page.settled()
            picture = Image.open(io.BytesIO(page.screenshot())).convert("L")
            assert picture.width == width
            pixels = np.asarray(picture, "int")
            assert len(np.unique(pixels)) > 20  # there is something on it
            seen[theme, width] = pixels
    for width in WIDTHS:
        assert np.median(seen["light", width]) > 200 and np.median(seen["dark", width]) < 60
        assert np.mean(seen["light", width] != seen["dark", width]) > 0.9
    # On a narrow screen the sections stand above, on a wide one beside.
    page.look(width=1280)
    assert page.value(
        "document.querySelector('nav').getBoundingClientRect().right <= document.querySelector('main').getBoundingClientRect().left"
    )
    page.look(width=320)
    assert page.value(
        "document.querySelector('nav').getBoundingClientRect().bottom <= document.querySelector('main').getBoundingClientRect().top"
    )
    page.close()


@needs_chromium
@pytest.mark.parametrize("name", ("hostile_page", "array_page", "page_of_everything"))
@pytest.mark.parametrize("scripts", (True, False))
def test_the_page_of_a_hostile_dataset_runs_nothing(browser, request, name, scripts):
    page = browser.open(request.getfixturevalue(name), scripts=scripts)
    assert page.value("typeof window.pwned") == "undefined"
    assert page.value("document.scripts.length") == 1
    # No element and no attribute has come from a name.
    assert (
        page.value(
            "document.querySelectorAll('[onerror],[onload],[onfocus],[onmouseover],[style],iframe,object,embed,base,img:not([src^=\"data:image/\"])').length"
        )
        == 0
    )
    assert page.problems == []
    page.close()


@needs_chromium
def test_the_policy_stops_what_escaping_would_let_through(browser, plain_page, tmp_path):
    """Had escaping failed, nothing would run all the same: the same page with markup put into it."""
    attack = "<script>window.pwned=1</script><img src='x' onerror='window.pwned=1'/><style>body{background:red}</style><b style='color:red'>b</b>"
    broken = tmp_path / "broken.html"
    broken.write_bytes(plain_page.read_bytes().replace(b"<main", attack.encode() + b"<main", 1))
    page = browser.open(broken)
    page.settled()
    assert page.value("typeof window.pwned") == "undefined"
    assert page.value("getComputedStyle(document.body).backgroundColor") != "rgb(255, 0, 0)"
    assert len(page.problems) >= 4  # the policy says so
    assert [address for address in page.requests[1:] if not address.startswith("data:")] == []
    page.close()


@needs_chromium
def test_names_are_shown_as_they_are(browser, hostile_page):
    page = browser.open(hostile_page)
    text = page.value("document.body.innerText")
    for name in HOSTILE:
        assert name.replace("\n", "\\n").replace("\u202e", "\\xe2\\x80\\xae") in text
    assert "\\xff\\xfe<b>" in text
    assert page.value("Array.from(document.querySelectorAll('bdi')).every((each) => getComputedStyle(each).unicodeBidi === 'isolate')")
    page.close()


def axe_source():
    """axe-core as a package for Playwright has it; only its script is used."""
    found = importlib.util.find_spec("axe_playwright_python")
    return next(pathlib.Path(found.submodule_search_locations[0]).glob("axe.min.js")).read_text() if found else None


@needs_chromium
@pytest.mark.skipif(axe_source() is None, reason="axe-playwright-python is not installed")
def test_axe_finds_nothing(browser, any_page):
    theme, width = ONE_WAY
    page = browser.open(any_page, theme=theme, width=width)
    page.value(axe_source() + "; true")
    enlarged = "location.hash = document.querySelector('.open')?.getAttribute('href') ?? ''"
    for state in ("true", "document.querySelectorAll('details').forEach((each) => each.open = true)", enlarged):
        page.value(state)
        page.settled()
        found = json.loads(page.value("axe.run().then((result) => JSON.stringify(result.violations))"))
        said = [(each["id"], node["html"][:200], node["failureSummary"]) for each in found for node in each["nodes"]]
        assert said == []
    page.close()


@needs_chromium
@pytest.mark.parametrize("scripts", (True, False))
def test_a_link_enlarges_a_figure_and_another_closes_it(browser, plain_page, scripts):
    page = browser.open(plain_page, scripts=scripts)
    small = page.value("document.querySelector('.open img').getBoundingClientRect().width")
    page.value("document.querySelector('.open').focus()")
    page.press("Enter") if scripts else page.value("location.hash = document.querySelector('.open').hash")
    large = page.value("document.querySelector('.sample:target .open img').getBoundingClientRect().width")
    assert large > 3 * small
    shown = page.value("document.querySelector('.sample:target .sample-facts').innerText")
    for word in ("Key", "Row", "Label", "Bytes", "Pixels"):
        assert word in shown
    page.value("location.hash = document.querySelector('.sample:target .close').hash")
    assert page.value("document.querySelector('.sample:target')") is None
    page.close()


@needs_chromium
def test_the_keyboard_opens_walks_and_closes(browser, plain_page):
    page = browser.open(plain_page)
    active = "document.activeElement.className + ' ' + (document.activeElement.closest('figure')?.id ?? '')"
    page.press("Tab")
    assert page.value(active).startswith("skip")
    page.value("document.querySelector('.open').focus()")
    page.press("Enter")
    assert page.value(active) == "close s1"
    assert page.value("document.querySelector('#s1').getAttribute('role')") == "dialog"
    page.press("ArrowRight")
    assert page.value(active) == "close s2"
    for expected in ("before s2", "after s2", "close s2"):
        page.press("Tab")  # goes round within the figure
        assert page.value(active) == expected
    page.press("Escape")
    assert page.value(active) == "open s2"
    assert page.value("document.querySelectorAll('[role=dialog]').length") == 0
    # What has the focus shows it.
    page.press("Tab")
    assert page.value("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    assert page.problems == []
    page.close()


@needs_chromium
def test_the_filter_leaves_one_class_and_heads_sort(browser, plain_page):
    page = browser.open(plain_page)
    page.value("(filter.value = 'RARE', filter.dispatchEvent(new Event('input')))")
    visible = (
        "Array.from(document.querySelectorAll('#classes tbody tr')).filter((row) => row.offsetHeight).map((row) => row.cells[1].innerText)"
    )
    assert page.value(visible) == ["rare"]
    assert page.value("document.getElementById('filter-count').value") == "1 of 6 classes shown"
    page.value("(filter.value = '', filter.dispatchEvent(new Event('input')))")
    assert len(page.value(visible)) == 6
    counts = "Array.from(document.querySelectorAll('#classes tbody tr'), (row) => Number(row.cells[2].innerText))"
    page.value("document.querySelectorAll('#classes thead button')[2].click()")
    assert page.value(counts) == sorted(page.value(counts), reverse=True)
    page.value("document.querySelectorAll('#classes thead button')[2].click()")
    assert page.value(counts) == sorted(page.value(counts))
    assert page.value("document.querySelectorAll('#classes thead th')[2].ariaSort") == "ascending"
    page.close()


@needs_chromium
def test_without_scripts_all_of_it_is_there_and_no_control_is_dead(browser, plain_page):
    with_scripts = browser.open(plain_page)
    without = browser.open(plain_page, scripts=False)
    assert without.value("document.getElementById('filter-bar').offsetHeight") == 0
    assert without.value("document.querySelectorAll('button').length") == 0
    assert without.value("document.querySelector('#classes').innerText") == with_scripts.value(
        "document.querySelector('#classes').innerText"
    )
    assert without.problems == []
    with_scripts.close()
    without.close()


@needs_chromium
def test_within_a_notebook_links_stay_in_the_page(browser, plain_page, tmp_path):
    """There the page is the srcdoc of a frame, whose links to places would lead to the notebook."""
    notebook = tmp_path / "notebook.html"
    notebook.write_text(f'<!doctype html><title>notebook</title><iframe srcdoc="{html.escape(plain_page.read_text())}"></iframe>')
    page = browser.open(notebook)
    page.settled()
    page.value("frames[0].document.querySelector('.open').click()")
    page.settled()
    assert page.value("frames[0].document.querySelector('.sample:target').id") == "s1"
    assert page.value("frames[0].document.activeElement.className") == "close"
    assert page.problems == []
    page.close()


@needs_chromium
def test_on_paper_there_are_no_controls_and_it_is_light(browser, plain_page):
    page = browser.open(plain_page, theme="dark", media="print")
    assert page.value("getComputedStyle(document.querySelector('nav')).display") == "none"
    assert page.value("getComputedStyle(document.body).backgroundColor") == "rgb(251, 251, 250)"
    pdf = base64.b64decode(page.ask("Page.printToPDF", printBackground=False)["data"])
    assert pdf.startswith(b"%PDF") and len(pdf) > 10_000
    page.close()
