// The device backend with the drivers and the NCCL of the tests, which need no device, and its names in the
// libraries of the build machine. Compiled for CUDA and NCCL, and for HIP and RCCL.
#include <det/collectives/nccl/nccl_backend.hpp>
#include <det/core/context.hpp>
#include <det/protocol/json.hpp>

#include <boost/test/unit_test.hpp>
#include <dlfcn.h>
#include <thread>

#include "check_result.hpp"
#include "nccl_communicator.hpp"
#include "temporary_directory.hpp"

using namespace det;
using namespace det::collectives::nccl;
using namespace det::collectives::nccl::DET_GPU_API;

namespace nccl_test {

#ifdef DET_GPU_HIP
constexpr auto open_backend = open_rccl;
constexpr auto devices_kind = core::Devices::rccl;
constexpr char first_function[] = "hipPointerGetAttribute";
constexpr char capture_begin[] = "hipStreamBeginCapture";
constexpr char capture_end[] = "hipStreamEndCapture";
constexpr auto capture_mode = hipStreamCaptureModeGlobal;
using BeginCapture = decltype(::hipStreamBeginCapture);
using EndCapture = decltype(::hipStreamEndCapture);
using Graph = hipGraph_t;
constexpr auto& real_nccl = nccl_library;
constexpr auto& real_driver = driver_library;
#else
constexpr auto open_backend = open_nccl;
constexpr auto devices_kind = core::Devices::nccl;
constexpr char first_function[] = "cuPointerGetAttribute";
constexpr char capture_begin[] = "cuStreamBeginCapture_v2";
constexpr char capture_end[] = "cuStreamEndCapture";
constexpr auto capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
using BeginCapture = decltype(::cuStreamBeginCapture);
using EndCapture = decltype(::cuStreamEndCapture);
using Graph = CUgraph;
constexpr char real_nccl[] = DET_NCCL_LIBRARY;
constexpr char real_driver[] = DET_CUDA_LINK_LIBRARY;
#endif

constexpr char no_library[] = "/nowhere/libnccl.so.2";

/// Whether the machine has a library of this name. The answer for one that was not found at configuration,
/// whose name ends in NOTFOUND, is no.
boost::test_tools::assertion_result has_libraries(boost::unit_test::test_unit_id) {
    auto const can_open = [](char const* name) { return ::dlopen(name, RTLD_NOW | RTLD_LOCAL) != nullptr; };
    return can_open(real_nccl) && can_open(real_driver);
}

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

    explicit FakeDeviceRank(char const* nccl = DET_FAKE_DRIVER, std::filesystem::path const& storage = {},
                            Environment variables = {})
        : devices(must(open_backend({nccl, DET_FAKE_DRIVER}))),
          context(must(core::Context::init(options(storage, std::move(variables))))) {}

    core::ContextOptions options(std::filesystem::path const& storage, Environment variables) const {
        core::ContextOptions options;
        options.environment = std::move(variables);
        if (!storage.empty()) options.checkpoint_path = storage;
        options.devices = devices_kind;
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

/// A function of the fake driver or of the fake NCCL.
template <class Function>
Function* fake_function(char const* name) {
    return reinterpret_cast<Function*>(::dlsym(::dlopen(DET_FAKE_DRIVER, RTLD_NOW | RTLD_LOCAL), name));
}

int aborts() { return fake_function<int()>("fakeAborts")(); }

/// The fake NCCL says that it is 2.13, the last version whose calls block.
struct OldNccl {
    OldNccl() { set_version(NCCL_VERSION(2, 13, 4)); }
    OldNccl(OldNccl const&) = delete;
    OldNccl& operator=(OldNccl const&) = delete;
    ~OldNccl() { set_version(0); }
    static void set_version(int version) { fake_function<void(int)>("fakeNcclVersion")(version); }
};

/// The calls of the fake NCCL that connect block while this exists.
struct HeldConnect {
    HeldConnect() { hold(true); }
    HeldConnect(HeldConnect const&) = delete;
    HeldConnect& operator=(HeldConnect const&) = delete;
    ~HeldConnect() { hold(false); }
    static void hold(bool is_held) { fake_function<void(bool)>("fakeHoldConnect")(is_held); }
};

void poll_until_ready(collectives::device::DeviceCommunicator& communicator) {
    auto const limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!must(communicator.is_ready())) {
        BOOST_REQUIRE(std::chrono::steady_clock::now() < limit);
        std::this_thread::yield();
    }
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
    auto const opened = open_backend({"libnccl.so.2", "/nowhere/libcuda.so.1"});
    BOOST_REQUIRE(!opened.has_value());
    BOOST_TEST((opened.error().code == codes::transport));
    BOOST_TEST(opened.error().message.starts_with("cannot use '/nowhere/libcuda.so.1': "));
}

BOOST_AUTO_TEST_CASE(a_library_that_lacks_a_function_is_an_error_that_names_it) {
    auto const opened = open_backend({"libc.so.6", "libc.so.6"});
    BOOST_REQUIRE(!opened.has_value());
    BOOST_TEST(opened.error().message.find(first_function) != std::string::npos);
}

// The CUDA toolkit has a library for linking in place of the driver: it has all functions, and all of them
// fail. HIP's own library finds no device.
BOOST_AUTO_TEST_CASE(all_functions_are_found_in_the_libraries,
                     *boost::unit_test::precondition(has_libraries)) {
    auto const devices = must(open_backend({real_nccl, real_driver}));
    must(devices->load_communication_library());
    int here = 0;
    BOOST_TEST(!devices->is_device_memory(&here));
    std::vector<std::byte> host(16);
    auto const pin_error = must_fail(devices->pin(host));
    auto const copy_error =
        must_fail(devices->copy(tensor::CopyDirection::to_host, {host.data(), &here, 4}, nullptr));
    BOOST_TEST(pin_error.message.starts_with("cannot "), pin_error.message);
    BOOST_TEST(copy_error.message.starts_with("cannot copy memory of the device to the host: "),
               copy_error.message);
#ifndef DET_GPU_HIP
    BOOST_TEST(pin_error.message == "cannot find the current device: CUDA failed");
    BOOST_TEST(copy_error.message == "cannot copy memory of the device to the host: CUDA failed");
#endif
}

// The tests' own fake drivers (tests/support/fake_libcuda.cpp, fake_libhip.cpp), whose functions work.
BOOST_AUTO_TEST_CASE(host_memory_is_pinned_once_and_unpinned) {
    auto const devices = must(open_backend({no_library, DET_FAKE_DRIVER}));
    std::vector<std::byte> host(16);
    auto pinned = must(devices->pin(host));
    BOOST_TEST(must_fail(devices->pin(host)).message == "cannot pin memory of the host: invalid argument");
    pinned.reset();
    pinned = must(devices->pin(host));
}

#ifdef DET_GPU_HIP
BOOST_AUTO_TEST_CASE(a_failed_call_leaves_no_error_that_torch_would_raise) {
    auto const devices = must(open_backend({no_library, DET_FAKE_DRIVER}));
    auto* const last_error = fake_function<decltype(::hipGetLastError)>("hipGetLastError");
    int here = 0;
    BOOST_TEST(!devices->is_device_memory(&here));
    BOOST_TEST((last_error() == hipSuccess));
    std::vector<std::byte> host(16);
    auto const pinned = must(devices->pin(host));
    must_fail(devices->pin(host));
    BOOST_TEST((last_error() == hipSuccess));
}
#endif

BOOST_AUTO_TEST_CASE(host_memory_is_unpinned_by_a_thread_that_has_another_device) {
    auto const devices = must(open_backend({no_library, DET_FAKE_DRIVER}));
    std::vector<std::byte> host(16);
#ifdef DET_GPU_HIP
    auto* const set_device = fake_function<decltype(::hipSetDevice)>("hipSetDevice");
    auto* const get_device = fake_function<decltype(::hipGetDevice)>("hipGetDevice");
    BOOST_REQUIRE(set_device(1) == hipSuccess);
    auto pinned = must(devices->pin(host));
    BOOST_REQUIRE(set_device(0) == hipSuccess);
    int after = -1;
    std::jthread([&, moved = std::move(pinned)]() mutable {
        moved.reset();
        static_cast<void>(get_device(&after));
    }).join();
    BOOST_TEST(after == 0);  // the thread has its own device again
#else
    auto pinned = must(devices->pin(host));
    std::jthread([moved = std::move(pinned)]() mutable { moved.reset(); }).join();
#endif
    must(devices->pin(host));
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

void check_mean_of_one_rank() {
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

BOOST_AUTO_TEST_CASE(the_mean_of_one_rank_writes_all_elements) { check_mean_of_one_rank(); }

BOOST_AUTO_TEST_CASE(collectives_work_with_the_last_nccl_whose_calls_block) {
    OldNccl const old;
    auto const aborts_before = aborts();
    check_mean_of_one_rank();
    FakeDeviceRank rank;
    Floats const values{1, 2, 3, 4, 5};
    auto const in = rank.allocate(values), out = rank.allocate(Floats(5, -1));
    auto& ranks = rank.context.distributed();
    must(ranks.all_to_all(collectives::ConstTensor::of(std::span<float const>(in)),
                          collectives::Tensor::of(out)));
    must(ranks.all_to_all(collectives::ConstTensor::of(std::span<float const>(in)),
                          collectives::Tensor::of(in)));
    BOOST_TEST(rank.read(out) == values, boost::test_tools::per_element());
    BOOST_TEST(rank.read(in) == values, boost::test_tools::per_element());
    must(rank.context.close());
    BOOST_TEST(aborts() == aborts_before);
}

BOOST_AUTO_TEST_CASE(an_nccl_that_lacks_functions_is_an_error_with_its_version) {
    OldNccl const old;
    OldNccl::set_version(NCCL_VERSION(2, 12, 12));
    auto const devices = must(open_backend({DET_FAKE_DRIVER, DET_FAKE_DRIVER}));
    auto const error = must_fail(devices->load_communication_library());
    BOOST_TEST((error.code == codes::transport));
    BOOST_TEST(
        error.message.find(fmt::format(" is {} 21212, and 21300 is needed", nccl_name)) != std::string::npos,
        error.message);
}

BOOST_AUTO_TEST_CASE(a_connection_that_blocks_ends_at_the_time_limit) {
    OldNccl const old;
    auto const aborts_before = aborts();
    {
        HeldConnect const held;
        FakeDeviceRank rank(DET_FAKE_DRIVER, {}, Environment{{{"DET_COLLECTIVE_TIMEOUT_S", "1"}}});
        auto const memory = rank.allocate({1, 2, 3});
        auto& ranks = rank.context.distributed();
        auto const error = must_fail(ranks.allreduce(collectives::Tensor::of(memory), ReduceOp::sum));
        BOOST_TEST((error.code == codes::timed_out), error.message);
        auto const again = must_fail(ranks.allreduce(collectives::Tensor::of(memory), ReduceOp::sum));
        BOOST_TEST(again.message == error.message);
        BOOST_TEST(rank.read(memory) == (Floats{1, 2, 3}), boost::test_tools::per_element());
        must(rank.context.close());
        BOOST_TEST(aborts() == aborts_before);  // the thread is still in ncclCommInitRank()
    }
    // When the call returns, the thread releases the communicator, which the rank has given up.
    BOOST_TEST(fake_function<bool(int)>("fakeWaitForAborts")(aborts_before + 1));
}

BOOST_AUTO_TEST_CASE(an_idle_communicator_is_aborted_at_once_and_refuses_requests) {
    OldNccl const old;
    auto const devices = must(open_backend({DET_FAKE_DRIVER, DET_FAKE_DRIVER}));
    auto const communicator = must(devices->begin_connect(must(devices->make_id()), Rank{0}, 1));
    poll_until_ready(*communicator);
    auto const aborts_before = aborts();
    communicator->abort();
    BOOST_TEST(aborts() == aborts_before + 1);
    BOOST_TEST((must_fail(communicator->is_ready()).code == codes::misuse));
    BOOST_TEST((must_fail(communicator->enqueue({}, nullptr)).code == codes::misuse));
    BOOST_TEST((must_fail(communicator->begin_finish()).code == codes::misuse));
}

BOOST_AUTO_TEST_CASE(a_request_while_another_is_in_progress_is_refused) {
    OldNccl const old;
    HeldConnect const held;
    auto const devices = must(open_backend({DET_FAKE_DRIVER, DET_FAKE_DRIVER}));
    auto const communicator = must(devices->begin_connect(must(devices->make_id()), Rank{0}, 1));
    BOOST_TEST(!must(communicator->is_ready()));
    BOOST_TEST((must_fail(communicator->enqueue({}, nullptr)).code == codes::misuse));
}

BOOST_AUTO_TEST_CASE(a_collective_on_a_capturing_stream_is_refused_and_the_context_stays_usable) {
    FakeDeviceRank rank;
    auto& ranks = rank.context.distributed();
    using collectives::Tensor;
    auto const memory = rank.allocate({1, 2, 3});
    int one = 0, other = 0;
    auto* const captured = reinterpret_cast<GpuStream>(&one);
    for (void* const used : {static_cast<void*>(captured), static_cast<void*>(nullptr)}) {
        must(ranks.use_stream(used));
        must(ranks.allreduce(Tensor::of(memory), ReduceOp::sum));
        BOOST_REQUIRE(fake_function<BeginCapture>(capture_begin)(captured, capture_mode) == gpu_success);
        auto const error = must_fail(ranks.allreduce(Tensor::of(memory), ReduceOp::sum));
        BOOST_TEST((error.code == codes::misuse));
        BOOST_TEST(error.message.find("the stream is captured into a graph") != std::string::npos);
        Floats host(3);
        tensor::DeviceCopy const out[] = {{host.data(), memory.data(), memory.size_bytes()}};
        auto const refused = must_fail(ranks.device_copies()->start(tensor::CopyDirection::to_host, out));
        BOOST_TEST((refused.code == codes::misuse));
        must(ranks.use_stream(&other));
        must(ranks.allreduce(Tensor::of(memory), ReduceOp::sum));
        Graph graph = nullptr;
        BOOST_TEST(fake_function<EndCapture>(capture_end)(captured, &graph) == gpu_success);
        must(ranks.use_stream(used));
        must(ranks.allreduce(Tensor::of(memory), ReduceOp::sum));
    }
    BOOST_TEST(rank.read(memory) == (Floats{1, 2, 3}), boost::test_tools::per_element());
    must(rank.context.close());
}

BOOST_AUTO_TEST_CASE(two_ranks_on_one_device_are_an_error_with_a_hint) {
    auto const devices = must(open_backend({DET_FAKE_DRIVER, DET_FAKE_DRIVER}));
    auto const communicator = must(devices->begin_connect(must(devices->make_id()), Rank{1}, 2));
    auto state = communicator->is_ready();
    while (state && !*state) state = communicator->is_ready();  // RCCL 2.13 connects in a thread
    auto const error = must_fail(std::move(state));
    BOOST_TEST((error.code == codes::transport));
    BOOST_REQUIRE(error.notes.size() == 1u);
    BOOST_TEST(error.notes[0].find("Duplicate GPU detected") != std::string::npos);
    BOOST_TEST(error.hint.find(fmt::format("{}(LOCAL_RANK)", set_device_name)) != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
