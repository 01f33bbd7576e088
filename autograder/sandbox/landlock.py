"""Landlock: a process gives up access to files (and TCP, signals, abstract sockets) for itself and what it starts."""

import ctypes
import os

from autograder.sandbox import kernel

CREATE_RULESET_VERSION = 1
RULE_PATH_BENEATH = 1
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
ALL_RIGHTS_BY_VERSION = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1, 5: (1 << 16) - 1}
NET_BIND_AND_CONNECT = 0b11  # from version 4
SCOPE_ABSTRACT_SOCKETS_AND_SIGNALS = 0b11  # from version 6


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("fd", ctypes.c_int32))


def version() -> int:
    """Give the version of Landlock that this kernel has; 0 where it has none."""
    try:
        return kernel.syscall(
            kernel.SYS_LANDLOCK_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint(CREATE_RULESET_VERSION)
        )
    except OSError:
        return 0


def restrict(read: list[str], write: list[str]) -> None:
    """Allow reading and executing below some folders, everything below others, and no file elsewhere, from now on."""
    supported = version()
    if not supported:
        raise OSError("this kernel has no Landlock")
    everything = ALL_RIGHTS_BY_VERSION[min(supported, max(ALL_RIGHTS_BY_VERSION))]
    rules = _Ruleset(
        everything,
        NET_BIND_AND_CONNECT if supported >= 4 else 0,
        SCOPE_ABSTRACT_SOCKETS_AND_SIGNALS if supported >= 6 else 0,
    )
    size = 24 if supported >= 6 else 16 if supported >= 4 else 8
    ruleset = kernel.syscall(
        kernel.SYS_LANDLOCK_CREATE_RULESET, ctypes.byref(rules), ctypes.c_size_t(size), ctypes.c_uint(0)
    )
    try:
        for paths, rights in ((read, EXECUTE | READ_FILE | READ_DIR), (write, everything)):
            for path in paths:
                _allow(ruleset, path, rights)
        kernel.syscall(kernel.SYS_LANDLOCK_RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint(0))
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: str, rights: int) -> None:
    folder = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        if not os.path.isdir(path):
            rights &= EXECUTE | WRITE_FILE | READ_FILE
        rule = _PathBeneath(rights, folder)
        kernel.syscall(
            kernel.SYS_LANDLOCK_ADD_RULE,
            ctypes.c_int(ruleset),
            ctypes.c_int(RULE_PATH_BENEATH),
            ctypes.byref(rule),
            ctypes.c_uint(0),
        )
    finally:
        os.close(folder)
