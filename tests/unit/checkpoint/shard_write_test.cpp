// A write whose data becomes available in several steps.
#include "shard_write.hpp"

#include <det/checkpoint/saver.hpp>
#include <det/foundation/bytes.hpp>
#include <det/foundation/files.hpp>

#include <boost/test/unit_test.hpp>
#include <latch>
#include <thread>

#include "check_result.hpp"
#include "file_size_limit.hpp"
#include "host_memory.hpp"
#include "temporary_directory.hpp"

using namespace det;
using namespace det::checkpoint;

namespace shard_write_test {

constexpr std::chrono::seconds limit{30};
constexpr std::size_t block_bytes = 8192, size_bytes = 2 * block_bytes + 100;

struct Fixture {
    TemporaryDirectory directory;
    HostMemory bytes = must(HostMemory::allocate(3 * block_bytes));
    std::latch has_failed_once{1};
    ThreadPool pool{"det-test", 2};
    std::shared_ptr<ShardWrite> write = std::make_shared<ShardWrite>(
        [this] { return Result<std::filesystem::path>(directory.path()); },
        [](CheckpointFile&) { return Status(Ok{}); }, "shard", bytes.data(), size_bytes, block_bytes);

    Fixture() { std::fill_n(bytes.data(), size_bytes, std::byte{7}); }

    std::string expected() const { return {reinterpret_cast<char const*>(bytes.data()), size_bytes}; }
    void repeat(std::chrono::milliseconds timeout) {
        WriteRetry retry{timeout, std::chrono::milliseconds(10)};
        retry.on_first = [this](Error const&) { has_failed_once.count_down(); };
        write->set_retry(retry);
    }
    /// Waits until the file contains the first block.
    bool has_first_block_in_time() const {
        auto const until = std::chrono::steady_clock::now() + limit;
        while (std::chrono::steady_clock::now() < until) {
            auto const text = read_file(directory / "shard.tmp");
            if (text && text->starts_with(expected().substr(0, block_bytes))) return true;
            std::this_thread::yield();
        }
        return false;
    }
};

}  // namespace shard_write_test

BOOST_FIXTURE_TEST_SUITE(shard_write_test, Fixture)

BOOST_AUTO_TEST_CASE(an_available_block_is_written_before_the_others_are_available) {
    write->start(pool);
    write->on_available(block_bytes + 1);
    BOOST_TEST(has_first_block_in_time());
    BOOST_TEST(!write->is_done());
    write->on_available(size_bytes);
    must(write->wait(limit));
    auto const file = must(write->result());
    BOOST_TEST(file.crc32c == crc32c(std::span(bytes.data(), size_bytes)));
    BOOST_TEST(must(read_file(directory / "shard")) == expected());
}

BOOST_AUTO_TEST_CASE(a_write_fails_if_its_data_will_not_be_available) {
    for (bool const comes_first : {true, false}) {
        auto const own =
            std::make_shared<ShardWrite>([this] { return Result<std::filesystem::path>(directory.path()); },
                                         [](CheckpointFile&) { return Status(Ok{}); },
                                         comes_first ? "a" : "b", bytes.data(), size_bytes, block_bytes);
        if (comes_first) own->start(pool);
        own->on_available(block_bytes);
        own->on_missing(Error{codes::transport, "the device fell off the bus"});
        if (!comes_first) own->start(pool);
        must(own->wait(limit));
        BOOST_TEST(must_fail(own->result()).message == "the device fell off the bus");
        BOOST_TEST(!std::filesystem::exists(directory / (comes_first ? "a" : "b")));
    }
}

BOOST_AUTO_TEST_CASE(give_up_ends_a_write_that_waits_for_data) {
    write->start(pool);
    write->give_up();
    must(write->wait(limit));
    BOOST_TEST((must_fail(write->result()).code == codes::interrupted));
}

BOOST_AUTO_TEST_CASE(a_file_that_does_not_fit_is_written_when_there_is_space) {
    repeat(limit);
    {
        FileSizeLimit const full(block_bytes);  // one block fits
        write->start(pool);
        write->on_available(size_bytes);
        has_failed_once.wait();
        BOOST_TEST(!write->is_done());
    }
    must(write->wait(limit));
    BOOST_TEST(must(write->result()).crc32c == crc32c(std::span(bytes.data(), size_bytes)));
    BOOST_TEST(must(read_file(directory / "shard")) == expected());
    BOOST_TEST(!std::filesystem::exists(directory / "shard.tmp"));
}

BOOST_AUTO_TEST_CASE(a_file_that_a_failed_attempt_has_created_after_all_is_replaced) {
    repeat(limit);
    must(write_file(directory / "shard.tmp", "created, but the server's reply was lost"));
    write->start(pool);
    write->on_available(size_bytes);
    must(write->wait(limit));
    BOOST_TEST(must(write->result()).crc32c == crc32c(std::span(bytes.data(), size_bytes)));
    BOOST_TEST(must(list_directory(directory.path())) == std::vector<std::string>{"shard"},
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_file_that_never_fits_is_an_error_after_the_timeout_and_takes_no_space) {
    repeat(std::chrono::milliseconds(50));
    FileSizeLimit const full(block_bytes);
    write->start(pool);
    write->on_available(size_bytes);
    must(write->wait(limit));
    BOOST_TEST((must_fail(write->result()).code == codes::file_system));
    BOOST_TEST(must(list_directory(directory.path())).empty());
}

BOOST_AUTO_TEST_CASE(give_up_ends_a_write_that_is_repeated) {
    repeat(std::chrono::hours(1));
    FileSizeLimit const full(block_bytes);
    write->start(pool);
    write->on_available(size_bytes);
    has_failed_once.wait();
    write->give_up();
    must(write->wait(limit));
    BOOST_TEST((must_fail(write->result()).code == codes::file_system));
}

BOOST_AUTO_TEST_CASE(a_write_is_not_repeated_if_its_data_will_not_be_available) {
    repeat(std::chrono::hours(1));
    write->start(pool);
    write->on_missing(Error{codes::file_system, "the device gives no data"});
    must(write->wait(limit));
    BOOST_TEST(must_fail(write->result()).message == "the device gives no data");
}

BOOST_AUTO_TEST_SUITE_END()
