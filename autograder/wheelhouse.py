"""Pack one file for a room without wifi: the learners' bundle, every asset, and the wheels that notebooks need."""

import json
import shlex
import tempfile
import tomllib
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

from autograder.bundle import TOP, bundle_files, learner_pyproject
from autograder.paths import ROOT
from autograder.whole_file import written_whole
from utils import assets


def pack(out: Path, show: Callable[[int], object], pip_args: str = "", wheels: Sequence[Path] | None = None) -> int:
    """Write the file: unzipped, it is the learners' course with a folder `offline`, from which `make lab` installs.

    `show` is told how many bytes of wheels have come. `wheels` are taken instead of downloading any. Gives how many
    wheels are in it; raises AssetMissing where an asset or a wheel can't be had.
    """
    paths = assets.fetch()
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=".pack-") as scratch:
        chosen = download_wheels(Path(scratch), show, pip_args) if wheels is None else sorted(wheels)
        # What is compressed already is stored as it is.
        with written_whole(out, "wb") as stream, zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
            for name, content in bundle_files():
                archive.writestr(f"{TOP}/{name}", content, zipfile.ZIP_DEFLATED)
            for path in paths.values():
                archive.write(path, f"{assets.OFFLINE_FOLDER}/assets/{path.name}")
            for path in chosen:
                archive.write(path, f"{assets.OFFLINE_FOLDER}/wheels/{path.name}")
            archive.writestr(f"{assets.OFFLINE_FOLDER}/manifest.json", _manifest(chosen))
    return len(chosen)


def _manifest(wheels: Sequence[Path]) -> str:
    listed = {path.name: (path.stat().st_size, assets.sha256_of(path)) for path in wheels}
    return json.dumps({"made_for": assets.this_platform(), "wheels": listed}, indent=1) + "\n"


def download_wheels(scratch: Path, show: Callable[[int], object], pip_args: str) -> list[Path]:
    """Download what the learners' course needs on a machine like this one, what builds it included."""
    project = tomllib.loads(learner_pyproject())
    wanted = [*project["project"]["dependencies"], *project["build-system"]["requires"]]
    out = scratch / "wheels"
    locked = ["--constraint", str(ROOT / "requirements.lock")]
    assets.pip_download([*locked, *shlex.split(pip_args), *wanted], out, scratch, show)
    return sorted(out.glob("*.whl"))
