"""The seccomp filter: which system calls a worker may still make. Everything else fails with EPERM.

A list of what is allowed, not of what is forbidden: a call that nobody thought of is refused. No process can be started
(threads can), no program executed, no socket opened, no signal sent to others, nothing mounted, traced or reconfigured.
"""

import ctypes
import errno
import functools
import struct

from autograder.sandbox import kernel

AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
SET_MODE_FILTER = 1
ALLOW, ERRNO, KILL_PROCESS = 0x7FFF0000, 0x00050000, 0x80000000
LOAD_WORD, JUMP_EQUAL, JUMP_SET, JUMP_AT_LEAST, AND, RETURN = 0x20, 0x15, 0x45, 0x35, 0x54, 0x06
NUMBER_AT, ARCH_AT, FIRST_ARGUMENT_AT = 0, 4, 16
X32_BIT = 0x40000000  # x86-64's second table of calls
CLONE_THREAD = 0x00010000
CLONE_NEW_ANYTHING = 0x7E020080

# name: (number on x86-64, number on arm64)
ALLOWED: dict[str, tuple[int | None, int | None]] = {
    "read": (0, 63),
    "write": (1, 64),
    "readv": (19, 65),
    "writev": (20, 66),
    "pread64": (17, 67),
    "pwrite64": (18, 68),
    "preadv": (295, 69),
    "pwritev": (296, 70),
    "open": (2, None),
    "openat": (257, 56),
    "close": (3, 57),
    "fstat": (5, 80),
    "stat": (4, None),
    "lstat": (6, None),
    "newfstatat": (262, 79),
    "statx": (332, 291),
    "lseek": (8, 62),
    "mmap": (9, 222),
    "mprotect": (10, 226),
    "munmap": (11, 215),
    "mremap": (25, 216),
    "madvise": (28, 233),
    "brk": (12, 214),
    "msync": (26, 227),
    "mincore": (27, 232),
    "rt_sigaction": (13, 134),
    "rt_sigprocmask": (14, 135),
    "rt_sigreturn": (15, 139),
    "sigaltstack": (131, 132),
    "access": (21, None),
    "faccessat": (269, 48),
    "faccessat2": (439, 439),
    "dup": (32, 23),
    "dup2": (33, None),
    "dup3": (292, 24),
    "getcwd": (79, 17),
    "chdir": (80, 49),
    "fchdir": (81, 50),
    "mkdir": (83, None),
    "mkdirat": (258, 34),
    "rmdir": (84, None),
    "unlink": (87, None),
    "unlinkat": (263, 35),
    "rename": (82, None),
    "renameat": (264, 38),
    "renameat2": (316, 276),
    "readlink": (89, None),
    "readlinkat": (267, 78),
    "getdents": (78, None),
    "getdents64": (217, 61),
    "ftruncate": (77, 46),
    "truncate": (76, 45),
    "fallocate": (285, 47),
    "fsync": (74, 82),
    "fdatasync": (75, 83),
    "umask": (95, 166),
    "chmod": (90, None),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "utimensat": (280, 88),
    "statfs": (137, 43),
    "fstatfs": (138, 44),
    "copy_file_range": (326, 285),
    "sendfile": (40, 71),
    "fadvise64": (221, 223),
    "futex": (202, 98),
    "set_robust_list": (273, 99),
    "get_robust_list": (274, 100),
    "rseq": (334, 293),
    "set_tid_address": (218, 96),
    "sched_yield": (24, 124),
    "sched_getaffinity": (204, 123),
    "sched_getparam": (143, 121),
    "sched_getscheduler": (145, 120),
    "sched_get_priority_max": (146, 125),
    "sched_get_priority_min": (147, 126),
    "getcpu": (309, 168),
    "membarrier": (324, 283),
    "exit": (60, 93),
    "exit_group": (231, 94),
    "getpid": (39, 172),
    "getppid": (110, 173),
    "gettid": (186, 178),
    "getuid": (102, 174),
    "geteuid": (107, 175),
    "getgid": (104, 176),
    "getegid": (108, 177),
    "getpgrp": (111, None),
    "getgroups": (115, 158),
    "getresuid": (118, 148),
    "getresgid": (120, 150),
    "getrandom": (318, 278),
    "clock_gettime": (228, 113),
    "clock_getres": (229, 114),
    "clock_nanosleep": (230, 115),
    "nanosleep": (35, 101),
    "gettimeofday": (96, 169),
    "time": (201, None),
    "times": (100, 153),
    "uname": (63, 160),
    "sysinfo": (99, 179),
    "getrusage": (98, 165),
    "getrlimit": (97, 163),
    "getpriority": (140, 141),
    "arch_prctl": (158, None),
    "poll": (7, None),
    "ppoll": (271, 73),
    "select": (23, None),
    "pselect6": (270, 72),
    "epoll_create1": (291, 20),
    "epoll_ctl": (233, 21),
    "epoll_wait": (232, None),
    "epoll_pwait": (281, 22),
    "eventfd2": (290, 19),
    "pipe": (22, None),
    "pipe2": (293, 59),
    "restart_syscall": (219, 128),
    "recvfrom": (45, 207),
    "sendto": (44, 206),
    "shutdown": (48, 210),
    "getsockopt": (55, 209),
    "setitimer": (38, 103),
    "getitimer": (36, 102),
    "pause": (34, None),
    "get_mempolicy": (239, 236),
}
# Allowed for some values of one argument only: name: (numbers, which argument, values).
ALLOWED_FOR: dict[str, tuple[tuple[int, int], int, tuple[int, ...]]] = {
    "prctl": ((157, 167), 0, (15, 16, 0x53564D41)),  # a thread's name; names of memory areas (malloc's)
    "ioctl": ((16, 29), 1, (0x5401, 0x5451, 0x5421, 0x541B)),  # is it a terminal, close-on-exec, non-blocking, how much
    "prlimit64": ((302, 261), 0, (0,)),  # this process only
    "sched_setaffinity": ((203, 122), 0, (0,)),  # this thread only
    # Duplicate, close-on-exec, non-blocking. No locks and leases (others see them), no signals to owners, no notices.
    "fcntl": ((72, 25), 1, (0, 1, 2, 3, 4, 1030)),
}
CLONE = (56, 220)
CLONE3 = (435, 435)  # its flags lie in memory that a filter can't read: "no such call" makes the C library use clone


def _instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)


def _column() -> int:
    if kernel.MACHINE not in AUDIT_ARCH:
        raise OSError(f"no seccomp filter has been written for {kernel.MACHINE}")
    return list(AUDIT_ARCH).index(kernel.MACHINE)


@functools.lru_cache(maxsize=2)
def program(own_pid: int) -> bytes:
    """Assemble the filter for this machine (classic BPF, as in the kernel's seccomp_filter.rst).

    Signals may go to threads of the process `own_pid` alone; without a PID namespace there would be others to reach.
    """
    column = _column()
    to_own_threads = {"tgkill": ((234, 131), 0, (own_pid,))}
    refuse = _instruction(RETURN, ERRNO | errno.EPERM)
    code = [
        _instruction(LOAD_WORD, ARCH_AT),
        _instruction(JUMP_EQUAL, AUDIT_ARCH[kernel.MACHINE], if_true=1),
        _instruction(RETURN, KILL_PROCESS),
        _instruction(LOAD_WORD, NUMBER_AT),
        _instruction(JUMP_AT_LEAST, X32_BIT, if_false=1),
        refuse,
        _instruction(JUMP_EQUAL, CLONE3[column], if_false=1),
        _instruction(RETURN, ERRNO | errno.ENOSYS),
        _instruction(JUMP_EQUAL, CLONE[column], if_false=5),
        _instruction(LOAD_WORD, FIRST_ARGUMENT_AT),
        _instruction(JUMP_SET, CLONE_NEW_ANYTHING, if_true=2),
        _instruction(JUMP_SET, CLONE_THREAD, if_false=1),
        _instruction(RETURN, ALLOW),
        refuse,
    ]
    for numbers, argument, values in (ALLOWED_FOR | to_own_threads).values():
        code.append(_instruction(JUMP_EQUAL, numbers[column], if_false=len(values) * 2 + 2))
        code.append(_instruction(LOAD_WORD, FIRST_ARGUMENT_AT + 8 * argument))
        for value in values:
            code.append(_instruction(JUMP_EQUAL, value, if_false=1))
            code.append(_instruction(RETURN, ALLOW))
        code.append(refuse)
    for numbers in ALLOWED.values():
        if numbers[column] is not None:
            code.append(_instruction(JUMP_EQUAL, numbers[column], if_false=1))
            code.append(_instruction(RETURN, ALLOW))
    code.append(refuse)
    return b"".join(code)


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_char_p))


def install(code: bytes) -> None:
    """Put the filter over this process for good. Needs PR_SET_NO_NEW_PRIVS, or the right to do without."""
    wanted = _Program(len(code) // 8, code)
    kernel.syscall(
        kernel.SYS_SECCOMP[kernel.MACHINE], ctypes.c_uint(SET_MODE_FILTER), ctypes.c_uint(0), ctypes.byref(wanted)
    )
