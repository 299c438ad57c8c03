#include "parallel.hpp"

#include <boost/test/unit_test.hpp>
#include <thread>

#include "check_result.hpp"

using namespace det;
using namespace det::checkpoint;

BOOST_AUTO_TEST_SUITE(parallel_test)

BOOST_AUTO_TEST_CASE(an_error_of_the_work_comes_before_a_failed_allocation) {
    // One thread has memory; the other cannot allocate as much. The lent memory is not accessed.
    constexpr std::size_t too_large_bytes = std::size_t{1} << 50;
    std::byte first{};
    WorkMemory const memory{too_large_bytes, {&first, too_large_bytes}};
    auto const work = [](std::size_t, std::byte*) -> Status {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        return Error{codes::file_system, "the disk is full"};
    };
    BOOST_TEST(must_fail(each_in_parallel(2, 2, memory, work)).message == "the disk is full");
    auto const succeeds = [](std::size_t, std::byte*) { return Status(Ok{}); };
    auto const error = must_fail(each_in_parallel(2, 2, {too_large_bytes}, succeeds));
    BOOST_TEST(error.message.starts_with("cannot get memory"), error.message);
}

BOOST_AUTO_TEST_SUITE_END()
