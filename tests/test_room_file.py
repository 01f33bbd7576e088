"""The file for a room without wifi: what it brings, and what of a damaged or a forged one is refused."""

import hashlib
import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from toy_assets import WEIGHTS, WORDS, Source, kept, put_in_cache, the_wheel, toy_wheel
from typer.testing import CliRunner

from autograder import cli, wheelhouse
from autograder.paths import ROOT, TEMPLATES
from utils import assets


@pytest.fixture
def packed(toy_cache: Path, toy_source: Source, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file for a room without wifi with one small wheel; afterwards the cache is empty and the sources are gone."""
    put_in_cache(toy_cache)
    (toy_cache / assets.all_assets()["words"].file_name).write_bytes(WORDS)
    wheel = tmp_path / "nicety-2.0-py3-none-any.whl"
    wheel.write_bytes(toy_wheel({"nicety.py": b"answer = 42\n"}, "nicety", "2.0"))
    out = tmp_path / "room.zip"
    learners = {"Makefile": "learner_makefile", "README.md": "learner_readme.md.j2"}
    files = [(name, (TEMPLATES / file).read_bytes()) for name, file in learners.items()]
    files += [(name, (ROOT / name).read_bytes()) for name in ("pyproject.toml", "requirements.lock")]
    monkeypatch.setattr(wheelhouse, "bundle_files", lambda: files)
    assert wheelhouse.pack(out, lambda size: None, wheels=[wheel]) == 1
    shutil.rmtree(toy_cache)
    assert not toy_source.asked
    return out


def altered(packed: Path, changes: dict[str, bytes | None], extra: zipfile.ZipInfo | None = None) -> Path:
    """Write the file again with other contents below `offline/`; None leaves one out."""
    out = packed.with_name("altered.zip")
    with zipfile.ZipFile(packed) as old, zipfile.ZipFile(out, "w") as new:
        for entry in old.infolist():
            short = entry.filename.removeprefix(assets.OFFLINE_FOLDER + "/")
            content = changes.get(short, old.read(entry))
            if content is not None:
                new.writestr(entry.filename, content)
        if extra is not None:
            new.writestr(extra, b"/etc/passwd")
    return out


def test_the_file_brings_assets_and_wheels_without_a_connection(
    packed: Path, toy_cache: Path, tmp_path: Path, toy_source: Source
) -> None:
    installed = assets.install(packed, tmp_path / "wheels")
    assert installed.assets == ["weights", "words"] and not installed.absent
    assert assets.asset("weights").read_bytes() == WEIGHTS
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-index", "--find-links", tmp_path / "wheels"]
    done = subprocess.run(
        [*command, "--target", tmp_path / "site", "nicety"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "site" / "nicety.py").read_text() == "answer = 42\n"
    assert not toy_source.asked


def test_the_file_is_the_learners_course_too(packed: Path, tmp_path: Path, toy_cache: Path) -> None:
    with zipfile.ZipFile(packed) as archive:
        archive.extractall(tmp_path / "unzipped")
    course = tmp_path / "unzipped" / "transformer-course"
    assert (course / "README.md").is_file()
    assert assets.install(course / "offline").assets == ["weights", "words"]
    assert assets.install(course).assets == ["weights", "words"]
    done = subprocess.run(["make", "-n", "lab"], cwd=course, capture_output=True, text=True, timeout=30)
    assert "--no-index --find-links .wheels" in done.stdout and '--install "offline"' in done.stdout


def test_course_fetch_installs_and_says_how_wheels_are_used(packed: Path, toy_cache: Path) -> None:
    done = CliRunner().invoke(cli.app, ["fetch", "--install", str(packed)])
    assert done.exit_code == 0, done.output
    assert "✓ weights" in done.output and "--no-index --find-links" in done.output and "1 wheels" in done.output


def test_the_module_alone_installs(packed: Path, toy_cache: Path, module_alone: list[str], tmp_path: Path) -> None:
    command = [*module_alone, "--install", str(packed), "--wheels", str(tmp_path / "wheels")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "In the cache now: weights, words." in done.stdout
    assert [path.name for path in (tmp_path / "wheels").iterdir()] == ["nicety-2.0-py3-none-any.whl"]


def test_an_asset_that_is_not_the_expected_one_is_refused(packed: Path, toy_cache: Path) -> None:
    changed = altered(packed, {f"assets/{assets.all_assets()['weights'].file_name}": WEIGHTS[::-1]})
    with pytest.raises(assets.AssetRefused, match="not the file that the course expects"):
        assets.install(changed)
    assert not kept(toy_cache)


def test_a_wheel_that_was_damaged_is_refused(packed: Path, toy_cache: Path, tmp_path: Path) -> None:
    name = "wheels/nicety-2.0-py3-none-any.whl"
    for content, words in ((b"x", "cut short"), (None, "missing from the file")):
        with pytest.raises(assets.AssetRefused, match=words):
            assets.install(altered(packed, {name: content}), tmp_path / "wheels")
        assert not list((tmp_path / "wheels").iterdir())


def test_an_asset_that_the_file_lacks_is_named(packed: Path, toy_cache: Path) -> None:
    installed = assets.install(altered(packed, {f"assets/{assets.all_assets()['words'].file_name}": None}))
    assert installed.assets == ["weights"] and installed.absent == ["words"]
    assert "Not in the file: words." in assets.describe(installed, packed)


def test_wheels_for_another_platform_are_refused_but_assets_fit_everywhere(
    packed: Path, toy_cache: Path, tmp_path: Path
) -> None:
    with zipfile.ZipFile(packed) as archive:
        manifest = json.loads(archive.read(f"{assets.OFFLINE_FOLDER}/manifest.json"))
    manifest["made_for"]["python"] = "3.99"
    changed = altered(packed, {"manifest.json": json.dumps(manifest).encode()})
    with pytest.raises(assets.AssetRefused, match=r"fit Python 3\.99"):
        assets.install(changed, tmp_path / "wheels")
    assert not (tmp_path / "wheels").exists()
    assert assets.install(changed).assets == ["weights", "words"]


@pytest.mark.parametrize(
    "name", ["../evil.whl", "/tmp/evil.whl", "..\\evil.whl", "a/../../evil.whl", "evil.py", ".whl", ""]
)
def test_a_manifest_that_leads_elsewhere_is_refused(packed: Path, toy_cache: Path, tmp_path: Path, name: str) -> None:
    manifest = {"made_for": assets.this_platform(), "wheels": {name: (1, hashlib.sha256(b"x").hexdigest())}}
    changed = altered(packed, {"manifest.json": json.dumps(manifest).encode()})
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(assets.AssetRefused, match="no name of a wheel"):
        assets.install(changed, tmp_path / "wheels")
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("name", ["../../evil", "/etc/evil", "transformer-course/../../evil", "C:/evil", "a\\..\\evil"])
def test_a_zip_with_a_name_that_leads_elsewhere_is_refused(
    packed: Path, toy_cache: Path, tmp_path: Path, name: str
) -> None:
    changed = altered(packed, {}, zipfile.ZipInfo(name))
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(assets.AssetRefused, match="leads outside"):
        assets.install(changed, tmp_path / "wheels")
    assert sorted(tmp_path.rglob("*")) == before


def test_a_link_in_the_zip_is_refused(packed: Path, toy_cache: Path) -> None:
    link = zipfile.ZipInfo("transformer-course/offline/assets/link")
    link.external_attr = 0o120777 << 16
    with pytest.raises(assets.AssetRefused, match="leads outside"):
        assets.install(altered(packed, {}, link))


@pytest.mark.parametrize(
    "manifest",
    [
        None,
        b"",
        b"[]",
        b"{}",
        b"not json",
        b'{"wheels": 3, "made_for": {}}',
        b'{"wheels": {"a.whl": 1}, "made_for": {}}',
    ],
)
def test_a_file_without_a_sound_manifest_is_refused(packed: Path, toy_cache: Path, manifest: bytes | None) -> None:
    with pytest.raises(assets.AssetRefused, match="manifest"):
        assets.install(altered(packed, {"manifest.json": manifest}))
    assert not kept(toy_cache)


def test_a_file_that_is_no_zip_or_half_of_one_is_refused(packed: Path, toy_cache: Path, tmp_path: Path) -> None:
    half = tmp_path / "half.zip"
    half.write_bytes(packed.read_bytes()[:-5000])
    with pytest.raises(assets.AssetRefused, match="Copy it again"):
        assets.install(half)
    with pytest.raises(assets.AssetMissing, match="no file"):
        assets.install(tmp_path / "absent.zip")
    with pytest.raises(assets.AssetRefused, match="no manifest"):
        assets.install(tmp_path)


def test_packing_fails_clearly_where_a_wheel_cannot_be_had(toy_cache: Path, toy_source: Source, tmp_path: Path) -> None:
    toy_source.ship(the_wheel())
    out = tmp_path / "packs" / "room.zip"
    with pytest.raises(assets.AssetMissing, match="pip: "):
        wheelhouse.pack(out, lambda size: None)
    assert not list(out.parent.iterdir())


def test_what_is_packed_covers_what_the_learners_course_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(assets, "pip_download", lambda arguments, *rest: asked.extend(arguments))
    wheelhouse.download_wheels(tmp_path, lambda size: None, "--index-url=https://elsewhere")
    names = {word.split(">")[0] for word in asked}
    assert {"torch", "jupyterlab", "safetensors", "setuptools"} <= names and "nbgrader" not in names
    assert "--index-url=https://elsewhere" in asked and str(ROOT / "requirements.lock") in asked
