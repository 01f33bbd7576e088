"""What crosses between grader and worker: two lengths, values as MessagePack, and the bytes of tensors. Never pickle.

Frame: 8 bytes (length of the header, length of the payload, both big-endian uint32), header, payload. The header is one
MessagePack value in which tensors stand as dtype and shape; their bytes follow each other in the payload, in the order in
which they are named, each from a multiple of 8 on. Whatever a reader gets is checked before it is used: sizes, depth,
number, dtypes and shapes.
"""

import math
import struct
from functools import cache, partial
from typing import Any, Protocol

import msgpack
import numpy as np
import torch
from torch import Tensor

from utils.execution import Held

MAX_HEADER = 1 << 20  # bytes
MAX_PAYLOAD = 64 << 20  # bytes
MAX_TENSORS = 4096
MAX_DEPTH = 16
MAX_DIMENSIONS = 12
MAX_INTEGER_BITS = 1024
# Bytes read at first: most messages are smaller, and clearing more would push useful things out of caches.
CHUNK = 1 << 13
ALIGNMENT = 8  # bytes: what the widest number needs
LENGTHS = struct.Struct(">II")
DTYPES = {
    str(dtype).removeprefix("torch."): dtype
    for dtype in (
        torch.float64,
        torch.float32,
        torch.float16,
        torch.bfloat16,
        torch.int64,
        torch.int32,
        torch.int16,
        torch.int8,
        torch.uint8,
        torch.bool,
    )
}
BY_NUMBER = tuple(DTYPES.values())  # in messages a dtype is its place in this list
NUMBERS = {dtype: number for number, dtype in enumerate(BY_NUMBER)}
OTHER_DTYPES = {"complex64": torch.complex64, "complex128": torch.complex128}  # may be named, not sent
NAMED_DTYPES = DTYPES | OTHER_DTYPES
# The same numbers for NumPy, which is quicker with what is small. It knows no bfloat16.
IN_NUMPY = {
    number: torch.empty(0, dtype=dtype).numpy().dtype
    for number, dtype in enumerate(BY_NUMBER)
    if dtype is not torch.bfloat16
}
NUMPY_NUMBERS = {dtype: number for number, dtype in IN_NUMPY.items()}

# What MessagePack has no word for travels as one of its extension types.
TENSOR, TUPLE, INTEGER, DTYPE, DEVICE, HELD, FOREIGN = range(1, 8)
TENSOR_HEAD = struct.Struct(">BBB")  # dtype, number of dimensions, flags; then the sizes, then the order
TRUTH = NUMBERS[torch.bool]
ASKS_FOR_GRADIENTS, HAS_ORDER = 1, 2  # flags
STARTS_A_TUPLE = msgpack.ExtType(TUPLE, b"")  # the first element of a list that was a tuple
PLAIN = frozenset([type(None), bool, int, float, str, bytes, Tensor, Held, torch.dtype, torch.device])
GAPS = [b"\0" * size for size in range(ALIGNMENT)]


Frame = tuple[memoryview, bytearray]  # header and payload


class WireError(Exception):
    """The other side sent something that isn't a message, or one that is too large or too deep."""


CANNOT_CROSS = (WireError, TypeError, ValueError, RuntimeError)  # raised where a message can't be packed


class Socket(Protocol):
    """The part of a socket that frames need."""

    def sendall(self, data: bytes, /) -> None: ...

    def recv_into(self, buffer: memoryview, /) -> int: ...


class _Mark:
    """What stands first in a list that will be something else: while a message is read nothing of that may be a key."""


_TUPLE_MARK, _INTEGER_MARK = _Mark(), _Mark()

_extension = partial(tuple.__new__, msgpack.ExtType)  # its own way checks types, which takes longer than all the rest


@cache
def _sizes(dimensions: int) -> struct.Struct:
    """Give the form of a tensor's sizes in a header."""
    return struct.Struct(f">{dimensions}Q")


class _Packing:
    """The tensors of a message that is being packed."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.size = 0
        self.has_marks = False

    def special(self, value: Any) -> Any:
        """Give what MessagePack can say in place of a value that it can't; TypeError for what can't travel."""
        if isinstance(value, Tensor):
            return self._tensor(value)
        if isinstance(value, tuple):
            self.has_marks = True
            return [STARTS_A_TUPLE, *value]
        if isinstance(value, Held):
            return msgpack.ExtType(HELD, msgpack.packb([value.id, value.type_name]))
        if isinstance(value, int):
            if value.bit_length() > MAX_INTEGER_BITS:
                raise TypeError("a whole number of so many digits can't cross to the other side")
            if value.bit_length() < 64:
                return int(value)
            self.has_marks = True
            return msgpack.ExtType(INTEGER, hex(value).encode())
        for kind in (float, str, list, dict):  # of a class made from one of these
            if isinstance(value, kind):
                return kind(value)
        if isinstance(value, torch.dtype):
            return msgpack.ExtType(DTYPE, str(value).removeprefix("torch.").encode())
        if isinstance(value, torch.device):
            return msgpack.ExtType(DEVICE, str(value).encode())
        raise TypeError(f"a {type(value).__name__} can't cross to the other side")

    def _tensor(self, value: Tensor) -> msgpack.ExtType:
        try:
            array = value.detach().numpy()
            number = NUMPY_NUMBERS[array.dtype]
        except (TypeError, RuntimeError, KeyError):  # what NumPy has no word for
            tensor = value.detach()
            if tensor.dtype not in NUMBERS or not tensor.is_cpu or tensor.layout is not torch.strided:
                # Only its description travels: enough for a test to say what is wrong with it.
                name = str(tensor.dtype).removeprefix("torch.")
                return msgpack.ExtType(FOREIGN, msgpack.packb([name, list(tensor.shape)]))
            number = NUMBERS[tensor.dtype]
            array = (tensor.view(torch.int16) if tensor.dtype is torch.bfloat16 else tensor.resolve_neg()).numpy()
        flags, order = ASKS_FOR_GRADIENTS if value.requires_grad else 0, b""
        if not array.flags.c_contiguous:
            # Such a tensor (a transpose, say) arrives as one: its dimensions travel by falling stride.
            falling = sorted(range(array.ndim), key=lambda d: -array.strides[d])
            array = array.transpose(falling)
            flags, order = flags | HAS_ORDER, bytes(falling)
        size = array.nbytes
        gap = -size % ALIGNMENT
        self.size += size + gap
        if self.size > MAX_PAYLOAD or len(self.parts) >= 2 * MAX_TENSORS:
            raise WireError("the result is too large to send")
        self.parts += (array.tobytes(), GAPS[gap])
        head = TENSOR_HEAD.pack(number, array.ndim, flags)
        return _extension((TENSOR, head + _sizes(array.ndim).pack(*array.shape) + order))


class _Unpacking:
    """The payload of a message that is being read: tensors take their bytes from it one after the other."""

    def __init__(self, payload: bytearray) -> None:
        self.payload = payload
        self.start = 0
        self.count = 0

    def special(self, kind: int, data: bytes) -> Any:
        """Give the value that an extension type stands for; any exception where it is damaged."""
        if kind == TENSOR:
            return self._tensor(data)
        if kind == TUPLE:
            return _TUPLE_MARK
        if kind == HELD:
            number, type_name = _list_in(data)
            if type(number) is not int or type(type_name) is not str:
                raise WireError("the message is damaged")
            return Held(number, type_name[:80])
        if kind == INTEGER:
            return [_INTEGER_MARK, int(data[: MAX_INTEGER_BITS // 4 + 3], 16)]
        if kind == DTYPE:
            return NAMED_DTYPES[data.decode()]
        if kind == DEVICE:
            return torch.device(data[:20].decode())
        if kind == FOREIGN:
            name, sizes = _list_in(data)
            shape = [int(size) for size in sizes]
            if len(shape) > MAX_DIMENSIONS or not all(0 <= size < 2**31 for size in shape):
                raise WireError("the message describes an impossible tensor")
            return torch.empty(shape, dtype=NAMED_DTYPES.get(name, torch.float32), device="meta")
        raise WireError("the message holds something unknown")

    def _tensor(self, data: bytes) -> Tensor:
        number, dimensions, flags = TENSOR_HEAD.unpack_from(data)
        self.count += 1
        if self.count > MAX_TENSORS or dimensions > MAX_DIMENSIONS:
            raise WireError("the message holds too many tensors, or dimensions")
        shape = _sizes(dimensions).unpack_from(data, TENSOR_HEAD.size)
        dtype, count = BY_NUMBER[number], math.prod(shape)
        start, size = self.start, count * dtype.itemsize
        self.start += size + -size % ALIGNMENT
        if self.start > len(self.payload):
            raise WireError("the message holds less than it says")
        if not count:
            tensor = torch.empty(shape, dtype=dtype)
        elif number == TRUTH:  # any byte may come, and only 0 and 1 are truth values
            tensor = torch.from_numpy(np.ndarray(shape, np.uint8, self.payload, start).astype(bool))
        elif number in IN_NUMPY:
            tensor = torch.from_numpy(np.ndarray(shape, IN_NUMPY[number], self.payload, start))
        else:
            tensor = torch.frombuffer(self.payload, dtype=dtype, count=count, offset=start).view(shape)
        if flags & HAS_ORDER:
            order = data[TENSOR_HEAD.size + 8 * dimensions :]
            if len(order) != dimensions or sorted(order) != list(range(dimensions)):
                raise WireError("the message names an order of dimensions that is none")
            tensor = tensor.permute([order.index(d) for d in range(dimensions)])
        return tensor.requires_grad_() if flags & ASKS_FOR_GRADIENTS and tensor.is_floating_point() else tensor


def _list_in(data: bytes) -> list:
    """Read the list that an extension type holds."""
    found = msgpack.unpackb(data)
    if type(found) is not list:
        raise WireError("the message is damaged")
    return found


def _finished(value: Any, depth: int = 0) -> Any:
    """Give a value with its tuples and large numbers made; WireError for what no sender packs, and for what is too deep.

    They are made here and not while the message is read, so that none can be a key: what their hashes are is known beforehand,
    and thousands of keys with the same hash would keep a dict busy for minutes.
    """
    kind = type(value)
    if kind in PLAIN:
        return value
    if depth > MAX_DEPTH:
        raise WireError("the message is nested too deeply")
    if kind is list:
        if PLAIN.issuperset(map(type, value)):
            return value
        mark = value[0] if type(value[0]) is _Mark else None
        if mark is _INTEGER_MARK:
            return value[1]
        items = [item if type(item) in PLAIN else _finished(item, depth + 1) for item in (value[1:] if mark else value)]
        return tuple(items) if mark else items
    if kind is dict and PLAIN.issuperset(map(type, value)):
        for key, item in value.items():
            if type(item) not in PLAIN:
                value[key] = _finished(item, depth + 1)
        return value
    raise WireError("the message holds something unknown")


def _check_keys(value: Any) -> None:
    """Refuse to send keys that nobody would read (`_finished`)."""
    if isinstance(value, dict):
        for key in value:
            if isinstance(key, tuple) or (isinstance(key, int) and not -(2**63) <= key < 2**64):
                raise TypeError("a dict with tuples or very large numbers as keys can't cross to the other side")
        value = value.values()
    elif not isinstance(value, (list, tuple)):
        return
    for item in value:
        if type(item) not in PLAIN:
            _check_keys(item)


def pack(message: Any) -> bytes:
    """Make a frame of a tree of plain values and tensors; TypeError for what can't cross, WireError where it is too much."""
    packing = _Packing()
    header = msgpack.packb(
        message,
        default=packing.special,
        strict_types=True,  # else tuples would become lists
        unicode_errors="surrogatepass",
        buf_size=CHUNK,
    )
    if len(header) > MAX_HEADER or packing.size > MAX_PAYLOAD:
        raise WireError("the result is too large to send")
    if packing.has_marks:
        _check_keys(message)
    return b"".join([LENGTHS.pack(len(header), packing.size), header, *packing.parts])


def unpack(header: memoryview, payload: bytearray) -> Any:
    """Give the message of a frame; WireError where it is damaged."""
    unpacking = _Unpacking(payload)
    try:
        message = msgpack.unpackb(
            header,
            ext_hook=unpacking.special,
            strict_map_key=False,
            unicode_errors="surrogatepass",
        )
    except WireError:
        raise
    except Exception:  # whatever a damaged message makes of it; the text could repeat what was sent
        raise WireError("the message is damaged") from None
    if unpacking.start != len(payload):
        raise WireError("the message holds more than it says")
    return _finished(message)


def send(sock: Socket, message: Any) -> None:
    """Send one message."""
    sock.sendall(pack(message))


def receive(sock: Socket) -> Any:
    """Receive one message; EOFError, TimeoutError or WireError where none comes."""
    return unpack(*receive_frame(sock))


def receive_frame(sock: Socket) -> Frame:
    """Receive one message without reading it; EOFError, TimeoutError or WireError where none comes.

    Both sides take turns, so that nothing may follow a message before it has been answered.
    """
    buffer = bytearray(CHUNK)
    filled = _read_more(sock, buffer, 0)
    while filled < LENGTHS.size:
        filled = _read_more(sock, buffer, filled)
    header_size, payload_size = LENGTHS.unpack_from(buffer)
    if header_size > MAX_HEADER or payload_size > MAX_PAYLOAD:
        raise WireError("the message is too large")
    total = LENGTHS.size + header_size + payload_size
    if total > len(buffer):
        buffer.extend(bytes(total - len(buffer)))
    while filled < total:
        filled = _read_more(sock, buffer, filled)
    if filled > total:
        raise WireError("more than one message came at once")
    header_end = LENGTHS.size + header_size
    return memoryview(buffer)[LENGTHS.size : header_end], buffer[header_end:total]


def _read_more(sock: Socket, buffer: bytearray, filled: int) -> int:
    count = sock.recv_into(memoryview(buffer)[filled:])
    if count == 0:
        raise EOFError("the other side has closed the connection")
    return filled + count
