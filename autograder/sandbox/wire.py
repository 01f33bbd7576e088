"""What crosses between grader and worker: a length, a JSON header, and tensors as safetensors. Never pickle.

Frame: 8 bytes (length of the header, length of the payload, both big-endian uint32), header, payload. Whatever a reader
gets is checked before it is used: sizes, depth, number, dtypes and shapes.
"""

import json
import math
import struct
from typing import Any, Protocol

import safetensors
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
# safetensors' names of the dtypes that may be sent.
SAFETENSORS_NAMES = {
    torch.float64: "F64",
    torch.float32: "F32",
    torch.float16: "F16",
    torch.bfloat16: "BF16",
    torch.int64: "I64",
    torch.int32: "I32",
    torch.int16: "I16",
    torch.int8: "I8",
    torch.uint8: "U8",
    torch.bool: "BOOL",
}
FROM_SAFETENSORS = {name: dtype for dtype, name in SAFETENSORS_NAMES.items()}
OTHER_DTYPES = {"complex64": torch.complex64, "complex128": torch.complex128}  # may be named, not sent
NAMED_DTYPES = DTYPES | OTHER_DTYPES
AS_THEY_ARE = frozenset([type(None), bool, str])  # JSON has them


class WireError(Exception):
    """The other side sent something that isn't a message, or one that is too large or too deep."""


class Socket(Protocol):
    """The part of a socket that frames need."""

    def sendall(self, data: bytes, /) -> None: ...

    def recv_into(self, buffer: memoryview, /) -> int: ...


class Encoder:
    """Turn a tree of values into JSON, with its tensors set aside in `tensors`."""

    def __init__(self) -> None:
        self.tensors: dict[str, Tensor] = {}

    def encode(self, value: Any) -> Any:
        """Give the JSON form of a value; TypeError for what can't travel."""
        kind = type(value)
        # Most values are of these very types; each message asks some thirty times.
        if kind in AS_THEY_ARE:
            return value
        if kind is Tensor:
            return self._tensor(value)
        if kind is list:
            return [self.encode(item) for item in value]
        if isinstance(value, (bool, str)):
            return value
        if isinstance(value, int):
            if value.bit_length() > MAX_INTEGER_BITS:
                raise TypeError("a whole number of so many digits can't cross to the other side")
            return int(value) if value.bit_length() < 64 else {"$": "int", "v": hex(value)}
        if isinstance(value, float):
            return float(value) if math.isfinite(value) else {"$": "float", "v": repr(float(value))}
        if isinstance(value, Tensor):
            return self._tensor(value)
        if isinstance(value, list):
            return [self.encode(item) for item in value]
        if isinstance(value, tuple):
            return {"$": "tuple", "v": [self.encode(item) for item in value]}
        if isinstance(value, dict):
            return {"$": "dict", "v": [[self.encode(key), self.encode(item)] for key, item in value.items()]}
        if isinstance(value, Held):
            return {"$": "held", "id": value.id, "type": value.type_name}
        if isinstance(value, torch.dtype):
            return {"$": "dtype", "v": str(value).removeprefix("torch.")}
        if isinstance(value, torch.device):
            return {"$": "device", "v": str(value)}
        raise TypeError(f"a {type(value).__name__} can't cross to the other side")

    def _tensor(self, value: Tensor) -> Any:
        tensor = value.detach()
        sendable = tensor.dtype in SAFETENSORS_NAMES
        if tensor.device.type != "cpu" or tensor.layout is not torch.strided or not sendable:
            # Only its description travels: enough for a test to say what is wrong with it.
            return {
                "$": "foreign",
                "dtype": str(tensor.dtype)[6:],
                "shape": list(tensor.shape),
                "device": tensor.device.type,
            }
        name = str(len(self.tensors))
        entry = {"$": "tensor", "n": name, "grad": bool(value.requires_grad)}
        if not tensor.is_contiguous():
            # Such a tensor (a transpose, say) arrives as one: its dimensions travel by falling stride.
            order = sorted(range(tensor.dim()), key=lambda d: -tensor.stride(d))
            tensor = tensor.permute(order).contiguous()
            if order != list(range(tensor.dim())):
                entry["order"] = order
        self.tensors[name] = tensor
        return entry


class Decoder:
    """Turn the JSON form back into values; WireError for anything that isn't of that form."""

    def __init__(self, tensors: dict[str, Tensor]) -> None:
        self.tensors = tensors

    def decode(self, value: Any, depth: int = 0) -> Any:
        """Give the value that a JSON form stands for."""
        if depth > MAX_DEPTH:
            raise WireError("the message is nested too deeply")
        if value is None or isinstance(value, (str, bool, int, float)):
            return value
        if isinstance(value, list):
            return [self.decode(item, depth + 1) for item in value]
        if not isinstance(value, dict):
            raise WireError("the message holds something unknown")
        try:
            return self._special(value, depth)
        except (KeyError, TypeError, ValueError, RuntimeError, OverflowError) as error:
            raise WireError("the message is damaged") from error

    def _special(self, value: dict, depth: int) -> Any:
        kind = value["$"]
        if kind == "tensor":
            tensor = self.tensors[value["n"]]
            if "order" in value:
                order = [int(d) for d in value["order"]]
                if len(order) != tensor.dim():  # before anything is looked for in a list that may be long
                    raise WireError("the message is damaged")
                tensor = tensor.permute([order.index(d) for d in range(len(order))])
            return tensor.requires_grad_() if value.get("grad") and tensor.is_floating_point() else tensor
        if kind == "tuple":
            return tuple(self.decode(item, depth + 1) for item in value["v"])
        if kind == "dict":
            return {self.decode(key, depth + 1): self.decode(item, depth + 1) for key, item in value["v"]}
        if kind == "held":
            return Held(int(value["id"]), str(value["type"])[:80])
        if kind == "dtype":
            return NAMED_DTYPES[value["v"]]
        if kind == "device":
            return torch.device(str(value["v"])[:20])
        if kind == "float":
            return {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}[value["v"]]
        if kind == "int":
            return int(value["v"][: MAX_INTEGER_BITS // 4 + 3], 16)
        if kind == "foreign":
            shape = [int(size) for size in value["shape"]]
            if len(shape) > MAX_DIMENSIONS or not all(0 <= size < 2**31 for size in shape):
                raise WireError("the message describes an impossible tensor")
            dtype = NAMED_DTYPES.get(value["dtype"], torch.float32)
            return torch.empty(shape, dtype=dtype, device="meta")
        raise WireError("the message holds something unknown")  # its name stays unsaid: a learner may have chosen it


def _to_safetensors(tensors: dict[str, Tensor]) -> bytes:
    """Write tensors in the format of safetensors. Its own `save` takes 0.3 ms, most of a request; this takes a twentieth."""
    entries, parts, end = [], [], 0
    for name, tensor in tensors.items():
        data = _bytes_of(tensor)
        start, end = end, end + len(data)
        dtype = SAFETENSORS_NAMES[tensor.dtype]
        entries.append(f'"{name}":{{"dtype":"{dtype}","shape":{list(tensor.shape)},"data_offsets":[{start},{end}]}}')
        parts.append(data)
    head = f"{{{','.join(entries)}}}".encode()
    head += b" " * (-len(head) % 8)
    return b"".join([len(head).to_bytes(8, "little"), head, *parts])


def _bytes_of(tensor: Tensor) -> bytes:
    """Give the bytes of a contiguous tensor."""
    if tensor.dtype == torch.bfloat16:  # NumPy has no such numbers
        tensor = tensor.view(torch.int16)
    return tensor.resolve_neg().numpy().tobytes()


def _from_safetensors(payload: bytes) -> dict[str, Tensor]:
    """Read tensors; sizes, offsets and dtypes are checked by safetensors itself."""
    tensors = {}
    for name, entry in safetensors.deserialize(payload):
        dtype, data = FROM_SAFETENSORS[entry["dtype"]], entry["data"]
        if len(entry["shape"]) > MAX_DIMENSIONS:
            raise WireError("the message holds a tensor of a kind that isn't allowed")
        if not data:
            tensor = torch.empty(entry["shape"], dtype=dtype)
        elif dtype == torch.bool:  # any byte may come, and only 0 and 1 are truth values
            tensor = (torch.frombuffer(data, dtype=torch.uint8) != 0).view(entry["shape"])
        else:
            tensor = torch.frombuffer(data, dtype=dtype).view(entry["shape"])
        tensors[name] = tensor
    return tensors


def pack(message: Any) -> bytes:
    """Make a frame of a tree of plain values and tensors."""
    encoder = Encoder()
    header = json.dumps(encoder.encode(message), ensure_ascii=True).encode()
    size = sum(tensor.numel() * tensor.element_size() for tensor in encoder.tensors.values())
    if len(header) > MAX_HEADER or size > MAX_PAYLOAD - MAX_HEADER or len(encoder.tensors) > MAX_TENSORS:
        raise WireError("the result is too large to send")
    payload = _to_safetensors(encoder.tensors) if encoder.tensors else b""
    return LENGTHS.pack(len(header), len(payload)) + header + payload


def unpack(header: bytes, payload: bytes) -> Any:
    """Give the message of a frame; WireError where it is damaged."""
    try:
        tensors = _from_safetensors(payload) if payload else {}
    except WireError:
        raise
    except Exception as error:  # safetensors raises its own type, and others for headers that lie
        raise WireError("the tensors in the message are damaged") from error
    if len(tensors) > MAX_TENSORS:
        raise WireError("the message holds too many tensors")
    try:
        parsed = json.loads(header.decode())
    except (ValueError, RecursionError) as error:
        raise WireError("the message isn't JSON") from error
    return Decoder(tensors).decode(parsed)


def send(sock: Socket, message: Any) -> None:
    """Send one message."""
    sock.sendall(pack(message))


def receive(sock: Socket) -> Any:
    """Receive one message; EOFError, TimeoutError or WireError where none comes.

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
    whole = memoryview(buffer)
    return unpack(bytes(whole[LENGTHS.size : header_end]), bytes(whole[header_end:total]))


def _read_more(sock: Socket, buffer: bytearray, filled: int) -> int:
    count = sock.recv_into(memoryview(buffer)[filled:])
    if count == 0:
        raise EOFError("the other side has closed the connection")
    return filled + count
