"""Several ranks that a program numbers itself, off the cluster."""

from support import Case, finish, start_ranks

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
