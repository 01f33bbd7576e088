"""The reviews: read, cleaned, split by film; word pieces; and the recorded figure of chapter 07."""

import random
import re
from collections.abc import Sequence

import pytest
import torch

from benchmarks import labels_and_accuracy as benchmark
from utils import assets, labels_and_accuracy, linear_baselines, reviews, word_pieces
from utils.reviews import Review, Split

ROWS = [
    ("A fine film!", "fresh", "One"),
    ("a fine   film", "fresh", "Two"),
    ("Dull.", "rotten", "Two"),
    ("Somebody goes somewhere.", "plot", "One"),
]


def _needs(name: str) -> None:
    if not assets.is_here(name):
        pytest.skip(f"{name} isn't in the cache")


@pytest.fixture(scope="module")
def rows() -> list[tuple[str, str, str]]:
    _needs("reviews")
    return reviews.rows()


@pytest.fixture(scope="module")
def split(rows: list[tuple[str, str, str]]) -> Split:
    return reviews.split_by_film(rows)


@pytest.fixture(scope="module")
def pieces() -> word_pieces.WordPieces:
    _needs("minilm_vocab")
    return word_pieces.the_word_pieces()


def _films(side: Sequence[Review]) -> set[str]:
    return {review.film for review in side}


def test_a_review_is_kept_once_whatever_its_case_and_signs() -> None:
    kept = reviews.without_copies(ROWS)
    assert [(review.text, review.film) for review in kept] == [("A fine film!", "One"), ("Dull.", "Two")]


def test_the_corpus_has_the_known_size(rows: list[tuple[str, str, str]]) -> None:
    kept = reviews.without_copies(rows)
    assert len(kept) == 12_749
    assert len(_films(kept)) == 507
    assert len({re.sub(r"[^a-z0-9]+", "", review.text.lower()) for review in kept}) >= 12_700


def test_the_split_has_the_known_sizes(split: Split) -> None:
    sizes = [
        (len(side), len(_films(side)), sum(review.fresh for review in side))
        for side in (split.train, split.dev, split.test)
    ]
    assert sizes == [(10_119, 397, 5_830), (500, 40, 250), (1_000, 70, 500)]


def test_no_film_and_no_text_is_on_two_sides(split: Split) -> None:
    sides = (split.train, split.dev, split.test)
    assert sum(len(_films(side)) for side in sides) == len(set().union(*(_films(side) for side in sides)))
    assert len({review.text for side in sides for review in side}) == sum(map(len, sides))


def test_no_plot_is_of_a_film_that_is_held_out(split: Split, rows: list[tuple[str, str, str]]) -> None:
    films = {text: film for text, category, film in rows if category == "plot"}
    assert split.plots
    assert _films(split.dev + split.test).isdisjoint(films[text] for text in split.plots)


def test_another_seed_is_another_split(split: Split, rows: list[tuple[str, str, str]]) -> None:
    other = reviews.split_by_film(rows, seed=5)
    assert _films(other.test) != _films(split.test)
    assert reviews.split_by_film(rows) == split


def test_a_subset_is_balanced_and_drawn_by_seed(split: Split) -> None:
    first = reviews.subset(split.train, 64, 0)
    assert sum(review.fresh for review in first) == 32
    assert len(set(first)) == 64
    assert first == reviews.subset(split.train, 64, 0)
    assert first != reviews.subset(split.train, 64, 1)
    assert sorted(reviews.subset(split.train, None, 1), key=str) == sorted(split.train, key=str)


def test_ids_and_padding_fit_each_other(pieces: word_pieces.WordPieces) -> None:
    ids, padding = pieces(["A film.", "An unwatchable, overlong film"])
    assert ids.shape == (2, padding.shape[-1])
    assert padding.shape == (2, 1, ids.shape[1])
    assert pieces.tokens("A film.") == ["[CLS]", "a", "film", ".", "[SEP]"]
    assert padding[0, 0].tolist() == [True] * 5 + [False] * (ids.shape[1] - 5)
    assert bool((ids[~padding[:, 0]] == pieces.pad_id).all())
    assert ids[0, 0] == pieces.tokenizer.token_to_id("[CLS]")


def test_long_texts_are_cut(pieces: word_pieces.WordPieces) -> None:
    ids, _padding = pieces(["film " * 100])
    assert ids.shape == (1, word_pieces.MAX_LEN)
    assert pieces.tokens("film " * 100)[-1] == "[SEP]"


def test_batches_hold_every_review_once_with_its_label(split: Split, pieces: word_pieces.WordPieces) -> None:
    chosen = split.test[:50]
    batches = word_pieces.in_batches(chosen, 16, pieces, random.Random(0))
    assert sorted(len(labels) for _ids, _padding, labels in batches) == [2, 16, 16, 16]
    found = sorted(
        (tuple(row[mask[0]].tolist()), int(label)) for batch in batches for row, mask, label in zip(*batch, strict=True)
    )
    expected = [(tuple(pieces([review.text])[0][0].tolist()), int(review.fresh)) for review in chosen]
    assert found == sorted(expected)


def test_logistic_regression_finds_a_plane() -> None:
    numbers = torch.Generator().manual_seed(0)
    features = torch.randn(200, 5, generator=numbers)
    labels = (features @ torch.tensor([1.0, -2.0, 0.0, 0.5, 1.0]) > 0.3).long()
    fit = linear_baselines.logistic_regression(features, labels, 1e-5)
    assert (fit(features) == labels).float().mean() > 0.98


def test_a_bag_forgets_order_and_unknown_words() -> None:
    known = linear_baselines.vocabulary(["good not bad"])
    rows = linear_baselines.bags(["not good bad", "bad, not good at all"], known)
    assert torch.equal(rows[0], rows[1])
    assert torch.allclose(rows.norm(dim=1), torch.ones(2))


def test_the_recorded_runs_are_those_of_the_plan() -> None:
    measured = labels_and_accuracy.measured()
    planned = set(benchmark.plan())
    done = [(run["method"], None if run["all"] else run["labels"], run["seed"]) for run in measured["runs"]]
    assert len(set(done)) == len(done)
    assert set(done) <= planned
    assert measured["recipe"] == benchmark.RECIPE
    thousandths = [run["test"] * measured["test_reviews"] for run in measured["runs"]]
    assert all(abs(number - round(number)) < 1e-2 for number in thousandths)


def test_the_table_shows_means_of_the_runs() -> None:
    runs = labels_and_accuracy.accuracies("pretrained")[512]
    assert len(runs) == 3
    assert (
        f"**{100 * sum(runs) / 3:.1f}** ({100 * min(runs):.1f} to {100 * max(runs):.1f})" in labels_and_accuracy.table()
    )


def test_the_reading_takes_its_numbers_from_the_runs() -> None:
    text = labels_and_accuracy.reading()
    for method in labels_and_accuracy.METHODS:
        runs = labels_and_accuracy.accuracies(method)[512]
        assert f"{100 * sum(runs) / len(runs):.1f} %" in text
