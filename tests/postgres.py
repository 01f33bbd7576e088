"""A throw-away PostgreSQL server: made, started, and removed by whoever asks for it."""

import glob
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from autograder.sandbox import kernel

UNPRIVILEGED = ("postgres", "nobody")
MISSING = "no PostgreSQL server found: `make test` installs Debian's package, or: apt-get install postgresql"


def server_programs() -> Path:
    """Find the folder with initdb and pg_ctl; Debian keeps it out of the path."""
    on_path = shutil.which("initdb")
    folders = sorted(glob.glob("/usr/lib/postgresql/*/bin"), key=lambda path: int(Path(path).parent.name))
    found = [Path(os.path.realpath(on_path)).parent] if on_path else [Path(folder) for folder in folders[-1:]]
    assert found, MISSING
    return found[0]


def _unprivileged() -> dict[str, Any]:
    """Give as whom to run the server: PostgreSQL refuses to run as root."""
    if os.getuid() != 0:
        return {}
    for name in UNPRIVILEGED:
        try:
            user = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    raise AssertionError("no unprivileged user to run PostgreSQL as")


@contextmanager
def running_server() -> Iterator[str]:
    """Start a server that listens on a socket in a folder of its own; gives the URL of an empty database."""
    programs, as_whom = server_programs(), _unprivileged()
    folder = Path(tempfile.mkdtemp(prefix="postgres-"))  # short: a socket's path has room for 107 characters
    if as_whom:
        os.chown(folder, as_whom["user"], as_whom["group"])
    environment = {"PATH": f"{programs}:/usr/bin:/bin", "LC_ALL": "C", "HOME": str(folder)}

    def run(*command: str) -> None:
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120, **as_whom
        )
        assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"

    try:
        run(f"{programs}/initdb", "-D", "data", "-U", "course", "--auth=trust", "--no-sync", "-E", "UTF8")
        options = ["-c", "listen_addresses=", "-c", f"unix_socket_directories={folder}", "-c", "fsync=off"]
        with (folder / "log").open("w") as log:
            server = subprocess.Popen(
                [f"{programs}/postgres", "-D", "data", *options], cwd=folder, env=environment, stdout=log, stderr=log,
                preexec_fn=_end_with_parent, **as_whom,
            )  # fmt: skip
        try:
            _wait_until_ready([f"{programs}/pg_isready", "-h", str(folder)], server, folder / "log")
            run(f"{programs}/createdb", "-h", str(folder), "-U", "course", "gradebook")
            yield f"postgresql+psycopg://course@/gradebook?host={folder}"
        finally:
            server.send_signal(signal.SIGQUIT)
            server.wait(30)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _end_with_parent() -> None:
    """End the server where the tests are killed: nothing of it is worth keeping."""
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGQUIT)


def _wait_until_ready(ask: list[str], server: subprocess.Popen, log: Path) -> None:
    until = time.monotonic() + 120
    while subprocess.run(ask, capture_output=True, timeout=60).returncode != 0:
        assert server.poll() is None and time.monotonic() < until, f"PostgreSQL didn't start:\n{log.read_text()}"
        time.sleep(0.1)
