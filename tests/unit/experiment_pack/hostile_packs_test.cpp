// Packs that are damaged, or that another user has made to lead a reader astray.
#include "hand_made_pack.hpp"
#include "pack_support.hpp"

using namespace det;
using namespace det::experiment_pack;

namespace hostile_packs_test {

Entry symlink_entry(std::string path, std::string target) {
    Entry entry;
    entry.path = std::move(path);
    entry.kind = Entry::Kind::symlink;
    entry.target = std::move(target);
    return entry;
}

struct HostileFixture {
    TemporaryDirectory root;
    fs::path directory = root / "experiments/7";

    HostileFixture() { must(make_directories(directory)); }

    Status read(std::string const& pack) {
        must(write_file(directory / "pack", pack));
        auto const opened = PackFile::open(directory);
        return opened ? opened->verify() : Status(opened.error());
    }
    /// Reads a pack of one block with the text "abc", and this index.
    Status read_index(std::vector<Entry> entries, std::string const& text = "abc") {
        auto const block = compress(text);
        entries.insert(entries.begin(), directory_entry(""));
        return read(
            make_pack(render_index({{static_cast<std::uint32_t>(block.size())}, std::move(entries)}), block));
    }
    void require_damaged(Status const& outcome, std::string_view what) {
        BOOST_REQUIRE_MESSAGE(!outcome, what);
        BOOST_TEST(outcome.error().code.name == codes::damaged.name, what << ": " << outcome.error().message);
    }
};

}  // namespace hostile_packs_test

BOOST_FIXTURE_TEST_SUITE(hostile_packs_test, HostileFixture)

BOOST_AUTO_TEST_CASE(a_pack_that_is_cut_or_changed_is_damaged) {
    ExperimentTree const tree(1000);
    must(tree.pack());
    auto const pack = must(read_file(tree.pack_path()));
    must(read(pack));
    BOOST_TEST(pack.size() < 20'000u);
    for (std::size_t size = 0; size < pack.size(); size += size < 64 ? 1 : 37)
        require_damaged(read(pack.substr(0, size)), fmt::format("cut to {} bytes", size));
    require_damaged(read(pack + "x"), "longer");
    for (std::size_t at = 0; at < pack.size(); at += 7) {
        auto changed = pack;
        changed[at] = static_cast<char>(changed[at] ^ 0x11);
        auto const outcome = read(changed);
        BOOST_REQUIRE_MESSAGE(!outcome, "byte " << at);
        bool const is_named = outcome.error().code.name == codes::damaged.name ||
                              outcome.error().code.name == codes::newer_format.name;
        BOOST_TEST(is_named, "byte " << at << ": " << outcome.error().message);
    }
    auto newer = pack;
    newer[8] = 2;
    BOOST_TEST(read(newer).error().code.name == codes::newer_format.name);
}

BOOST_AUTO_TEST_CASE(paths_that_lead_outside_are_refused) {
    must(read_index({file_entry("good", "abc")}));
    for (auto const& path : std::vector<std::string>{"../x", "/x", "a/../../x", ".", "..", "", "a//b", "./x",
                                                     "x/", "absent/x", std::string("with\0zero", 9)})
        require_damaged(read_index({file_entry(path, "abc")}), path);
    require_damaged(read_index({file_entry(std::string(5000, 'x'), "abc")}), "long");
    require_damaged(read_index({symlink_entry("link", "/tmp"), file_entry("link/x", "abc")}),
                    "through a link");
    require_damaged(read_index({file_entry("x", "abc"), symlink_entry("x", "/tmp")}), "twice");
    auto hardlink = file_entry("h", "");
    hardlink.kind = Entry::Kind::hardlink;
    for (std::string const target : {"/etc/passwd", "../../x", "absent", "", "link"}) {
        hardlink.target = target;
        require_damaged(read_index({symlink_entry("link", "/etc"), file_entry("x", "abc"), hardlink}),
                        target);
    }
    require_damaged(read(make_pack("{\"blocks\": []}\n", "")), "no directory");
    require_damaged(read(make_pack("", "")), "no line");
    require_damaged(read(make_pack("nothing\n", "")), "no JSON");
    require_damaged(read(make_pack("{\"blocks\": []}\n{\"path\": 7}\n", "")), "no path");
}

BOOST_AUTO_TEST_CASE(contents_that_are_not_what_they_seem_are_refused) {
    require_damaged(read_index({file_entry("x", "abd")}), "another checksum");
    require_damaged(read_index({file_entry("x", "abc"), file_entry("y", "abc")}), "the same bytes twice");
    require_damaged(read_index({file_entry("x", "abc", 1)}), "a gap");
    require_damaged(read_index({file_entry("x", "ab")}), "a block with more than it should have");
    require_damaged(read_index({file_entry("x", "abcd")}), "a block with less");
    auto outside = file_entry("x", "abc");
    outside.data = {{1, 3}};
    require_damaged(read_index({outside}), "data outside of the file");
    outside.data = {{~std::uint64_t{0} - 1, 3}};
    require_damaged(read_index({outside}), "an offset that overflows");
    // A block that would become 64 MiB.
    auto const zeros = compress(std::string(std::size_t{64} << 20, '\0'));
    BOOST_TEST(zeros.size() < 10'000u);
    auto bomb = file_entry("x", "abc");
    require_damaged(
        read(make_pack(
            render_index({{static_cast<std::uint32_t>(zeros.size())}, {directory_entry(""), bomb}}), zeros)),
        "a bomb");
}

BOOST_AUTO_TEST_CASE(a_link_to_a_pack_is_absolute_and_leads_to_a_file) {
    ExperimentTree const tree(100);
    must(tree.pack(tree.root.path()));
    must(must(PackFile::open(tree.directory)).verify());
    fs::remove(tree.pack_path());
    fs::create_symlink("../../experiment-7.detpack", tree.pack_path());
    BOOST_TEST(PackFile::open(tree.directory).error().code.name == codes::damaged.name);
    fs::remove(tree.pack_path());
    fs::create_symlink("/etc", tree.pack_path());
    BOOST_TEST(PackFile::open(tree.directory).error().code.name == codes::not_a_file.name);
    fs::remove(tree.pack_path());
    fs::create_symlink("/nowhere/pack", tree.pack_path());
    BOOST_TEST(PackFile::open(tree.directory).error().code.name == codes::no_such_file.name);
    BOOST_REQUIRE(::mkfifo((tree.root / "fifo").c_str(), 0600) == 0);
    fs::remove(tree.pack_path());
    fs::create_symlink(tree.root / "fifo", tree.pack_path());
    BOOST_TEST(PackFile::open(tree.directory).error().code.name ==
               codes::not_a_file.name);  // and does not wait
}

BOOST_AUTO_TEST_CASE(the_index_is_what_was_rendered) {
    Index index{{100, 200}, {directory_entry(""), directory_entry("a b"), file_entry("a b/\xff%\n", "abc")}};
    auto sparse = file_entry("sparse", "abc", 3);
    sparse.size_bytes = block_bytes + 100;
    sparse.data = {{50, 1}, {100, block_bytes}};
    index.entries.push_back(sparse);
    auto const parsed = must(parse_index(render_index(index)));
    BOOST_TEST(parsed.blocks == index.blocks, boost::test_tools::per_element());
    BOOST_TEST((parsed.entries == index.entries));
}

BOOST_AUTO_TEST_SUITE_END()
