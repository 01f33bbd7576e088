"""Build the walls around learners' code, in two steps.

`enter_private_root` runs once in the warm process: a user and a mount namespace whose root holds the interpreter and its
packages, read-only, and nothing else. `isolate_worker` runs in every worker, before any of the learner's code: PID,
network, IPC, host-name and mount namespaces of its own, an empty scratch folder, a user without rights, Landlock, the
seccomp filter and limits.
"""

import os
import resource
import site
import sys
import sysconfig
from dataclasses import asdict, dataclass, field
from pathlib import Path

from autograder.sandbox import kernel, landlock, seccomp

NOBODY = 65534
SCRATCH = "/scratch"
SCRATCH_BYTES = 64 << 20
COURSE = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Layers:
    """Which walls stand. `strict` needs all of them."""

    namespaces: bool = True
    landlock: bool = True
    seccomp: bool = True
    limits: bool = True

    @property
    def complete(self) -> bool:
        """Whether no wall is missing."""
        return all(asdict(self).values())

    def missing(self) -> list[str]:
        """Name the walls that don't stand."""
        return [name for name, stands in asdict(self).items() if not stands]


@dataclass(frozen=True)
class Limits:
    """What one worker may use up."""

    memory: int = 2 << 30  # bytes beyond what the warm process has mapped
    cpu_seconds: int = 120
    open_files: int = 64
    file_bytes: int = 32 << 20
    threads: int = 64
    files: int = field(default=4096)  # inodes in the scratch folder


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)


def _new_user_namespace(more: int, uid: int, gid: int, inside: int = 0) -> None:
    """Enter a user namespace (and others) in which this process is `inside`; maps come before any mount."""
    kernel.unshare(kernel.CLONE_NEWUSER | more)
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"{inside} {uid} 1")
    _write("/proc/self/gid_map", f"{inside} {gid} 1")


def visible_folders() -> list[str]:
    """List the folders that the private root shows: interpreter, packages, shared libraries, and `utils`."""
    wanted = {
        sysconfig.get_paths()["stdlib"],
        sysconfig.get_paths()["platstdlib"],
        sysconfig.get_paths()["purelib"],
        sysconfig.get_paths()["platlib"],
        str(Path(sys.base_prefix) / "lib"),
        *site.getsitepackages(),
        "/usr/lib",
        "/lib",
        "/lib64",
        "/usr/lib64",
        "/usr/local/lib",
        str(COURSE / "utils"),
    }
    existing = sorted(os.path.realpath(path) for path in wanted if os.path.isdir(path) and not os.path.islink(path))
    kept: list[str] = []
    for path in existing:  # a folder inside another comes with it
        if not any(path == other or path.startswith(other + "/") for other in kept):
            kept.append(path)
    return kept


def _covered() -> list[str]:
    """List folders that no worker may see although they may lie inside a visible one."""
    return [str(COURSE / name) for name in ("autograder", "solutions", "tests", "notebooks", ".git", "benchmarks")]


def enter_private_root(mount_point: str) -> None:
    """Move this process into namespaces of its own, with a read-only root built on an empty folder.

    Works as root (which ends as nobody) and as an ordinary user. Afterwards this process has rights over mounts and
    namespaces in its own user namespace, and none outside. Its next child is the first of a PID namespace that belongs to
    that user namespace: only from there can further PID namespaces be entered and left.
    """
    uid, gid = os.getuid(), os.getgid()
    if uid == 0:
        kernel.unshare(kernel.CLONE_NEWNS)
    else:
        _new_user_namespace(kernel.CLONE_NEWNS | kernel.CLONE_NEWPID, uid, gid)
    kernel.mount(None, "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
    _build_root(mount_point)
    kernel.pivot_root_to(mount_point)
    if uid == 0:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
        kernel.prctl(kernel.PR_SET_DUMPABLE, 1)  # else /proc/self/uid_map belongs to root
        _new_user_namespace(kernel.CLONE_NEWPID, NOBODY, NOBODY)


def _build_root(root: str) -> None:
    kernel.mount("tmpfs", root, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, "size=1m,mode=755")
    for path in visible_folders():
        os.makedirs(root + path, exist_ok=True)
        kernel.mount(path, root + path, None, kernel.MS_BIND)
        kernel.add_mount_attributes(
            root + path, kernel.MOUNT_ATTR_RDONLY | kernel.MOUNT_ATTR_NOSUID | kernel.MOUNT_ATTR_NODEV
        )
    for path in _covered():
        if os.path.isdir(root + path):
            kernel.mount("tmpfs", root + path, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, "size=4k,mode=555")
    for link in ("/lib", "/lib64"):  # on systems where they are links into /usr
        if os.path.islink(link) and not os.path.lexists(root + link):
            os.symlink(os.readlink(link), root + link)
    os.makedirs(root + "/etc", exist_ok=True)
    for file in ("/etc/ld.so.cache", "/dev/null", "/dev/zero", "/dev/urandom", "/dev/random"):
        if os.path.exists(file):
            os.makedirs(os.path.dirname(root + file), exist_ok=True)
            _write(root + file, "")
            kernel.mount(file, root + file, None, kernel.MS_BIND)
    os.mkdir(root + SCRATCH)
    os.mkdir(root + "/proc")
    kernel.mount("/proc", root + "/proc", None, kernel.MS_BIND | kernel.MS_REC)
    kernel.add_mount_attributes(root, kernel.MOUNT_ATTR_RDONLY | kernel.MOUNT_ATTR_NOSUID, recursive=False)


def isolate_worker(layers: Layers, limits: Limits) -> None:
    """Put every wall around this process. Runs in a fresh fork whose PID namespace is new already."""
    if layers.namespaces:
        _enter_worker_namespaces(limits)
    kernel.prctl(kernel.PR_SET_PDEATHSIG, 9)  # no worker outlives the warm process
    os.umask(0o077)
    if layers.limits:
        set_limits(limits)
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    if layers.namespaces or layers.landlock or layers.seccomp:  # not where no wall was asked for
        kernel.drop_capabilities()
    kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
    if layers.landlock:
        landlock.restrict(read=["/"] if layers.namespaces else _readable_without_root(), write=_writable(layers))
    if layers.seccomp:
        seccomp.install(seccomp.program(os.getpid()))


def _enter_worker_namespaces(limits: Limits) -> None:
    own = os.open("/proc/self", os.O_PATH | os.O_DIRECTORY)
    kernel.unshare(kernel.CLONE_NEWNS | kernel.CLONE_NEWNET | kernel.CLONE_NEWIPC | kernel.CLONE_NEWUTS)
    plain = kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC
    options = f"size={SCRATCH_BYTES},nr_inodes={limits.files},mode=700,uid=0,gid=0"
    kernel.mount("tmpfs", SCRATCH, "tmpfs", plain, options)
    try:
        kernel.mount("proc", "/proc", "proc", plain)
    except OSError:  # a container that masks parts of /proc forbids a fresh one: then there is none
        kernel.mount("tmpfs", "/proc", "tmpfs", plain | kernel.MS_RDONLY, "size=4k")
    os.chdir(SCRATCH)
    kernel.unshare(kernel.CLONE_NEWUSER)  # no rights over the namespaces above
    for name, text in (("setgroups", "deny"), ("uid_map", "0 0 1"), ("gid_map", "0 0 1")):
        fd = os.open(name, os.O_WRONLY, dir_fd=own)
        os.write(fd, text.encode())
        os.close(fd)
    os.close(own)


def _readable_without_root() -> list[str]:
    """List what may be read where there are no namespaces: Landlock alone keeps the rest away."""
    devices = ["/dev/null", "/dev/zero", "/dev/urandom", "/dev/random", "/etc/ld.so.cache", "/proc/self"]
    return [path for path in (*visible_folders(), *devices) if os.path.exists(path)]


def _writable(layers: Layers) -> list[str]:
    return [SCRATCH if layers.namespaces else os.getcwd(), "/dev/null"]


def set_limits(limits: Limits) -> None:
    """Limit what this process may use up, for good."""
    with open("/proc/self/statm") as file:
        mapped = int(file.read().split()[0]) * resource.getpagesize()
    for which, amount in (
        (resource.RLIMIT_AS, mapped + limits.memory),
        (resource.RLIMIT_CPU, limits.cpu_seconds),
        (resource.RLIMIT_NOFILE, limits.open_files),
        (resource.RLIMIT_FSIZE, limits.file_bytes),
        (resource.RLIMIT_NPROC, limits.threads),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_MSGQUEUE, 0),
    ):
        hard = resource.getrlimit(which)[1]
        value = amount if hard == resource.RLIM_INFINITY else min(amount, hard)
        resource.setrlimit(which, (value, value))
