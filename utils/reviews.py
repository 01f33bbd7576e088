"""Reviews of films, fresh or rotten: read, cleaned, each kept once, and split so that no film is on two sides.

The corpus is one CSV file with a text, a category (fresh, rotten, or plot for a summary) and a film in each row.
"""

import bz2
import csv
import io
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from utils.assets import asset

SPLIT_SEED = 1234
TEST_FILMS, TEST_REVIEWS = 70, 1_000
DEV_FILMS, DEV_REVIEWS = 40, 500


@dataclass(frozen=True)
class Review:
    """One review: what it says, whether it calls the film fresh, and which film it is about."""

    text: str
    fresh: bool
    film: str


@dataclass(frozen=True)
class Split:
    """Reviews by side; test and dev are balanced, train is what is left. `plots` are summaries of films that aren't held out."""

    train: tuple[Review, ...]
    dev: tuple[Review, ...]
    test: tuple[Review, ...]
    plots: tuple[str, ...]


def rows(path: Path | None = None) -> list[tuple[str, str, str]]:
    """Read (text, category, film) of every row that has a text, with white space made single."""
    content = bz2.decompress((path or asset("reviews")).read_bytes()).decode("utf-8")
    found = []
    for row in csv.DictReader(io.StringIO(content)):
        text = re.sub(r"\s+", " ", row["text"]).strip()
        if text:
            found.append((text, row["category"], row["movie_name"]))
    return found


def without_copies(found: Sequence[tuple[str, str, str]]) -> list[Review]:
    """Keep each review once, the first time it occurs; case, punctuation and spaces don't make it another one."""
    seen: set[str] = set()
    reviews = []
    for text, category, film in found:
        plain = re.sub(r"[^a-z0-9]+", " ", text.lower()).strip()
        if category != "plot" and plain not in seen:
            seen.add(plain)
            reviews.append(Review(text, category == "fresh", film))
    return reviews


def balanced(reviews: Sequence[Review], count: int, generator: random.Random) -> tuple[Review, ...]:
    """Draw as many rotten reviews as fresh ones, `count` in all, in random order."""
    chosen: list[Review] = []
    for fresh in (False, True):
        chosen += generator.sample([review for review in reviews if review.fresh == fresh], count // 2)
    generator.shuffle(chosen)
    return tuple(chosen)


def split_by_film(found: Sequence[tuple[str, str, str]], seed: int = SPLIT_SEED) -> Split:
    """Share out the films, not the reviews: all that is said about one film is on one side."""
    reviews = without_copies(found)
    films = sorted({review.film for review in reviews})
    generator = random.Random(seed)
    generator.shuffle(films)
    test_films = set(films[:TEST_FILMS])
    dev_films = set(films[TEST_FILMS : TEST_FILMS + DEV_FILMS])
    held_out = test_films | dev_films
    test = balanced([review for review in reviews if review.film in test_films], TEST_REVIEWS, generator)
    dev = balanced([review for review in reviews if review.film in dev_films], DEV_REVIEWS, generator)
    train = tuple(review for review in reviews if review.film not in held_out)
    plots = tuple(text for text, category, film in found if category == "plot" and film not in held_out)
    return Split(train, dev, test, plots)


@cache
def the_split() -> Split:
    """Give the course's split of the corpus."""
    return split_by_film(rows())


def subset(reviews: Sequence[Review], count: int | None, seed: int) -> tuple[Review, ...]:
    """Draw a balanced subset by seed; with None all reviews, as they are, in random order."""
    generator = random.Random(seed)
    if count is not None:
        return balanced(reviews, count, generator)
    shuffled = list(reviews)
    generator.shuffle(shuffled)
    return tuple(shuffled)
