"""Linux system calls that Python 3.11 has no name for: namespaces, mounts, prctl. By ctypes, so a fresh machine needs no
package; every call raises OSError with the kernel's reason."""

import ctypes
import os
import platform

libc = ctypes.CDLL(None, use_errno=True)

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC = 0x00020000, 0x04000000, 0x08000000
CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC = 1, 2, 4, 8
MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 32, 4096, 16384, 1 << 18
MNT_DETACH = 2
MOUNT_ATTR_RDONLY, MOUNT_ATTR_NOSUID, MOUNT_ATTR_NODEV, MOUNT_ATTR_NOEXEC = 1, 2, 4, 8
AT_FDCWD, AT_RECURSIVE = -100, 0x8000
MADV_COLLAPSE = 25
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS = 1, 4, 38
PR_CAPBSET_DROP, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 24, 47, 4
LAST_CAPABILITY = 40

# Numbers of calls without a function in older C libraries; the same on x86-64 and arm64 from 424 on.
SYS_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
SYS_SECCOMP = {"x86_64": 317, "aarch64": 277}
SYS_CAPSET = {"x86_64": 126, "aarch64": 91}
SYS_MOUNT_SETATTR = 442
SYS_LANDLOCK_CREATE_RULESET, SYS_LANDLOCK_ADD_RULE, SYS_LANDLOCK_RESTRICT_SELF = 444, 445, 446

MACHINE = platform.machine()


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def syscall(number: int, *args: int | bytes | ctypes.Array | ctypes.Structure | None) -> int:
    """Make a system call by number; OSError where the kernel refuses."""
    return _checked(libc.syscall(ctypes.c_long(number), *args), f"system call {number}")


def use_huge_pages() -> int:
    """Put this process's memory into pages of 2 MiB where that is possible; gives how many there are now."""
    size, done = 2 << 20, 0
    try:
        with open("/proc/self/maps") as file:
            areas = [line.split() for line in file]
    except OSError:
        return 0
    for area in areas:
        is_heap = len(area) == 5 or area[5] == "[heap]"
        if not (is_heap and "rw" in area[1]):
            continue
        start, end = (int(number, 16) for number in area[0].split("-"))
        for address in range(-(-start // size) * size, end // size * size, size):
            # Not possible where a part of the 2 MiB was never touched, and before Linux 6.1: then it stays as it is.
            done += libc.madvise(ctypes.c_void_p(address), ctypes.c_size_t(size), MADV_COLLAPSE) == 0
    return done


def unshare(flags: int) -> None:
    """Move this process (for CLONE_NEWPID: its next child) into new namespaces."""
    _checked(libc.unshare(ctypes.c_int(flags)), "unshare")


def set_namespace(fd: int, kind: int) -> None:
    """Join the namespace that a file descriptor stands for."""
    _checked(libc.setns(fd, kind), "setns")


def mount(source: str | None, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    """Mount a file system, or bind a folder."""
    encoded = [None if text is None else os.fsencode(text) for text in (source, target, kind, data)]
    result = libc.mount(encoded[0], encoded[1], encoded[2], ctypes.c_ulong(flags), encoded[3])
    _checked(result, f"mount {target}")


class _MountAttributes(ctypes.Structure):
    _fields_ = (
        ("attr_set", ctypes.c_uint64),
        ("attr_clr", ctypes.c_uint64),
        ("propagation", ctypes.c_uint64),
        ("userns_fd", ctypes.c_uint64),
    )


def add_mount_attributes(target: str, attributes: int, recursive: bool = True) -> None:
    """Make a mount, and those below it, read-only, nosuid and the like."""
    wanted = _MountAttributes(attributes, 0, 0, 0)
    syscall(
        SYS_MOUNT_SETATTR,
        ctypes.c_int(AT_FDCWD),
        os.fsencode(target),
        ctypes.c_uint(AT_RECURSIVE if recursive else 0),
        ctypes.byref(wanted),
        ctypes.c_size_t(ctypes.sizeof(wanted)),
    )


def pivot_root_to(folder: str) -> None:
    """Make a folder (a mount) the root, and let go of the old root."""
    os.chdir(folder)
    syscall(SYS_PIVOT_ROOT[MACHINE], b".", b".")
    _checked(libc.umount2(b".", MNT_DETACH), "umount the old root")
    os.chdir("/")


def prctl(option: int, value: int = 0, *more: int) -> int:
    """Set a property of this process."""
    padded = [ctypes.c_ulong(number) for number in (value, *more, 0, 0, 0)][:4]
    return _checked(libc.prctl(ctypes.c_int(option), *padded), f"prctl {option}")


def drop_capabilities() -> None:
    """Give up every capability for good: bounding, ambient, inheritable, permitted and effective."""
    for capability in range(LAST_CAPABILITY + 1):
        try:
            prctl(PR_CAPBSET_DROP, capability)
        except OSError:  # the kernel doesn't know this one, or we have lost the right to drop: then we hold none
            break
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    nothing = (ctypes.c_uint32 * 6)()
    syscall(SYS_CAPSET[MACHINE], header, nothing)
