"""What the chapters say about measurements that were made beforehand is what was measured."""

import json
from statistics import mean

import pytest

from autograder.paths import ROOT
from autograder.sources import read_source
from utils.catalogue import find_chapter

MEASURED = ROOT / "utils" / "measured"


@pytest.fixture(scope="module")
def reviews() -> dict:
    return json.loads((MEASURED / "masked_words_on_reviews.json").read_text())


@pytest.fixture(scope="module")
def reversal() -> dict[str, list[float]]:
    runs = json.loads((MEASURED / "reversal.json").read_text())["runs"]
    return {name: [run["test"] for run in each] for name, each in runs.items()}


@pytest.fixture(scope="module")
def labels() -> dict[tuple[str, int], list[float]]:
    found: dict[tuple[str, int], list[float]] = {}
    for run in json.loads((MEASURED / "labels_and_accuracy.json").read_text())["runs"]:
        found.setdefault((run["method"], run["labels"]), []).append(run["test"])
    return found


def test_two_minutes_on_real_text_bring_a_few_points_and_a_bag_of_words_more(reviews: dict) -> None:
    accuracy = {start: mean(values["512"]) for start, values in reviews["test_accuracy"].items()}
    assert 0.01 < accuracy["masked words first"] - accuracy["from scratch"] < 0.06
    assert accuracy["bag of words"] > accuracy["masked words first"]
    assert 2.8 < reviews["curve"][-1]["accuracy"] / reviews["counting"]["accuracy"] < 3.5  # "three times as many"


def test_one_state_fails_at_reversal_and_attention_does_not(reversal: dict[str, list[float]]) -> None:
    assert max(reversal["LSTM"]) < 0.2
    assert min(reversal["LSTM with attention"]) > 0.99  # "learned the task in all three runs"
    assert sum(share < 0.97 for share in reversal["Transformer"]) == 2  # "still on its way in two of them"
    assert all(len(values) == 3 for values in reversal.values())


@pytest.mark.parametrize("method", ["pretrained", "frozen", "random", "bag of words"])
def test_every_method_has_three_runs_for_each_number_of_labels(labels: dict, method: str) -> None:
    assert all(len(labels[method, count]) == 3 for count in (64, 256, 512, 1024))
    most = max(count for _method, count in labels)
    assert len(labels[method, most]) == (
        3 if method in ("pretrained", "random") else 1
    )  # regressions roll no dice there


def test_with_all_labels_the_bag_of_words_is_level_and_fine_tuning_ahead(labels: dict) -> None:
    most = max(count for _method, count in labels)
    bag, frozen, random = (mean(labels[method, most]) for method in ("bag of words", "frozen", "random"))
    assert max(bag, frozen, random) - min(bag, frozen, random) < 0.03  # "stands level"
    lead = {n: mean(labels["pretrained", n]) - mean(labels["bag of words", n]) for n in (64, 256, 512, 1024, most)}
    assert lead[most] > 0.05  # "ahead with ten thousand, too"
    assert lead[most] < min(lead[n] for n in (64, 256, 512, 1024))  # "pays most where labels are few"


def test_pretraining_pays_where_labels_are_few(labels: dict) -> None:
    for count in (256, 512, 1024):
        assert min(labels["pretrained", count]) > max(labels["random", count])
        assert min(labels["pretrained", count]) > max(labels["bag of words", count])


@pytest.mark.parametrize("chapter", ["06", "07"])
def test_no_figure_is_left_to_be_filled_in(chapter: str) -> None:
    assert "RUNTIME" not in "".join(cell.source for cell in read_source(find_chapter(chapter)).cells)
