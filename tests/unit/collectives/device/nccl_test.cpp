// NCCL and the CUDA driver of the build machine, which need not have a device.
#include <det/collectives/nccl/nccl_backend.hpp>
#include <det/core/context.hpp>
#include <det/protocol/json.hpp>

#include <boost/test/unit_test.hpp>
#include <dlfcn.h>

#include "check_result.hpp"
#include "nccl_communicator.hpp"
#include "temporary_directory.hpp"

using namespace det;
using namespace det::collectives::nccl;

namespace nccl_test {

constexpr bool has_nccl = !std::string_view(DET_NCCL_LIBRARY).ends_with("NOTFOUND");
constexpr char no_library[] = "/nowhere/libnccl.so.2";
constexpr bool has_link_library = !std::string_view(DET_CUDA_LINK_LIBRARY).ends_with("NOTFOUND");

using Floats = std::vector<float>;
using collectives::ReduceOp;

/// Copies on the default stream, and polls until the copy is done.
void copy(collectives::device::DeviceBackend& devices, tensor::CopyDirection to,
          tensor::DeviceCopy const& copy) {
    must(devices.copy(to, copy, nullptr));
    auto const event = must(devices.record(nullptr));
    int polls = 0;
    while (!must(event->has_passed())) BOOST_REQUIRE(++polls < 100);
}

/// A single rank with memory of the fake device, connected by the fake NCCL.
struct FakeDeviceRank {
    std::shared_ptr<collectives::device::DeviceBackend> devices;
    core::Context context;
    std::vector<std::unique_ptr<collectives::device::DeviceScratch>> memory;

    explicit FakeDeviceRank(char const* nccl = DET_FAKE_LIBCUDA, std::filesystem::path const& storage = {})
        : devices(must(open_nccl({nccl, DET_FAKE_LIBCUDA}))),
          context(must(core::Context::init(options(storage)))) {}

    core::ContextOptions options(std::filesystem::path const& storage) const {
        core::ContextOptions options;
        options.environment = {};
        if (!storage.empty()) options.checkpoint_path = storage;
        options.devices = core::Devices::nccl;
        options.device_backend = devices;
        return options;
    }
    std::span<float> allocate(Floats const& values) {
        memory.push_back(must(devices->allocate(values.size() * sizeof(float), nullptr)));
        std::span const there(static_cast<float*>(memory.back()->data()), values.size());
        write(there, values);
        return there;
    }
    void write(std::span<float> there, Floats const& values) const {
        copy(*devices, tensor::CopyDirection::to_device, {there.data(), values.data(), there.size_bytes()});
    }
    Floats read(std::span<float> there) const {
        Floats values(there.size());
        copy(*devices, tensor::CopyDirection::to_host, {values.data(), there.data(), there.size_bytes()});
        return values;
    }
};

/// The fake driver's function of this name.
template <class Function>
Function* driver_function(char const* name) {
    return reinterpret_cast<Function*>(::dlsym(::dlopen(DET_FAKE_LIBCUDA, RTLD_NOW | RTLD_LOCAL), name));
}

}  // namespace nccl_test

BOOST_AUTO_TEST_SUITE(nccl_test)

BOOST_AUTO_TEST_CASE(types_and_operations_are_those_of_nccl) {
    using collectives::DataType;
    BOOST_TEST(type_of(DataType::uint8) == ncclUint8);
    BOOST_TEST(type_of(DataType::int32) == ncclInt32);
    BOOST_TEST(type_of(DataType::int64) == ncclInt64);
    BOOST_TEST(type_of(DataType::float32) == ncclFloat32);
    BOOST_TEST(type_of(DataType::float64) == ncclFloat64);
    BOOST_TEST(type_of(DataType::float16) == ncclFloat16);
    BOOST_TEST(type_of(DataType::bfloat16) == ncclBfloat16);
    BOOST_TEST(op_of(ReduceOp::sum, 2) == ncclSum);
    BOOST_TEST(op_of(ReduceOp::mean, 2) == ncclAvg);
    BOOST_TEST(op_of(ReduceOp::min, 2) == ncclMin);
    BOOST_TEST(op_of(ReduceOp::max, 2) == ncclMax);
    BOOST_TEST(op_of(ReduceOp::prod, 2) == ncclProd);
    BOOST_TEST(op_of(ReduceOp::mean, 1) == ncclSum);
    BOOST_TEST(op_of(ReduceOp::max, 1) == ncclMax);
}

BOOST_AUTO_TEST_CASE(libraries_that_are_absent_are_an_error_that_names_them) {
    auto const opened = open_nccl({"libnccl.so.2", "/nowhere/libcuda.so.1"});
    BOOST_REQUIRE(!opened.has_value());
    BOOST_TEST((opened.error().code == codes::transport));
    BOOST_TEST(opened.error().message.starts_with("cannot use '/nowhere/libcuda.so.1': "));
}

BOOST_AUTO_TEST_CASE(a_library_that_lacks_a_function_is_an_error_that_names_it) {
    auto const opened = open_nccl({"libc.so.6", "libc.so.6"});
    BOOST_REQUIRE(!opened.has_value());
    BOOST_TEST(opened.error().message.find("cuPointerGetAttribute") != std::string::npos);
}

// The CUDA toolkit has a library for linking in place of the driver: it has all functions, and all of them
// fail.
BOOST_AUTO_TEST_CASE(all_functions_are_found_in_the_libraries,
                     *boost::unit_test::enable_if<has_nccl && has_link_library>()) {
    auto const devices = must(open_nccl({DET_NCCL_LIBRARY, DET_CUDA_LINK_LIBRARY}));
    must(devices->load_communication_library());
    int here = 0;
    BOOST_TEST(!devices->is_device_memory(&here));
    std::vector<std::byte> host(16);
    BOOST_TEST(must_fail(devices->pin(host)).message == "cannot find the current device: CUDA failed");
    BOOST_TEST(
        must_fail(devices->copy(tensor::CopyDirection::to_host, {host.data(), &here, 4}, nullptr)).message ==
        "cannot copy memory of the device to the host: CUDA failed");
}

// The tests' own fake driver (tests/support/fake_libcuda.cpp), whose functions work.
BOOST_AUTO_TEST_CASE(host_memory_is_pinned_once_and_unpinned) {
    auto const devices = must(open_nccl({no_library, DET_FAKE_LIBCUDA}));
    std::vector<std::byte> host(16);
    auto pinned = must(devices->pin(host));
    BOOST_TEST(must_fail(devices->pin(host)).message == "cannot pin memory of the host: invalid argument");
    pinned.reset();
    pinned = must(devices->pin(host));
}

BOOST_AUTO_TEST_CASE(a_state_on_a_device_is_saved_and_loaded_without_nccl) {
    TemporaryDirectory directory;
    FakeDeviceRank rank(no_library, directory / "checkpoints");
    Floats const values{1, 2, 3, 4, 5}, others(values.size(), 9);
    auto const there = rank.allocate(values);
    BOOST_TEST(rank.devices->is_device_memory(there.data()));
    checkpoint::State const state{
        tensor::NamedTensor::whole("w", tensor::DataType::float32, {values.size()}, there.data())};
    auto& checkpoints = rank.context.checkpoint();
    must(checkpoints.prepare(state));
    auto const uuid = must(checkpoints.save(1, Json::object(), state)).uuid;
    rank.write(there, others);
    must(checkpoints.finish());
    must(checkpoints.load_from(uuid, state));
    BOOST_TEST(rank.read(there) == values, boost::test_tools::per_element());

    auto const error =
        must_fail(rank.context.distributed().allreduce(collectives::Tensor::of(there), ReduceOp::sum));
    BOOST_TEST((error.code == codes::transport));
    BOOST_TEST(error.message.find("cannot use '/nowhere/libnccl.so.2': ") != std::string::npos);
    must(checkpoints.save(2, Json::object(), state));
    for (auto const& outcome : must(checkpoints.finish())) BOOST_TEST(!outcome.error);
    must(rank.context.close());
}

BOOST_AUTO_TEST_CASE(the_mean_of_one_rank_writes_all_elements) {
    FakeDeviceRank rank;
    auto& ranks = rank.context.distributed();
    using collectives::ConstTensor, collectives::Tensor;
    Floats const values{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13};
    auto const in = rank.allocate(values);
    auto const from = ConstTensor::of(std::span<float const>(in));
    auto const is_whole = [&](auto const& operation) {
        auto const out = rank.allocate(Floats(values.size(), -1));
        must(operation(Tensor::of(out)));
        return rank.read(out) == values;
    };
    BOOST_TEST(is_whole([&](Tensor out) { return ranks.allreduce(from, out, ReduceOp::mean); }));
    BOOST_TEST(is_whole([&](Tensor out) { return ranks.reduce(from, out, ReduceOp::mean); }));
    BOOST_TEST(is_whole([&](Tensor out) { return ranks.reduce_scatter(from, out, ReduceOp::mean); }));
    BOOST_TEST(is_whole([&](Tensor out) { return ranks.allreduce(from, out, ReduceOp::sum); }));
    must(rank.context.close());
}

BOOST_AUTO_TEST_CASE(a_collective_on_a_capturing_stream_is_refused_and_the_context_stays_usable) {
    FakeDeviceRank rank;
    auto& ranks = rank.context.distributed();
    using collectives::Tensor;
    auto const memory = rank.allocate({1, 2, 3});
    int one = 0, other = 0;
    auto* const captured = reinterpret_cast<CUstream>(&one);
    for (void* const used : {static_cast<void*>(captured), static_cast<void*>(nullptr)}) {
        must(ranks.use_stream(used));
        must(ranks.allreduce(Tensor::of(memory), ReduceOp::sum));
        BOOST_REQUIRE(driver_function<decltype(::cuStreamBeginCapture)>("cuStreamBeginCapture_v2")(
                          captured, CU_STREAM_CAPTURE_MODE_GLOBAL) == CUDA_SUCCESS);
        auto const error = must_fail(ranks.allreduce(Tensor::of(memory), ReduceOp::sum));
        BOOST_TEST((error.code == codes::misuse));
        BOOST_TEST(error.message.find("the stream is captured into a graph") != std::string::npos);
        Floats host(3);
        tensor::DeviceCopy const out[] = {{host.data(), memory.data(), memory.size_bytes()}};
        auto const refused = must_fail(ranks.device_copies()->start(tensor::CopyDirection::to_host, out));
        BOOST_TEST((refused.code == codes::misuse));
        must(ranks.use_stream(&other));
        must(ranks.allreduce(Tensor::of(memory), ReduceOp::sum));
        CUgraph graph = nullptr;
        BOOST_TEST(driver_function<decltype(::cuStreamEndCapture)>("cuStreamEndCapture")(captured, &graph) ==
                   CUDA_SUCCESS);
        must(ranks.use_stream(used));
        must(ranks.allreduce(Tensor::of(memory), ReduceOp::sum));
    }
    BOOST_TEST(rank.read(memory) == (Floats{1, 2, 3}), boost::test_tools::per_element());
    must(rank.context.close());
}

BOOST_AUTO_TEST_CASE(two_ranks_on_one_device_are_an_error_with_a_hint) {
    auto const devices = must(open_nccl({DET_FAKE_LIBCUDA, DET_FAKE_LIBCUDA}));
    auto const communicator = must(devices->begin_connect(must(devices->make_id()), Rank{1}, 2));
    auto const error = must_fail(communicator->is_ready());
    BOOST_TEST((error.code == codes::transport));
    BOOST_REQUIRE(error.notes.size() == 1u);
    BOOST_TEST(error.notes[0].find("Duplicate GPU detected") != std::string::npos);
    BOOST_TEST(error.hint.find("cudaSetDevice(LOCAL_RANK)") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
