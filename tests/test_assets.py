"""Weights and data: where they come from, and what is refused. Only the test that is marked slow needs the internet."""

import bz2
import csv
import hashlib
import io
import os
import sys
from pathlib import Path

import pytest
from toy_assets import (
    HUB_PATH,
    REVISION,
    WEIGHTS,
    WORDS,
    Source,
    go_offline,
    kept,
    put_in_cache,
    the_wheel,
    toy_list,
    toy_wheel,
)

from utils import assets

# The list


def test_the_course_lists_three_assets_that_are_pinned_and_hashed() -> None:
    known = assets.all_assets()
    assert set(known) == {"minilm_weights", "minilm_vocab", "reviews"}
    assert known["minilm_weights"].sha256.startswith("53aa51172d142c89") and known["minilm_weights"].size == 90868376
    for asset in known.values():
        assert asset.wheel is not None and asset.licence and asset.title
        assert asset.wheel.member.endswith("." + asset.format)


@pytest.mark.parametrize("format", ["pt", "pkl", "bin", "npy", "py", "zip", "h5", "safetensors.py", "../csv"])
def test_a_format_that_could_execute_something_is_refused(format: str, tmp_path: Path) -> None:
    (tmp_path / "assets.toml").write_text(toy_list().replace('format = "txt"', f'format = "{format}"'))
    with pytest.raises(ValueError, match="only formats that execute nothing"):
        assets.all_assets(tmp_path / "assets.toml")


@pytest.mark.parametrize(
    ("pinned", "loose"),
    [
        ("toy-encoder==1.0", "toy-encoder>=1.0"),
        ("toy-encoder==1.0", "toy-encoder"),
        ("toy-encoder==1.0", "--index-url=http://elsewhere toy-encoder==1.0"),
        (REVISION, "main"),
        (hashlib.sha256(WORDS).hexdigest(), "not a hash"),
        ("[words", '["../words"'),
    ],
)
def test_what_is_not_pinned_is_refused(pinned: str, loose: str, tmp_path: Path) -> None:
    (tmp_path / "assets.toml").write_text(toy_list().replace(pinned, loose))
    with pytest.raises(ValueError, match=r"pin|needs its size|no name"):
        assets.all_assets(tmp_path / "assets.toml")


# The cache


def test_what_is_in_the_cache_is_given_and_nothing_is_asked(toy_cache: Path, toy_source: Source) -> None:
    path = put_in_cache(toy_cache)
    assert assets.is_here("weights") and not assets.is_here("words")
    assert assets.asset("weights") == path
    assert not toy_source.asked


def test_the_cache_lies_where_the_variables_say(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("COURSE_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    assert assets.cache_folder() == tmp_path / ".cache" / "transformer-course"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert assets.cache_folder() == tmp_path / "xdg" / "transformer-course"
    monkeypatch.setenv("COURSE_CACHE", str(tmp_path / "mine"))
    assert assets.cache_folder() == tmp_path / "mine"


@pytest.mark.parametrize("content", [WEIGHTS[:-1] + b"x", WEIGHTS[:100]], ids=["changed", "half"])
def test_a_damaged_file_in_the_cache_is_said_and_replaced(toy_cache: Path, toy_source: Source, content: bytes) -> None:
    put_in_cache(toy_cache, content)
    toy_source.ship(the_wheel())
    said: list[str] = []
    path = assets.fetch(["weights"], say=said.append)["weights"]
    assert path.read_bytes() == WEIGHTS
    assert any("damaged" in line and str(path) in line for line in said)


def test_a_file_that_changes_after_it_was_found_intact_is_noticed(
    toy_cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    path = put_in_cache(toy_cache)
    assets.asset("weights")
    path.write_bytes(b"y" * len(WEIGHTS))
    os.utime(path, ns=(1, 1))
    go_offline(monkeypatch)
    with pytest.raises(assets.AssetMissing):
        assets.asset("weights")
    assert "damaged" in capsys.readouterr().out


def test_a_cache_that_cannot_be_written_is_said(toy_cache: Path) -> None:
    toy_cache.write_text("a file, no folder")
    with pytest.raises(assets.AssetMissing, match="COURSE_CACHE"):
        assets.asset("weights")


def test_an_unknown_name_lists_the_known_ones(toy_cache: Path) -> None:
    with pytest.raises(KeyError, match="weights, words"):
        assets.asset("wieghts")


# The wheel


def test_one_download_of_the_wheel_gives_both_assets(toy_cache: Path, toy_source: Source) -> None:
    toy_source.ship(the_wheel())
    assert assets.asset("words").read_bytes() == WORDS
    assert assets.asset("weights").read_bytes() == WEIGHTS
    assert toy_source.times_asked(".whl") == 1
    assert kept(toy_cache) == sorted(a.file_name for a in assets.all_assets().values())
    assert not [path for path in toy_source.asked if path.startswith("/toys")]


def test_nothing_of_the_wheel_runs_and_nothing_else_of_it_is_kept(
    toy_cache: Path, toy_source: Source, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    marker = tmp_path / "it ran"
    code = f"open({str(marker)!r}, 'w')\n".encode()
    members = {"toy_encoder/model.safetensors": WEIGHTS, "toy_encoder/vocab.txt": WORDS}
    spoilt = {"toy_encoder/__init__.py": code, "setup.py": code, "toy.pth": b"import toy_encoder\n", "../../out": code}
    toy_source.ship(toy_wheel(members | spoilt))
    assets.fetch()
    assert len(kept(toy_cache)) == 2
    assert not marker.exists() and not (tmp_path / "out").exists() and not (tmp_path.parent / "out").exists()
    assert "toy_encoder" not in sys.modules


def test_a_source_distribution_is_not_taken(toy_cache: Path, toy_source: Source) -> None:
    page = '<a href="/files/toy_encoder-1.0.tar.gz">toy_encoder-1.0.tar.gz</a>'
    toy_source.pages["/simple/toy-encoder/"] = page.encode()
    with pytest.raises(assets.AssetMissing, match="pip: No matching distribution"):
        assets.asset("words")
    assert toy_source.times_asked(".tar.gz") == 0


def test_a_wheel_without_the_file_is_said(toy_cache: Path, toy_source: Source) -> None:
    toy_source.ship(toy_wheel({"toy_encoder/other": b""}))
    with pytest.raises(
        assets.AssetMissing, match=r"toy-encoder==1.0 is damaged.*vocab|toy-encoder==1.0 is damaged.*model"
    ):
        assets.asset("words")


def test_a_python_without_pip_is_said(
    toy_cache: Path, toy_source: Source, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = tmp_path / "python"
    python.write_text('#!/bin/sh\necho "$0: No module named pip" >&2\nexit 1\n')
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    with pytest.raises(assets.AssetMissing, match=r"has no pip.*ensurepip"):
        assets.asset("words")


# The hub


def test_where_pip_finds_nothing_the_hub_is_asked_at_the_pinned_revision(toy_cache: Path, toy_source: Source) -> None:
    toy_source.pages[f"{HUB_PATH}/vocab.txt"] = WORDS
    assert assets.asset("words").read_bytes() == WORDS
    assert toy_source.asked[0] == "/simple/toy-encoder/" and toy_source.asked[-1] == f"{HUB_PATH}/vocab.txt"


def test_a_wheel_with_another_file_is_refused_and_the_hub_helps(toy_cache: Path, toy_source: Source) -> None:
    toy_source.ship(toy_wheel({"toy_encoder/model.safetensors": WEIGHTS, "toy_encoder/vocab.txt": WORDS[::-1]}))
    toy_source.pages[f"{HUB_PATH}/vocab.txt"] = WORDS
    assert assets.asset("words").read_bytes() == WORDS


def test_a_hub_without_encryption_is_not_asked(
    toy_cache: Path, toy_source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://hub.invalid")
    with pytest.raises(assets.AssetMissing, match="not https"):
        assets.asset("words")


# What is refused


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (WEIGHTS[:-1] + b"x", "not the file that the course expects"),
        (WEIGHTS[:-1], "cut short or is another file"),
        (WEIGHTS + b"x" * 5_000_000, "more than 1,024,000 bytes"),
    ],
    ids=["changed", "short", "long"],
)
@pytest.mark.parametrize("where", ["wheel", "hub"])
def test_a_file_that_differs_is_refused_and_leaves_nothing(
    toy_cache: Path, toy_source: Source, content: bytes, words: str, where: str
) -> None:
    if where == "wheel":
        toy_source.ship(toy_wheel({"toy_encoder/model.safetensors": content, "toy_encoder/vocab.txt": WORDS}))
    else:
        toy_source.pages[f"{HUB_PATH}/model.safetensors"] = content
    with pytest.raises(assets.AssetMissing, match=words):
        assets.asset("weights")
    assert not assets.is_here("weights")
    assert assets.all_assets()["weights"].file_name not in kept(toy_cache)
    assert not [name for name in kept(toy_cache) if name.startswith(assets.DRAFT)]


@pytest.mark.parametrize("where", ["wheel", "hub"])
def test_a_download_that_breaks_off_leaves_nothing_and_the_next_one_works(
    toy_cache: Path, toy_source: Source, where: str
) -> None:
    if where == "wheel":
        toy_source.ship(the_wheel())
    toy_source.pages[f"{HUB_PATH}/model.safetensors"] = WEIGHTS
    toy_source.cut_after = 1000
    with pytest.raises(assets.AssetMissing):
        assets.asset("weights")
    assert not kept(toy_cache)
    toy_source.cut_after = None
    assert assets.asset("weights").read_bytes() == WEIGHTS


def test_no_more_is_read_than_the_size_that_is_expected(tmp_path: Path) -> None:
    class Endless(io.RawIOBase):
        given = 0

        def read(self, count: int = -1) -> bytes:
            self.given += count
            assert self.given < 10 * assets.BLOCK
            return bytes(count)

    with pytest.raises(assets.AssetRefused, match="more than 1,000 bytes"):
        assets._store(Endless(), tmp_path / "file", 1000, "0" * 64, lambda count: None)
    assert not list(tmp_path.iterdir())


def test_one_bad_file_in_a_wheel_does_not_spoil_the_other(toy_cache: Path, toy_source: Source) -> None:
    toy_source.ship(toy_wheel({"toy_encoder/model.safetensors": WEIGHTS[::-1], "toy_encoder/vocab.txt": WORDS}))
    assert assets.asset("words").read_bytes() == WORDS
    assert not assets.is_here("weights")


def test_a_damaged_wheel_is_refused(toy_cache: Path, toy_source: Source) -> None:
    wheel = bytearray(the_wheel())
    wheel[2000:2100] = bytes(100)  # inside the compressed weights
    toy_source.ship(bytes(wheel))
    with pytest.raises(assets.AssetMissing):
        assets.asset("weights")
    assert assets.all_assets()["weights"].file_name not in kept(toy_cache)


# Without a connection


def test_without_a_connection_the_message_says_what_to_do(toy_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    go_offline(monkeypatch)
    with pytest.raises(assets.AssetMissing) as caught:
        assets.fetch()
    message = str(caught.value)
    assert "weights (Toy weights, 1.0 MB), words (Toy words, 0.0 MB)" in message
    assert message.count("pip: the package index can't be reached") == 1
    assert message.count("hub: can't be reached") == 1
    for advice in (
        "make fetch",
        "course fetch",
        "course fetch --install FILE",
        "python -m utils.assets --install FILE",
    ):
        assert advice in message
    assert "Traceback" not in message and len(message.splitlines()) == 5


def test_passwords_of_an_index_are_not_shown(
    toy_cache: Path, toy_source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", toy_source.address.replace("//", "//ada:hunter2@") + "/simple")
    toy_source.ship(toy_wheel({"toy_encoder/other": b""})[:-50])
    with pytest.raises(assets.AssetMissing) as caught:
        assets.asset("words")
    assert "hunter2" not in str(caught.value)
    assert assets._last_words("ERROR: no https://ada:hunter2@index/simple\n") == "no https://index/simple"


# The real ones


@pytest.mark.slow
def test_the_real_assets_can_be_fetched_and_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from safetensors import safe_open

    monkeypatch.setenv("COURSE_CACHE", str(tmp_path))
    try:
        paths = assets.fetch()
    except assets.AssetMissing as error:
        if "index can't be reached" in str(error):
            pytest.skip("no connection to a package index")
        raise
    with safe_open(paths["minilm_weights"], "pt") as weights:
        assert weights.get_tensor("embeddings.word_embeddings.weight").shape == (30522, 384)
    words = paths["minilm_vocab"].read_text(encoding="utf-8").splitlines()
    assert len(words) == 30522 and words[0] == "[PAD]" and words[101:104] == ["[CLS]", "[SEP]", "[MASK]"]
    with bz2.open(paths["reviews"], "rt", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 12808 + 1097
    assert not [name for name in os.listdir(tmp_path) if name.startswith(assets.DRAFT)]
