// README.md and the guides of docs/, followed line by line on a cluster of two nodes: files are written,
// commands run, and what the guide says that they print is compared with what they print. DET_TEST_GUIDE=NAME
// follows one guide only.
#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <fmt/format.h>

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

/// Follows one guide: keeps directory and variables from block to block, as a reader's shell does.
class Reader {
public:
    Reader(Site const& site, std::string const& file)
        : site_(site), file_(file), name_(fs::path(file).stem()) {
        site_.shell(
            fmt::format("mkdir {0} && cd {0} && export DET_ROOT=$PWD/root PATH=$HOME/det/bin:$PATH && "
                        "export -p >../{0}.env && echo \"cd $PWD\" >>../{0}.env",
                        name_));
    }

    /// \return What the last block printed.
    std::string const& output() const { return output_; }

    void follow(GuideBlock const& block) {
        auto const where = fmt::format("{}:{}", file_, block.line);
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

private:
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
    std::string file_;
    std::string name_;  // of its directory
    std::string output_;
};

/// README.md and the guides, by their paths below the source tree.
std::vector<std::string> guide_files() {
    std::vector<std::string> files{"README.md"};
    for (auto const& file : must(list_directory(test::source_path("docs"))))
        if (file.ends_with(".md") && file != "README.md") files.push_back("docs/" + file);
    std::ranges::sort(files);
    auto const* const only = std::getenv("DET_TEST_GUIDE");
    if (only != nullptr) std::erase_if(files, [&](fs::path const& file) { return file.stem() != only; });
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

BOOST_AUTO_TEST_CASE(each_guide_does_what_it_says) {
    Site const site;
    BOOST_REQUIRE(!guide_files().empty());
    for (auto const& file : guide_files()) {
        auto const blocks = test::parse_guide(must(read_file(test::source_path(file))));
        bool const has_commands = std::ranges::count(blocks, Kind::commands, &GuideBlock::kind) > 0;
        BOOST_TEST((has_commands || file != "README.md"), "README.md has no command to follow");
        Reader reader(site, file);
        for (auto const& block : blocks) reader.follow(block);
    }
}

BOOST_AUTO_TEST_SUITE_END()
