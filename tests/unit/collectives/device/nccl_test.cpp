// NCCL and the CUDA driver of the build machine, which need not have a device.
#include <det/checkpoint/shared_fs_store.hpp>
#include <det/collectives/nccl/nccl_backend.hpp>
#include <det/core/context.hpp>
#include <det/protocol/json.hpp>

#include <boost/test/unit_test.hpp>

#include "check_result.hpp"
#include "nccl_communicator.hpp"
#include "temporary_directory.hpp"

using namespace det;
using namespace det::collectives::nccl;

namespace nccl_test {

constexpr bool has_nccl = !std::string_view(DET_NCCL_LIBRARY).ends_with("NOTFOUND");
constexpr bool has_link_library = !std::string_view(DET_CUDA_LINK_LIBRARY).ends_with("NOTFOUND");

using Floats = std::vector<float>;

/// Copies on the default stream, and polls until the copy is done.
void copy(collectives::device::DeviceBackend& devices, tensor::CopyDirection to,
          tensor::DeviceCopy const& copy) {
    must(devices.copy(to, copy, nullptr));
    auto const event = must(devices.record(nullptr));
    int polls = 0;
    while (!must(event->has_passed())) BOOST_REQUIRE(++polls < 100);
}

}  // namespace nccl_test

BOOST_AUTO_TEST_SUITE(nccl_test)

BOOST_AUTO_TEST_CASE(types_and_operations_are_those_of_nccl) {
    using collectives::DataType, collectives::ReduceOp;
    BOOST_TEST(type_of(DataType::uint8) == ncclUint8);
    BOOST_TEST(type_of(DataType::int32) == ncclInt32);
    BOOST_TEST(type_of(DataType::int64) == ncclInt64);
    BOOST_TEST(type_of(DataType::float32) == ncclFloat32);
    BOOST_TEST(type_of(DataType::float64) == ncclFloat64);
    BOOST_TEST(type_of(DataType::float16) == ncclFloat16);
    BOOST_TEST(type_of(DataType::bfloat16) == ncclBfloat16);
    BOOST_TEST(op_of(ReduceOp::sum) == ncclSum);
    BOOST_TEST(op_of(ReduceOp::mean) == ncclAvg);
    BOOST_TEST(op_of(ReduceOp::min) == ncclMin);
    BOOST_TEST(op_of(ReduceOp::max) == ncclMax);
    BOOST_TEST(op_of(ReduceOp::prod) == ncclProd);
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
    int here = 0;
    BOOST_TEST(!devices->is_device_memory(&here));
    std::vector<std::byte> host(16);
    BOOST_TEST(must_fail(devices->pin(host)).message == "cannot find the current device: CUDA failed");
    BOOST_TEST(
        must_fail(devices->copy(tensor::CopyDirection::to_host, {host.data(), &here, 4}, nullptr)).message ==
        "cannot copy memory of the device to the host: CUDA failed");
}

// The tests' own fake driver (tests/support/fake_libcuda.cpp), whose functions work.
BOOST_AUTO_TEST_CASE(host_memory_is_pinned_once_and_unpinned, *boost::unit_test::enable_if<has_nccl>()) {
    auto const devices = must(open_nccl({DET_NCCL_LIBRARY, DET_FAKE_LIBCUDA}));
    std::vector<std::byte> host(16);
    auto pinned = must(devices->pin(host));
    BOOST_TEST(must_fail(devices->pin(host)).message == "cannot pin memory of the host: invalid argument");
    pinned.reset();
    pinned = must(devices->pin(host));
}

BOOST_AUTO_TEST_CASE(a_state_on_a_device_is_saved_and_loaded, *boost::unit_test::enable_if<has_nccl>()) {
    TemporaryDirectory directory;
    auto const devices = must(open_nccl({DET_NCCL_LIBRARY, DET_FAKE_LIBCUDA}));
    Floats const values{1, 2, 3, 4, 5}, others(values.size(), 9);
    auto const size = values.size() * sizeof(float);
    auto const there = must(devices->allocate(size, nullptr));
    BOOST_TEST(devices->is_device_memory(there->data()));
    copy(*devices, tensor::CopyDirection::to_device, {there->data(), values.data(), size});

    core::ContextOptions options;
    options.environment = {};
    options.checkpoint_path = directory / "checkpoints";
    options.devices = core::Devices::nccl;
    options.device_backend = devices;
    auto context = must(core::Context::init(options));
    checkpoint::State const state{
        tensor::NamedTensor::whole("w", tensor::DataType::float32, {values.size()}, there->data())};
    must(context.checkpoint().prepare(state));
    auto const uuid = must(context.checkpoint().save(1, Json::object(), state)).uuid;
    copy(*devices, tensor::CopyDirection::to_device, {there->data(), others.data(), size});
    must(context.checkpoint().finish());

    checkpoint::NoPeers alone;
    checkpoint::SharedFsStore const store(options.checkpoint_path);
    must(checkpoint::load(alone, store, {uuid}, state, checkpoint::OnDamage::fail,
                          {context.distributed().device_copies()}));
    Floats back(values.size());
    copy(*devices, tensor::CopyDirection::to_host, {back.data(), there->data(), size});
    BOOST_TEST(back == values, boost::test_tools::per_element());
    must(context.close());
}

BOOST_AUTO_TEST_SUITE_END()
