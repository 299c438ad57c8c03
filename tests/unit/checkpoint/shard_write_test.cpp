// A write whose data becomes available in several steps.
#include "shard_write.hpp"

#include <det/checkpoint/saver.hpp>
#include <det/foundation/bytes.hpp>
#include <det/foundation/files.hpp>

#include <boost/test/unit_test.hpp>
#include <thread>

#include "check_result.hpp"
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
    ThreadPool pool{"det-test", 2};
    std::shared_ptr<ShardWrite> write = std::make_shared<ShardWrite>(
        [this] { return Result<std::filesystem::path>(directory.path()); },
        [](CheckpointFile&) { return Status(Ok{}); }, "shard", bytes.data(), size_bytes, block_bytes);

    Fixture() { std::fill_n(bytes.data(), size_bytes, std::byte{7}); }

    std::string expected() const { return {reinterpret_cast<char const*>(bytes.data()), size_bytes}; }
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

BOOST_AUTO_TEST_SUITE_END()
