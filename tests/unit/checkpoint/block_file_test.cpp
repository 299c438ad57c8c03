// Reads of files in blocks: from the disk, or from the page cache after a read-ahead.
#include "block_file.hpp"

#include <det/foundation/files.hpp>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <sys/stat.h>

#include "check_result.hpp"
#include "host_memory.hpp"
#include "page_cache.hpp"
#include "temporary_directory.hpp"

using namespace det;
using namespace det::checkpoint;

BOOST_AUTO_TEST_SUITE(block_file_test)

BOOST_AUTO_TEST_CASE(reads_use_the_page_cache_only_if_the_file_is_in_it) {
    constexpr std::size_t size_bytes = 100'000, block_bytes = 8192;
    TemporaryDirectory directory;
    auto const path = directory / "file";
    auto memory = must(HostMemory::allocate(size_bytes));
    std::fill_n(memory.data(), size_bytes, std::byte{7});
    auto file = must(BlockFile::create(path, size_bytes));
    must(file.write(memory.data(), size_bytes, 0));
    must(file.finish(size_bytes));

    auto const check = [&](BlockFile const& opened) {
        auto block = must(HostMemory::allocate(block_bytes));
        std::size_t read = 0;
        for (std::size_t at = 0; at < size_bytes; at += block_bytes) {
            auto const count = must(opened.read(block.data(), block_bytes, at));
            read += std::min(count, size_bytes - at);
            BOOST_TEST(std::all_of(block.data(), block.data() + std::min(count, size_bytes - at),
                                   [](auto byte) { return byte == std::byte{7}; }));
        }
        BOOST_TEST(read == size_bytes);
    };
    if (drop_from_page_cache(path)) {
        for (int time = 0; time < 2; ++time) {  // neither open() nor read() changes what is cached
            auto const cold = must(BlockFile::open(path, ReadFrom::page_cache_or_disk));
            BOOST_TEST(!cold.uses_page_cache());
            check(cold);
        }
    }
    must(read_file(path));
    auto const warm = must(BlockFile::open(path, ReadFrom::page_cache_or_disk));
    BOOST_TEST(warm.uses_page_cache());
    check(warm);
    auto const direct = must(BlockFile::open(path));
    BOOST_TEST(!direct.uses_page_cache());
    check(direct);
}

BOOST_AUTO_TEST_CASE(a_path_that_is_not_a_file_is_refused) {
    TemporaryDirectory directory;
    std::filesystem::create_symlink("/etc/passwd", directory / "link");
    BOOST_REQUIRE(::mkfifo((directory / "pipe").c_str(), 0600) == 0);
    for (auto const from : {ReadFrom::disk, ReadFrom::page_cache_or_disk}) {
        BOOST_TEST((must_fail(BlockFile::open(directory / "absent", from)).code == codes::no_such_file));
        must_fail(BlockFile::open(directory / "link", from));
        auto const pipe = BlockFile::open(directory / "pipe", from);  // a pipe without a writer
        BOOST_TEST((!pipe || must_fail(pipe->size_bytes()).code == codes::not_a_file));
    }
}

BOOST_AUTO_TEST_SUITE_END()
