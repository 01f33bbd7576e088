"""`make lab`, `make fetch` and `make test`: what becomes of them where fetching works, and where it fails."""

import shutil
import subprocess
from pathlib import Path

import pytest

from autograder.paths import ROOT, TEMPLATES


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
