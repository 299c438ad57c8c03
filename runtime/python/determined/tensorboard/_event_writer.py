"""TensorBoard's event files, without the package tensorboard: scalars, texts, images and histograms.

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
import warnings
from typing import Any, Callable, List, Optional, Set

from determined.tensorboard import _arrays, _messages

_CRC32C_POLYNOMIAL = 0x82F63B78
_CRC_MASK = 0xA282EAD8

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


class EventWriter:
    """Writes one event file in a directory, with the methods of torch's SummaryWriter. A method that it does not have
    writes nothing and warns once, so that a training does not end because of it.

    Args:
        log_dir: the directory; the first event makes it
        purge_step: TensorBoard drops the events of earlier files in the directory from this step on
    """

    def __init__(self, log_dir: "os.PathLike[str]", purge_step: Optional[int] = None) -> None:
        self.log_dir = pathlib.Path(log_dir)
        self._purge_step = purge_step
        self._file: Any = None
        self._lock = threading.Lock()
        self._warned: Set[str] = set()

    def add_scalar(
        self, tag: str, scalar_value: Any, global_step: Optional[int] = None, walltime: Optional[float] = None, **_: Any
    ) -> None:
        """Adds a number to the curve `tag`."""
        self._add(tag, _messages.scalar(float(scalar_value)), global_step, walltime)

    def add_scalars(self, main_tag: str, tag_scalar_dict: Any, global_step: Optional[int] = None, **more: Any) -> None:
        """Adds a number to each of the curves `main_tag/name`."""
        for name, value in tag_scalar_dict.items():
            self.add_scalar(f"{main_tag}/{name}", value, global_step, **more)

    def add_text(
        self, tag: str, text_string: str, global_step: Optional[int] = None, walltime: Optional[float] = None, **_: Any
    ) -> None:
        """Adds a text, which TensorBoard shows as Markdown."""
        self._add(f"{tag}/text_summary", _messages.text(text_string), global_step, walltime)

    def add_image(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Optional[int] = None,
        walltime: Optional[float] = None,
        dataformats: str = "CHW",
        **_: Any,
    ) -> None:
        """Adds an image: a tensor or array of bytes, or of numbers from 0 to 1. dataformats: its dimensions.

        Raises:
            ValueError: it has other dimensions, or another number of channels than 1, 3 or 4
        """
        pixels = _arrays.to_pixels(img_tensor, dataformats)
        self._add(tag, _messages.image(pixels), global_step, walltime)

    def add_images(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Optional[int] = None,
        walltime: Optional[float] = None,
        dataformats: str = "NCHW",
        **_: Any,
    ) -> None:
        """Adds several images as one, eight in a row."""
        self.add_image(tag, img_tensor, global_step, walltime, dataformats)

    def add_histogram(
        self,
        tag: str,
        values: Any,
        global_step: Optional[int] = None,
        bins: Any = "tensorflow",
        walltime: Optional[float] = None,
        **_: Any,
    ) -> None:
        """Adds the distribution of the finite values. bins: as for numpy.histogram. Without a finite value, adds
        nothing."""
        array, limits, counts = _arrays.to_buckets(values, bins)
        if array.size > 0:
            self._add(tag, _messages.histogram(array, limits, counts), global_step, walltime)

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
            return self._ignore(name)
        raise AttributeError(name)

    def _ignore(self, name: str) -> Callable[..., None]:
        """A method that writes nothing."""

        def warn(*_: Any, **__: Any) -> None:
            if name not in self._warned:
                warnings.warn(f"{name}() writes nothing: it needs the package tensorboard, which is not installed")
                self._warned.add(name)

        return warn

    def _add(self, tag: str, content: bytes, step: Optional[int], walltime: Optional[float]) -> None:
        summary = _messages.summary(tag, content)
        with self._lock:
            self._append(_messages.event(walltime or time.time(), int(step or 0), 5, summary))

    def _append(self, event: bytes) -> None:
        if self._file is None:
            self._file = self._open()
        self._write(event)

    def _open(self) -> Any:
        self.log_dir.mkdir(parents=True, exist_ok=True)
        now = time.time()
        name = f"events.out.tfevents.{int(now)}.{socket.gethostname()}.{os.getpid()}.{time.monotonic_ns()}"
        self._file = open(self.log_dir / name, "wb")
        self._write(_messages.event(now, 0, 3, b"brain.Event:2"))
        if self._purge_step is not None:
            start = _messages.field(1, _messages.VARINT, _messages.varint(1))  # SessionLog.START
            self._write(_messages.event(now, self._purge_step, 7, start))
        return self._file

    def _write(self, event: bytes) -> None:
        length = struct.pack("<Q", len(event))
        self._file.write(
            length + struct.pack("<I", _masked_crc(length)) + event + struct.pack("<I", _masked_crc(event))
        )
