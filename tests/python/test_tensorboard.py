"""Tests the event files of slurm.tensorboard and of EventWriter, with a reader that follows the description
of the format."""

import pathlib
import struct
import warnings
import zlib

from support import Case, RunCase


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records_of(data):
    """Yields the records of a TFRecord file. Each is a size, a checksum of the size, the bytes, and a
    checksum of the bytes."""
    while data:
        (size,) = struct.unpack_from("<Q", data)
        assert struct.unpack_from("<I", data, 8)[0] == masked(data[:8])
        record = data[12 : 12 + size]
        assert struct.unpack_from("<I", data, 12 + size)[0] == masked(record)
        yield record
        data = data[16 + size :]


def varint_of(data):
    value = shift = 0
    for size, byte in enumerate(data, 1):
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, data[size:]
    raise AssertionError("a number without an end")


def fields_of(message):
    """Yields the fields of a message of Protocol Buffers as (number, value)."""
    while message:
        key, message = varint_of(message)
        kind = key & 7
        if kind == 0:
            value, message = varint_of(message)
        elif kind == 1:
            (value,), message = struct.unpack_from("<d", message), message[8:]
        elif kind == 5:
            (value,), message = struct.unpack_from("<f", message), message[4:]
        else:
            assert kind == 2, kind
            size, message = varint_of(message)
            value, message = message[:size], message[size:]
        yield key >> 3, value


def scalars_of(event):
    for field, value in fields_of(dict(fields_of(event)).get(5, b"")):
        assert field == 1
        scalar = dict(fields_of(value))
        yield scalar[1].decode(), scalar[2]


def pixels_of(value):
    """Height, width, channels and pixels of an image, which is a PNG file."""
    image = dict(fields_of(value[4]))
    data, chunks = image[4][8:], {}
    assert image[4].startswith(b"\x89PNG\r\n\x1a\n")
    while data:
        (size,) = struct.unpack_from(">I", data)
        name, content = data[4:8], data[8 : 8 + size]
        assert struct.unpack_from(">I", data, 8 + size)[0] == zlib.crc32(name + content)
        chunks[name], data = content, data[12 + size :]
    width, height, depth, colour_type = struct.unpack_from(">IIBB", chunks[b"IHDR"])
    assert (width, height, depth) == (image[2], image[1], 8)
    assert colour_type == {1: 0, 3: 2, 4: 6}[image[3]]
    rows, row_size = zlib.decompress(chunks[b"IDAT"]), width * image[3] + 1
    pixels = [row for start in range(0, len(rows), row_size) for row in rows[start + 1 : start + row_size]]
    return height, width, image[3], pixels


class Tensorboard(RunCase):
    config = {"searcher": {"name": "single", "metric": "loss"}, "slurm": {"tensorboard": True}}

    def events(self):
        """The events of each file, in the order of the files' names."""
        directory = pathlib.Path(self.directory, "trials/0/tensorboard/reported")
        return [list(records_of(path.read_bytes())) for path in sorted(directory.iterdir()) if "tfevents" in path.name]

    def test_metrics_are_written_as_event_files(self):
        self.run_ranks(
            """
            with det.core.init(distributed=connect()) as context:
                context.train.report_training_metrics(300, {"loss": 0.5, "\u00e4": float("nan"), "epoch": 2})
                context.train.report_validation_metrics(
                    300, {"loss": 0.25, "note": "text", "best": True, "rate": float("inf")}
                )
                context.train.report_metrics("own", 301, {"none of them": "numbers"})
            """,
            2,
        )
        (events,) = self.events()
        self.assertEqual(dict(fields_of(events[0]))[3], b"brain.Event:2")
        self.assertEqual(len(events), 3)
        training = dict(scalars_of(events[1]))
        self.assertEqual((training["training/loss"], training["training/epoch"]), (0.5, 2))
        self.assertNotEqual(training["training/\u00e4"], training["training/\u00e4"])
        self.assertEqual(
            dict(scalars_of(events[2])),
            {"validation/loss": 0.25, "validation/best": 1, "validation/rate": float("inf")},
        )
        self.assertEqual([dict(fields_of(event)).get(2) for event in events], [0, 300, 300])
        self.assertAlmostEqual(dict(fields_of(events[1]))[1], dict(fields_of(events[0]))[1], delta=60)

    def test_a_run_that_resumes_replaces_later_steps(self):
        report = """
            with det.core.init(distributed=connect()) as context:
                context.train.report_training_metrics({}, {{"loss": {}}})
            """
        self.run_ranks(report.format(20, 0.5), 2)
        self.control("again", "00000000-0000-4000-8000-000000000001", "10")
        self.join_run(1)
        self.run_ranks(report.format(11, 0.25), 2)
        first, second = self.events()
        self.assertEqual(len(first), 2)
        start = dict(fields_of(second[1]))
        self.assertEqual(start[2], 11)  # TensorBoard drops earlier events from this step on
        self.assertEqual(dict(fields_of(start[7])), {1: 1})  # SessionLog.START
        self.assertEqual(dict(scalars_of(second[2])), {"training/loss": 0.25})


class EventWriter(Case):
    def test_scalars_of_a_program_are_written_without_tensorboard(self):
        from determined.tensorboard import EventWriter

        with EventWriter(pathlib.Path(self.directory, "own"), purge_step=4) as writer:
            writer.add_scalar("loss", 0.5, 7)
            writer.add_scalars("rates", {"a": 1, "\u00e4": 2}, 300)
            with self.assertWarnsRegex(UserWarning, "add_mesh.. writes nothing: it needs the package tensorboard"):
                writer.add_mesh("mesh", None)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                writer.add_mesh("mesh", None)  # warns once
            with self.assertRaises(AttributeError):
                writer.remove("mesh")
        (path,) = pathlib.Path(self.directory, "own").iterdir()
        events = list(records_of(path.read_bytes()))
        self.assertEqual(dict(fields_of(events[0]))[3], b"brain.Event:2")
        self.assertEqual(dict(fields_of(events[1]))[2], 4)
        self.assertEqual(dict(fields_of(dict(fields_of(events[1]))[7])), {1: 1})  # SessionLog.START
        found = [pair for event in events[2:] for pair in scalars_of(event)]
        self.assertEqual(found, [("loss", 0.5), ("rates/a", 1), ("rates/\u00e4", 2)])
        self.assertEqual([dict(fields_of(event))[2] for event in events[2:]], [7, 300, 300])

    def test_texts_images_and_histograms_are_written_without_tensorboard(self):
        import numpy

        from determined.tensorboard import EventWriter

        ramp = numpy.arange(12, dtype=numpy.uint8).reshape(3, 2, 2)
        with EventWriter(pathlib.Path(self.directory, "own")) as writer:
            writer.add_text("note", "**b\u00e4**", 1)
            writer.add_image("one", ramp, 2)
            writer.add_image("grey", numpy.array([[0.0, 0.5, 2.0]]), 3, dataformats="HW")
            writer.add_images("many", numpy.ones((9, 1, 2, 3)), 4)
            writer.add_histogram("weights", [1.0, 1.0, 2.0, float("nan")], 5, bins=2)
            writer.add_histogram("empty", [], 6)
            with self.assertRaisesRegex(ValueError, "1, 3 or 4 channels, not 2"):
                writer.add_image("two", numpy.ones((2, 4, 4)))
            with self.assertRaisesRegex(ValueError, "has not the dimensions CHW"):
                writer.add_image("flat", numpy.ones((4, 4)))
        (path,) = pathlib.Path(self.directory, "own").iterdir()
        values = [dict(fields_of(dict(fields_of(dict(fields_of(event))[5]))[1])) for event in list(records_of(path.read_bytes()))[1:]]
        note, one, grey, many, weights = values
        self.assertEqual(note[1], b"note/text_summary")
        self.assertEqual(dict(fields_of(note[8]))[8].decode(), "**b\u00e4**")
        self.assertEqual(dict(fields_of(dict(fields_of(note[9]))[1]))[1], b"text")
        self.assertEqual(pixels_of(one), (2, 2, 3, [0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11]))
        self.assertEqual(pixels_of(grey), (1, 3, 1, [0, 127, 255]))
        height, width, channels, grid = pixels_of(many)
        self.assertEqual((height, width, channels, sum(grid)), (4, 24, 1, 9 * 6 * 255))
        histogram = dict(fields_of(weights[5]))
        self.assertEqual([histogram[number] for number in range(1, 6)], [1, 2, 3, 4, 6])
        self.assertEqual(struct.unpack("<3d", histogram[6]), (1, 1.5, 2))
        self.assertEqual(struct.unpack("<3d", histogram[7]), (0, 2, 1))

    def test_files_of_profilers_are_named_by_their_rank(self):
        from determined.tensorboard.util import get_rank_aware_path

        path = pathlib.Path("/t/host.pt.trace.json")
        self.assertEqual(get_rank_aware_path(path, 3).name, "host#3.pt.trace.json")
        self.assertEqual(get_rank_aware_path(pathlib.Path("events"), 3).name, "events")


class WithoutTensorboard(RunCase):
    def test_no_event_files_are_written(self):
        self.run_ranks(
            """
            with det.core.init(distributed=connect()) as context:
                context.train.report_training_metrics(1, {"loss": 0.5})
            """,
            2,
        )
        self.assertFalse(pathlib.Path(self.directory, "trials/0/tensorboard").exists())
