"""Tests save_state() and load_state() off the cluster: what is loaded has the bits of what was saved."""

import os
import tempfile
import textwrap
import unittest

from support import BUILD, Case, finish, start_ranks

# Helpers for the programs below. same() compares bits, types and, for tensors, aliases.
HELPERS = """
import collections, math, random, struct
import numpy as np, torch

def bits(value):
    if isinstance(value, torch.Tensor):
        plain = value.detach().resolve_conj().resolve_neg().contiguous().reshape(-1)
        if plain.is_complex():
            plain = torch.view_as_real(plain).reshape(-1)
        return plain.view(torch.uint8).numpy().tobytes() if plain.numel() else b""
    return np.ascontiguousarray(value).tobytes()

def same(a, b, path="state"):
    assert type(a) is type(b), (path, type(a), type(b))
    if isinstance(a, (torch.Tensor, np.ndarray, np.generic)):
        assert a.shape == b.shape and a.dtype == b.dtype, (path, a, b)
        if a.dtype == object:
            assert a.tolist() == b.tolist(), (path, a, b)
        else:
            assert bits(a) == bits(b), (path, a, b)
        if isinstance(a, torch.Tensor):
            assert a.requires_grad == b.requires_grad, path
    elif isinstance(a, dict):
        assert list(a) == list(b), (path, list(a), list(b))
        for key in a:
            same(a[key], b[key], f"{path}[{key!r}]")
    elif isinstance(a, (list, tuple)):
        assert len(a) == len(b), path
        for i, (x, y) in enumerate(zip(a, b)):
            same(x, y, f"{path}[{i}]")
    elif isinstance(a, float):
        assert struct.pack("d", a) == struct.pack("d", b) or (math.isnan(a) and math.isnan(b)), (path, a, b)
    else:
        assert a == b, (path, a, b)

def raises(kind, call, words=""):
    try:
        call()
    except kind as problem:
        assert words in str(problem), (words, str(problem))
        return
    raise SystemExit(f"no {kind}: {words}")

def stored_names(context, uuid):
    import json
    return {each["name"]: each for each in context.checkpoint._manifest(uuid)["tensors"]}
"""


class StateCase(Case):
    def run_program(self, script, size=1, **more):
        import textwrap

        return self.run_ranks(HELPERS + textwrap.dedent(script), size, **more)


class Values(StateCase):
    def test_every_kind_of_value_has_the_same_bits_after_a_load(self):
        self.run_program(
            """
            dtypes = [torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16,
                      torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.complex128]
            dtypes += [getattr(torch, n) for n in ("float8_e4m3fn", "float8_e5m2", "uint16") if hasattr(torch, n)]
            def make():
                torch.manual_seed(3)
                tensors = {str(d): (torch.rand(3, 5) * 100).to(d) for d in dtypes}
                scalars = {str(d): torch.tensor(1).to(d) for d in dtypes}
                wide = torch.arange(24.0).reshape(4, 6)
                arrays = {str(i): a for i, a in enumerate([
                    np.arange(6).reshape(2, 3), np.array(2.5), np.zeros((0, 3)), np.arange(6.0)[::2], np.arange(5)[::-1],
                    np.array([1, 2], dtype=">i4"), np.array(["2026-01-01"], dtype="M8[D]"), np.array(["ab", "c"]),
                    np.array([True, False]), np.array([1j, 2]), np.asfortranarray(np.arange(6.0).reshape(2, 3)),
                    np.array([{"a": 1}, None], dtype=object), np.float16([1, 2]), np.uint64([2**64 - 1])])}
                return {
                    "tensors": tensors, "scalars": scalars, "arrays": arrays,
                    "strided": [wide.t(), wide[:, ::2], wide[1:3].clone(), torch.rand(2, 3, 4, 5).to(memory_format=torch.channels_last),
                                torch.ones(1).expand(3, 4), torch.empty(0), torch.empty(2, 0, 3)],
                    "conjugated": torch.tensor([1 + 2j]).conj(),
                    "parameter": torch.nn.Parameter(torch.rand(2)), "graded": torch.rand(2, requires_grad=True),
                    "numbers": [0, -1, 2**70, 10**3000, True, None, 0.1, float("inf"), float("-inf"), float("nan"), -0.0, 1e-320, 1 + 2j],
                    "numpy numbers": [np.float32(0.1), np.int64(-3), np.bool_(True), np.float64("nan"), np.complex64(1j)],
                    "texts": ["", "\\u00e4\\u4e16", "a\\x00b", "\\ud800", "quote\\"'"],
                    "bytes": [b"", b"\\x00\\xff", bytearray(b"xy"), b"z" * (1 << 20), b"y" * ((1 << 20) + 1)],
                    "keys": {1: "a", "1": "b", None: "c", (1, "x"): "d", 2.5: "e", True and 7: "f", "": "g"},
                    "nest": [[], {}, (), ((1,), [torch.ones(2), {"x": (torch.zeros(1), 5)}])],
                    "ordered": collections.OrderedDict(b=1, a=2),
                    "": torch.ones(2), "__metadata__": torch.ones(1), "__det__.tree": torch.zeros(1),
                    "object": {"date": __import__("datetime").date(2026, 1, 1), "set": {1, 2}, "size": torch.Size([2, 3])},
                }
            with det.core.init() as context:
                state = make()
                uuid = context.checkpoint.save_state(state, 5, {"note": "x"})
                for each in state["tensors"].values():
                    each.zero_()                      # the copy does not change
                assert context.checkpoint.wait() == [uuid] and context.checkpoint.poll() == []
                empty = {}
                loaded = context.checkpoint.load_state(empty, uuid)
                assert loaded == (uuid, 5, {"note": "x", "steps_completed": 5}), loaded
                same(make(), empty)
                # In place: memory of the tensors stays, and gets the values.
                other = make()
                def spoil(value):
                    if isinstance(value, torch.Tensor):
                        with torch.no_grad():
                            value.data = value.data.clone(memory_format=torch.preserve_format) if value.numel() else value.data
                            value.zero_()
                    elif isinstance(value, np.ndarray) and value.dtype.kind in "biufc":
                        value[...] = 0
                    elif isinstance(value, dict):
                        list(map(spoil, value.values()))
                    elif isinstance(value, (list, tuple)):
                        list(map(spoil, value))
                spoil(other)
                other["numbers"], other["texts"] = [], ["more", "than", "there", "was", "in", "it"]
                addresses = [t.data_ptr() for t in other["tensors"].values()]
                assert context.checkpoint.load_state(other).uuid == uuid
                assert addresses == [t.data_ptr() for t in other["tensors"].values()]
                same(make(), other)
            """
        )

    def test_random_nests_have_the_same_bits_after_a_load(self):
        self.run_program(
            """
            def nest(r, depth):
                kind = r.randrange(11 if depth else 7)
                if kind == 0: return r.choice([None, True, False, r.random(), r.randrange(-9, 9), "t%d" % r.randrange(9)])
                if kind == 1: return torch.from_numpy(np.random.RandomState(r.randrange(2**31)).rand(*[r.randrange(4) for _ in range(r.randrange(4))]) * np.ones(()))
                if kind == 2: return torch.randint(0, 100, (r.randrange(5), 3)).to(r.choice([torch.int8, torch.int64, torch.bfloat16]))
                if kind == 3: return np.random.RandomState(r.randrange(2**31)).rand(r.randrange(3), 2)
                if kind == 4: return torch.arange(60.0).reshape(3, 4, 5).permute(r.sample(range(3), 3))[r.randrange(2):, ::2]
                if kind == 5: return {1, r.randrange(9)}
                if kind == 6: return np.float32(r.random())
                children = [nest(r, depth - 1) for _ in range(r.randrange(4))]
                if kind == 7: return children
                if kind == 8: return tuple(children)
                return {r.choice(["a.b", "a", "b", 3, "module.x", "_orig_mod.y", "c%d" % i]): c for i, c in enumerate(children)}
            with det.core.init() as context:
                for seed in range(40):
                    make = lambda: (torch.manual_seed(seed), {"root": nest(random.Random(seed), 5), "x": torch.ones(3)})[1]
                    uuid = context.checkpoint.save_state(make(), seed)
                    context.checkpoint.wait()
                    fresh = {}
                    context.checkpoint.load_state(fresh, uuid)
                    same(make(), fresh)
                    other = make()
                    context.checkpoint.load_state(other, uuid)
                    same(make(), other)
                    context.checkpoint.delete(uuid)
            """
        )

    def test_the_same_memory_is_stored_once_and_stays_shared(self):
        self.run_program(
            """
            with det.core.init() as context:
                weight = torch.rand(100, 10)
                flat = torch.rand(50)
                pair = torch.rand(10, 2)
                state = {"encoder": weight, "decoder": weight, "transposed": weight.t(), "first": weight[:3],
                         "views": [flat[:20].view(4, 5), flat[20:]], "flat": flat, "numpy": weight.numpy(),
                         "columns": [pair[:, 0], pair[:, 1]], "overlap": [flat.clone()[5:15]]}
                base = torch.rand(30)
                state["half overlap"] = [base[:20], base[10:]]
                expected = {key: [v.clone() for v in value] if isinstance(value, list) else torch.as_tensor(value).clone()
                            for key, value in state.items()}
                uuid = context.checkpoint.save_state(state, 1)
                context.checkpoint.wait()
                names = stored_names(context, uuid)
                bytes_of = lambda n: int(np.prod(names[n]["shape"])) * {"F32": 4, "U8": 1}[names[n]["dtype"]]
                total = sum(bytes_of(name) for name in names if not name.startswith("__det__"))
                assert total == 4 * (1000 + 50 + 20 + 10 + 30), (total, names.keys())
                fresh = {}
                context.checkpoint.load_state(fresh, uuid)
                for key, value in expected.items():
                    for a, b in zip(value, fresh[key]) if isinstance(value, list) else [(value, fresh[key])]:
                        assert bits(a) == bits(b), key
                assert fresh["encoder"] is fresh["decoder"]
                fresh["encoder"].zero_()
                for key in ("transposed", "first", "numpy"):
                    assert not fresh[key].any(), key
                fresh["half overlap"][0].zero_()
                assert not fresh["half overlap"][1][:10].any() and fresh["half overlap"][1][10:].all()
                apart = {"encoder": torch.zeros(100, 10), "decoder": torch.zeros(100, 10), "first": torch.zeros(3, 10)}
                context.checkpoint.load_state(apart, uuid)
                assert bits(apart["encoder"]) == bits(apart["decoder"]) == bits(expected["encoder"])
                assert bits(apart["first"]) == bits(expected["first"])
            """
        )


class Objects(StateCase):
    def test_modules_optimizers_schedulers_and_random_states_continue_with_the_same_bits(self):
        self.run_program(
            """
            def make(seed):
                torch.manual_seed(seed)
                model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.Dropout(0.3), torch.nn.Linear(8, 1))
                optimizers = [torch.optim.AdamW(model[0].parameters(), amsgrad=True), torch.optim.SGD(model[3].parameters(), 0.1, momentum=0.9)]
                schedulers = [torch.optim.lr_scheduler.OneCycleLR(optimizers[0], 0.1, 100), torch.optim.lr_scheduler.ReduceLROnPlateau(optimizers[1])]
                return {"model": model, "optimizers": optimizers, "schedulers": schedulers, "epoch": 0,
                        "scaler": torch.cuda.amp.GradScaler(enabled=False)}
            def random_states():
                return {"torch": torch.get_rng_state(), "numpy": np.random.get_state(), "python": random.getstate()}
            def train(state, steps):
                losses = []
                for _ in range(steps):
                    x = torch.rand(16, 4) + random.random() + float(np.random.rand())
                    loss = ((state["model"](x) - x.sum(1, keepdim=True)) ** 2).mean()
                    for o in state["optimizers"]: o.zero_grad()
                    loss.backward()
                    for o in state["optimizers"]: o.step()
                    state["schedulers"][0].step()
                    state["schedulers"][1].step(loss)
                    losses.append(loss.item())
                return losses
            with det.core.init() as context:
                first = make(1)
                train(first, 5)
                first["epoch"] = 7
                uuid = context.checkpoint.save_state({**first, "random": random_states()}, 5)
                expected = train(first, 5)
                context.checkpoint.wait()
                second = make(2)
                state = {**second, "random": {}}
                context.checkpoint.load_state(state, uuid)
                torch.set_rng_state(state["random"]["torch"]); np.random.set_state(state["random"]["numpy"]); random.setstate(state["random"]["python"])
                assert state["epoch"] == 7
                assert train(second, 5) == expected
                same({k: v.state_dict() for k, v in [("m", first["model"]), ("o", first["optimizers"][0]), ("p", first["optimizers"][1])]},
                     {k: v.state_dict() for k, v in [("m", second["model"]), ("o", second["optimizers"][0]), ("p", second["optimizers"][1])]})
                # The dicts that the user makes himself.
                third = make(3)
                dicts = {"model": third["model"].state_dict(), "optimizers": [o.state_dict() for o in third["optimizers"]]}
                context.checkpoint.load_state(dicts, uuid)
                for optimizer, saved in zip(third["optimizers"], dicts["optimizers"]):
                    optimizer.load_state_dict(saved)
            """
        )

    def test_prefixes_of_wrappers_are_not_part_of_names(self):
        self.run_program(
            """
            class Compiled(torch.nn.Module):
                def __init__(self, inner): super().__init__(); self._orig_mod = inner
            class Wrapped(torch.nn.Module):
                def __init__(self, inner): super().__init__(); self.module = inner
            plain = lambda: torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Linear(3, 1))
            wraps = [lambda m: m, Compiled, Wrapped, lambda m: Wrapped(Compiled(m)), lambda m: Compiled(Wrapped(m))]
            with det.core.init() as context:
                for number, save_as in enumerate(wraps):
                    saved = plain()
                    uuid = context.checkpoint.save_state({"model": save_as(saved)}, number)
                    context.checkpoint.wait()
                    names = set(stored_names(context, uuid)) - {"__det__.tree", "__det__.objects"}
                    assert names == {"model.0.weight", "model.0.bias", "model.1.weight", "model.1.bias"}, names
                    for load_as in wraps:
                        for direct in (True, False):
                            loaded = plain()
                            wrapped = load_as(loaded)
                            context.checkpoint.load_state({"model": wrapped if direct else wrapped.state_dict()}, uuid)
                            same(saved.state_dict(), loaded.state_dict())
                    fresh = {}
                    context.checkpoint.load_state(fresh, uuid)   # what was saved is what is loaded into nothing
                    assert list(fresh["model"]) == list(save_as(plain()).state_dict())
            """
        )

    def test_what_does_not_fit_is_refused_with_its_place(self):
        self.run_program(
            """
            import threading
            with det.core.init() as context:
                save, load = context.checkpoint.save_state, context.checkpoint.load_state
                assert load({}) is None                                   # there is none yet
                raises(TypeError, lambda: save({"a": [threading.Lock()]}, 1), "state['a'][0]")
                raises(TypeError, lambda: save({"f": lambda: 1}, 1), "state['f']")
                raises(TypeError, lambda: save({"m": torch.empty(2, device="meta")}, 1), "state['m']")
                for steps in (-1, 2**63, "x"):
                    raises(ValueError, lambda: save({}, steps))
                uuid = save({"w": torch.ones(2, 3), "n": 4}, 1)
                context.checkpoint.wait()
                raises(ValueError, lambda: load({"w": torch.ones(3, 2)}, uuid), "state['w'] has the shape (3, 2)")
                raises(ValueError, lambda: load({"w": torch.ones(2, 3).double()}, uuid), "state['w'] is float64")
                raises(ValueError, lambda: load({"v": torch.ones(2)}, uuid), "state['v']")
                raises(ValueError, lambda: load({"n": torch.ones(2)}, uuid), "state['n'] is a tensor")
                raises(TypeError, lambda: load((1, 2), uuid))
                raises(det.errors.CheckpointNotFound, lambda: load({}, "00000000-0000-4000-8000-000000000000"))
                own = {"added": 5}
                load(own, uuid)
                assert own["added"] == 5 and own["n"] == 4
                with context.checkpoint.store_path({"steps_completed": 3}) as (path, files):
                    (path / "weights").write_text("x")
                raises(det.errors.InvalidCheckpointException, lambda: load({}, files), "restore_path")
                assert load({}).uuid == uuid                              # the newest that has a state
            """
        )

    def test_tensors_that_a_c_program_has_saved_are_loaded_by_their_names(self):
        self.run_program(
            """
            from determined import _lib
            from determined.core import _arrays
            with det.core.init() as context:
                tensors = {"layer.weight": torch.rand(2, 3), "layer.bias": torch.rand(2), "step": torch.tensor(4)}
                memory = [_lib.Memory(name, t.data_ptr(), _arrays.describe(t).stored, tuple(t.shape)) for name, t in tensors.items()]
                saves = _lib.TensorSaves(context.distributed._handle())
                uuid = saves.save(3, "{}", memory)
                saves.finish()
                model = torch.nn.ModuleDict({"layer": torch.nn.Linear(3, 2)})
                state = {**model.state_dict(), "step": torch.tensor(0)}
                assert context.checkpoint.load_state(state).steps_completed == 3
                same({**model.state_dict(), "step": state["step"]}, {name: tensors[name] for name in state})
                fresh = {}
                context.checkpoint.load_state(fresh, uuid)
                same({name: fresh[name] for name in tensors}, tensors)
            """
        )

    def test_a_state_without_torch_and_numpy(self):
        self.run_ranks(
            """
            with det.core.init() as context:
                uuid = context.checkpoint.save_state({"epoch": 3, "names": ["a", "b"], "t": (1, 2.5)}, 3)
                context.checkpoint.wait()
                state = {}
                context.checkpoint.load_state(state, uuid)
                assert state == {"epoch": 3, "names": ["a", "b"], "t": (1, 2.5)}, state
                assert "torch" not in sys.modules and "numpy" not in sys.modules
            """
        )


class Failures(StateCase):
    def test_a_save_that_fails_in_the_background_is_an_error_of_the_next_call_and_of_the_end(self):
        program = """
            import resource
            storage = os.environ["HOME"] + "/storage"
            with det.core.init(checkpoint_storage=storage) as context:
                state = {"w": torch.rand(1 << 20)}
                good = context.checkpoint.save_state(state, 1)
                assert context.checkpoint.wait() == [good]
                resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, -1))   # a full disk, for this process
                import signal
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                bad = context.checkpoint.save_state(state, 2)
                if %s:
                    raises(RuntimeError, context.checkpoint.wait, f"checkpoint {bad} of step 2 was not saved")
                    assert context.checkpoint.load_state(state).uuid == good
            """
        self.variables["DET_STORAGE_TIMEOUT_S"] = "1"  # writes are repeated for so long
        self.run_program(program % "True")
        ((code, _, err),) = finish(start_ranks(HELPERS + textwrap.dedent(program % "False"), 1, **self.variables))
        self.assertNotEqual(code, 0)
        self.assertIn("of step 2 was not saved", err)

    def test_an_object_of_a_checkpoint_that_another_user_owns_is_not_unpickled(self):
        if os.geteuid() != 0:
            self.skipTest("only root can give files to another user")
        self.run_program(
            """
            import pathlib
            with det.core.init(checkpoint_storage=os.environ["HOME"] + "/storage") as context:
                uuid = context.checkpoint.save_state({"object": {1, 2}, "w": torch.ones(1)}, 1)
                context.checkpoint.wait()
                directory = pathlib.Path(os.environ["HOME"], "storage", uuid)
                owned = {}
                context.checkpoint.load_state(owned, uuid)
                assert owned["object"] == {1, 2}
                for path in [directory, *directory.iterdir()]:
                    os.chown(path, 65534, 65534)
                raises(RuntimeError, lambda: context.checkpoint.load_state({}, uuid), "not yours")
            """
        )


    def test_objects_of_a_checkpoint_of_unknown_origin_are_not_unpickled_but_its_tensors_are_loaded(self):
        self.run_program(
            """
            import pathlib
            from unittest import mock
            from determined import _lib
            from determined.core._state_directory import read_state
            class Harm:
                def __reduce__(self):
                    return (pathlib.Path(os.environ["HOME"], "harm").touch, ())
            harm = pathlib.Path(os.environ["HOME"], "harm")
            storage = os.environ["HOME"] + "/storage"
            with det.core.init(checkpoint_storage=storage) as context:
                uuid = context.checkpoint.save_state({"object": Harm(), "w": torch.ones(1)}, 1)
                plain = context.checkpoint.save_state({"w": torch.ones(1)}, 2)
                context.checkpoint.wait()
                original = _lib.TensorSaves.load_from
                as_in_a_bucket = lambda *arguments: original(*arguments)._replace(is_own=False)
                with mock.patch.object(_lib.TensorSaves, "load_from", as_in_a_bucket):
                    raises(det.errors.InvalidCheckpointException, lambda: context.checkpoint.load_state({}, uuid), "pickled objects")
                    state = {"w": torch.zeros(1)}
                    context.checkpoint.load_state(state, plain)
                    assert state["w"].item() == 1
                assert not harm.exists()
                os.chmod(f"{storage}/{uuid}/rank-00000.safetensors", 0o666)
                raises(det.errors.InvalidCheckpointException, lambda: read_state(pathlib.Path(storage, uuid)), "another user")
                assert not harm.exists()
                os.chmod(f"{storage}/{uuid}/rank-00000.safetensors", 0o600)
                read_state(pathlib.Path(storage, uuid))
                assert harm.exists()   # the pickle does what it should not do elsewhere
            """
        )


class Files(StateCase):
    def test_a_state_is_exported_and_imported_as_a_file_of_safetensors_and_of_torch(self):
        self.run_program(
            """
            import json, subprocess
            home = os.environ["HOME"]
            environment = {**os.environ, "DET_ROOT": home + "/root", "PATH": "/usr/bin:/bin"}
            def det_submit(*words):
                done = subprocess.run([os.environ["DET_BUILD_DIR"] + "/bin/det-submit", "checkpoint", *words], cwd=home,
                                      env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
                return done.returncode, done.stdout.strip() + done.stderr
            def tensors_in(name):
                with open(f"{home}/{name}", "rb") as file:
                    length = int.from_bytes(file.read(8), "little")
                    header, data = json.loads(file.read(length)), file.read()
                return {key: data[slice(*each["data_offsets"])] for key, each in header.items()}
            os.makedirs(home + "/root")
            weight, bias = torch.rand(3, 2), torch.rand(5).to(torch.bfloat16)
            with det.core.init(checkpoint_storage=home + "/root/checkpoints") as context:
                uuid = context.checkpoint.save_state({"model": {"w": weight, "b": bias}, "tied": weight, "epoch": 3}, 7)
                context.checkpoint.wait()
                assert det_submit("export", uuid, "all.safetensors")[0] == 0
                assert tensors_in("all.safetensors") == {"model.w": bits(weight), "model.b": bits(bias)}
                assert det_submit("export", uuid, "model.safetensors", "--prefix", "model")[0] == 0
                assert tensors_in("model.safetensors") == {"w": bits(weight), "b": bits(bias)}
                assert det_submit("export", uuid, "model.safetensors")[0] == 1       # nothing is overwritten
                assert det_submit("export", uuid, "none.safetensors", "--prefix", "mode")[0] == 4
                assert not os.path.exists(home + "/none.safetensors")
                assert det_submit("export", uuid, "state.pt", "--format", "torch") == (0, "state.pt")
                same(torch.load(home + "/state.pt"), {"model": {"w": weight, "b": bias}, "tied": weight, "epoch": 3})
                for name, more in (("model.safetensors", []), ("model.pt", ["--format", "torch"])):
                    torch.save({"w": weight, "b": bias}, home + "/model.pt")
                    code, imported = det_submit("import", name, *more)
                    assert code == 0, imported
                    fresh = {"w": torch.zeros(3, 2), "b": torch.zeros(5, dtype=torch.bfloat16)}
                    context.checkpoint.load_state(fresh, imported)
                    same(fresh, {"w": weight, "b": bias})
                with open(f"{home}/root/checkpoints/{uuid}/rank-00000.safetensors", "r+b") as file:
                    file.seek(-1, 2)
                    file.write(b"?")
                assert det_submit("export", uuid, "damaged.safetensors")[0] == 8
                assert not os.path.exists(home + "/damaged.safetensors")
            """
        )


class Ranks(StateCase):
    def test_the_state_of_the_chief_is_stored_once_and_loaded_by_another_number_of_ranks(self):
        save = """
            with connect() as ranks, det.core.init(distributed=ranks) as context:
                torch.manual_seed(1)
                state = {"w": torch.rand(1000, 100) + rank, "b": torch.rand(7) + rank, "loss": 0.5 if rank == 0 else 0.25,
                         "own": det.core.PerRank({"seed": torch.tensor([rank]), "text": f"of rank {rank}", "set": {rank}})}
                uuid = context.checkpoint.save_state(state, 3)
                context.checkpoint.wait()
                if rank == 0:
                    print(uuid, sum(os.path.getsize(f"{os.environ['XDG_DATA_HOME']}/determined/{uuid}/{n}")
                                    for n in os.listdir(f"{os.environ['XDG_DATA_HOME']}/determined/{uuid}") if n.startswith("shard")))
            """
        load = """
            with connect() as ranks, det.core.init(distributed=ranks) as context:
                torch.manual_seed(1)
                expected = {"w": torch.rand(1000, 100), "b": torch.rand(7)}
                state = {"w": torch.zeros(1000, 100), "b": torch.zeros(7), "own": det.core.PerRank({"text": "mine"})}
                loaded = context.checkpoint.load_state(state)
                assert loaded.steps_completed == 3
                same(expected, {key: state[key] for key in expected})
                assert state["loss"] == 0.5
                own = state["own"].value
                if rank < int(os.environ["SAVED"]):
                    assert own["text"] == f"of rank {rank}" and own["seed"].item() == rank and own["set"] == {rank}, own
                else:
                    assert own == {"text": "mine"}
            """
        for saved in (1, 3):
            self.variables["XDG_DATA_HOME"] = f"{self.directory}/{saved}"
            os.mkdir(self.variables["XDG_DATA_HOME"])
            out = self.run_program(save, saved)[0]
            self.assertLess(int(out.split()[1]), 400_000 + 60_000)
            for size in (1, 2):
                self.run_program(load, size, SAVED=str(saved))

    def test_states_that_differ_between_ranks_are_refused_on_all(self):
        self.run_program(
            """
            with connect() as ranks, det.core.init(distributed=ranks) as context:
                save = context.checkpoint.save_state
                raises(RuntimeError, lambda: save({"w": det.core.PerRank(1) if rank else 1}, 1), "PerRank")
                raises((TypeError, RuntimeError), lambda: save({"f": (lambda: 1) if rank == 0 else 2}, 1), "state['f']")
                context.checkpoint.wait()
                uuid = save({"w": torch.ones(2) + rank}, 1)
                context.checkpoint.wait()
                raises((ValueError, RuntimeError), lambda: context.checkpoint.load_state({"w": torch.ones(2 + rank)}, uuid), "shape")
                state = {"w": torch.zeros(2)}
                context.checkpoint.load_state(state, uuid)
                assert state["w"].sum() == 2
            """,
            2,
        )


# A stand-in for torch's CUDA on the driver of the tests: a tensor on the CPU that put() was called for has a shadow in
# memory of the fake device, and counts as a tensor on cuda:0 with the shadow's address.
DEVICE_HELPERS = """
import ctypes, threading, types
from determined.core import _arrays, _state_fill
try:
    driver = ctypes.CDLL("libcuda.so.1")
except OSError:
    driver = None
shadows = {}  # by the address of the tensor

def ok(status):
    assert status == 0, status

def put(tensor):
    size = tensor.numel() * tensor.element_size()
    if tensor.data_ptr() not in shadows:
        memory = ctypes.c_uint64()
        ok(driver.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(size)))
        shadows[tensor.data_ptr()] = memory.value
    write(tensor, tensor)
    return tensor

def write(tensor, values):
    ok(driver.cuMemcpyHtoD_v2(ctypes.c_uint64(shadows[tensor.data_ptr()]), ctypes.c_void_p(values.data_ptr()),
                              ctypes.c_size_t(values.numel() * values.element_size())))

def read(tensor):
    values = torch.empty_like(tensor, requires_grad=False)
    ok(driver.cuMemcpyDtoH_v2(ctypes.c_void_p(values.data_ptr()), ctypes.c_uint64(shadows[tensor.data_ptr()]),
                              ctypes.c_size_t(values.numel() * values.element_size())))
    return values

def hold(tensor):
    driver.fakeHoldCopiesFrom(ctypes.c_uint64(0 if tensor is None else shadows[tensor.data_ptr()]))

def damage(tensor):
    driver.fakeBreakCopiesFrom(ctypes.c_uint64(0 if tensor is None else shadows[tensor.data_ptr()]))

def describe(torch, value, real=_arrays._describe_torch):
    array = real(torch, value)
    shadow = None if array is None else shadows.get(array.address)
    return array if shadow is None else array._replace(address=shadow, device="cuda")

_arrays._describe_torch = describe
_state_fill._is_memory_of = lambda array, target: array.address == shadows.get(target.data_ptr(), target.data_ptr())
torch.cuda.is_initialized = lambda: True
torch.cuda.current_device = lambda: None
torch.cuda.current_stream = lambda device=None: types.SimpleNamespace(cuda_stream=0)

def make():
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.BatchNorm1d(6), torch.nn.Linear(6, 2))
    optimizer = OPTIMIZER(model.parameters(), lr=0.1)
    return model, optimizer

OPTIMIZER = torch.optim.Adam

def train(model, optimizer):
    optimizer.zero_grad()
    model(torch.rand(8, 4)).square().sum().backward()
    optimizer.step()

def put_all(model, optimizer):
    for tensor in [*model.parameters(), *model.buffers()]:
        put(tensor)
    for values in optimizer.state.values():
        for name in ("exp_avg", "exp_avg_sq"):
            put(values[name])

def tensors_of(model, optimizer):
    # The tensors themselves: load_state_dict() of an optimizer would make new ones, without shadows.
    return {"model": model.state_dict(), "optimizer": optimizer.state_dict()}

def values_of(model, optimizer):
    tensors = {**model.state_dict(), **{f"{i}.{name}": tensor for i, values in enumerate(optimizer.state.values())
                                        for name, tensor in values.items() if name != "step"}}
    return {name: read(tensor) for name, tensor in tensors.items()}
"""


@unittest.skipUnless(os.path.exists(f"{BUILD}/tests/fake_libcuda.so"), "built without NCCL and CUDA")
class Devices(StateCase):
    """Tensors in memory of the tests' fake device. There is a driver and no NCCL."""

    def setUp(self):
        super().setUp()
        libraries = tempfile.TemporaryDirectory(prefix="det-python-")
        self.addCleanup(libraries.cleanup)
        os.symlink(f"{BUILD}/tests/fake_libcuda.so", f"{libraries.name}/libcuda.so.1")
        self.variables["LD_LIBRARY_PATH"] = libraries.name

    def run_program(self, script, size=1, **more):
        import textwrap

        return super().run_program(DEVICE_HELPERS + textwrap.dedent(script), size, **more)

    def test_libdet_copies_device_memory_itself_in_saves_and_loads(self):
        self.run_program(
            """
            def refuse(*_, **__):
                raise SystemExit("torch copies")
            torch.Tensor.cpu = torch.Tensor.copy_ = refuse
            with det.core.init() as context:
                tensors = {"a": put(torch.arange(1000.0)), "b": put(torch.arange(5)), "host": torch.arange(7), "n": 3,
                           "empty": torch.empty(0)}
                context.checkpoint.prepare_state(tensors)
                uuid = context.checkpoint.save_state(tensors, 1)
                for name in ("a", "b"):
                    write(tensors[name], torch.zeros_like(tensors[name]))
                tensors["host"].zero_()
                context.checkpoint.wait()
                assert context.checkpoint.load_state(tensors, uuid).uuid == uuid
                assert torch.equal(read(tensors["a"]), torch.arange(1000.0)), read(tensors["a"])
                assert torch.equal(read(tensors["b"]), torch.arange(5)) and torch.equal(tensors["host"], torch.arange(7))
            """
        )

    def test_two_ranks_of_which_one_has_device_memory(self):
        self.run_program(
            """
            with det.core.init(distributed=connect()) as context:
                own = torch.full((3,), float(rank))
                if rank == 0:
                    put(own)
                else:
                    torch.cuda.is_initialized = lambda: False
                state = {"shared": own, "own": det.core.PerRank({"x": own})}
                uuid = context.checkpoint.save_state(state, 1)
                write(own, torch.zeros(3)) if rank == 0 else own.zero_()
                context.checkpoint.load_state(state, uuid) if context.checkpoint.wait() else None
                expected = torch.full((3,), float(rank))
                assert torch.equal(read(own) if rank == 0 else state["own"].value["x"], expected), (rank, own)
            """,
            2,
        )

    OVERLAP = """
        model, optimizer = make()
        train(model, optimizer)
        put_all(model, optimizer)
        weight, statistics = model[0].weight, model[1].running_mean
        with det.core.init() as context:
            checkpoint = context.checkpoint
            expected = values_of(model, optimizer)
            hold(weight)                            # its copy does not end, and the call returns nevertheless
            state = {"model": model, "optimizer": optimizer, "tensor": torch.arange(4), "step": 1}
            uuid = checkpoint.save_state(state, 1, overlap=optimizer)
            # What forward passes and the program change is copied before the call returns.
            write(statistics, torch.full_like(statistics, 7))
            write(model[1].num_batches_tracked, torch.tensor(99))
            state["tensor"].zero_()
            for values in optimizer.state.values():  # on the CPU
                values["step"] += 5
            order, is_waiting = [], threading.Event()
            saves = checkpoint._saves()
            wait = saves.wait_snapshot
            def waiting():
                is_waiting.set()
                wait()
                order.append("copied")
            saves.wait_snapshot = waiting
            def step():
                optimizer.step()
                order.append("stepped")
            thread = threading.Thread(target=step)
            thread.start()
            assert is_waiting.wait(30)
            order.append("released")
            hold(None)
            thread.join(30)
            assert order == ["released", "copied", "stepped"], order
            for tensor in [*model.parameters(), *model.buffers()]:
                write(tensor, torch.zeros_like(tensor))
            optimizer.step()                        # nothing to wait for
            assert order.count("copied") == 1, order
            assert checkpoint.wait() == [uuid]
            for values in optimizer.state.values():
                values["step"].zero_()
            state["tensor"].zero_()
            loaded = {**tensors_of(model, optimizer), "tensor": state["tensor"]}
            assert checkpoint.load_state(loaded, uuid).uuid == uuid
            same(expected, values_of(model, optimizer))
            assert torch.equal(state["tensor"], torch.arange(4))
            assert {int(values["step"]) for values in optimizer.state.values()} == {1}
        """

    def test_parameters_are_copied_until_the_next_step_and_buffers_before(self):
        self.run_program(self.OVERLAP)

    def test_optimizers_that_have_hooks_before_a_step(self):  # torch 2.0
        hooks = """
            class OPTIMIZER(torch.optim.Adam):
                hooks = []
                def register_step_pre_hook(self, hook):
                    self.hooks.append(hook)
                def step(self):
                    for hook in self.hooks:
                        assert hook(self, (), {}) is None
                    return super().step()
        """
        self.run_program(textwrap.dedent(hooks) + textwrap.dedent(self.OVERLAP))

    def test_a_scheduler_knows_a_step_that_waits(self):
        self.run_program(
            """
            import warnings
            warnings.simplefilter("error")
            for is_first in (True, False):
                model, optimizer = make()
                make_scheduler = lambda: torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
                scheduler = make_scheduler() if is_first else None
                with det.core.init() as context:
                    context.checkpoint.save_state({"model": model}, 1, overlap=[optimizer])
                    scheduler = scheduler or make_scheduler()
                    train(model, optimizer)
                    scheduler.step()
                    assert optimizer.param_groups[0]["lr"] == 0.05
            """
        )

    def test_without_overlap_and_with_capturable_everything_is_copied_before(self):
        self.run_program(
            """
            model, optimizer = make()
            train(model, optimizer)
            put_all(model, optimizer)
            with det.core.init() as context:
                for overlap, capturable in ((None, False), (optimizer, True)):
                    optimizer.param_groups[0]["capturable"] = capturable
                    expected = values_of(model, optimizer)
                    state = {"model": model, "optimizer": optimizer}
                    uuid = context.checkpoint.save_state(state, 1, overlap=overlap)
                    assert not context.checkpoint._copied_later
                    for tensor in model.parameters():
                        write(tensor, torch.zeros_like(tensor))
                    context.checkpoint.wait()
                    context.checkpoint.load_state(tensors_of(model, optimizer), uuid)
                    same(expected, values_of(model, optimizer))
            """
        )

    def test_a_larger_tensor_that_begins_with_a_parameter_is_not_copied_later(self):
        self.run_program(
            """
            flat = put(torch.arange(10.0))
            parameter = torch.nn.Parameter(flat[:4])
            optimizer = torch.optim.SGD([parameter], lr=0.1)
            with det.core.init() as context:
                uuid = context.checkpoint.save_state({"flat": flat, "parameter": parameter}, 1, overlap=optimizer)
                assert not context.checkpoint._copied_later
                write(flat, torch.zeros(10))
                context.checkpoint.wait()
                context.checkpoint.load_state({"flat": flat}, uuid)
                assert torch.equal(read(flat), torch.arange(10.0))
            """
        )

    def test_a_device_that_fails_after_the_call_is_an_error_of_the_save(self):
        self.run_program(
            """
            model, optimizer = make()
            train(model, optimizer)
            put_all(model, optimizer)
            with det.core.init() as context:
                damage(model[2].weight)
                context.checkpoint.save_state({"model": model}, 1, overlap=optimizer)
                optimizer.step()
                raises(RuntimeError, context.checkpoint.wait, "was not saved: cannot ask for an event: another error")
                damage(None)
                uuid = context.checkpoint.save_state({"model": model}, 2, overlap=optimizer)
                assert context.checkpoint.wait() == [uuid]
            """
        )

    def test_a_preemption_and_the_end_of_the_program_wait_for_late_copies(self):
        self.run_program(
            """
            model, optimizer = make()
            train(model, optimizer)
            put_all(model, optimizer)
            with det.core.init() as context:
                expected = values_of(model, optimizer)
                first = context.checkpoint.save_state({"model": model, "optimizer": optimizer}, 1, overlap=optimizer)
                last = context.checkpoint.save_state_before_preemption({"model": model, "optimizer": optimizer}, 2)
                assert last and not context.checkpoint._copied_later
                uuid = context.checkpoint.save_state({"model": model, "optimizer": optimizer}, 3, overlap=optimizer)
            optimizer.step()  # after the end
            with det.core.init() as context:
                for each in (first, last, uuid):
                    for tensor in model.parameters():
                        write(tensor, torch.zeros_like(tensor))
                    context.checkpoint.load_state(tensors_of(model, optimizer), each)
                    same(expected, values_of(model, optimizer))
            """
        )

    def test_a_trial_saves_with_overlap_and_waits_before_a_step_and_a_validation(self):
        for frequency in ("1", "4"):  # of steps; with 4 a validation comes before the next one
            with self.subTest(frequency=frequency):
                self.run_program(self.TRIAL, FREQUENCY=frequency, XDG_DATA_HOME=f"{self.directory}/{frequency}")

    def test_a_trial_saves_without_overlap_if_no_hook_of_a_step_was_called(self):
        replayed = """
            class OPTIMIZER(torch.optim.Adam):
                pass
            OPTIMIZER.__module__ = "torch.optim.adam"
            det.core._state.StepHooks.before_step = lambda hooks, optimizer: None  # as in the replay of a CUDA graph
            def hold(tensor):
                pass
        """
        self.run_program(textwrap.dedent(replayed) + textwrap.dedent(self.TRIAL), FREQUENCY="1")

    def test_a_trial_saves_without_overlap_what_an_optimizer_of_another_package_changes(self):
        own = """
            class OPTIMIZER(torch.optim.Adam):
                pass
            def hold(tensor):
                pass
        """
        self.run_program(textwrap.dedent(own) + textwrap.dedent(self.TRIAL), FREQUENCY="1")

    TRIAL = """
            from determined import pytorch
            frequency = int(os.environ["FREQUENCY"])
            order, expected = [], {}

            class Trial(pytorch.PyTorchTrial):
                def __init__(self, context):
                    self.context = context
                    model, optimizer = make()
                    self.model, self.optimizer = context.wrap_model(model), context.wrap_optimizer(optimizer)
                def build_training_data_loader(self):
                    data = torch.utils.data.TensorDataset(torch.rand(8, 4), torch.rand(8, 2))
                    return pytorch.DataLoader(data, batch_size=4)
                build_validation_data_loader = build_training_data_loader
                def train_batch(self, batch, epoch_idx, batch_idx):
                    order.append("batch")
                    loss = torch.nn.functional.mse_loss(self.model(batch[0]), batch[1])
                    self.context.backward(loss)
                    self.context.step_optimizer(self.optimizer)
                    order.append("step")
                    return {"loss": loss}
                def evaluate_batch(self, batch):
                    order.append("validation")
                    return {"loss": torch.zeros(())}
                def build_callbacks(self):
                    trial = self
                    class Callback(pytorch.PyTorchCallback):
                        def on_checkpoint_save_start(self, state):
                            put_all(trial.model, trial.optimizer)
                            expected.update(values_of(trial.model, trial.optimizer))
                            if frequency == 1 or "save" not in order:
                                hold(trial.model[0].weight)
                            order.append("save")
                    return {"callback": Callback()}

            def release_when_waiting(checkpoint, real=det.core._state.StateCheckpoints.wait_snapshot):
                if checkpoint._copied_later:
                    order.append("wait")
                    hold(None)
                real(checkpoint)
            det.core._state.StateCheckpoints.wait_snapshot = release_when_waiting

            with pytorch.init(aggregation_frequency=frequency) as context:
                pytorch.Trainer(Trial(context), context).fit(
                    max_length=pytorch.Batch(4 if frequency == 1 else 5), checkpoint_period=pytorch.Batch(frequency),
                    validation_period=pytorch.Batch(2 if frequency == 1 else 5))
            if OPTIMIZER is not torch.optim.Adam:
                assert "wait" not in order and order.count("save") == 4, order
            elif frequency == 1:
                validation = ["validation", "validation"]
                assert order[:8] == ["batch", "step", "save", "batch", "wait", "step", *validation], order
                assert order[-1] == "wait" and order.count("wait") == order.count("save") == 4, order
            else:  # the optimizer has not stepped since the first save, so that the last one is not overlapped
                assert order[-7:] == ["save", "batch", "step", "wait", "validation", "validation", "save"], order
            with det.core.init() as context:
                loaded = {}
                context.checkpoint.load_state(loaded)
                same({name: values for name, values in expected.items() if name[1] == "."},
                     dict({**loaded["models_state_dict"][0],
                           **{f"{i}.{name}": tensor
                              for i, values in loaded["optimizers_state_dict"][0]["state"].items()
                              for name, tensor in values.items() if name != "step"}}))
            """

    def test_without_a_driver_torch_copies(self):
        self.variables["LD_LIBRARY_PATH"] = ""
        self.run_program(
            """
            torch.Tensor.cpu = lambda tensor, real=torch.Tensor.cpu: real(tensor).clone()
            assert driver is None
            logging.basicConfig(level="WARNING")
            tensor = torch.arange(6.0)
            shadows[tensor.data_ptr()] = 4096  # an address that nobody may read
            with det.core.init() as context:
                uuid = context.checkpoint.save_state({"x": tensor}, 1)
                tensor.zero_()
                context.checkpoint.wait()
                context.checkpoint.load_state({"x": tensor}, uuid)
                assert torch.equal(tensor, torch.arange(6.0)), tensor
            """,
        )


if __name__ == "__main__":
    unittest.main()
