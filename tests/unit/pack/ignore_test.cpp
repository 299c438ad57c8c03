#include <det/foundation/files.hpp>
#include <det/foundation/process.hpp>
#include <det/foundation/text.hpp>
#include <det/pack/ignore.hpp>

#include <boost/test/unit_test.hpp>
#include <random>

#include "check_result.hpp"
#include "temporary_directory.hpp"

using namespace det;
using namespace det::pack;

namespace {

bool ignores(std::string_view patterns, std::string_view path, EntryKind kind = EntryKind::file) {
    IgnoreRules rules;
    rules.add(patterns);
    return rules.ignores(path, kind);
}

ProcessOutput git(std::filesystem::path const& directory, std::vector<std::string> const& arguments) {
    std::vector<std::string> argv{"git", "-C", directory};
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    SystemProcessRunner runner;
    auto environment = Environment::of_this_process();
    environment.set("GIT_CONFIG_GLOBAL", "/dev/null");
    return must(runner.run({argv, environment, std::chrono::seconds(20)}));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(ignore_test)

BOOST_AUTO_TEST_CASE(globs_match_as_gits_do) {
    struct Row {
        char const *glob, *text;
        bool matches;
    };
    for (auto const& row : std::initializer_list<Row>{
             {"*.py", "a.py", true},
             {"*.py", "d/a.py", false},
             {"a?c", "abc", true},
             {"a?c", "a/c", false},
             {"**/x", "x", true},
             {"**/x", "a/b/x", true},
             {"a/**/x", "a/x", true},
             {"a/**/x", "a/b/c/x", true},
             {"a/**", "a/b/c", true},
             {"a/**", "a", false},
             {"a**b", "axxb", true},
             {"a**b", "ax/b", false},
             {"[a-c]x", "bx", true},
             {"[!a-c]x", "bx", false},
             {"[]x]", "]", true},
             {"[[:digit:]]*", "7up", true},
             {"\\*x", "*x", true},
             {"\\*x", "ax", false},
             {"*a*b*c", "xxaxxbxxc", true},
             {"*a*b*c", "xxaxxbxx", false},
             {"", "", true},
             {"[abc", "a", false},
             {"[a/]", "/", false},
             {"*", "", true},
             {"a/**/b/**/c", "a/x/b/y/c", true},
             {"**", "a/b", true},
         }) {
        BOOST_TEST(matches_glob(row.glob, row.text) == row.matches, row.glob << " on " << row.text);
    }
}

BOOST_AUTO_TEST_CASE(a_pattern_that_backtracks_much_ends_soon) {
    std::string glob, text(2000, 'a');
    for (int i = 0; i < 30; ++i) glob += "*a";
    BOOST_TEST(!matches_glob(glob + "b", text));
    std::string deep;
    for (int i = 0; i < 500; ++i) deep += "a/";
    BOOST_TEST(!matches_glob("**/a/**/a/**/a/**/b", deep + "c"));
}

BOOST_AUTO_TEST_CASE(the_last_pattern_that_matches_decides) {
    BOOST_TEST(ignores("*.log\n!keep.log\n", "x.log"));
    BOOST_TEST(!ignores("*.log\n!keep.log\n", "keep.log"));
    BOOST_TEST(ignores("!keep.log\n*.log\n", "keep.log"));
}

BOOST_AUTO_TEST_CASE(slashes_say_where_and_what) {
    BOOST_TEST(ignores("/data\n", "data"));
    BOOST_TEST(!ignores("/data\n", "src/data"));
    BOOST_TEST(ignores("data\n", "src/data"));
    BOOST_TEST(!ignores("data/\n", "data"));
    BOOST_TEST(ignores("data/\n", "data", EntryKind::directory));
    BOOST_TEST(ignores("src/*.o\n", "src/a.o"));
    BOOST_TEST(!ignores("src/*.o\n", "lib/src/a.o"));
}

BOOST_AUTO_TEST_CASE(comments_blanks_and_quoted_characters) {
    BOOST_TEST(!ignores("# a\n\n   \n", "a"));
    BOOST_TEST(ignores("\\#a\n", "#a"));
    BOOST_TEST(ignores("\\!a\n", "!a"));
    BOOST_TEST(ignores("a   \n", "a"));
    BOOST_TEST(ignores("a\\ \n", "a "));
    BOOST_TEST(ignores("a\r\n", "a"));
}

BOOST_AUTO_TEST_CASE(caches_and_repositories_stay_out_by_default) {
    auto const rules = IgnoreRules::defaults();
    BOOST_TEST(rules.ignores("src/__pycache__", EntryKind::directory));
    BOOST_TEST(rules.ignores("a.pyc", EntryKind::file));
    BOOST_TEST(rules.ignores(".git", EntryKind::directory));
    BOOST_TEST(!rules.ignores("train.py", EntryKind::file));
}

BOOST_AUTO_TEST_CASE(generated_patterns_mean_what_they_mean_to_git) {
    TemporaryDirectory directory;
    git(directory.path(), {"init", "-q"});
    std::mt19937 random(20261121);
    auto const pick = [&](std::initializer_list<char const*> words) {
        return std::string(*(words.begin() + random() % words.size()));
    };
    std::vector<std::string> paths;
    for (auto const* first : {"a", "b", "ab", "a.b"}) {
        for (auto const* second : {"", "/a", "/b", "/a.b/a", "/b/ab"})
            paths.push_back(std::string(first) + second);
    }
    for (int round = 0; round < 60; ++round) {
        std::string patterns;
        for (auto count = 1 + random() % 3; count > 0; --count) {
            patterns += pick({"", "", "!", "/"});
            for (auto parts = 1 + random() % 3; parts > 0; --parts) {
                patterns += pick({"a", "b", "*", "?", "**", "[ab]", "[!a]", "a*", "a.b", "*.b"});
                if (parts > 1) patterns += pick({"/", "", "/**/"});
            }
            patterns += "\n";
        }
        must(write_file(directory / ".gitignore", patterns, 0644));
        for (auto const& path : paths) {
            // git looks at the directories above first, as the walk does.
            bool mine = false;
            IgnoreRules rules;
            rules.add(patterns);
            for (std::size_t end = path.find('/'); !mine && end != std::string::npos;
                 end = path.find('/', end + 1)) {
                mine = rules.ignores(std::string_view(path).substr(0, end), EntryKind::directory);
            }
            mine = mine || rules.ignores(path, EntryKind::file);
            bool const gits =
                git(directory.path(), {"check-ignore", "-q", "--no-index", path}).exit_code == 0;
            BOOST_TEST(mine == gits, path << " with patterns:\n" << patterns);
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
