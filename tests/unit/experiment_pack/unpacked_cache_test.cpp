#include <det/experiment_pack/unpacked_cache.hpp>
#include <det/foundation/foreign_tree.hpp>

#include "hand_made_pack.hpp"

using namespace det;
using namespace det::experiment_pack;

namespace unpacked_cache_test {

std::vector<std::string> names_in(fs::path const& cache) { return must(list_directory(cache / "unpacked")); }

/// A pack of one file with so many zeros.
std::string pack_of_zeros(std::uint64_t size_bytes, std::uint32_t experiment = 7) {
    auto const block = compress(std::string(block_bytes, '\0'));
    std::string blocks;
    Index index;
    for (std::uint64_t at = 0; at < size_bytes; at += block_bytes) {
        blocks += block;
        index.blocks.push_back(static_cast<std::uint32_t>(block.size()));
    }
    Entry file = file_entry("zeros", "");
    file.size_bytes = size_bytes;
    file.data = {{0, size_bytes}};
    if (size_bytes <= 4 * block_bytes) file.sha256 = sha256_of(std::string(size_bytes, '\0'));
    index.entries = {directory_entry(""), file};
    return make_pack(render_index(index), blocks, experiment);
}

/// As if the cached trees had been used an hour ago.
void make_old(fs::path const& cache) {
    for (auto const& name : names_in(cache)) {
        timespec const times[2] = {{0, UTIME_OMIT}, {::time(nullptr) - 3600, 0}};
        BOOST_REQUIRE(::utimensat(AT_FDCWD, (cache / "unpacked" / name).c_str(), times, 0) == 0);
    }
}

}  // namespace unpacked_cache_test

BOOST_AUTO_TEST_SUITE(unpacked_cache_test)

BOOST_AUTO_TEST_CASE(a_packed_experiment_is_read_from_the_cache) {
    ExperimentTree const tree(1000);
    TemporaryDirectory const cache;
    UnpackedCache const places(cache / "det");
    BOOST_TEST(must(places.find(tree.directory)) == tree.directory);
    must(tree.pack());
    auto const place = must(places.find(tree.directory));
    BOOST_TEST(place.filename() == "7");
    BOOST_TEST(must(read_file(place / "spec.json")) == "the text");
    BOOST_TEST(must(read_file(place / "trials/spec-again")) == "the text");
    BOOST_TEST(must(list_directory(place / "trials/0")) == std::vector<std::string>{"runs"});
    BOOST_TEST(!path_exists(place / "absolute"));
    struct stat info {};
    BOOST_REQUIRE(::stat((place / "spec.json").c_str(), &info) == 0);
    BOOST_TEST((info.st_mode & 0777) == 0600u);
    BOOST_TEST(must(UnpackedCache(cache / "det").find(tree.directory)) == place);  // of another process
    BOOST_TEST(names_in(cache / "det").size() == 1u);
    must(unpack_directory(tree.directory));
    BOOST_TEST(must(places.find(tree.directory)) == tree.directory);
    // Another content gets another name.
    tree.write("spec.json", "a newer text");
    must(tree.pack());
    BOOST_TEST(must(read_file(must(places.find(tree.directory)) / "spec.json")) == "a newer text");
    BOOST_TEST(names_in(cache / "det").size() == 2u);
}

BOOST_AUTO_TEST_CASE(what_was_not_used_for_the_longest_time_is_removed) {
    TemporaryDirectory const cache;
    std::vector<std::unique_ptr<ExperimentTree>> trees;
    for (auto const* const text : {"a", "b", "c"}) {
        trees.push_back(std::make_unique<ExperimentTree>(1000));
        trees.back()->write("spec.json", text);
        must(trees.back()->pack());
        UnpackedCache const places(cache.path(), 1);
        must(places.find(trees.back()->directory));
    }
    BOOST_TEST(names_in(cache.path()).size() == 3u);  // they may be in use
    make_old(cache.path());
    trees.push_back(std::make_unique<ExperimentTree>(1000));
    trees.back()->write("spec.json", "d");
    must(trees.back()->pack());
    UnpackedCache const places(cache.path(), 1);
    auto const last = must(places.find(trees.back()->directory));
    BOOST_TEST(names_in(cache.path()).size() == 1u);
    BOOST_TEST(path_exists(last));
    // A removed one is extracted again.
    BOOST_TEST(must(read_file(must(places.find(trees.front()->directory)) / "spec.json")) == "a");
}

BOOST_AUTO_TEST_CASE(a_temporary_cache_is_removed_and_a_damaged_pack_leaves_nothing) {
    ExperimentTree const tree(1000);
    must(tree.pack());
    fs::path place;
    {
        UnpackedCache const places("");
        place = must(places.find(tree.directory));
        BOOST_TEST(path_exists(place));
    }
    BOOST_TEST(!path_exists(place));
    auto bytes = must(read_file(tree.pack_path()));
    bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
    must(write_file(tree.pack_path(), bytes));
    TemporaryDirectory const cache;
    UnpackedCache const places(cache.path());
    BOOST_TEST(places.find(tree.directory).error().code.name == codes::damaged.name);
    BOOST_TEST(names_in(cache.path()).empty());
    BOOST_REQUIRE(::chmod((cache / "unpacked").c_str(), 0777) == 0);
    BOOST_TEST(places.find(tree.directory).error().code.name == codes::unsafe_owner.name);
}

BOOST_AUTO_TEST_CASE(two_experiments_with_the_same_files_have_a_place_each) {
    TemporaryDirectory const root, cache;
    UnpackedCache const places(cache.path());
    for (std::uint32_t const id : {7, 8}) {
        auto const directory = root / "experiments" / std::to_string(id);
        must(make_directories(directory));
        must(write_file(directory / "pack", pack_of_zeros(block_bytes, id)));
        auto const place = must(places.find(directory));
        BOOST_TEST(place.filename() == std::to_string(id));
        BOOST_TEST(path_exists(place / "zeros"), place);
    }
}

BOOST_AUTO_TEST_CASE(packs_of_another_user_take_no_more_than_the_cache_together) {
    if (::geteuid() != 0) return;  // only root can give files to other users
    constexpr uid_t colleague = 65534;
    TemporaryDirectory const root, cache;
    ForeignTree const foreign(root.path(), colleague);
    std::vector<fs::path> directories;
    for (std::uint32_t const id : {7, 8}) {
        directories.push_back(root / "experiments" / std::to_string(id));
        must(make_directories(directories.back()));
        auto const pack = directories.back() / "pack";
        must(write_file(pack, pack_of_zeros(2 * block_bytes, id)));
        for (auto const& path : {root / "experiments", directories.back(), pack})
            BOOST_REQUIRE(::chown(path.c_str(), colleague, colleague) == 0);
    }
    UnpackedCache const places(cache.path(), 3 * block_bytes);
    must(places.find(directories[0]));
    auto const refused = places.find(directories[1]);
    BOOST_REQUIRE(!refused);
    BOOST_TEST(refused.error().code.name == codes::document_too_large.name);
    BOOST_TEST(names_in(cache.path()).size() == 1u);
    make_old(cache.path());
    must(places.find(directories[1]));
    BOOST_TEST(names_in(cache.path()).size() == 1u);
    // Another user has made the directory of the cache first.
    BOOST_REQUIRE(::chown(cache.path().c_str(), colleague, colleague) == 0);
    auto const unsafe = UnpackedCache(cache.path()).find(directories[1]);
    BOOST_REQUIRE(!unsafe);
    BOOST_TEST(unsafe.error().code.name == codes::unsafe_owner.name);
    BOOST_TEST(unsafe.error().hint.find("DET_CACHE") != std::string::npos, unsafe.error().hint);
    BOOST_REQUIRE(::chown(cache.path().c_str(), 0, 0) == 0);
}

BOOST_AUTO_TEST_CASE(a_pack_of_another_user_takes_no_more_than_its_share) {
    if (::geteuid() != 0) return;  // only root can give files to other users
    constexpr uid_t colleague = 65534;
    ExperimentTree const tree(1000);
    must(tree.pack());
    auto const give = [&](uid_t owner) {
        for (auto const& path :
             {tree.root.path(), tree.directory.parent_path(), tree.directory, tree.pack_path()})
            BOOST_REQUIRE(::chown(path.c_str(), owner, owner) == 0);
    };
    give(colleague);
    TemporaryDirectory const cache;
    ForeignTree const foreign(tree.root.path(), colleague);
    UnpackedCache const places(cache.path());
    auto const place = must(places.find(tree.directory));
    BOOST_TEST(must(read_file(place / "spec.json")) == "the text");
    // 5 GiB of zeros in a small pack.
    must(write_file(tree.pack_path(), pack_of_zeros(std::uint64_t{5} << 30)));
    BOOST_TEST(fs::file_size(tree.pack_path()) < 1'000'000u);
    give(colleague);
    BOOST_TEST(places.find(tree.directory).error().code.name == codes::document_too_large.name);
    BOOST_TEST(names_in(cache.path()).size() == 1u);
    // Files in the root of a colleague that are not his.
    BOOST_REQUIRE(::chown(tree.pack_path().c_str(), 50'001, 0) == 0);
    BOOST_TEST(UnpackedCache(cache.path()).find(tree.directory).error().code.name ==
               codes::unsafe_owner.name);
    fs::remove(tree.pack_path());
    must(write_file(tree.root / "mine", "a secret of the reader"));
    fs::create_symlink(tree.root / "mine", tree.pack_path());
    BOOST_REQUIRE(::lchown(tree.pack_path().c_str(), colleague, colleague) == 0);
    BOOST_TEST(UnpackedCache(cache.path()).find(tree.directory).error().code.name ==
               codes::unsafe_owner.name);
}

BOOST_AUTO_TEST_SUITE_END()
