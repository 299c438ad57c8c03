// The libraries as they lie on the machine that builds, which need not have a device.
#include <det/nccl/nccl_backend.hpp>

#include <boost/test/unit_test.hpp>

#include "check_result.hpp"
#include "names.hpp"

using namespace det;
using namespace det::nccl;

BOOST_AUTO_TEST_SUITE(nccl_test)

BOOST_AUTO_TEST_CASE(types_and_operations_have_the_names_that_nccl_has_for_them) {
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

BOOST_AUTO_TEST_CASE(a_library_that_lacks_what_we_call_is_an_error_that_says_what) {
    auto const opened = open_nccl({"libc.so.6", "libc.so.6"});
    BOOST_REQUIRE(!opened.has_value());
    BOOST_TEST(opened.error().message.find("cuPointerGetAttribute") != std::string::npos);
}

// What the toolkit has to link against in place of the driver: all of its functions are there, and none
// works.
BOOST_AUTO_TEST_CASE(
    all_that_we_call_is_found_in_the_libraries,
    *boost::unit_test::enable_if<!std::string_view(DET_NCCL_LIBRARY).ends_with("NOTFOUND") &&
                                 !std::string_view(DET_CUDA_DRIVER_STUB).ends_with("NOTFOUND")>()) {
    auto const devices = must(open_nccl({DET_NCCL_LIBRARY, DET_CUDA_DRIVER_STUB}));
    int here = 0;
    BOOST_TEST(!devices->is_device_memory(&here));
}

BOOST_AUTO_TEST_SUITE_END()
