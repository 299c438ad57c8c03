"""Scalars in TensorBoard's event files, without the package tensorboard.

An event file is a sequence of records. A record consists of the length of its data (8 bytes, little-endian),
a masked CRC32C of the length, the data, and a masked CRC32C of the data. The data is an Event, a message of
Protocol Buffers.
"""

import os
import pathlib
import socket
import struct
import threading
import time
from typing import Any, List, Optional

_CRC32C_POLYNOMIAL = 0x82F63B78
_CRC_MASK = 0xA282EAD8

# The wire types of Protocol Buffers.
_VARINT, _DOUBLE, _BYTES, _FLOAT = 0, 1, 2, 5


def _crc_table() -> List[int]:
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (_CRC32C_POLYNOMIAL if byte & 1 else 0)
        table.append(byte)
    return table


_TABLE = _crc_table()


def _masked_crc(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _TABLE[(crc ^ byte) & 0xFF]
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + _CRC_MASK) & 0xFFFFFFFF


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def _field(number: int, kind: int, value: bytes) -> bytes:
    key = _varint(number << 3 | kind)
    return key + _varint(len(value)) + value if kind == _BYTES else key + value


def _event(wall_time: float, step: int, number: int, content: bytes) -> bytes:
    return (
        _field(1, _DOUBLE, struct.pack("<d", wall_time))
        + _field(2, _VARINT, _varint(step))
        + _field(number, _BYTES, content)
    )


class EventWriter:
    """Writes scalars to one event file of a directory, with the names of torch's SummaryWriter.

    Args:
        log_dir: the directory; the first event makes it
        purge_step: TensorBoard drops the events of earlier files in the directory from this step on
    """

    def __init__(self, log_dir: "os.PathLike[str]", purge_step: Optional[int] = None) -> None:
        self.log_dir = pathlib.Path(log_dir)
        self._purge_step = purge_step
        self._file: Any = None
        self._lock = threading.Lock()

    def add_scalar(
        self, tag: str, scalar_value: Any, global_step: Optional[int] = None, walltime: Optional[float] = None, **_: Any
    ) -> None:
        """Adds a number to the curve `tag`."""
        value = _field(1, _BYTES, tag.encode()) + _field(2, _FLOAT, struct.pack("<f", float(scalar_value)))
        summary = _field(1, _BYTES, value)
        with self._lock:
            self._append(_event(walltime or time.time(), int(global_step or 0), 5, summary))

    def add_scalars(self, main_tag: str, tag_scalar_dict: Any, global_step: Optional[int] = None, **more: Any) -> None:
        """Adds a number to each of the curves `main_tag/name`."""
        for name, value in tag_scalar_dict.items():
            self.add_scalar(f"{main_tag}/{name}", value, global_step, **more)

    def flush(self) -> None:
        with self._lock:
            if self._file is not None:
                self._file.flush()

    def close(self) -> None:
        with self._lock:
            if self._file is not None:
                self._file.close()
                self._file = None

    def __enter__(self) -> "EventWriter":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("add_"):
            raise AttributeError(f"{name}() needs the package tensorboard, which is not installed: only scalars are written")
        raise AttributeError(name)

    def _append(self, event: bytes) -> None:
        if self._file is None:
            self._file = self._open()
        self._write(event)

    def _open(self) -> Any:
        self.log_dir.mkdir(parents=True, exist_ok=True)
        now = time.time()
        name = f"events.out.tfevents.{int(now)}.{socket.gethostname()}.{os.getpid()}.{time.monotonic_ns()}"
        self._file = open(self.log_dir / name, "wb")
        self._write(_event(now, 0, 3, b"brain.Event:2"))
        if self._purge_step is not None:
            self._write(_event(now, self._purge_step, 7, _field(1, _VARINT, _varint(1))))  # SessionLog.START
        return self._file

    def _write(self, event: bytes) -> None:
        length = struct.pack("<Q", len(event))
        self._file.write(
            length + struct.pack("<I", _masked_crc(length)) + event + struct.pack("<I", _masked_crc(event))
        )
