"""The Python in docs/sampling.md and docs/shuffle.md gives the numbers in the tables of these pages, as the C++ unit tests do."""

import itertools

import pytest
from conftest import ROOT
from documented_code import blocks_of


def names_left_by(page, marker):
    """What the page's program defines."""
    (block,) = (parameter.values[0] for parameter in blocks_of([page], marker))
    assert block is not None, f"{page} has no program after <!-- test: {marker} -->"
    names = {}
    exec(compile(block, page, "exec"), names)
    return names


def table(page, header):
    """The cells of each row of the table with this header line."""
    lines = (ROOT / page).read_text(encoding="utf-8").splitlines()
    begin = lines.index(header) + 2
    rows = itertools.takewhile(lambda line: line.startswith("|"), lines[begin:])
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    assert cells, f"{page} has no rows below {header}"
    return cells


def integers(header):
    return [tuple(map(int, row)) for row in table("docs/sampling.md", header)]


def lists(header):
    return [[cell.split() for cell in row] for row in table("docs/sampling.md", header)]


def sums_of(weights):
    return list(itertools.accumulate(weights, initial=0)).__getitem__


@pytest.fixture(scope="module")
def program():
    return names_left_by("docs/sampling.md", "sampling")


@pytest.fixture(scope="module")
def permutation():
    return names_left_by("docs/shuffle.md", "shuffle")["permutation"]


def test_binomial_numbers(program):
    for key, trials, a, b, successes in integers("| key | trials | a | b | successes |"):
        assert program["binomial"](key, trials, a, b) == successes, (key, trials, a, b)


def test_rows_of_ranks(program):
    for n, draws, seed, rank, row in integers("| n | N | seed | rank | row |"):
        assert program["row_of"](n, draws, seed, rank) == row, (n, draws, seed, rank)


def test_rows_by_weights(program):
    for weights, (draws,), (seed,), rows in lists("| weights | N | seed | rows of all ranks |"):
        sums, n = sums_of(map(int, weights)), len(weights)
        found = [program["row_of"](n, int(draws), int(seed), rank, sums) for rank in range(int(draws))]
        assert found == [int(row) for row in rows], weights


def test_rows_by_many_weights(program):
    for n, draws, seed, rank, row in integers("| n | N | seed | a rank | its row |"):
        sums = sums_of(i * i % 1000 for i in range(n))
        assert program["row_of"](n, draws, seed, rank, sums) == row, (n, draws, seed, rank)


def test_weights_as_integers(program):
    for weights, fixed in lists("| weights | integers |"):
        numbers = [int(w) if w.isdigit() else float(w) for w in weights]
        found = program["as_integers"](numbers)
        assert found == [int(f) for f in fixed], weights
        assert sum(found) < 2**62


def test_whole_draws(program, permutation):
    for (n,), (draws,), (seed,), rows in lists("| n | N | seed | rows of all slots |"):
        found = program["slots"](int(n), int(draws), int(seed), permutation)
        assert found == [int(row) for row in rows], (n, draws, seed)


def test_shuffled_orders(permutation):
    for row in table("docs/shuffle.md", "| n | seed | i | at(i) |"):
        n, seed, i, sample = map(int, row)
        assert permutation(n, seed)(i) == sample, (n, seed, i)
