"""Tests the Core API in a program that is started by hand."""

import os
import signal
import time

from support import Case, finish, start_ranks


class OffCluster(Case):
    def test_reports_are_logged(self):
        script = """
            logging.basicConfig(level=logging.INFO, format=det.LOG_FORMAT)
            with det.core.init() as context:
                assert context.info is None
                context.train.set_status("warming up")
                context.train.report_progress(0.5)
                context.train.report_training_metrics(1, {"loss": 1})
                assert context.train.get_experiment_best_validation() is None
                assert context.train.get_tensorboard_path() is None
                assert not context.preempt.should_preempt()
                context.profiler.on()
                context.profiler.off()
            """
        ((code, _, err),) = finish(start_ranks(script, 1, **self.variables))
        self.assertEqual(code, 0, err)
        self.assertIn("status: warming up", err)
        self.assertIn("report_progress 0.5", err)
        self.assertNotIn("loss", err)  # metrics are logged at DEBUG

    def test_checkpoints_are_kept_in_the_users_data_directory(self):
        self.run_ranks(
            """
            with det.core.init() as context:
                with context.checkpoint.store_path({"steps_completed": 3, "note": "x"}) as (path, storage_id):
                    (path / "weights").write_text("1 2 3")
                    (path / "more").mkdir()
                    (path / "more/bias").write_text("4")
                with context.checkpoint.restore_path(storage_id) as path:
                    assert (path / "weights").read_text() == "1 2 3"
                    assert str(path).startswith(os.environ["HOME"] + "/.local/share/determined/")
                assert context.checkpoint.get_metadata(storage_id) == {"steps_completed": 3, "note": "x"}
                copy = os.path.join(os.environ["HOME"], "a", "copy")
                context.checkpoint.download(storage_id, copy, selector=lambda path: path == "more/bias")
                assert os.listdir(copy) == ["more"], os.listdir(copy)
                again = context.checkpoint.upload(copy, {"steps_completed": 4}, selector=lambda p: True)
                context.checkpoint.delete(again)
                try:
                    context.checkpoint.get_metadata(again)
                    raise SystemExit("a deleted checkpoint has metadata")
                except det.errors.CheckpointNotFound:
                    pass
            """
        )

    def test_what_was_restored_can_be_uploaded_again(self):
        self.run_ranks(
            """
            with det.core.init() as context:
                with context.checkpoint.store_path({"steps_completed": 3}) as (path, storage_id):
                    (path / "weights").write_text("1 2 3")
                for shard in (False, True):
                    with context.checkpoint.restore_path(storage_id) as path:
                        storage_id = context.checkpoint.upload(path, {"steps_completed": 4}, shard=shard)
                    with context.checkpoint.restore_path(storage_id) as path:
                        assert (path / "weights").read_text() == "1 2 3"
                    assert context.checkpoint.get_metadata(storage_id) == {"steps_completed": 4}
            """
        )

    def test_a_block_that_fails_leaves_no_checkpoint(self):
        self.run_ranks(
            """
            storage = os.path.join(os.environ["HOME"], "storage")
            with det.core.init(checkpoint_storage=storage) as context:
                for metadata, problem in [({"steps_completed": 1}, KeyError("x")), ({}, None), (None, None)]:
                    try:
                        with context.checkpoint.store_path(metadata) as (path, storage_id):
                            (path / "weights").write_text("1")
                            if problem:
                                raise problem
                        raise SystemExit(f"{metadata} made a checkpoint")
                    except (ValueError, KeyError):
                        pass
                assert os.listdir(storage) == [], os.listdir(storage)
            """
        )

    def test_arguments_are_checked(self):
        self.run_ranks(
            """
            def refuses(kind, call):
                try:
                    call()
                except kind as problem:
                    assert str(problem), "no message"
                    return
                raise SystemExit(f"{call} was accepted")
            core = det.core
            refuses(ValueError, lambda: core.init(checkpoint_storage={"type": "shared_fs", "host_path": "/x"}))
            refuses(ValueError, lambda: core.init(checkpoint_storage="s3://bucket/path?x=1"))
            refuses(NotImplementedError, lambda: core.init(checkpoint_storage="ftp://host/path"))
            refuses(TypeError, lambda: core.init(checkpoint_storage=3))
            refuses(ValueError, lambda: core.DistributedContext(rank=0, size=2, local_rank=0))
            refuses(ValueError, lambda: core.DistributedContext(rank=0))
            refuses(AssertionError, lambda: core.DistributedContext(
                rank=0, size=2, local_rank=0, local_size=1, cross_rank=0, cross_size=2))
            refuses(KeyError, lambda: core.DistributedContext.from_torch_distributed())
            context = core.init()
            refuses(RuntimeError, context.preempt.should_preempt)
            with context:
                refuses(RuntimeError, context.start)
                refuses(RuntimeError, context.preempt.start)
                refuses(ValueError, lambda: context.train.report_progress(1.5))
                for steps in (-1, 2**64):
                    refuses(ValueError, lambda: context.train.report_training_metrics(steps, {"loss": 1}))
                    refuses(ValueError, lambda: context.checkpoint.upload(
                        os.environ["HOME"], {"steps_completed": steps}))
                refuses(ValueError, lambda: context.alert("x"))
                refuses(RuntimeError, lambda: context.train.report_validation_metrics(1, {"loss": None}))
                refuses(RuntimeError, lambda: context.train.upload_tensorboard_files())
                refuses(ValueError, lambda: context.profiler.on(0.01))
                refuses(ValueError, lambda: context.profiler.on(1, 0))
                refuses(RuntimeError, lambda: context.checkpoint.upload(None, {"steps_completed": 1}))
                refuses(RuntimeError, lambda: context.checkpoint.upload(None, shard=True, selector=lambda p: True))
                refuses(det.errors.CheckpointNotFound,
                        lambda: context.checkpoint.get_metadata("00000000-0000-4000-8000-000000000000"))
            """
        )

    def test_there_is_one_searcher_operation(self):
        self.run_ranks(
            """
            import warnings
            warnings.simplefilter("ignore")
            with det.core.init() as context:
                lengths = []
                for op in context.searcher.operations():
                    lengths.append(op.length)
                    op.report_progress(0.5)
                    op.report_completed(1.0)
                assert lengths == [1]
                assert context.searcher.get_configured_units() is None
                assert context.searcher.batches_left(5) is None
                context.searcher.acknowledge_out_of_ops()
                try:
                    for op in context.searcher.operations():
                        pass
                    raise SystemExit("the operation needs no report")
                except RuntimeError as problem:
                    assert "report_completed" in str(problem)
            """
        )

    def test_invalid_hyperparameters_end_the_program_with_0(self):
        self.run_ranks(
            """
            with det.core.init():
                raise det.InvalidHP("too deep")
            """
        )

    def test_sigusr1_prints_stacks_and_calls_the_handler_before(self):
        script = """
            import signal, time
            def handler(*_): print("handler", flush=True)
            signal.signal(signal.SIGUSR1, handler)
            with det.core.init():
                def wait_here():
                    print("waiting", flush=True)
                    time.sleep(0.5)
                    time.sleep(0.5)
                wait_here()
            """
        processes = start_ranks(script, 1, **self.variables)
        self.assertEqual(processes[0].stdout.readline(), "waiting\n")
        os.kill(processes[0].pid, signal.SIGUSR1)
        time.sleep(0.1)
        ((code, out, err),) = finish(processes)
        self.assertEqual(code, 0, err)
        self.assertIn("wait_here", err)
        self.assertIn("handler", out)
