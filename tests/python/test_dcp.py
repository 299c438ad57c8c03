"""Tests sharded states: torch.distributed.checkpoint with our storage, and DTensors in save_state(). Ranks are processes
with gloo."""

import os
import textwrap
import unittest

import torch

from support import Case, RunCase, finish, start_ranks
from test_state import HELPERS

LIMIT_S = 150  # four processes import torch
NEEDED = (2, 6)
IS_NEW = tuple(int(number) for number in torch.__version__.split(".")[:2]) >= NEEDED

PREPARATION = """
import tempfile
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
import torch.distributed.checkpoint as torch_dcp
from determined.pytorch import dcp

class Messages(logging.Handler):
    texts = []
    def emit(self, record):
        self.texts.append(record.getMessage())

logging.getLogger("determined").addHandler(Messages())

def failure(call):
    # The error and what was logged: torch 2.6 loses the text with Python 3.13 ("cannot pickle code objects").
    Messages.texts.clear()
    try:
        call()
    except BaseException as problem:   # CheckpointException of torch is no Exception
        return " / ".join([f"{type(problem).__name__}: {problem}", *Messages.texts])
    raise SystemExit("there is no error")

torch.set_num_threads(1)
dist.init_process_group("gloo", init_method=f"file://{os.environ['TEST_MEETING']}", rank=rank, world_size=size)
"""


class ShardedCase(Case):
    meetings = 0

    def setUp(self):
        super().setUp()
        self.variables["XDG_DATA_HOME"] = f"{self.directory}/data"
        self.variables["GLOO_SOCKET_IFNAME"] = "lo"

    def start(self, script, size, **more):
        self.meetings += 1
        meeting = f"{self.directory}/meeting-{self.meetings}"
        program = HELPERS + PREPARATION + script + "\ndist.destroy_process_group()\n"
        return start_ranks(program, size, **{**self.variables, "TEST_MEETING": meeting, **more})

    def run_sharded(self, script, size, **more):
        """Runs ranks that have a process group. Returns the standard output of each."""
        results = finish(self.start(script, size, **more), LIMIT_S)
        for rank, (code, _, err) in enumerate(results):
            self.assertEqual(code, 0, f"rank {rank} of {size}:\n{err}")
        return [out for _, out, _ in results]


class OldTorch(Case):
    @unittest.skipIf(IS_NEW, f"SKIPPED: torch {torch.__version__} has what dcp needs")
    def test_an_old_torch_is_an_import_error(self):
        done = self.run_ranks(
            """
            try:
                import determined.pytorch.dcp
            except ImportError as problem:
                print(problem)
            """
        )
        self.assertRegex(done[0], "determined.pytorch.dcp needs torch 2.6 or newer, and this is 1.13.*\n.*save_state")


# A state with everything that DCP knows. Makes DTensors without communication, because gloo lacks types.
STATE = """
import functools
from torch.distributed.tensor._utils import compute_local_shape_and_global_offset

LAYOUTS = {
    "rows": lambda dims: ((size,), [Shard(0)]),
    "columns": lambda dims: ((size,), [Shard(dims - 1)]),
    "copies": lambda dims: ((2, size // 2), [Replicate(), Shard(0)]),
    "both": lambda dims: ((2, size // 2), [Shard(0), Shard(1) if dims > 1 else Replicate()]),
}
mesh_of = functools.lru_cache(None)(lambda shape: init_device_mesh("cpu", shape))

def part_of(tensor, value):
    lengths, begin = compute_local_shape_and_global_offset(value.shape, value.device_mesh, value.placements)
    return tensor[tuple(slice(b, b + n) for b, n in zip(begin, lengths))]

def place(tensor, layout):
    if layout == "plain":
        return tensor
    shape, placements = LAYOUTS[layout](tensor.dim())
    mesh = mesh_of(shape)
    lengths, begin = compute_local_shape_and_global_offset(tensor.shape, mesh, placements)
    local = tensor[tuple(slice(b, b + n) for b, n in zip(begin, lengths))].clone(memory_format=torch.contiguous_format)
    return DTensor.from_local(local, mesh, placements, run_check=False, shape=tensor.shape, stride=tensor.stride())

def make_state(layout, filled=True):
    torch.manual_seed(5)
    def tensor(*shape, dtype=torch.float32):
        made = (torch.rand(*shape) * 100).to(dtype)
        return place(made if filled else torch.zeros_like(made), layout)
    return {
        "model": {"a.weight": tensor(8, 6), "uneven": tensor(5, 3), "tiny": tensor(1, 2), "half": tensor(4, 4, dtype=torch.bfloat16),
                  "complex": tensor(4, 2, dtype=torch.complex64), "flags": tensor(6, dtype=torch.bool)},
        "plain": torch.arange(6.0).reshape(2, 3).t() if filled else torch.zeros(3, 2), "scalar": torch.tensor(2.5 if filled else 0.0),
        "empty": torch.zeros(0, 3), "steps": 7 if filled else 0, "name": "x" if filled else "", "nothing": None,
        "list": [1, 2.5, "y"] if filled else [], "tensors": [tensor(4, 2), {"inner": tensor(2, 2)}],
        "pair": (1, torch.ones(2)) if filled else (),
    }

def check(state, expected=None, path="state"):
    expected = make_state("plain") if expected is None and path == "state" else expected
    if isinstance(expected, dict):
        assert list(state) == list(expected), path
        for key in expected:
            check(state[key], expected[key], f"{path}.{key}")
    elif isinstance(expected, (list, tuple)):
        assert type(state) is type(expected) and len(state) == len(expected), (path, state)
        for index, each in enumerate(expected):
            check(state[index], each, f"{path}.{index}")
    elif isinstance(state, DTensor):
        same(state.to_local().contiguous(), part_of(expected, state).contiguous(), path)
    else:
        same(state, expected, path)

def save(context, layout):
    writer = dcp.StorageWriter(context, steps_completed=12, metadata={"note": "n"})
    torch_dcp.save(make_state(layout), storage_writer=writer)
    return writer.uuid

def load(context, layout, uuid):
    reader = dcp.StorageReader(context, uuid)
    assert (reader.uuid, reader.steps_completed, reader.metadata["note"]) == (uuid, 12, "n"), reader.uuid
    state = make_state(layout, filled=False)
    torch_dcp.load(state, storage_reader=reader)
    check(state)
"""


@unittest.skipUnless(IS_NEW, f"SKIPPED: DCP needs torch {NEEDED[0]}.{NEEDED[1]}, and this is {torch.__version__}")
class Dcp(ShardedCase):
    def test_a_state_is_loaded_with_other_numbers_of_ranks_and_other_meshes(self):
        program = STATE + textwrap.dedent("""
            with connect() as ranks, det.core.init(distributed=ranks) as context:
                for uuid in os.environ["UUIDS"].split():
                    for layout in os.environ["LOADS"].split():
                        load(context, layout, uuid)
                for layout in os.environ["SAVES"].split():
                    print(save(context, layout))
            """)
        uuids = []
        for size, loads, saves in ((2, "", "rows"), (4, "both columns", "copies both"), (2, "columns", ""), (1, "rows plain", "plain"), (2, "rows", "")):
            outs = self.run_sharded(program, size, UUIDS=" ".join(uuids), LOADS=loads, SAVES=saves)
            self.assertEqual(len(set(outs)), 1)
            uuids += outs[0].split()
        self.assertEqual(len(uuids), 4)


    def test_a_rank_that_fails_makes_all_fail_and_nothing_is_committed(self):
        self.run_sharded(
            STATE + textwrap.dedent("""
            class Broken(torch_dcp.DefaultSavePlanner):
                def resolve_data(self, item):
                    if rank == 1:
                        raise ValueError("broken memory")
                    return super().resolve_data(item)
            class BrokenLoad(torch_dcp.DefaultLoadPlanner):
                def resolve_tensor(self, item):
                    if rank == 1:
                        raise ValueError("broken memory")
                    return super().resolve_tensor(item)
            data = os.environ["XDG_DATA_HOME"] + "/determined"
            def checkpoints():
                return {name for name in os.listdir(data) if not name.startswith(".")} if os.path.isdir(data) else set()
            with connect() as ranks, det.core.init(distributed=ranks) as context:
                assert dcp.StorageReader(context).uuid is None
                text = failure(lambda: dcp.load({"a": 1}, storage_reader=dcp.StorageReader(context)))
                assert "there is no checkpoint to load" in text, text
                writer = dcp.StorageWriter(context, 1)
                text = failure(lambda: torch_dcp.save(make_state("rows"), storage_writer=writer, planner=Broken()))
                assert "broken memory" in text, text
                future = failure(lambda: dcp.async_save(make_state("rows"), storage_writer=writer, planner=Broken()))
                assert "broken memory" in future, future
                assert writer.uuid is None and dcp.StorageReader(context).uuid is None and not checkpoints(), checkpoints()
                # All ranks go on.
                dcp.save(make_state("rows"), storage_writer=writer)
                context.distributed.allgather(None)
                assert checkpoints() == {writer.uuid}, checkpoints()
                reader = dcp.StorageReader(context)
                state = make_state("rows", filled=False)
                assert "broken memory" in failure(lambda: dcp.load(state, storage_reader=reader, planner=BrokenLoad()))
                dcp.load(state, storage_reader=reader)
                check(state)
                assert "another one by StorageReader(uuid=" in failure(lambda: dcp.load(state, checkpoint_id="x", storage_reader=reader))
            """),
            2,
        )

    def test_async_save_copies_the_state_and_completes_it_later(self):
        self.run_sharded(
            STATE + textwrap.dedent("""
            with connect() as ranks, det.core.init(distributed=ranks) as context:
                state = make_state("rows")
                writer = dcp.StorageWriter(context, steps_completed=12, metadata={"note": "n"})
                saving = dcp.async_save(state, checkpoint_id="step-12", storage_writer=writer)
                for each in state["model"].values():
                    each.to_local().zero_()                     # the copy does not change
                ended = []
                saving.add_done_callback(lambda future: ended.append(future.result()))
                assert not saving.done() and saving.uuid == writer.uuid
                assert saving.result() == writer.uuid and ended == [writer.uuid] and saving.exception() is None
                load(context, "columns", writer.uuid)
                assert dcp.StorageReader(context, writer.uuid).metadata["checkpoint_id"] == "step-12"
                second = dcp.async_save(make_state("rows"), storage_writer=writer)
                context.checkpoint.wait()
                assert second.done() and second.result() == writer.uuid != saving.uuid
                text = failure(lambda: torch_dcp.async_save(state, storage_writer=writer))
                assert "determined.pytorch.dcp.async_save" in text, text
                third = dcp.async_save(make_state("rows"), storage_writer=writer)   # the end of the block completes it
            assert third.done()
            """),
            2,
        )

    def test_objects_are_unpickled_only_from_a_checkpoint_of_known_origin(self):
        self.run_sharded(
            STATE + textwrap.dedent("""
            import pathlib
            from unittest import mock
            from determined import _lib
            harm = pathlib.Path(os.environ["HOME"], f"harm-{rank}")
            class Harm:
                def __init__(self):
                    self.value = 1
                def __setstate__(self, state):      # called when it is unpickled
                    self.__dict__.update(state)
                    harm.touch()
            with connect() as ranks, det.core.init(distributed=ranks) as context:
                writer = dcp.StorageWriter(context, 1)
                uuids = {}
                for name, value in (("pickled", {1, 2}), ("harm", Harm()), ("plain", [1, "a", None, (2.5, b"x")])):
                    dcp.save({"w": place(torch.ones(4, 2), "rows"), "object": value}, storage_writer=writer)
                    uuids[name] = writer.uuid
                original = _lib.TensorSaves.load_from
                as_in_a_bucket = lambda *arguments: original(*arguments)._replace(is_own=False)
                def load(name):
                    state = {"w": place(torch.zeros(4, 2), "rows"), "object": "untouched"}
                    dcp.load(state, storage_reader=dcp.StorageReader(context, uuids[name]))
                    return state
                assert load("pickled")["object"] == {1, 2}
                with mock.patch.object(_lib.TensorSaves, "load_from", as_in_a_bucket):
                    context.distributed.allgather(None)
                    if harm.exists():
                        harm.unlink()      # the save has unpickled what this program has pickled
                    context.distributed.allgather(None)
                    for name in ("pickled", "harm"):
                        text = failure(lambda: load(name))
                        assert "pickled objects" in text, text
                    assert not harm.exists()
                    state = load("plain")
                    assert state["object"] == [1, "a", None, (2.5, b"x")] and state["w"].to_local().sum() == 4
                    tensors = {"w": place(torch.zeros(4, 2), "rows")}
                    dcp.load(tensors, storage_reader=dcp.StorageReader(context, uuids["pickled"]))
                    assert tensors["w"].to_local().sum() == 4 and not harm.exists()
                load("harm")
                assert harm.exists()       # it does what it should not do elsewhere
            """),
            2,
        )

    def test_fsdp2_continues_with_the_same_bits_on_another_number_of_ranks(self):
        program = STATE + textwrap.dedent("""
            from torch.distributed._composable.fsdp import fully_shard
            from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
            def make():
                torch.manual_seed(1)
                model = torch.nn.Sequential(torch.nn.Linear(6, 5), torch.nn.ReLU(), torch.nn.Linear(5, 3))
                for layer in (model[0], model[2], model):
                    fully_shard(layer, mesh=mesh_of((size,)))
                return model, torch.optim.AdamW(model.parameters(), lr=0.1)
            def train(model, optimizer, steps):
                for step in steps:
                    torch.manual_seed(step)
                    for parameter in model.parameters():       # FSDP2 of torch 2.6 has no forward on the CPU
                        gradient = place(torch.rand(parameter.shape), "rows")
                        parameter.grad = DTensor.from_local(gradient.to_local(), parameter.device_mesh, parameter.placements,
                                                            run_check=False, shape=parameter.shape, stride=parameter.stride())
                    optimizer.step()
                    optimizer.zero_grad()
            class App:
                def __init__(self, model, optimizer):
                    self.model, self.optimizer = model, optimizer
                def state_dict(self):
                    model, optimizer = get_state_dict(self.model, self.optimizer)
                    return {"model": model, "optim": optimizer}
                def load_state_dict(self, state):
                    set_state_dict(self.model, self.optimizer, model_state_dict=state["model"], optim_state_dict=state["optim"])
            with connect() as ranks, det.core.init(distributed=ranks) as context:
                way = os.environ["WAY"]
                app = App(*make())
                reader = dcp.StorageReader(context)
                if reader.uuid is None:
                    train(app.model, app.optimizer, range(2))
                    state = {"app": app}
                    if way == "dcp":
                        dcp.save(state, storage_writer=dcp.StorageWriter(context, 2))
                    else:
                        context.checkpoint.save_state(state, 2)
                else:
                    state = {"app": app}
                    if way == "dcp":
                        dcp.load(state, storage_reader=reader)
                    else:
                        context.checkpoint.load_state(state)
                train(app.model, app.optimizer, range(2, 4))
                for parameter in app.model.parameters():
                    print(parameter.full_tensor().detach().numpy().round(5).tolist())
            """)
        for way in ("dcp", "save_state"):
            with self.subTest(way):
                self.variables["XDG_DATA_HOME"] = f"{self.directory}/{way}"
                expected = self.run_sharded(program, 2, WAY=way)[0]
                self.assertEqual(self.run_sharded(program, 4, WAY=way)[0], expected)

    def test_the_example_of_the_guide_continues(self):
        guide = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/checkpoints-that-do-not-stop-training.md")
        with open(guide, encoding="utf-8") as file:
            text = file.read()
        example = text[text.index("```python\nfrom determined.pytorch import dcp") + len("```python\n") :].split("```")[0]
        program = STATE + "from torch.distributed._composable.fsdp import fully_shard\n" + example + textwrap.dedent("""
            model = torch.nn.Linear(4, 3)
            fully_shard(model, mesh=mesh_of((size,)))
            optimizer = torch.optim.AdamW(model.parameters())
            with connect() as ranks, det.core.init(distributed=ranks) as context:
                first = load(context, model, optimizer)
                print(first, model.weight.full_tensor().tolist())
                save(context, model, optimizer, first + 1)
            print(first + 1, model.weight.full_tensor().tolist())
            """)
        saved = self.run_sharded(program, 2)[0].splitlines()[-1]
        loaded = self.run_sharded(program, 4)[0].splitlines()[0]
        self.assertEqual(loaded, saved)
        self.assertTrue(loaded.startswith("1 "))


@unittest.skipUnless(IS_NEW, f"SKIPPED: DCP needs torch {NEEDED[0]}.{NEEDED[1]}, and this is {torch.__version__}")
class DcpInARun(ShardedCase, RunCase):
    def test_a_checkpoint_is_recorded_by_the_run(self):
        (uuid,) = set(
            self.run_sharded(
                STATE + textwrap.dedent("""
                with connect() as ranks, det.core.init(distributed=ranks) as context:
                    assert dcp.StorageReader(context).uuid is None
                    print(save(context, "rows"))
                """),
                2,
            )
        )
        (record,) = self.records(kind="checkpoint")
        self.assertEqual((record["uuid"], record["steps_completed"]), (uuid.strip(), 12))


@unittest.skipUnless(IS_NEW, f"SKIPPED: DTensors need torch {NEEDED[0]}.{NEEDED[1]}, and this is {torch.__version__}")
class States(ShardedCase):
    def test_dtensors_are_saved_by_their_ranks_and_loaded_on_others(self):
        program = STATE + textwrap.dedent("""
            with connect() as ranks, det.core.init(distributed=ranks) as context:
                def load(layout, uuid):
                    state = make_state(layout, filled=False)
                    assert context.checkpoint.load_state(state, uuid).steps_completed == 3
                    check(state)
                for uuid in os.environ["UUIDS"].split():
                    for layout in os.environ["LOADS"].split():
                        load(layout, uuid)
                for layout in os.environ["SAVES"].split():
                    uuid = context.checkpoint.save_state(make_state(layout), 3)
                    context.checkpoint.wait()
                    stored = stored_names(context, uuid)
                    print(uuid)
                    if layout == "rows":
                        assert len(stored["model.a.weight"]["slices"]) == size and stored["model.a.weight"]["shape"] == [8, 6], stored
                    # DCP loads it too.
                    state = make_state("columns", filled=False)
                    dcp.load(state, storage_reader=dcp.StorageReader(context, uuid))
                    check(state)
                # What save() of DCP has saved is a state.
                state = make_state("columns", filled=False)
                context.checkpoint.load_state(state, save(context, "rows"))
                check(state)
            """)
        uuids = []
        for size, loads, saves in ((2, "", "rows plain"), (4, "both copies", "both copies"), (1, "plain rows", ""), (2, "columns", "")):
            outs = self.run_sharded(program, size, UUIDS=" ".join(uuids), LOADS=loads, SAVES=saves)
            self.assertEqual(len(set(outs)), 1)
            uuids += outs[0].split()

    def test_sharded_tensors_are_exported_whole(self):
        self.run_sharded(
            STATE + textwrap.dedent("""
            import subprocess
            home = os.environ["HOME"]
            os.makedirs(home + "/root", exist_ok=True)
            with connect() as ranks, det.core.init(distributed=ranks, checkpoint_storage=home + "/root/checkpoints") as context:
                for layout in ("rows", "columns"):
                    uuid = save(context, layout)
                    if rank == 0:
                        environment = {**os.environ, "DET_ROOT": home + "/root", "PATH": "/usr/bin:/bin"}
                        subprocess.run([os.environ["DET_BUILD_DIR"] + "/bin/det-submit", "checkpoint", "export", uuid, f"{home}/{layout}.pt",
                                        "--format", "torch"], env=environment, check=True, timeout=100)
                        check(torch.load(f"{home}/{layout}.pt", weights_only=True))
                    context.distributed.allgather(None)
            """),
            2,
        )

    def test_what_can_not_be_sharded_is_refused_with_its_place(self):
        self.run_sharded(
            STATE + textwrap.dedent("""
            from torch.distributed.tensor import Partial
            with connect() as ranks, det.core.init(distributed=ranks) as context:
                save = context.checkpoint.save_state
                terms = DTensor.from_local(torch.ones(2), mesh_of((size,)), [Partial()])
                raises(TypeError, lambda: save({"a": {"b": terms}}, 1), "state['a']['b'] can't be saved: a DTensor whose placement is Partial")
                rows = place(torch.ones(4, 2), "rows")
                raises(TypeError, lambda: save({"a": det.core.PerRank(rows)}, 1), "state['a'] can't be saved: a DTensor is of all ranks")
                uuid = save({"w": rows, 1: rows, "1": rows}, 1)
                context.checkpoint.wait()
                raises((ValueError, RuntimeError), lambda: context.checkpoint.load_state({"w": place(torch.ones(4, 3), "rows")}, uuid), "shape")
                raises((ValueError, RuntimeError), lambda: context.checkpoint.load_state({"w": place(torch.ones(4, 2).double(), "rows")}, uuid), "float64")
                state = {"w": place(torch.zeros(4, 2), "rows"), 1: None}
                context.checkpoint.load_state(state, uuid)
                assert state["w"].to_local().sum() == 2 * 4 / size and type(state[1]) is torch.Tensor and state[1].sum() == 8
                if rank == 0:
                    rows = torch.ones(4, 2)          # ranks differ
                raises(RuntimeError, lambda: (save({"w": rows}, 2), context.checkpoint.wait()), "w")
            """),
            2,
        )


if __name__ == "__main__":
    unittest.main()
