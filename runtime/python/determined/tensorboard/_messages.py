"""The messages of Protocol Buffers that event files consist of."""

import struct
import zlib
from typing import Any, Sequence

# The wire types of Protocol Buffers.
VARINT, DOUBLE, BYTES, FLOAT = 0, 1, 2, 5

_DT_STRING = 7  # an element type of tensors


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def field(number: int, kind: int, value: bytes) -> bytes:
    key = varint(number << 3 | kind)
    return key + varint(len(value)) + value if kind == BYTES else key + value


def _number(number: int, value: float) -> bytes:
    return field(number, DOUBLE, struct.pack("<d", value))


def _integer(number: int, value: int) -> bytes:
    return field(number, VARINT, varint(value))


def event(wall_time: float, step: int, number: int, content: bytes) -> bytes:
    return _number(1, wall_time) + _integer(2, step) + field(number, BYTES, content)


def summary(tag: str, content: bytes) -> bytes:
    """A summary with one value. content: the fields of the value besides its tag"""
    return field(1, BYTES, field(1, BYTES, tag.encode()) + content)


def scalar(value: float) -> bytes:
    return field(2, FLOAT, struct.pack("<f", value))


def text(value: str) -> bytes:
    shape = field(2, BYTES, _integer(1, 1))  # one dimension of size 1
    tensor = _integer(1, _DT_STRING) + field(2, BYTES, shape) + field(8, BYTES, value.encode())
    plugin = field(1, BYTES, field(1, BYTES, b"text"))
    return field(8, BYTES, tensor) + field(9, BYTES, plugin)


def histogram(values: Any, limits: Sequence[float], counts: Sequence[float]) -> bytes:
    """values: a numpy array of doubles, not empty. limits: the upper limit of each bucket"""
    head = (float(values.min()), float(values.max()), float(values.size), float(values.sum()), float((values**2).sum()))
    content = b"".join(_number(index, value) for index, value in enumerate(head, 1))
    packed = [struct.pack(f"<{len(numbers)}d", *numbers) for numbers in (limits, counts)]
    return field(5, BYTES, content + field(6, BYTES, packed[0]) + field(7, BYTES, packed[1]))


def image(pixels: Any) -> bytes:
    """pixels: a numpy array of bytes, height x width x channels, with 1, 3 or 4 channels"""
    height, width, channels = pixels.shape
    content = _integer(1, height) + _integer(2, width) + _integer(3, channels)
    return field(4, BYTES, content + field(4, BYTES, _png(pixels)))


def _png(pixels: Any) -> bytes:
    height, width, channels = pixels.shape
    colour_type = {1: 0, 3: 2, 4: 6}[channels]

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    rows = b"".join(b"\0" + row.tobytes() for row in pixels)  # 0: the row is not filtered
    header = struct.pack(">IIBBBBB", width, height, 8, colour_type, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
