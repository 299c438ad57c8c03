// README.md and the guides of docs/, followed line by line on a cluster of two nodes: files are written,
// commands run, and what the guide says that they print is compared with what they print. DET_TEST_GUIDE=NAME
// follows one guide only, DET_TEST_GUIDE=path the pages of the path.
#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <cstdlib>
#include <fmt/format.h>
#include <regex>

#include "check_result.hpp"
#include "guide.hpp"
#include "loopback_cluster.hpp"
#include "test_paths.hpp"

using namespace det;
using namespace std::chrono_literals;

namespace guides {

namespace fs = std::filesystem;
using test::GuideBlock;
using Kind = GuideBlock::Kind;

LoopbackOptions with_accounting() {
    LoopbackOptions options;
    options.profile = "accounting";
    options.plugin = LoopbackOptions::Plugin::when_built;
    return options;
}

/// A cluster on which a user has installed det-submit in ~/det.
struct Site : LoopbackCluster {
    Site() : LoopbackCluster(with_accounting()) {
        auto const installed = must(SystemProcessRunner().run(
            {{"cmake", "--install", test::built_path(), "--prefix", (home() / "det").string()},
             Environment::of_this_process(),
             120s}));
        BOOST_REQUIRE_MESSAGE(installed.exit_code == 0, installed.err);
    }
};

/// Follows one guide, or several in order: keeps directory, root and variables from block to block, as a
/// reader's shell does.
class Reader {
public:
    Reader(Site const& site, std::string name) : site_(site), name_(std::move(name)) {
        site_.shell(
            fmt::format("mkdir {0} && cd {0} && export DET_ROOT=$PWD/root PATH=$HOME/det/bin:$PATH && "
                        "export -p >../{0}.env && echo \"cd $PWD\" >>../{0}.env",
                        name_));
    }

    void follow(std::string const& file) {
        for (auto const& block : test::parse_guide(must(read_file(test::source_path(file)))))
            follow(file, block);
    }

private:
    void follow(std::string const& file, GuideBlock const& block) {
        auto const where = fmt::format("{}:{}", file, block.line);
        BOOST_TEST_CONTEXT(where) {
            switch (block.kind) {
                case Kind::file:
                    write(block);
                    break;
                case Kind::commands:
                    run("researcher", block);
                    break;
                case Kind::root_commands:
                    run("root", block);
                    break;
                case Kind::output:
                    compare(block);
                    break;
                case Kind::other:
                    break;
            }
        }
    }

    void write(GuideBlock const& block) const {
        auto const temporary = site_.shared() / (name_ + ".file");
        must(write_file(temporary, block.text, 0644));
        site_.shell(fmt::format("source {}.env; install -D -m 644 {} {}", name_, temporary.string(),
                                quote_for_shell(block.name)));
    }

    void run(std::string const& user, GuideBlock const& block) {
        auto const env = (site_.home() / (name_ + ".env")).string();
        auto script = user == "root" ? fmt::format("eval \"$(grep '^cd ' {})\"\n", env)
                                     : fmt::format("source {}\n", env);
        script += "exec 2>&1 </dev/null\n";
        for (auto const& command : block.commands)
            script += fmt::format(
                "{}\n[[ $? == {} ]] || {{ echo {} >&2; exit 99; }}\n", command.text, command.exit_code,
                quote_for_shell(fmt::format("NOT exit code {}: {}", command.exit_code, command.text)));
        if (user != "root") script += fmt::format("{{ export -p; echo \"cd '$PWD'\"; }} >{}\n", env);
        auto const ended = site_.login(user, {"bash", "-c", script}, 180s);
        output_ = ended.out;
        BOOST_REQUIRE_MESSAGE(ended.exit_code == 0, ended.out << ended.err);
    }

    void compare(GuideBlock const& block) const {
        auto const missing = find_missing_line(block, output_);
        BOOST_TEST(missing.empty(), "no line is '" << missing << "' in\n" << output_);
    }

    Site const& site_;
    std::string name_;    // of its directory
    std::string output_;  // of the last block of commands
};

/// The pages that a new user reads in this order, by their paths below the source tree: the numbered list of
/// docs/README.md.
std::vector<std::string> path_pages() {
    std::vector<std::string> pages;
    static std::regex const item(R"(\d+\. \[.*\]\((.*)\))");
    auto const text = must(read_file(test::source_path("docs/README.md")));
    for (auto const line : split_lines(text)) {
        std::match_results<std::string_view::const_iterator> match;
        if (std::regex_match(line.begin(), line.end(), match, item))
            pages.push_back("docs/" + match[1].str());
    }
    return pages;
}

bool is_wanted(std::string const& name) {
    auto const* const only = std::getenv("DET_TEST_GUIDE");
    return only == nullptr || only == name;
}

/// README.md and the guides that are not on the path.
std::vector<std::string> guide_files() {
    std::vector<std::string> files{"README.md"};
    auto const path = path_pages();
    for (auto const& name : must(list_directory(test::source_path("docs")))) {
        auto const file = "docs/" + name;
        bool const is_on_path = std::ranges::find(path, file) != path.end();
        if (name.ends_with(".md") && name != "README.md" && !is_on_path) files.push_back(file);
    }
    std::ranges::sort(files);
    std::erase_if(files, [](fs::path const& file) { return !is_wanted(file.stem()); });
    return files;
}

}  // namespace guides

BOOST_AUTO_TEST_SUITE(guides)

BOOST_AUTO_TEST_CASE(what_a_guide_wants_is_read_from_its_blocks) {
    auto const blocks = test::parse_guide(
        "# Title\n`a/b.yaml`:\n\n```yaml\nx: 1\n```\n\n```sh\n# no command\nfirst --option \\\n    value\n"
        "second # exit code 3\n```\n\n```text\n1 | ... | done\n```\n");
    BOOST_REQUIRE(blocks.size() == 3u);
    BOOST_TEST((blocks[0].kind == Kind::file && blocks[0].name == "a/b.yaml" && blocks[0].text == "x: 1\n"));
    BOOST_REQUIRE(blocks[1].commands.size() == 2u);
    BOOST_TEST(blocks[1].commands[0].text == "first --option \\\n    value");
    BOOST_TEST(blocks[1].commands[0].exit_code == 0);
    BOOST_TEST(blocks[1].commands[1].exit_code == 3);
    BOOST_TEST(test::find_missing_line(blocks[2], "0 | x | done\n1  | some text | done\n") == "");
    BOOST_TEST(test::find_missing_line(blocks[2], "1 | some text | failed\n") == "1 | ... | done");
    BOOST_CHECK_THROW(test::parse_guide("```sh\nx\n"), std::runtime_error);
    BOOST_CHECK_THROW(test::parse_guide("```yaml\nx: 1\n```\n"), std::runtime_error);
}

BOOST_AUTO_TEST_CASE(each_page_of_the_path_says_its_time_and_leads_to_the_next_one) {
    auto const pages = path_pages();
    BOOST_TEST(pages.size() == 6u);
    for (std::size_t i = 0; i < pages.size(); ++i) {
        auto const text = must(read_file(test::source_path(pages[i])));
        auto const lines = split_lines(text);
        BOOST_TEST(lines.at(0).starts_with(fmt::format("# {}. ", i + 1)), pages[i]);
        BOOST_TEST(
            (lines.at(2).starts_with("**") && lines.at(2).find(" minutes.**") != std::string_view::npos),
            pages[i]);
        auto const next = i + 1 < pages.size() ? pages[i + 1].substr(5) : "README.md";
        BOOST_TEST((lines.back().find("Next: [") != std::string_view::npos &&
                    lines.back().ends_with("(" + next + ")")),
                   pages[i]);
        // An experiment is named: its number depends on what the reader has done before.
        static std::regex const number(R"(det-submit (status|logs|stop|experiment \w+|trial \w+) \d)");
        BOOST_TEST(!std::regex_search(text, number), pages[i]);
    }
}

BOOST_AUTO_TEST_CASE(each_guide_does_what_it_says) {
    Site const site;
    auto const follow = [](Reader& reader, std::string const& file) {
        auto const begin = std::chrono::steady_clock::now();
        reader.follow(file);
        std::chrono::duration<double> const time = std::chrono::steady_clock::now() - begin;
        fmt::print("{} took {:.1f} s\n", file, time.count());
    };
    if (is_wanted("path")) {
        Reader reader(site, "path");
        for (auto const& page : path_pages()) follow(reader, page);
    }
    for (auto const& file : guide_files()) {
        Reader reader(site, fs::path(file).stem());
        follow(reader, file);
    }
    auto const readme = test::parse_guide(must(read_file(test::source_path("README.md"))));
    BOOST_TEST(std::ranges::count(readme, Kind::commands, &GuideBlock::kind) > 0,
               "README.md has no command to follow");
}

BOOST_AUTO_TEST_SUITE_END()
