"""Tests several ranks that a program numbers itself, off the cluster."""

import os

from support import Case, finish, start_ranks

# Two nodes of two ranks. The nodes share HOME; each has its own TMPDIR. The directory `shared`, in which
# ranks find each other, is empty again when the ranks are connected.
NODES = """
node = rank // 2
os.environ["TMPDIR"] = os.path.join(os.environ["HOME"], f"node-{node}")
os.makedirs(os.environ["TMPDIR"], exist_ok=True)
numbers = dict(rank=rank, size=4, local_rank=rank % 2, local_size=2, cross_rank=node, cross_size=2)
def check(ranks):
    assert ranks.allgather(rank) == [0, 1, 2, 3]
    assert ranks.allgather_local(rank) == [2 * node, 2 * node + 1]
    assert ranks.broadcast(rank) == 0 and ranks.get_num_agents() == 2
    assert not os.path.exists(shared) or os.listdir(shared) == [], os.listdir(shared)
shared = os.path.join(os.environ["HOME"], ".cache/det-submit/ranks")
"""

OBJECTS = """
value = {"rank": rank, "text": "x" * 1000 * rank, "list": [rank] * rank}
values = [{"rank": r, "text": "x" * 1000 * r, "list": [r] * r} for r in range(size)]
with connect(pub_port=20000 + size) as ranks:
    for _ in range(3):
        assert ranks.allgather(value) == values
        assert ranks.allgather_local(value) == values
        assert ranks.gather(value) == (values if rank == 0 else None)
        assert ranks.gather_local(value) == (values if rank == 0 else None)
        assert ranks.broadcast(value) == values[0]
        assert ranks.broadcast_local(value if rank == 0 else None) == values[0]
    assert ranks.get_rank() == rank and ranks.get_size() == size and ranks.get_num_agents() == 1
"""


class Ranks(Case):
    def test_objects_of_any_size_are_exchanged(self):
        for size in (1, 2, 4):
            with self.subTest(size=size):
                self.run_ranks(OBJECTS, size)

    def test_numbers_come_from_launchers(self):
        script = """
            with det.core.DistributedContext.from_torch_distributed() as ranks:
                assert ranks.allgather(ranks.rank) == [0, 1]
        """
        processes = []
        for rank in ("0", "1"):
            numbers = dict(RANK=rank, WORLD_SIZE="2", LOCAL_RANK=rank, LOCAL_WORLD_SIZE="2", GROUP_RANK="0",
                           GROUP_WORLD_SIZE="1", MASTER_PORT="29411")
            processes += start_ranks(script, 1, **self.variables, **numbers)
        for code, _, err in finish(processes):
            self.assertEqual(code, 0, err)

    def test_ranks_can_connect_several_times(self):
        self.run_ranks(
            """
            for round in range(3):
                with connect() as ranks:
                    assert ranks.allgather(rank) == list(range(size))
                ranks.close()
            """,
            3,
        )

    def test_ranks_of_several_nodes_connect_without_a_run(self):
        self.run_ranks(
            NODES
            + """
for round in range(2):
    with det.core.DistributedContext(chief_ip="127.0.0.1", **numbers) as ranks:
        check(ranks)
    with det.core.DistributedContext(chief_ip="localhost", pub_port=20000, **numbers) as ranks:
        with det.core.init(distributed=ranks) as context:
            check(context.distributed)
            assert not context.preempt.should_preempt()
""",
            4,
        )

    def test_nodes_of_one_rank_may_be_threads(self):
        self.run_ranks(
            """
            import threading
            results = [None] * 4
            def run(number):
                numbers = dict(rank=number, size=4, local_rank=0, local_size=1, cross_rank=number, cross_size=4)
                with det.core.DistributedContext(chief_ip="localhost", force_tcp=True, **numbers) as ranks:
                    results[number] = (ranks.allgather(number), ranks.allgather_local(number), ranks.broadcast(number))
            threads = [threading.Thread(target=run, args=(number,), daemon=True) for number in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(30)
            assert results == [([0, 1, 2, 3], [number], 0) for number in range(4)], results
            """
        )

    def test_torchrun_gives_the_address_of_the_chief(self):
        self.run_ranks(
            NODES
            + """
os.environ.update(RANK=str(rank), WORLD_SIZE="4", LOCAL_RANK=str(rank % 2), LOCAL_WORLD_SIZE="2", GROUP_RANK=str(node),
                  GROUP_WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT="29412")
with det.core.DistributedContext.from_torch_distributed() as ranks:
    check(ranks)
""",
            4,
        )

    def test_tf_config_gives_the_address_of_the_chief(self):
        self.run_ranks(
            """
            import json
            sys.path.insert(0, os.environ["TEST_MODULES"])
            os.environ["TF_CONFIG"] = json.dumps({
                "cluster": {"worker": ["127.0.0.1:2222", "127.0.0.1:2223"]}, "task": {"type": "worker", "index": rank}})
            ranks, strategy = det.core.DistributedContext.from_tf_config()
            with ranks:
                assert ranks.allgather(rank) == [0, 1]
            """,
            2,
            TEST_MODULES=os.path.join(os.path.dirname(__file__), "../support/launchers"),
        )

    def test_ranks_that_do_not_meet_are_told_the_file_and_the_variable(self):
        self.run_ranks(
            """
            os.environ["DET_RENDEZVOUS_DIR"] = os.path.join(os.environ["HOME"], f"only-{rank}")
            try:
                det.core.DistributedContext(rank=rank, size=2, local_rank=0, local_size=1, cross_rank=rank, cross_size=2,
                                            chief_ip="127.0.0.1")
                raise SystemExit("the ranks have met")
            except det._lib.LibraryError as problem:
                assert problem.code == "timed-out", problem
                assert f"only-{rank}/det-ranks-" in str(problem), problem
                assert "port-12360@127.0.0.1" in str(problem), problem
                assert "set DET_RENDEZVOUS_DIR" in str(problem), problem
            """,
            2,
            DET_COLLECTIVE_TIMEOUT_S="1",
        )

    def test_horovod_and_deepspeed_numbers(self):
        self.run_ranks(
            """
            class Hvd:
                rank = staticmethod(lambda: rank)
                size = staticmethod(lambda: size)
                local_rank, local_size = rank, size
                cross_rank = staticmethod(lambda: 0)
                cross_size = staticmethod(lambda: 1)
            Hvd.local_rank, Hvd.local_size = Hvd.rank, Hvd.size
            with det.core.DistributedContext.from_horovod(Hvd) as ranks:
                assert ranks.allgather(rank) == [0, 1]
            os.environ.update(RANK=str(rank), WORLD_SIZE="2", LOCAL_RANK=str(rank), LOCAL_SIZE="2", CROSS_RANK="0",
                              CROSS_SIZE="1")
            with det.core.DistributedContext.from_deepspeed() as ranks:
                assert ranks.broadcast(rank) == 0
            """,
            2,
        )

    def test_all_ranks_make_one_checkpoint(self):
        self.run_ranks(
            """
            with det.core.init(distributed=connect()) as context:
                checkpoint = context.checkpoint
                metadata = {"steps_completed": 5} if rank == 0 else {"rank": rank}
                with checkpoint.store_path(metadata, shard=True) as (path, storage_id):
                    (path / f"rank-{rank}").write_text(str(rank))
                assert checkpoint.get_metadata(storage_id) == {"steps_completed": 5, "rank": 1}
                with checkpoint.restore_path(storage_id) as path:
                    assert (path / "rank-0").read_text() == "0" and (path / "rank-1").read_text() == "1"
                target = os.path.join(os.environ["HOME"], "copy")
                checkpoint.download(storage_id, target, selector=lambda path: path == f"rank-{rank}")
                assert sorted(os.listdir(target)) == ["rank-0", "rank-1"], os.listdir(target)
                own = os.path.join(os.environ["HOME"], f"own-{rank}")
                os.mkdir(own)
                open(os.path.join(own, f"file-{rank}"), "w").close()
                uploaded = checkpoint.upload(own, {"steps_completed": 6}, shard=True)
                with checkpoint.restore_path(uploaded) as path:
                    assert {"file-0", "file-1"} <= set(os.listdir(path))
                if rank == 0:
                    checkpoint.upload(own, {"steps_completed": 7})
                else:
                    try:
                        checkpoint.upload(own, {"steps_completed": 7})
                        raise SystemExit("a rank other than the chief has made a checkpoint")
                    except RuntimeError as problem:
                        assert "non-chief worker (rank=1)" in str(problem)
            """,
            2,
        )

    def test_a_rank_that_fails_in_a_sharded_block_makes_it_fail_everywhere(self):
        self.run_ranks(
            """
            with det.core.init(distributed=connect()) as context:
                try:
                    with context.checkpoint.store_path({"steps_completed": 5}, shard=True) as (path, storage_id):
                        if rank == 1:
                            raise KeyError("no such layer")
                    raise SystemExit("there is a checkpoint")
                except (KeyError, RuntimeError) as problem:
                    assert "no such layer" in str(problem), problem
                assert context.distributed.allgather(rank) == [0, 1]
                assert os.listdir(os.environ["HOME"] + "/.local/share/determined") == []
            """,
            2,
        )

    def test_an_exception_on_one_rank_ends_the_others(self):
        results = finish(
            start_ranks(
                """
                with det.core.init(distributed=connect()) as context:
                    if rank == 1:
                        raise ValueError("rank 1 gives up")
                    for _ in range(1000000):
                        context.distributed.allgather(rank)
                """,
                3,
                **self.variables,
            )
        )
        self.assertEqual([code for code, _, _ in results], [1, 1, 1])
        self.assertIn("ValueError: rank 1 gives up", results[1][2])
        for other in (0, 2):
            self.assertIn("rank 1", results[other][2])

    def test_preemption_modes(self):
        self.run_ranks(
            """
            with det.core.init(distributed=connect(), preempt_mode=det.core.PreemptMode.ChiefOnly) as context:
                if rank == 0:
                    assert not context.preempt.should_preempt()
                else:
                    try:
                        context.preempt.should_preempt()
                        raise SystemExit("rank 1 may ask")
                    except RuntimeError as problem:
                        assert "from non-chief worker of rank=1" in str(problem)
            with det.core.init(distributed=connect(), preempt_mode=det.core.PreemptMode.WorkersAskMaster) as context:
                if rank == 1:
                    assert not context.preempt.should_preempt(auto_ack=False)
            """,
            2,
        )
