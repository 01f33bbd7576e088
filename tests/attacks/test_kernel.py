"""Attacks by way of the kernel: networks, other processes' memory, namespaces, rights, and newer interfaces."""

import platform

import pytest
from harness import Attack, Scene

if platform.machine() != "x86_64":
    pytest.skip("the numbers of system calls are those of x86-64", allow_module_level=True)


def refused(*calls: str) -> Attack:
    """An attack of system calls, each of which has to be refused."""
    return Attack(f"tell([{', '.join(f'call({each})' for each in calls)}])", f"told ({['EPERM'] * len(calls)},)")


CASES = {
    "loopback": Attack(
        "tell(attempt(lambda: socket.create_connection(('127.0.0.1', 22)), lambda: socket.create_server(('', 8080))))",
        "told (['EPERM', 'EPERM'],)",
    ),
    "outside": Attack(
        "import urllib.request\ntell(attempt(lambda: socket.create_connection(('192.0.2.1', 80)), "
        "lambda: urllib.request.urlopen('http://192.0.2.1/', timeout=1), lambda: socket.getaddrinfo('example.org', 80)))",
        "told (['EPERM', ",
    ),
    "udp-and-raw": refused("41, 2, 2, 0", "41, 2, 3, 1", "41, 17, 3, 0", "41, 16, 3, 0", "41, 40, 1, 0"),
    "unix-sockets": Attack(
        "tell(attempt(lambda: socket.socket(socket.AF_UNIX).connect('/run/docker.sock'), "
        "lambda: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM), socket.socketpair))",
        "told (['EPERM', 'EPERM', 'EPERM'],)",
    ),
    "abstract-sockets": refused("41, 1, 1, 0", "42, 3, b'\\x01\\x00\\x00x', 4", "49, 3, b'\\x01\\x00\\x00x', 4", "50, 3, 1"),
    "pass-descriptors": refused("46, 3, bytes(56), 0", "47, 3, bytes(56), 0", "307, 3, bytes(64), 1, 0"),
    "ptrace": refused("101, 16, 1, 0, 0", "101, 0, 0, 0, 0", "101, 0x4206, 2, 0, 0"),
    "process-vm-writev": refused("311, 1, 0, 0, 0, 0, 0", "310, 1, 0, 0, 0, 0, 0", "440, 1, 0, 0, 0, 0"),
    "pidfds": refused("434, 1, 0", "438, 3, 0, 0", "424, 3, 9, 0, 0"),
    "new-namespaces": refused("272, 0x10000000", "272, 0x20000", "272, 0x40000000", "308, 0, 0x10000000"),
    "mounts": refused("165, b'none', b'/scratch', b'tmpfs', 0, 0", "166, b'/proc', 2", "155, b'.', b'.'", "161, b'/scratch'",
                      "428, -100, b'/', 1", "429, -100, b'/', -100, b'/', 0", "430, b'tmpfs', 0", "442, -100, b'/', 0, 0, 0"),
    "setuid": refused("105, 0", "106, 0", "113, 0, 0", "117, 0, 0, 0", "119, 0, 0, 0", "116, 0, 0", "122, 0", "126, 0, 0"),
    "setuid-programs": Attack(
        "with open('/scratch/su', 'wb') as file:\n    file.write(b'x')\n"
        "tell(attempt(lambda: os.chmod('/scratch/su', 0o6777), lambda: os.execv('/scratch/su', ['su']), lambda: os.chown('/scratch/su', 0, 1)))",
        "'EPERM', 'EPERM'],)",
    ),
    "keyrings": refused("248, b'user', b'x', b'y', 1, -3", "249, b'user', b'x', 0, -3", "250, 0, -3, 0, 0, 0"),
    "userfaultfd": refused("323, 0", "323, 1"),
    "io-uring": refused("425, 8, bytes(120)", "426, 3, 1, 0, 0, 0, 0", "427, 3, 0, 0, 0"),
    "bpf": refused("321, 0, bytes(72), 72", "321, 5, bytes(120), 120", "298, bytes(112), 0, -1, -1, 0"),
    "shared-memory": refused("29, 0, 4096, 0o1777", "68, 0, 0o1777", "64, 0, 1, 0o1777", "240, b'x', 0, 0, 0", "319, b'x', 0"),
    "kernel-modules": refused("175, 0, 0, 0", "313, 3, b'', 0", "246, 0, 0, 0, 0", "169, 0, 0, 0, 0"),
    "handles-and-notices": refused("304, 3, 0, 0", "303, -100, b'/', 0, 0, 0", "254,", "294, 0", "300, 0, 0"),
    "filter-of-its-own": refused("317, 1, 0, 0", "157, 22, 2, 0, 0, 0", "157, 38, 0, 0, 0, 0", "157, 4, 1, 0, 0, 0"),
    "landlock-undone": refused("444, 0, 0, 1", "446, 3, 0"),
    "second-table-of-calls": refused("0x40000000 + 39,", "0x40000000 + 59, 0, 0, 0", "0x40000000 + 101, 0, 0, 0, 0"),
    "terminal-input": refused("16, 0, 0x5412, b'x'", "16, 0, 0x540E, 1"),
    "personality": refused("135, 0x0040000", "154, 1, 0, 0", "173, 0, 0, 0"),
    "time-and-names": refused("227, 0, 0", "164, 0, 0", "170, b'x', 1", "171, b'x', 1"),
    "affinity-of-others": refused("203, 2, 8, bytes(8)", "144, 2, 0, 0", "141, 0, 2, 19", "251, 1, 2, 0"),
    "32-bit-calls": Attack(
        # mov eax, 20; int 0x80; ret: getpid by the table of calls of 32-bit programs, which the filter ends the process for
        "import mmap\n\ndef softmax(x, dim=-1):\n    page = mmap.mmap(-1, 4096, prot=7)\n    page.write(bytes([0xB8, 20, 0, 0, 0, 0xCD, 0x80, 0xC3]))\n"
        "    address = ctypes.addressof(ctypes.c_char.from_buffer(page))\n    return ctypes.CFUNCTYPE(ctypes.c_int)(address)()",
        status=("error", "failed"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_the_kernel_is_out_of_reach(scene: Scene, case: str) -> None:
    scene.attacked_by(CASES[case])
