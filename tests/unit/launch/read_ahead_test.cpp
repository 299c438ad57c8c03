// The files that wrappers read ahead.
#include <det/foundation/files.hpp>

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <set>
#include <thread>

#include "check_result.hpp"
#include "checkpoint_read_ahead.hpp"
#include "page_cache.hpp"
#include "temporary_directory.hpp"

using namespace det;
using namespace det::launch::wrap_rank;

namespace read_ahead_test {

using Names = std::vector<std::string>;

TaskIdentity task(int rank, int size, int local_size = 1) {
    TaskIdentity identity;
    identity.rank = rank;
    identity.size = size;
    identity.local_rank = rank % local_size;
    identity.local_size = local_size;
    return identity;
}

Names chosen(std::vector<FileSize> files, TaskIdentity const& identity, std::uint64_t limit_bytes = 1000) {
    return choose_to_read_ahead(std::move(files), identity, limit_bytes);
}

std::vector<FileSize> shards(int count) {
    std::vector<FileSize> files;
    for (int i = count; i-- > 0;) files.push_back({"rank-0000" + std::to_string(i) + ".safetensors", 100});
    return files;
}

}  // namespace read_ahead_test

BOOST_AUTO_TEST_SUITE(read_ahead_test)

BOOST_AUTO_TEST_CASE(a_rank_reads_its_own_shard) {
    BOOST_TEST((chosen(shards(4), task(2, 4)) == Names{"rank-00002.safetensors"}));
    BOOST_TEST((chosen(shards(4), task(0, 4)) == Names{"rank-00000.safetensors"}));
}

BOOST_AUTO_TEST_CASE(another_number_of_ranks_shares_the_shards_in_order) {
    BOOST_TEST((chosen(shards(4), task(1, 2)) == Names{"rank-00002.safetensors", "rank-00003.safetensors"}));
    BOOST_TEST((chosen(shards(2), task(1, 4)) == Names{"rank-00000.safetensors"}));
    BOOST_TEST((chosen(shards(2), task(2, 4)) == Names{"rank-00001.safetensors"}));
    // Every shard has a reader, whatever the numbers are.
    for (int count = 1; count <= 9; ++count) {
        for (int size = 1; size <= 9; ++size) {
            std::set<std::string> read;
            for (int rank = 0; rank < size; ++rank) {
                for (auto& name : chosen(shards(count), task(rank, size))) read.insert(std::move(name));
            }
            BOOST_TEST(read.size() == static_cast<std::size_t>(count), count << " shards, " << size);
        }
    }
}

BOOST_AUTO_TEST_CASE(tasks_of_a_node_share_the_other_files) {
    std::vector<FileSize> const files{{"weights.pt", 1}, {"manifest", 1}, {"optimizer.pt", 1}};
    BOOST_TEST((chosen(files, task(4, 8, 2)) == Names{"manifest", "weights.pt"}));
    BOOST_TEST((chosen(files, task(5, 8, 2)) == Names{"optimizer.pt"}));
}

BOOST_AUTO_TEST_CASE(files_beyond_the_limit_are_skipped_and_odd_names_are_no_shards) {
    std::vector<FileSize> const files{{"rank-00000.safetensors", 60}, {"a", 50}, {"b", 40}};
    BOOST_TEST((chosen(files, task(0, 1), 100) == Names{"rank-00000.safetensors", "b"}));
    BOOST_TEST(chosen(files, task(0, 1), 0).empty());
    std::vector<FileSize> const odd{
        {"rank-.safetensors", 1}, {"rank-99999999999999999999.safetensors", 1}, {"rank--1.safetensors", 1}};
    BOOST_TEST(chosen(odd, task(0, 1)).size() == 3u);
    BOOST_TEST((chosen({{"rank-4294967295.safetensors", 1}}, task(0, 1)).size() == 1u));
}

BOOST_AUTO_TEST_CASE(files_are_in_the_page_cache_before_they_are_opened) {
    TemporaryDirectory directory;
    auto const own = directory / "rank-00001.safetensors", other = directory / "rank-00000.safetensors";
    for (auto const& file : {own, other}) must(write_file(file, std::string(5'000'000, 'x')));
    if (!drop_from_page_cache(own) || !drop_from_page_cache(other)) return;
    ReadAhead const ahead(directory.path(), task(1, 2));
    auto const limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!is_in_page_cache(own) && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
    BOOST_TEST(is_in_page_cache(own));
    BOOST_TEST(!is_in_page_cache(other));
}

BOOST_AUTO_TEST_CASE(missing_and_unreadable_files_are_no_error) {
    TemporaryDirectory directory;
    ReadAhead const nowhere(directory / "absent", task(0, 1));
    std::filesystem::create_symlink("/dev/zero", directory / "link");
    ReadAhead const endless(directory.path(), task(0, 1));
}

BOOST_AUTO_TEST_SUITE_END()
