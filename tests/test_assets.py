"""Weights and data: where they come from, what is refused, and what a room without wifi gets. No test needs the internet,
but for the one that is marked slow."""

import bz2
import contextlib
import csv
import hashlib
import http.server
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from autograder import cli, wheelhouse
from autograder.doctor import examine_assets
from autograder.paths import ROOT, TEMPLATES
from utils import assets

WEIGHTS = bytes(range(256)) * 4000
WORDS = b"[PAD]\n[UNK]\nthe\n"
REVISION = "0123456789abcdef0123456789abcdef01234567"
NOWHERE = "http://127.0.0.1:9"  # the discard port: nobody listens
HUB_PATH = f"/toys/encoder/resolve/{REVISION}"
WHEEL_NAME = "toy_encoder-1.0-py3-none-any.whl"


def toy_list(weights: bytes = WEIGHTS, words: bytes = WORDS) -> str:
    """Write an assets.toml of two assets, which one wheel ships and a hub has too."""
    text = ""
    for name, format, content, file in (
        ("weights", "safetensors", weights, "model.safetensors"),
        ("words", "txt", words, "vocab.txt"),
    ):
        text += (
            f'[{name}]\ntitle = "Toy {name}"\nused_in = "no chapter"\nlicence = "MIT"\nformat = "{format}"\n'
            f'size = {len(content)}\nsha256 = "{hashlib.sha256(content).hexdigest()}"\n'
            f'[{name}.wheel]\nrequirement = "toy-encoder==1.0"\nmember = "toy_encoder/{file}"\nsize = 4000\n'
            f'[{name}.hub]\nrepository = "toys/encoder"\nrevision = "{REVISION}"\nfile = "{file}"\n'
        )
    return text


def toy_wheel(members: dict[str, bytes], name: str = "toy_encoder", version: str = "1.0") -> bytes:
    """Make the bytes of a wheel that holds these files."""
    info = f"{name}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: {version}\nRequires-Python: >=3.99\n"
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in members.items():
            archive.writestr(path, content)
        archive.writestr(f"{info}/METADATA", metadata if name == "toy_encoder" else metadata.replace(">=3.99", ">=3.8"))
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return packed.getvalue()


class Source(http.server.ThreadingHTTPServer):
    """A package index and a hub on this machine: answers with `pages`, and remembers what it was asked for."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.pages: dict[str, bytes] = {}
        self.asked: list[str] = []
        self.cut_after: int | None = None  # send so many bytes of a file, and hang up
        self.stall = threading.Event()
        self.stall.set()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def ship(self, wheel: bytes) -> None:
        self.pages["/simple/toy-encoder/"] = f'<a href="/files/{WHEEL_NAME}">{WHEEL_NAME}</a>'.encode()
        self.pages[f"/files/{WHEEL_NAME}"] = wheel

    def times_asked(self, end: str) -> int:
        return sum(path.endswith(end) for path in self.asked)


class Answer(http.server.BaseHTTPRequestHandler):
    server: Source

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        content = self.server.pages.get(self.path)
        if content is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/html" if self.path.startswith("/simple") else "application/octet-stream")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        whole = self.path.startswith("/simple")
        half = len(content) if whole else len(content) // 2
        self.wfile.write(content[:half] if self.server.cut_after is None or whole else content[: self.server.cut_after])
        if whole or self.server.cut_after is not None:
            return
        self.wfile.flush()
        self.server.stall.wait(60)
        with contextlib.suppress(ConnectionError):  # whoever asked was stopped
            self.wfile.write(content[half:])

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def source() -> Iterator[Source]:
    server = Source()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.stall.set()
    server.shutdown()
    server.server_close()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: Source) -> Path:
    """An empty cache, the toy list, and pip and hub both pointed at `source`, which has nothing yet."""
    list_file = tmp_path / "assets.toml"
    list_file.write_text(toy_list())
    monkeypatch.setattr(assets, "LIST_FILE", list_file)
    folder = tmp_path / "cache"
    for name in [name for name in os.environ if name.startswith("PIP_") or name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    settings = {"COURSE_CACHE": folder, "HF_ENDPOINT": source.address, "PIP_INDEX_URL": f"{source.address}/simple"}
    settings |= {"PIP_CONFIG_FILE": os.devnull, "PIP_NO_CACHE_DIR": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    for name, value in settings.items():
        monkeypatch.setenv(name, str(value))
    return folder


def go_offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", f"{NOWHERE}/simple")
    monkeypatch.setenv("HF_ENDPOINT", NOWHERE)


def the_wheel() -> bytes:
    return toy_wheel({"toy_encoder/model.safetensors": WEIGHTS, "toy_encoder/vocab.txt": WORDS})


def kept(folder: Path) -> list[str]:
    """List what is in the cache, but for the lock."""
    return sorted(path.name for path in folder.rglob("*") if path.name != ".lock")


def put_in_cache(folder: Path, content: bytes = WEIGHTS) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / assets.all_assets()["weights"].file_name
    path.write_bytes(content)
    return path


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


def test_what_is_in_the_cache_is_given_and_nothing_is_asked(cache: Path, source: Source) -> None:
    path = put_in_cache(cache)
    assert assets.is_here("weights") and not assets.is_here("words")
    assert assets.asset("weights") == path
    assert not source.asked


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
def test_a_damaged_file_in_the_cache_is_said_and_replaced(cache: Path, source: Source, content: bytes) -> None:
    put_in_cache(cache, content)
    source.ship(the_wheel())
    said: list[str] = []
    path = assets.fetch(["weights"], say=said.append)["weights"]
    assert path.read_bytes() == WEIGHTS
    assert any("damaged" in line and str(path) in line for line in said)


def test_a_file_that_changes_after_it_was_found_intact_is_noticed(
    cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    path = put_in_cache(cache)
    assets.asset("weights")
    path.write_bytes(b"y" * len(WEIGHTS))
    os.utime(path, ns=(1, 1))
    go_offline(monkeypatch)
    with pytest.raises(assets.AssetMissing):
        assets.asset("weights")
    assert "damaged" in capsys.readouterr().out


def test_a_cache_that_cannot_be_written_is_said(cache: Path) -> None:
    cache.write_text("a file, no folder")
    with pytest.raises(assets.AssetMissing, match="COURSE_CACHE"):
        assets.asset("weights")


def test_an_unknown_name_lists_the_known_ones(cache: Path) -> None:
    with pytest.raises(KeyError, match="weights, words"):
        assets.asset("wieghts")


# The wheel


def test_one_download_of_the_wheel_gives_both_assets(cache: Path, source: Source) -> None:
    source.ship(the_wheel())
    assert assets.asset("words").read_bytes() == WORDS
    assert assets.asset("weights").read_bytes() == WEIGHTS
    assert source.times_asked(".whl") == 1
    assert kept(cache) == sorted(a.file_name for a in assets.all_assets().values())
    assert not [path for path in source.asked if path.startswith("/toys")]


def test_nothing_of_the_wheel_runs_and_nothing_else_of_it_is_kept(
    cache: Path, source: Source, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    marker = tmp_path / "it ran"
    code = f"open({str(marker)!r}, 'w')\n".encode()
    members = {"toy_encoder/model.safetensors": WEIGHTS, "toy_encoder/vocab.txt": WORDS}
    spoilt = {"toy_encoder/__init__.py": code, "setup.py": code, "toy.pth": b"import toy_encoder\n", "../../out": code}
    source.ship(toy_wheel(members | spoilt))
    assets.fetch()
    assert len(kept(cache)) == 2
    assert not marker.exists() and not (tmp_path / "out").exists() and not (tmp_path.parent / "out").exists()
    assert "toy_encoder" not in sys.modules


def test_a_source_distribution_is_not_taken(cache: Path, source: Source) -> None:
    page = '<a href="/files/toy_encoder-1.0.tar.gz">toy_encoder-1.0.tar.gz</a>'
    source.pages["/simple/toy-encoder/"] = page.encode()
    with pytest.raises(assets.AssetMissing, match="pip: No matching distribution"):
        assets.asset("words")
    assert source.times_asked(".tar.gz") == 0


def test_a_wheel_without_the_file_is_said(cache: Path, source: Source) -> None:
    source.ship(toy_wheel({"toy_encoder/other": b""}))
    with pytest.raises(
        assets.AssetMissing, match=r"toy-encoder==1.0 is damaged.*vocab|toy-encoder==1.0 is damaged.*model"
    ):
        assets.asset("words")


def test_a_python_without_pip_is_said(
    cache: Path, source: Source, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = tmp_path / "python"
    python.write_text('#!/bin/sh\necho "$0: No module named pip" >&2\nexit 1\n')
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    with pytest.raises(assets.AssetMissing, match=r"has no pip.*ensurepip"):
        assets.asset("words")


# The hub


def test_where_pip_finds_nothing_the_hub_is_asked_at_the_pinned_revision(cache: Path, source: Source) -> None:
    source.pages[f"{HUB_PATH}/vocab.txt"] = WORDS
    assert assets.asset("words").read_bytes() == WORDS
    assert source.asked[0] == "/simple/toy-encoder/" and source.asked[-1] == f"{HUB_PATH}/vocab.txt"


def test_a_wheel_with_another_file_is_refused_and_the_hub_helps(cache: Path, source: Source) -> None:
    source.ship(toy_wheel({"toy_encoder/model.safetensors": WEIGHTS, "toy_encoder/vocab.txt": WORDS[::-1]}))
    source.pages[f"{HUB_PATH}/vocab.txt"] = WORDS
    assert assets.asset("words").read_bytes() == WORDS


def test_a_hub_without_encryption_is_not_asked(cache: Path, source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
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
    cache: Path, source: Source, content: bytes, words: str, where: str
) -> None:
    if where == "wheel":
        source.ship(toy_wheel({"toy_encoder/model.safetensors": content, "toy_encoder/vocab.txt": WORDS}))
    else:
        source.pages[f"{HUB_PATH}/model.safetensors"] = content
    with pytest.raises(assets.AssetMissing, match=words):
        assets.asset("weights")
    assert not assets.is_here("weights")
    assert assets.all_assets()["weights"].file_name not in kept(cache)
    assert not [name for name in kept(cache) if name.startswith(assets.DRAFT)]


@pytest.mark.parametrize("where", ["wheel", "hub"])
def test_a_download_that_breaks_off_leaves_nothing_and_the_next_one_works(
    cache: Path, source: Source, where: str
) -> None:
    if where == "wheel":
        source.ship(the_wheel())
    source.pages[f"{HUB_PATH}/model.safetensors"] = WEIGHTS
    source.cut_after = 1000
    with pytest.raises(assets.AssetMissing):
        assets.asset("weights")
    assert not kept(cache)
    source.cut_after = None
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


def test_one_bad_file_in_a_wheel_does_not_spoil_the_other(cache: Path, source: Source) -> None:
    source.ship(toy_wheel({"toy_encoder/model.safetensors": WEIGHTS[::-1], "toy_encoder/vocab.txt": WORDS}))
    assert assets.asset("words").read_bytes() == WORDS
    assert not assets.is_here("weights")


def test_a_damaged_wheel_is_refused(cache: Path, source: Source) -> None:
    wheel = bytearray(the_wheel())
    wheel[2000:2100] = bytes(100)  # inside the compressed weights
    source.ship(bytes(wheel))
    with pytest.raises(assets.AssetMissing):
        assets.asset("weights")
    assert assets.all_assets()["weights"].file_name not in kept(cache)


# Without a connection


def test_without_a_connection_the_message_says_what_to_do(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_passwords_of_an_index_are_not_shown(cache: Path, source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", source.address.replace("//", "//ada:hunter2@") + "/simple")
    source.ship(toy_wheel({"toy_encoder/other": b""})[:-50])
    with pytest.raises(assets.AssetMissing) as caught:
        assets.asset("words")
    assert "hunter2" not in str(caught.value)
    assert assets._last_words("ERROR: no https://ada:hunter2@index/simple\n") == "no https://index/simple"


# Several at once, and broken off: whole processes, on copies of the module beside a list of their own


@pytest.fixture
def script(cache: Path, tmp_path: Path) -> list[str]:
    """The command line as learners have it: the module alone, with no package around it."""
    alone = tmp_path / "alone"
    alone.mkdir()
    shutil.copy(ROOT / "utils" / "assets.py", alone)
    shutil.copy(tmp_path / "assets.toml", alone)
    return [sys.executable, "-P", str(alone / "assets.py")]


def test_two_processes_at_once_download_once(cache: Path, source: Source, script: list[str]) -> None:
    source.ship(the_wheel())
    source.stall.clear()
    first, second = (subprocess.Popen(script, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in "ab")
    wait_until(lambda: source.times_asked(".whl") == 1)
    time.sleep(0.5)
    source.stall.set()
    spoken = [process.communicate(timeout=60) for process in (first, second)]
    assert first.returncode == second.returncode == 0, spoken
    assert source.times_asked(".whl") == 1
    assert sum("waiting for it" in out for out, _ in spoken) == 1
    assert len(kept(cache)) == 2


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
@pytest.mark.parametrize("where", ["wheel", "hub"])
def test_a_fetch_that_is_stopped_starts_cleanly_again(
    cache: Path,
    source: Source,
    script: list[str],
    how: signal.Signals,
    where: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if where == "wheel":
        source.ship(the_wheel())
    source.pages |= {f"{HUB_PATH}/model.safetensors": WEIGHTS, f"{HUB_PATH}/vocab.txt": WORDS}
    monkeypatch.setenv("PIP_TIMEOUT", "120")  # a pip that is not stopped too would go on waiting
    source.stall.clear()
    stopped = subprocess.Popen(
        script, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=hear_ctrl_c
    )
    wait_until(lambda: source.times_asked(".whl" if where == "wheel" else "model.safetensors") == 1)
    stopped.send_signal(how)
    _, said = stopped.communicate(timeout=30)
    assert stopped.returncode == (130 if how == signal.SIGINT else -9)
    if how == signal.SIGINT:
        assert said == "Stopped; nothing incomplete was kept.\n"
        assert not kept(cache)
    source.stall.set()
    again = subprocess.run(script, capture_output=True, text=True, timeout=60)
    assert again.returncode == 0, again.stderr
    assert kept(cache) == sorted(a.file_name for a in assets.all_assets().values())


def hear_ctrl_c() -> None:
    """Let a process be interrupted as at a terminal: what is started in the background of a shell inherits deafness."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def wait_until(true: "callable") -> None:
    for _ in range(600):
        if true():
            return
        time.sleep(0.05)
    raise AssertionError("it never came to that")


# The command lines


def test_the_module_alone_fetches_and_names_the_files(cache: Path, source: Source, script: list[str]) -> None:
    source.ship(the_wheel())
    done = subprocess.run([*script, "words"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and f"words: {cache}" in done.stdout and "weights:" not in done.stdout
    assert subprocess.run([*script, "--quiet"], capture_output=True, text=True, timeout=60).stdout == ""
    assert "no asset named wrods" in subprocess.run([*script, "wrods"], capture_output=True, text=True).stderr


def test_the_module_alone_fails_with_the_advice(
    cache: Path, script: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    go_offline(monkeypatch)
    done = subprocess.run([*script, "--quiet"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "make fetch" in done.stderr and "Traceback" not in done.stderr
    done = subprocess.run([*script, "--brief"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and done.stderr.startswith("Not fetched: weights, words (pip: ")
    assert len(done.stderr.splitlines()) == 1


def test_course_fetch_shows_what_is_there(cache: Path, source: Source) -> None:
    source.ship(the_wheel())
    done = CliRunner().invoke(cli.app, ["fetch"])
    assert done.exit_code == 0, done.output
    assert "✓ weights" in done.output and "1.0 MB" in done.output and "MIT" in done.output
    assert "".join(str(cache).split()) in "".join(done.output.split())


def test_course_fetch_fails_where_something_is_missing(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_in_cache(cache)
    go_offline(monkeypatch)
    done = CliRunner().invoke(cli.app, ["fetch"])
    assert done.exit_code == 1
    assert "✓ weights" in done.output and "not here words" in done.output and "make fetch" in done.output


@pytest.mark.parametrize(
    "arguments",
    [["wrods"], ["--bundle", "a.zip", "--install", "b.zip"], ["--install", "no.zip"], ["words", "--bundle", "a"]],
)
def test_a_wrong_call_of_course_fetch_is_said(cache: Path, arguments: list[str]) -> None:
    done = CliRunner().invoke(cli.app, ["fetch", *arguments])
    assert done.exit_code == 2 and "error:" in done.output and "Traceback" not in done.output


def test_doctor_lists_each_asset_and_what_to_do(cache: Path) -> None:
    put_in_cache(cache)
    findings = {finding.what: finding for finding in examine_assets()}
    assert findings["asset weights"].state == "good" and not findings["asset weights"].remedy
    assert (
        findings["asset words"].state == "missing" and "course fetch --install FILE" in findings["asset words"].remedy
    )


# A room without wifi


@pytest.fixture
def packed(cache: Path, source: Source, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file for a room without wifi with one small wheel; afterwards the cache is empty and the sources are gone."""
    put_in_cache(cache)
    (cache / assets.all_assets()["words"].file_name).write_bytes(WORDS)
    wheel = tmp_path / "nicety-2.0-py3-none-any.whl"
    wheel.write_bytes(toy_wheel({"nicety.py": b"answer = 42\n"}, "nicety", "2.0"))
    out = tmp_path / "room.zip"
    learners = {"Makefile": "learner_makefile", "README.md": "learner_readme.md.j2"}
    files = [(name, (TEMPLATES / file).read_bytes()) for name, file in learners.items()]
    files += [(name, (ROOT / name).read_bytes()) for name in ("pyproject.toml", "requirements.lock")]
    monkeypatch.setattr(wheelhouse, "bundle_files", lambda: files)
    assert wheelhouse.pack(out, lambda size: None, wheels=[wheel]) == 1
    shutil.rmtree(cache)
    assert not source.asked
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
    packed: Path, cache: Path, tmp_path: Path, source: Source
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
    assert not source.asked


def test_the_file_is_the_learners_course_too(packed: Path, tmp_path: Path, cache: Path) -> None:
    with zipfile.ZipFile(packed) as archive:
        archive.extractall(tmp_path / "unzipped")
    course = tmp_path / "unzipped" / "transformer-course"
    assert (course / "README.md").is_file()
    assert assets.install(course / "offline").assets == ["weights", "words"]
    assert assets.install(course).assets == ["weights", "words"]
    done = subprocess.run(["make", "-n", "lab"], cwd=course, capture_output=True, text=True, timeout=30)
    assert "--no-index --find-links .wheels" in done.stdout and '--install "offline"' in done.stdout


def test_course_fetch_installs_and_says_how_wheels_are_used(packed: Path, cache: Path) -> None:
    done = CliRunner().invoke(cli.app, ["fetch", "--install", str(packed)])
    assert done.exit_code == 0, done.output
    assert "✓ weights" in done.output and "--no-index --find-links" in done.output and "1 wheels" in done.output


def test_the_module_alone_installs(packed: Path, cache: Path, script: list[str], tmp_path: Path) -> None:
    command = [*script, "--install", str(packed), "--wheels", str(tmp_path / "wheels")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "In the cache now: weights, words." in done.stdout
    assert [path.name for path in (tmp_path / "wheels").iterdir()] == ["nicety-2.0-py3-none-any.whl"]


def test_an_asset_that_is_not_the_expected_one_is_refused(packed: Path, cache: Path) -> None:
    changed = altered(packed, {f"assets/{assets.all_assets()['weights'].file_name}": WEIGHTS[::-1]})
    with pytest.raises(assets.AssetRefused, match="not the file that the course expects"):
        assets.install(changed)
    assert not kept(cache)


def test_a_wheel_that_was_damaged_is_refused(packed: Path, cache: Path, tmp_path: Path) -> None:
    name = "wheels/nicety-2.0-py3-none-any.whl"
    for content, words in ((b"x", "cut short"), (None, "missing from the file")):
        with pytest.raises(assets.AssetRefused, match=words):
            assets.install(altered(packed, {name: content}), tmp_path / "wheels")
        assert not list((tmp_path / "wheels").iterdir())


def test_an_asset_that_the_file_lacks_is_named(packed: Path, cache: Path) -> None:
    installed = assets.install(altered(packed, {f"assets/{assets.all_assets()['words'].file_name}": None}))
    assert installed.assets == ["weights"] and installed.absent == ["words"]
    assert "Not in the file: words." in assets.describe(installed, packed)


def test_wheels_for_another_platform_are_refused_but_assets_fit_everywhere(
    packed: Path, cache: Path, tmp_path: Path
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
def test_a_manifest_that_leads_elsewhere_is_refused(packed: Path, cache: Path, tmp_path: Path, name: str) -> None:
    manifest = {"made_for": assets.this_platform(), "wheels": {name: (1, hashlib.sha256(b"x").hexdigest())}}
    changed = altered(packed, {"manifest.json": json.dumps(manifest).encode()})
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(assets.AssetRefused, match="no name of a wheel"):
        assets.install(changed, tmp_path / "wheels")
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("name", ["../../evil", "/etc/evil", "transformer-course/../../evil", "C:/evil", "a\\..\\evil"])
def test_a_zip_with_a_name_that_leads_elsewhere_is_refused(
    packed: Path, cache: Path, tmp_path: Path, name: str
) -> None:
    changed = altered(packed, {}, zipfile.ZipInfo(name))
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(assets.AssetRefused, match="leads outside"):
        assets.install(changed, tmp_path / "wheels")
    assert sorted(tmp_path.rglob("*")) == before


def test_a_link_in_the_zip_is_refused(packed: Path, cache: Path) -> None:
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
def test_a_file_without_a_sound_manifest_is_refused(packed: Path, cache: Path, manifest: bytes | None) -> None:
    with pytest.raises(assets.AssetRefused, match="manifest"):
        assets.install(altered(packed, {"manifest.json": manifest}))
    assert not kept(cache)


def test_a_file_that_is_no_zip_or_half_of_one_is_refused(packed: Path, cache: Path, tmp_path: Path) -> None:
    half = tmp_path / "half.zip"
    half.write_bytes(packed.read_bytes()[:-5000])
    with pytest.raises(assets.AssetRefused, match="Copy it again"):
        assets.install(half)
    with pytest.raises(assets.AssetMissing, match="no file"):
        assets.install(tmp_path / "absent.zip")
    with pytest.raises(assets.AssetRefused, match="no manifest"):
        assets.install(tmp_path)


def test_packing_fails_clearly_where_a_wheel_cannot_be_had(cache: Path, source: Source, tmp_path: Path) -> None:
    source.ship(the_wheel())
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


# make


def fake_course(folder: Path, makefile: Path, status: int) -> None:
    """A folder in which everything looks installed; fetching ends with `status`, JupyterLab and pytest leave a mark."""
    tools = folder / ".venv" / "bin"
    tools.mkdir(parents=True)
    (folder / "notebooks").mkdir()
    shutil.copy(makefile, folder / "Makefile")
    for name in ("pyproject.toml", "requirements.lock"):
        (folder / name).touch()
    fetching = f'#!/bin/sh\ncase "$*" in *assets.py*) echo "$*" >> "{folder}/fetched"; exit {status};; *pytest*) touch "{folder}/tested";; esac\n'
    for name, content in (
        ("python", fetching),
        ("jupyter", f'#!/bin/sh\ntouch "{folder}/opened"\n'),
        ("chromium", "#!/bin/sh\n"),
    ):
        (tools / name).write_text(content)
        (tools / name).chmod(0o755)
    (folder / ".venv" / ".installed").touch()


MAKEFILES = pytest.mark.parametrize(
    "makefile", [ROOT / "Makefile", TEMPLATES / "learner_makefile"], ids=["ours", "learners'"]
)


def make(folder: Path, *arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run(["make", *arguments], cwd=folder, capture_output=True, text=True, timeout=60)


@MAKEFILES
@pytest.mark.parametrize("status", [0, 1])
def test_make_lab_opens_whether_or_not_the_fetch_works(makefile: Path, status: int, tmp_path: Path) -> None:
    fake_course(tmp_path, makefile, status)
    done = make(tmp_path, "lab")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "opened").exists() and "assets.py" in (tmp_path / "fetched").read_text()
    assert "--brief" in (tmp_path / "fetched").read_text()
    assert done.stdout.count("Opening JupyterLab all the same") == status


@MAKEFILES
def test_make_takes_the_file_of_a_room_without_wifi(makefile: Path, tmp_path: Path) -> None:
    fake_course(tmp_path, makefile, 0)
    assert make(tmp_path, "fetch", "OFFLINE=the room.zip").returncode == 0
    assert "--install the room.zip" in (tmp_path / "fetched").read_text()


@MAKEFILES
def test_make_fetch_fails_where_the_fetch_fails(makefile: Path, tmp_path: Path) -> None:
    fake_course(tmp_path, makefile, 1)
    assert make(tmp_path, "fetch").returncode != 0


@pytest.mark.parametrize("status", [0, 1])
def test_make_test_tests_only_with_what_tests_need(status: int, tmp_path: Path) -> None:
    fake_course(tmp_path, ROOT / "Makefile", status)
    assert (make(tmp_path, "test").returncode == 0) == (status == 0)
    assert (tmp_path / "tested").exists() == (status == 0)


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
