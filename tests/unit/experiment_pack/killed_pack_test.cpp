// `experiment archive --pack` and `--unpack` are killed at each of their system calls: the files or the pack
// are complete, and the repeated command ends what it had begun.
#include "extract.hpp"
#include "pack_support.hpp"
#include "traced_command.hpp"

using namespace det;
using namespace det::experiment_pack;

namespace killed_pack_test {

/// Whether the experiment is packed. Its pack, or else its files, must then have everything.
bool require_complete(ExperimentTree const& tree, std::vector<std::string> const& files) {
    if (!path_exists(tree.pack_path())) {
        auto left = list_tree(tree.directory);
        std::erase_if(left, [](auto const& line) { return line.starts_with("/.pack-"); });
        // The time of the directory itself is that of the temporary file, or is set last.
        left.erase(left.begin());
        BOOST_REQUIRE(left == std::vector<std::string>(files.begin() + 1, files.end()));
        return false;
    }
    TemporaryDirectory const copy;
    auto const pack = must(PackFile::open(tree.directory));
    must(extract(pack, copy.path(), ExtractFor::restoring));
    auto const extracted = list_tree(copy.path());
    BOOST_REQUIRE(std::vector<std::string>(extracted.begin() + 1, extracted.end()) ==
                  std::vector<std::string>(files.begin() + 1, files.end()));
    (void)::chmod((copy / "empty").c_str(), 0700);
    return true;
}

constexpr std::size_t small_bytes = 1000;

}  // namespace killed_pack_test

BOOST_AUTO_TEST_SUITE(killed_pack_test)

BOOST_AUTO_TEST_CASE(nothing_is_lost_when_packing_is_killed) {
    int kills = 0, packed = 0;
    for (bool was_killed = true; was_killed; ++kills) {
        ExperimentTree const tree(small_bytes);
        auto const files = list_tree(tree.directory);
        was_killed = cli::run_and_kill(kills, [&] { return tree.pack() ? 0 : 1; });
        packed += int(require_complete(tree, files));
        must(tree.pack());
        BOOST_REQUIRE(require_complete(tree, files));
        must(unpack_directory(tree.directory));
        BOOST_REQUIRE(!require_complete(tree, files));
        BOOST_REQUIRE(list_tree(tree.directory).size() == files.size());  // without temporary files
    }
    BOOST_TEST_MESSAGE("killed " << kills - 1 << " times, after " << packed << " of them it was packed");
    BOOST_TEST(kills > 100);
    BOOST_TEST(packed > 10);
    BOOST_TEST(packed < kills);
}

BOOST_AUTO_TEST_CASE(nothing_is_lost_when_unpacking_is_killed) {
    int kills = 0, packed = 0;
    for (bool was_killed = true; was_killed; ++kills) {
        ExperimentTree const tree(small_bytes);
        auto const files = list_tree(tree.directory);
        must(tree.pack());
        was_killed = cli::run_and_kill(kills, [&] { return unpack_directory(tree.directory) ? 0 : 1; });
        bool const is_packed = require_complete(tree, files);
        packed += int(is_packed);
        if (is_packed) must(unpack_directory(tree.directory));
        BOOST_REQUIRE(!require_complete(tree, files));
        if (is_packed) BOOST_REQUIRE(list_tree(tree.directory).size() == files.size());
    }
    BOOST_TEST_MESSAGE("killed " << kills - 1 << " times, after " << packed << " of them it was packed");
    BOOST_TEST(kills > 100);
    BOOST_TEST(packed > 10);
    BOOST_TEST(packed < kills);
}

BOOST_AUTO_TEST_SUITE_END()
