"""Tests collectives on tensors among several ranks, off the cluster."""

import contextlib
import ctypes
import os
import tempfile
import unittest

from support import BUILD, Case
from test_core_ranks import NODES

# make(values, name) makes a tensor of one of the two packages, numbers(tensor) the list of its elements.
PACKAGES = """
import numpy
def make_array(values, name):
    return numpy.array(values, dtype=name)
kinds = [(make_array, lambda tensor: tensor.tolist(), ["uint8", "int32", "int64", "float16", "float32", "float64"])]
if "TEST_TORCH" in os.environ:
    import torch
    def make_tensor(values, name):
        return torch.tensor(values, dtype=getattr(torch, name))
    kinds.append((make_tensor, lambda tensor: tensor.tolist(), kinds[0][2] + ["bfloat16"]))
"""

OPERATIONS = """
import math
def check(ranks, rank, size, suffix):
    def method(name):
        return getattr(ranks, name + suffix)
    everyone = list(range(1, size + 1))  # rank r has r + 1
    for make, numbers, names in kinds:
        for name in names:
            for op, result in [("sum", sum(everyone)), ("min", 1), ("max", size), ("prod", math.factorial(size))]:
                tensor = make([rank + 1] * 3, name)
                assert method("all_reduce")(tensor, op) is None
                assert numbers(tensor) == [result] * 3, (name, op, tensor)
            if "float" in name:
                tensor = make([rank + 1.0], name)
                method("all_reduce")(tensor, op="mean")
                assert numbers(tensor) == [sum(everyone) / size], tensor
            tensor = make([rank + 1], name)
            method("reduce")(tensor, dst=size - 1)
            assert numbers(tensor) == [sum(everyone)] if rank == size - 1 else True
            parts = make([10 * r + rank for r in range(size)], name)
            part = make([0], name)
            method("reduce_scatter")(part, parts)
            assert numbers(part) == [10 * rank * size + sum(everyone) - size], part
            method("all_gather_into")(parts, make([rank], name))
            assert numbers(parts) == list(range(size))
            method("all_gather_into")(parts, parts[rank:rank + 1])  # in place
            assert numbers(parts) == list(range(size))
            sent = make([10 * rank + r for r in range(size)], name)
            method("all_to_all")(parts, sent)
            assert numbers(parts) == [10 * r + rank for r in range(size)]
            method("all_to_all")(sent, sent)  # in place
            assert numbers(sent) == numbers(parts)
            tensor = make([[rank, rank]], name)
            method("broadcast_tensor")(tensor, src=size - 1)
            assert numbers(tensor) == [[size - 1, size - 1]]
        large = make([1.0] * 300000, "float32")
        method("all_reduce")(large)
        assert numbers(large) == [size] * 300000
        method("all_reduce")(make([], "float32"))
    method("barrier")()
"""

# Rank 1 passes a wrong argument, and all ranks get the same error, after which they can go on.
MISTAKES = """
import gc, weakref
def fails(call, *words):
    try:
        call()
        raise SystemExit(f"no error with {words}")
    except det._lib.LibraryError as problem:
        assert problem.code == "misuse", problem
        text = str(problem)
        for word in words:
            assert word in text, (word, text)
        assert len(set(ranks.allgather(text))) == 1, text
frozen = numpy.ones(4, "float32")
frozen.flags.writeable = False
unaligned = numpy.frombuffer(bytearray(17), "float32", count=4, offset=1)
good = numpy.ones(4, "float32")
mistakes = [
    (numpy.ones((3, 4), "float32").T, "shape (4, 3)", "is not contiguous", "ascontiguousarray"),
    (numpy.ones(8, "float32")[::2], "strides (8,)", "is not contiguous"),
    (unaligned, "is not contiguous"),
    (frozen, "the array is read-only", "array.copy()"),
    (numpy.ones(4, bool), "and not bool", "view(numpy.uint8)"),
    (numpy.ones(4, "int16"), "and not int16", "accept elements of type uint8"),
    (numpy.ones(4, ">f4"), "and not >f4"),
    (numpy.ones(4, "complex64"), "and not complex64"),
    ([1.0] * 4, "an object of type list is neither a torch tensor nor a numpy array"),
    (None, "an object of type NoneType"),
]
if "TEST_TORCH" in os.environ:
    mistakes += [
        (torch.ones(3, 4).t(), "shape (4, 3)", "strides (1, 4)", "tensor.contiguous()"),
        (torch.ones(1, 2, 2, 2).to(memory_format=torch.channels_last), "is not contiguous"),
        (torch.ones(4).to_sparse(), "layout torch.sparse_coo", "to_dense"),
        (torch.ones(4, dtype=torch.bool), "and not bool", "view(torch.uint8)"),
        (torch.ones(4, device="meta"), "on the device meta"),
    ]
"""


class Tensors(Case):
    def setUp(self):
        super().setUp()
        self.variables["TEST_TORCH"] = "1"

    def test_every_operation_on_every_type(self):
        for size in (1, 2, 4):
            with self.subTest(size=size):
                self.run_ranks(
                    PACKAGES
                    + OPERATIONS
                    + """
with connect(pub_port=21000 + size) as ranks:
    check(ranks, rank, size, "")
    check(ranks, rank, size, "_local")
    check(ranks, 0, 1, "_cross")
""",
                    size,
                )

    def test_the_ranks_of_a_node_and_one_rank_of_each_node(self):
        self.run_ranks(
            NODES
            + PACKAGES
            + OPERATIONS
            + """
with det.core.DistributedContext(chief_ip="127.0.0.1", **numbers) as ranks:
    check(ranks, rank, 4, "")
    check(ranks, rank % 2, 2, "_local")
    check(ranks, node, 2, "_cross")
    tensor = numpy.array([rank])
    ranks.all_reduce_local(tensor)
    assert tensor == [[1], [5]][node], tensor
    tensor = numpy.array([rank])
    ranks.all_reduce_cross(tensor)
    assert tensor == [[2], [4]][rank % 2], tensor
    work = [getattr(ranks, "all_reduce" + suffix)(numpy.ones(100000), async_op=True)
            for suffix in ("", "_local", "_cross")]
    for each in work:
        each.wait()
    assert ranks.allgather(rank) == [0, 1, 2, 3]
""",
            4,
        )

    def test_a_mistake_of_one_rank_is_an_error_on_all(self):
        for size in (1, 2):
            with self.subTest(size=size):
                self.run_ranks(
                    PACKAGES
                    + MISTAKES
                    + """
is_wrong = rank == size - 1
name = f"rank {size - 1}: all_reduce(): " if size > 1 else "all_reduce(): "
with connect() as ranks:
    for tensor, *words in mistakes:
        fails(lambda: ranks.all_reduce(tensor if is_wrong else good), name, *words)
    fails(lambda: ranks.all_reduce(good, op="median" if is_wrong else "sum"), "no reduction 'median'", "sum, mean")
    integers = numpy.ones(4, "int32")
    fails(lambda: ranks.all_reduce(integers, op="mean"), "no mean of int32")
    parts, part = numpy.ones(2 * size, "float32"), numpy.ones(2, "float32")
    small = parts[:-1]
    fails(lambda: ranks.all_gather_into(small if is_wrong else parts, part), "all_gather_into()",
          f"the input has 2 float32 and the output {2 * size - 1} float32, for {size} rank")
    fails(lambda: ranks.reduce_scatter(part, small if is_wrong else parts), "reduce_scatter()",
          f"the output has 2 float32 and the input {2 * size - 1} float32")
    fails(lambda: ranks.all_gather_into(parts, part.astype("float64") if is_wrong else part), "2 float64")
    fails(lambda: ranks.all_to_all(small if is_wrong else parts, parts), "all_to_all()", f"{2 * size - 1} float32")
    if size > 1:
        three = numpy.ones(3, "float32")
        fails(lambda: ranks.all_to_all(three, three), "3 elements cannot be divided among 2 ranks")
        fails(lambda: ranks.all_gather_into(parts, parts[1:3]), "overlap")
    whole = numpy.ones(4 * size, "float32")
    fails(lambda: ranks.all_to_all(whole[size:2 * size + size], whole[:2 * size]), "the input and the output overlap")
    fails(lambda: ranks.broadcast_tensor(good, src=size), f"rank {size} cannot broadcast")
    fails(lambda: ranks.broadcast_tensor(good, src=2**32), "rank -1 cannot broadcast")
    ranks.broadcast_tensor(frozen if rank == 0 else good)  # rank 0 only reads it
    total = numpy.ones(4, "float32")
    ranks.all_reduce(total)
    assert total.tolist() == [size] * 4
""",
                    size,
                )

    def test_ranks_that_differ_are_named(self):
        self.run_ranks(
            PACKAGES
            + MISTAKES
            + """
with connect() as ranks:
    fails(lambda: ranks.all_reduce(numpy.ones(7 + rank, "float32")),
          "rank 0 called allreduce(sum of 7 float32) and rank 1 called allreduce(sum of 8 float32)")
    fails(lambda: ranks.all_reduce(numpy.ones(8, "float32" if rank == 0 else "int32")), "8 float32", "8 int32")
    fails(lambda: ranks.all_reduce(good, op=["max", "min"][rank]), "max of 4", "min of 4")
    fails(lambda: ranks.barrier() if rank == 0 else ranks.all_reduce(good), "rank 0 called barrier()")
    fails(lambda: ranks.broadcast_tensor(good, src=rank), "from rank 0", "from rank 1")
    fails(lambda: ranks.all_reduce(torch.ones(4).to_sparse() if rank == 0 else good), "rank 0: all_reduce()")
    ranks.barrier()
""",
            2,
        )

    def test_work_keeps_its_tensors_until_it_is_done(self):
        self.run_ranks(
            PACKAGES
            + MISTAKES
            + """
class Array(numpy.ndarray):
    pass
def array(value):
    return numpy.full(50000, value, "float64").view(Array)
with connect() as ranks:
    first, second = array(rank), array(rank)
    work = [ranks.all_reduce(first, async_op=True), ranks.broadcast_tensor(second, src=1, async_op=True)]
    kept = weakref.ref(first)
    del first
    gc.collect()
    assert kept() is not None
    while not work[1].done():
        pass
    work[0].wait()
    work[0].wait()
    assert work[0].done() and (second == 1).all()
    gc.collect()
    assert kept() is None

    tensor = array(rank)
    ranks.all_reduce(tensor, async_op=True)  # dropped: waits
    assert (tensor == 1).all()

    wrong = ranks.all_reduce(array(1) if rank == 0 else array(1)[:-1], async_op=True)
    for _ in range(2):
        fails(wrong.wait, "allreduce(sum of 50000 float64)", "49999")
    assert wrong.done()
    several = [(array(step), step) for step in range(20)]
    work = [ranks.all_reduce(tensor, async_op=True) for tensor, _ in several]
    ranks.barrier()
    for each, (tensor, step) in zip(work, several):
        each.wait()
        assert (tensor == 2 * step).all()
    later = ranks.all_reduce(array(1), async_op=True)
later.wait()
""",
            2,
        )

    def test_torch_tensors_and_reductions_of_torch(self):
        self.run_ranks(
            PACKAGES
            + """
import torch.distributed as dist
with connect() as ranks:
    parameter = torch.nn.Parameter(torch.full((2, 3), float(rank)))
    address = parameter.data_ptr()
    ranks.all_reduce(parameter, op=dist.ReduceOp.SUM)
    assert parameter.data_ptr() == address and parameter.tolist() == [[1, 1, 1]] * 2
    ranks.all_reduce(parameter, op=dist.ReduceOp.AVG)
    assert parameter.tolist() == [[1, 1, 1]] * 2
    row = torch.arange(6.0).reshape(2, 3)[1]  # contiguous, with an offset
    ranks.all_reduce(row)
    assert row.tolist() == [6, 8, 10]
    mask = torch.tensor([rank == 0, True])
    ranks.broadcast_tensor(mask.view(torch.uint8))
    assert mask.tolist() == [True, True]
    imaginary = torch.ones(1, dtype=torch.complex64).mul(1j).conj().imag
    assert imaginary.is_neg()
    try:
        ranks.all_reduce(imaginary)
        raise SystemExit("a negated view was reduced")
    except det._lib.LibraryError as problem:
        assert "negated view" in str(problem) and "resolve_neg" in str(problem), problem
""",
            2,
        )

    def test_packages_that_the_program_does_not_use_are_not_imported(self):
        self.run_ranks(
            """
            import numpy
            with connect() as ranks:
                values = numpy.ones(3)
                ranks.all_reduce(values)
                assert "torch" not in sys.modules
            """,
        )

    def test_a_closed_context_refuses_tensors(self):
        self.run_ranks(
            """
            import numpy
            ranks = connect()
            ranks.all_reduce(numpy.ones(3))
            ranks.close()
            for call in (ranks.all_reduce, ranks.all_reduce_local):
                try:
                    call(numpy.ones(3))
                    raise SystemExit("a closed context works")
                except RuntimeError as problem:
                    assert "is closed" in str(problem), problem
            """,
        )


@unittest.skipUnless(os.path.exists(f"{BUILD}/tests/fake_libcuda.so"), "built without NCCL and CUDA")
class Devices(Case):
    """A single rank, with the fake CUDA driver and NCCL of the tests in C++."""

    def setUp(self):
        super().setUp()
        libraries = tempfile.TemporaryDirectory(prefix="det-python-")
        self.addCleanup(libraries.cleanup)
        for name in ("libcuda.so.1", "libnccl.so.2"):
            os.symlink(f"{BUILD}/tests/fake_libcuda.so", f"{libraries.name}/{name}")
        self.variables["LD_LIBRARY_PATH"] = libraries.name

    def test_arrays_in_memory_of_a_device(self):
        self.run_ranks(
            """
            import ctypes, numpy
            driver = ctypes.CDLL("libcuda.so.1")

            def finish():
                event = ctypes.c_void_p()
                driver.cuEventCreate(ctypes.byref(event), 0)
                driver.cuEventRecord(event, None)
                while driver.cuEventQuery(event) != 0:
                    pass

            class DeviceArray:
                def __init__(self, values, **more):
                    self.count = len(values)
                    memory = ctypes.c_uint64()
                    assert driver.cuMemAllocAsync(ctypes.byref(memory), ctypes.c_size_t(4 * self.count), None) == 0
                    self.address = memory.value
                    host = numpy.array(values, "float32")
                    assert driver.cuMemcpyHtoDAsync_v2(ctypes.c_uint64(self.address), ctypes.c_void_p(host.ctypes.data),
                                                    ctypes.c_size_t(4 * self.count), None) == 0
                    finish()
                    self.more = more
                @property
                def __cuda_array_interface__(self):
                    return {"shape": (self.count,), "typestr": "<f4", "data": (self.address, False), "version": 3,
                            **self.more}
                def read(self):
                    host = numpy.zeros(self.count, "float32")
                    assert driver.cuMemcpyDtoHAsync_v2(ctypes.c_void_p(host.ctypes.data), ctypes.c_uint64(self.address),
                                                    ctypes.c_size_t(4 * self.count), None) == 0
                    finish()
                    return host.tolist()

            with connect() as ranks:
                host = numpy.ones(3, "float32")
                ranks.all_reduce_local(host)  # the groups are made before the devices are needed
                ranks.all_reduce_cross(host)
                for suffix in ("", "_local", "_cross"):
                    source, target = DeviceArray([1, 2, 3]), DeviceArray([0, 0, 0])
                    getattr(ranks, "all_gather_into" + suffix)(target, source)
                    assert target.read() == [1, 2, 3], (suffix, target.read())
                    work = getattr(ranks, "reduce_scatter" + suffix)(target, DeviceArray([4, 5, 6]), async_op=True)
                    work.wait()
                    assert target.read() == [4, 5, 6]
                    getattr(ranks, "all_reduce" + suffix)(target)
                    assert target.read() == [4, 5, 6]
                ranks.all_reduce(DeviceArray([1, 2], stream=9))
                ranks.all_reduce_local(DeviceArray([1, 2], stream=7))
                driver.cuStreamBeginCapture_v2(ctypes.c_void_p(7), 0)  # work on stream 7 is an error from now on
                ranks.all_reduce(DeviceArray([1, 2], stream=9))
                driver.cuStreamEndCapture(ctypes.c_void_p(7), None)
                ranks.all_reduce(host)
                for wrong, words in ((DeviceArray([1, 2], strides=(8,)), "is not contiguous"),
                                     (DeviceArray([1, 2], data=(0, True)), "read-only"),
                                     (DeviceArray([1, 2], typestr="|b1"), "not |b1")):
                    try:
                        ranks.all_reduce(wrong)
                        raise SystemExit(words)
                    except det._lib.LibraryError as problem:
                        assert words in str(problem), problem
                try:
                    ranks.all_gather_into(target, host)
                    raise SystemExit("two kinds of memory")
                except det._lib.LibraryError as problem:
                    assert "one tensor is in memory of a device and the other in host memory" in str(problem), problem
            """,
        )

    @unittest.skipUnless(os.path.exists(f"{BUILD}/tests/fake_libhip.so"), "built without RCCL and HIP")
    def test_with_torch_for_rocm_the_devices_are_those_of_hip(self):
        libraries = self.variables["LD_LIBRARY_PATH"]
        for name in os.listdir(libraries):  # not even present
            os.unlink(f"{libraries}/{name}")
        for name in (*(f"libamdhip64.so.{major}" for major in range(5, 10)), "librccl.so.1"):
            os.symlink(f"{BUILD}/tests/fake_libhip.so", f"{libraries}/{name}")
        self.run_ranks(
            """
            import ctypes, numpy, sys, types
            sys.modules["torch"] = types.SimpleNamespace(version=types.SimpleNamespace(hip="5.7"), Tensor=bytes)
            driver = ctypes.CDLL("librccl.so.1")  # the fake has both

            def finish():
                event = ctypes.c_void_p()
                driver.hipEventCreateWithFlags(ctypes.byref(event), 0)
                driver.hipEventRecord(event, None)
                while driver.hipEventQuery(event) != 0:
                    pass

            class DeviceArray:
                def __init__(self, values):
                    host, memory = numpy.array(values, "float32"), ctypes.c_void_p()
                    assert driver.hipMallocAsync(ctypes.byref(memory), ctypes.c_size_t(host.nbytes), None) == 0
                    assert driver.hipMemcpyHtoDAsync(memory, ctypes.c_void_p(host.ctypes.data), ctypes.c_size_t(host.nbytes),
                                                     None) == 0
                    finish()
                    self.memory, self.count = memory, len(values)
                @property
                def __cuda_array_interface__(self):
                    return {"shape": (self.count,), "typestr": "<f4", "data": (self.memory.value, False), "version": 3}
                def read(self):
                    host = numpy.zeros(self.count, "float32")
                    assert driver.hipMemcpyDtoHAsync(ctypes.c_void_p(host.ctypes.data), self.memory,
                                                     ctypes.c_size_t(host.nbytes), None) == 0
                    finish()
                    return host.tolist()

            with connect() as ranks:
                source, target = DeviceArray([1, 2, 3]), DeviceArray([0, 0, 0])
                ranks.all_gather_into(target, source)
                assert target.read() == [1, 2, 3], target.read()
                ranks.all_reduce(target, "mean")
                assert target.read() == [1, 2, 3], target.read()
            """,
        )

    def test_without_the_library_the_error_names_it(self):
        with contextlib.suppress(OSError):
            ctypes.CDLL("libcuda.so.1")
            self.skipTest("this machine has a CUDA driver")
        self.variables["LD_LIBRARY_PATH"] = ""
        self.run_ranks(
            """
            class DeviceArray:
                __cuda_array_interface__ = {"shape": (1,), "typestr": "<f4", "data": (4096, False), "version": 3}
            with connect() as ranks:
                try:
                    ranks.all_reduce(DeviceArray())
                    raise SystemExit("there is NCCL")
                except det._lib.LibraryError as problem:
                    assert problem.code == "transport" and "libcuda.so.1" in str(problem), problem
            """,
        )


if __name__ == "__main__":
    unittest.main()
