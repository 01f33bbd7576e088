"""Try each wall at start, in a child that can be thrown away: that a kernel knows a call doesn't say that the call holds.

Each function puts one wall around this process and then runs against it; OSError where it gives way.
"""

import errno
import os
import resource
from collections.abc import Callable

from autograder.sandbox import kernel, landlock, seccomp
from autograder.sandbox.isolation import Limits, set_limits

REASONS = {
    "landlock": "this kernel has no Landlock, or it doesn't hold (Linux 5.13 or newer, with lsm=landlock)",
    "seccomp": "seccomp filters can't be installed here, or don't hold",
    "limits": "resource limits can't be set here",
}


def landlock_holds() -> None:
    """Give up every file but /dev/null, and try to list the root."""
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    landlock.restrict(read=["/dev/null"], write=[])
    os.close(os.open("/dev/null", os.O_RDONLY))
    _refused(lambda: os.listdir("/"))


def seccomp_holds() -> None:
    """Install the filter, and try what it refuses: a process, a socket, a mount."""
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    seccomp.install(seccomp.program(os.getpid()))
    _refused(_fork)
    _refused(lambda: kernel.unshare(kernel.CLONE_NEWUSER))
    _refused(lambda: kernel.mount("none", "/", "tmpfs", 0))


def limits_hold(limits: Limits) -> None:
    """Set the limits, and read them back."""
    set_limits(limits)
    for which, most in ((resource.RLIMIT_CPU, limits.cpu_seconds), (resource.RLIMIT_NOFILE, limits.open_files)):
        if not 0 <= resource.getrlimit(which)[1] <= most:
            raise OSError("limits are not kept")
    if resource.getrlimit(resource.RLIMIT_AS)[1] == resource.RLIM_INFINITY:
        raise OSError("memory isn't limited")


def _fork() -> None:
    if os.fork() == 0:
        os._exit(0)


def _refused(attempt: Callable[[], object]) -> None:
    try:
        attempt()
    except OSError as error:
        if error.errno in (errno.EPERM, errno.EACCES):
            return
        raise
    raise OSError("a wall gives way")
