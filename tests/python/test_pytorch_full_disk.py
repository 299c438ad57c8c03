"""Tests that the files of a checkpoint are written again after the disk was full."""

import errno
import os
import pathlib
import tempfile
import types
import unittest
from unittest import mock

import torch

from determined.pytorch import _checkpoint_files as files
from determined.pytorch._tensorboard_metrics import TensorboardMetrics

FULL = "/dev/full"  # writing to it fails with ENOSPC


class FullDisk(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.file = str(pathlib.Path(directory.name) / "state.pth")
        pause = mock.patch.object(files, "_SECONDS_BETWEEN_ATTEMPTS", 0)
        pause.start()
        self.addCleanup(pause.stop)

    def write_after(self, failures, write):
        """Writes to a full disk some times, and then to self.file."""
        targets = iter([FULL] * failures + [self.file])
        with self.assertLogs("determined.pytorch", "WARNING") as logs:
            files.repeat_write(lambda: write(next(targets)))
        self.assertEqual(len(logs.output), 1)

    def test_torch_saves_a_file_for_which_there_is_space_later(self):
        state = {"weights": torch.arange(100_000)}
        real_write, failures = os.write, [errno.ENOSPC, errno.EDQUOT, errno.EIO]

        def write(file, data):
            if failures:
                raise OSError(failures.pop(), "no space")
            return real_write(file, data[:5000])  # a short write

        with mock.patch.object(os, "write", write), self.assertLogs("determined.pytorch", "WARNING"):
            files.save(state, pathlib.Path(self.file))
        self.assertEqual(failures, [])
        self.assertTrue(torch.equal(torch.load(self.file)["weights"], state["weights"]))

    def test_an_error_that_remains_is_raised_and_does_not_abort_the_process(self):
        with mock.patch.dict(os.environ, {"DET_STORAGE_TIMEOUT_S": "0"}):
            with self.assertRaises(OSError) as raised:
                files.save({"weights": torch.arange(100_000)}, pathlib.Path(FULL))
        self.assertEqual(raised.exception.errno, errno.ENOSPC)

    def test_files_for_tensorboard_end_and_the_training_goes_on(self):
        context = types.SimpleNamespace(
            _exp_conf={},
            _trial_info=lambda: object(),
            _writer=None,
            distributed=types.SimpleNamespace(rank=0),
            get_enable_tensorboard_logging=lambda: True,
            get_tensorboard_path=lambda: pathlib.Path(self.file),
        )
        metrics = TensorboardMetrics(context, 0)
        metrics.write(1, {"loss": 1.0}, is_validation=False)
        metrics.flush()
        metrics._writer.close()
        metrics._writer._file = open(FULL, "wb")
        metrics.write(2, {"loss": 1.0}, is_validation=False)
        for method in (metrics.flush, metrics.close):
            with self.assertLogs("determined.pytorch", "WARNING") as logs:
                method()
            self.assertIn("metrics are no longer written for TensorBoard", logs.output[0])
        metrics.write(3, {"loss": 1.0}, is_validation=False)

    def test_a_file_is_written_again_when_there_is_space(self):
        def write(target):
            with open(target, "w") as file:
                file.write("progress")

        self.write_after(2, write)
        self.assertEqual(pathlib.Path(self.file).read_text(), "progress")

    def test_it_gives_up_after_the_timeout(self):
        with mock.patch.dict(os.environ, {"DET_STORAGE_TIMEOUT_S": "0"}):
            with self.assertRaises(OSError) as raised:
                files.repeat_write(lambda: pathlib.Path(FULL).write_text("x"))
        self.assertEqual(raised.exception.errno, errno.ENOSPC)

    def test_other_errors_are_not_repeated(self):
        for problem in (FileNotFoundError(errno.ENOENT, "absent"), RuntimeError("can't pickle it")):
            write = mock.Mock(side_effect=problem)
            with self.assertRaises(type(problem)):
                files.repeat_write(write)
            write.assert_called_once()


if __name__ == "__main__":
    unittest.main()
