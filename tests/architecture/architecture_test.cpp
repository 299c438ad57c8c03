// The rules about modules that a compiler can't check, for example that only one module includes mpi.h.
#include <det/foundation/error_codes.hpp>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "source_tree.hpp"
#include "test_paths.hpp"

namespace architecture {

using Folders = std::vector<std::string>;

struct OnlyThere {
    std::string what;
    std::string pattern;  // a regular expression, in one line of code
    Folders where;
};

Folders const mains{"submitter/cli/main.cpp",
                    "runtime/launch/det-launch/main.cpp",
                    "runtime/launch/det-batch/main.cpp",
                    "runtime/launch/launchers/det-rsh/main.cpp",
                    "runtime/launch/wrap_rank/src/main.cpp",
                    "runtime/measure/src/main.cpp"};

Folders operator+(Folders a, Folders const& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

std::vector<OnlyThere> const rules{
    {"starts Slurm's commands",
     R"re("(sbatch|squeue|scontrol|scancel|sinfo|sacct|srun)")re",
     {"runtime/slurm/", "runtime/launch/node/src/scontrol_shim.cpp",
      "runtime/launch/node/src/job_command.cpp",             // is in front of Slurm's scontrol
      "runtime/launch/node/src/srun_shim.cpp",               // becomes the srun that a program has called
      "submitter/experiment/src/nested_launchers.cpp",       // looks for the word
      "submitter/config/src/sbatch_args.cpp",                // names them in messages
      "runtime/launch/wrap_rank/src/notice_delivery.cpp"}},  // recognises a process of that name
    {"sees MPI", R"(#include [<"]mpi\.h)", {"runtime/transport/mpi/", "templates/examples/mpi/"}},
    {"sees UCX", R"(#include [<"]ucp/)", {"runtime/transport/ucx/"}},
    {"sees NCCL", R"(#include [<"]nccl)", {"runtime/collectives/nccl/"}},
    {"sees CUDA", R"(#include [<"]cuda)", {"runtime/collectives/nccl/"}},
    {"sees HIP and RCCL", R"(#include [<"](hip|rccl)/)", {"runtime/collectives/nccl/"}},
    {"sees SPANK", R"(#include [<"]slurm/)", {"spank-plugin/", "runtime/slurm/libslurm/"}},
    {"sees libcurl", R"(#include [<"]curl/)", {"runtime/checkpoint/s3/libcurl/"}},
    {"knows SQLite", R"(#include [<"]sqlite)", {"runtime/tracker/index/"}},
    {"sees Beast and Asio", R"(#include [<"]boost/)", {"runtime/tracker/http/src/"}},
    {"knows yaml-cpp", R"(#include [<"]yaml-cpp/)", {"submitter/yaml/src/"}},
    {"knows the parser of command lines", R"(#include [<"]CLI/)", {"runtime/command_line/src/options.cpp"}},
    {"knows stdout and stderr",
     R"(std::(cout|cerr|clog)\b|fmt::print\(|\b(printf|fprintf|puts|fputs|putchar)\()",
     mains + Folders{"templates/examples/", "runtime/capi/include/det/det.h"}},
    {"reads the environment", R"(\bgetenv\(|\bof_this_process\(\))",
     mains + Folders{"runtime/foundation/", "runtime/core/include/", "spank-plugin/spank_handle.cpp"}},
    {"ends the process", R"((std::|::|\s)_?exit\()",
     mains + Folders{"runtime/launch/wrap_rank/src/child.cpp", "runtime/slurm/src/step_process.cpp",
                     "runtime/slurm/src/libslurm_client.cpp"}},
    {"makes threads",
     R"(std::j?thread\b|pthread_create|start_thread\()",
     {"runtime/cmake/glibc_2_28/functions.c",
      "runtime/foundation/include/det/foundation/background.hpp",
      "runtime/foundation/include/det/foundation/start_thread.hpp",
      "runtime/foundation/src/start_thread.cpp",
      "runtime/foundation/include/det/foundation/thread_pool.hpp",
      "runtime/foundation/src/thread_pool.cpp",
      "runtime/foundation/src/spawn.cpp",
      "runtime/foundation/src/line_queue.cpp",
      "runtime/foundation/include/det/foundation/line_queue.hpp",
      "runtime/launch/node/src/import_image.cpp",
      "runtime/liveness/",
      "runtime/telemetry/",
      "runtime/transport/",
      "submitter/cli/experiment/interrupt_notice.hpp",
      "submitter/cli/experiment/interrupt_notice.cpp",
      "runtime/collectives/",
      "runtime/checkpoint/src/",
      "runtime/tracker/http/",
      "submitter/cli/tracker/api/",
      "runtime/tracker/ingest/src/live_index.cpp",
      "runtime/launch/wrap_rank/src/relay.cpp",
      "runtime/launch/wrap_rank/src/file_thread.",
      "runtime/launch/wrap_rank/src/main.cpp",
      "runtime/events/",
      "runtime/launch/supervisor/src/node_health.cpp",
      "runtime/launch/supervisor/src/storage_probe.cpp",
      "runtime/launch/supervisor/src/storage_watch.",
      "runtime/launch/wrap_rank/src/checkpoint_read_ahead.cpp",
      "runtime/launch/wrap_rank/src/checkpoint_read_ahead.hpp",
      "submitter/pack/src/"}},
    {"reads true randomness", R"(random_device|getrandom\()", {"runtime/foundation/", "runtime/core/"}},
};

// Functions of these modules take values and return values; they have no side effects.
Folders const pure_modules{"runtime/protocol/", "runtime/search/", "runtime/lifecycle/", "submitter/yaml/",
                           "submitter/config/", "submitter/site/", "submitter/plan/",    "submitter/queue/"};

// Matches code that uses files, sockets, the clock or other processes.
std::regex const impure(
    R"(#include <(fstream|unistd\.h|fcntl\.h|sys/.*|netdb\.h|thread|iostream|cstdio|cstdlib|)"
    R"(det/foundation/(files|process|environment)\.hpp|det/slurm/(client|step_process)\.hpp)>)"
    R"(|SystemClock|system_clock::now|steady_clock::now)");

bool is_in_any(SourceFile const& file, Folders const& folders) {
    return std::ranges::any_of(folders, [&](auto const& folder) { return file.is_in(folder); });
}

/// What the first group of the pattern matches in a file, in order.
std::vector<std::string> captures_of(std::string const& path, std::string const& pattern) {
    auto const text = read_text(path);
    std::regex const expression(pattern);
    std::vector<std::string> found;
    for (std::sregex_iterator at(text.begin(), text.end(), expression), end; at != end; ++at)
        found.push_back((*at)[1]);
    return found;
}

/// The folders of the modules in dependency order. CMakeLists.txt adds some of them twice: for a build of the
/// parts that depend on Slurm's release, in an indented block.
std::vector<std::string> list_modules() {
    return captures_of("CMakeLists.txt", R"(\nadd_subdirectory\((\S+)\))");
}

}  // namespace architecture

BOOST_AUTO_TEST_SUITE(architecture)

BOOST_AUTO_TEST_CASE(only_one_place_knows_each_thing) {
    for (auto const& rule : rules) {
        std::regex const pattern(rule.pattern);
        for (auto const& file : product_sources()) {
            if (is_in_any(file, rule.where)) continue;
            for (auto const& line : file.lines) {
                BOOST_TEST(!std::regex_search(line, pattern), file.path << " " << rule.what << ": " << line);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(pure_modules_take_values_in_and_give_values_out) {
    for (auto const& file : product_sources()) {
        if (!is_in_any(file, pure_modules)) continue;
        for (auto const& line : file.lines)
            BOOST_TEST(!std::regex_search(line, impure), file.path << ": " << line);
    }
}

BOOST_AUTO_TEST_CASE(the_page_about_the_architecture_lists_the_modules_in_their_order) {
    auto const listed = captures_of("ARCHITECTURE.md", R"(\n\| `([a-z-]+/?[^`]*)` \|)");
    auto built = list_modules();
    std::erase(built, "tests");
    BOOST_TEST(listed == built, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(modules_use_only_modules_before_them_in_the_map) {
    std::map<std::string, std::size_t> position;  // of folders, in CMakeLists.txt
    for (auto const& folder : list_modules()) position.emplace(folder, position.size());
    BOOST_REQUIRE(position.size() > 20);
    auto const folder_of = [&](std::string const& path) {
        std::string found;
        for (auto const& [folder, place] : position) {
            if (path.starts_with(folder + "/") && folder.size() > found.size()) found = folder;
        }
        return found;
    };
    std::map<std::string, std::string> module_of_header;  // "det/protocol/ids.hpp" -> "runtime/protocol"
    for (auto const& file : product_sources()) {
        std::smatch match;
        if (std::regex_search(file.path, match, std::regex("include/(det/.+)$"))) {
            module_of_header.emplace(match[1], folder_of(file.path));
        }
    }
    std::regex const include(R"(#include <(det/[^>]+)>)");
    for (auto const& file : product_sources()) {
        for (auto const& line : file.lines) {
            std::smatch match;
            if (!std::regex_search(line, match, include)) continue;
            auto const there = module_of_header.find(match[1]);
            BOOST_REQUIRE_MESSAGE(there != module_of_header.end(), file.path << ": " << line);
            BOOST_TEST(position[there->second] <= position[folder_of(file.path)],
                       file.path << " uses a module behind it: " << line);
        }
    }
}

BOOST_AUTO_TEST_CASE(each_module_has_a_readme) {
    std::set<std::string> modules;
    for (auto const& file : product_sources()) {
        for (std::string_view const part : {"/include/", "/src/"}) {
            if (auto const at = file.path.find(part); at != std::string::npos)
                modules.insert(file.path.substr(0, at));
        }
    }
    std::filesystem::path const top = det::test::source_path();
    for (auto const& module : modules) {
        // A group of small modules may share one README.
        bool const has_page = std::filesystem::exists(top / module / "README.md") ||
                              std::filesystem::exists((top / module).parent_path() / "README.md");
        BOOST_TEST(has_page, module << " has no README.md");
    }
}

BOOST_AUTO_TEST_CASE(error_codes_have_names_of_their_own) {
    auto const text = read_text("runtime/foundation/include/det/foundation/error_codes.hpp");
    std::regex const code(R"re(ErrorCode \w+\{"([a-z0-9-]+)")re");
    std::set<std::string> names;
    for (std::sregex_iterator at(text.begin(), text.end(), code), end; at != end; ++at) {
        BOOST_TEST(names.insert((*at)[1]).second, "twice: " << (*at)[1]);
        BOOST_TEST(det::find_error_code((*at)[1].str()).has_value(), "not in error_codes.cpp: " << (*at)[1]);
    }
    BOOST_TEST(names.size() > 20u);
}

// retired_names.txt: "old -> new" on each line.
BOOST_AUTO_TEST_CASE(retired_names_are_not_used) {
    std::string const list = "tests/architecture/retired_names.txt";
    std::map<std::string, std::string> replacements;
    std::regex const entry(R"((\S+) -> (.+))");
    auto const text = read_text(list);
    for (std::sregex_iterator at(text.begin(), text.end(), entry), end; at != end; ++at) {
        replacements.emplace((*at)[1], (*at)[2]);
    }
    BOOST_REQUIRE(!replacements.empty());
    for (auto const& path : texts_of_the_project()) {
        if (path == list) continue;
        for (auto const& word : words_of(read_text(path))) {
            auto const found = replacements.find(word);
            BOOST_TEST((found == replacements.end()),
                       path << ": '" << word << "' is called " << found->second << " now");
        }
    }
}

// Names in backticks in README.md, ARCHITECTURE.md, docs/ and the READMEs of modules: files of sources and
// pages by the end of their path, and words with an underscore or with capitals inside. A guide may name
// files that it writes itself.
BOOST_AUTO_TEST_CASE(the_pages_name_files_and_code_that_exist) {
    // Placeholders, and names of other programs.
    std::set<std::string> const foreign{"plan_x",
                                        "ARRAY_INDEX",
                                        "_store_last",
                                        "sqlite3.h",
                                        "credential_process",
                                        "DelayedSubmission",
                                        "save_weights_only",
                                        "JULIA_DEPOT_PATH"};
    std::regex const name(R"(`([A-Za-z0-9_./:-]+)(\(\))?`)");
    std::regex const file(R"([\w./-]+\.(cpp|hpp|h|c|py|mjs|cmake|md))");
    std::regex const word(R"((\w+::)*(\w*[A-Za-z]_\w*|\w*[a-z][A-Z]\w*))");
    auto const files = files_of_the_project();
    std::set<std::string> words;
    for (auto const& path : files) {
        if (!path.ends_with(".md")) words.merge(words_of(read_text(path)));
    }
    int checked = 0;
    for (auto const& page : files) {
        bool const is_page = page.ends_with("README.md") || page == "ARCHITECTURE.md" ||
                             page == "CONTRIBUTING.md" || page.starts_with("docs/");
        if (!is_page || !page.ends_with(".md")) continue;
        auto const text = read_text(page);
        for (std::sregex_iterator at(text.begin(), text.end(), name), end; at != end; ++at) {
            std::string const said = (*at)[1];
            if (foreign.contains(said) || text.find("`" + said + "`:") != text.npos) continue;
            if (std::regex_match(said, file)) {
                BOOST_TEST(std::ranges::any_of(
                               files, [&](auto const& path) { return ("/" + path).ends_with("/" + said); }),
                           page << " names the file '" << said << "', which does not exist");
            } else if (std::regex_match(said, word)) {
                for (auto const& part : words_of(said))
                    BOOST_TEST(words.contains(part), page << " names '" << said << "', which no source has");
            } else {
                continue;
            }
            ++checked;
        }
    }
    BOOST_TEST(checked > 300);
}

// A row of the tables under "## Threats" ends with `file/case` for each test that shows it: a file below
// tests/ without its ending, and words in it.
BOOST_AUTO_TEST_CASE(each_row_of_the_threat_model_names_tests_that_exist) {
    std::multimap<std::string, std::string> files;
    std::filesystem::path const top = det::test::source_path();
    std::filesystem::recursive_directory_iterator entries(top / "tests");
    for (auto const& entry : entries) {
        if (entry.path().filename() == "node_modules") entries.disable_recursion_pending();
        if (entry.is_regular_file())
            files.emplace(entry.path().stem(), std::filesystem::relative(entry.path(), top));
    }
    std::regex const reference(R"(`([^`/]+)/([^`]+)`)");
    int rows = 0;
    bool is_in_threats = false;
    std::istringstream page(read_text("SECURITY.md"));
    for (std::string line; std::getline(page, line);) {
        if (line.starts_with("## ")) is_in_threats = line == "## Threats";
        bool const is_row = line.starts_with("| ") && line.find("| test |") == line.npos;
        if (!is_in_threats || !is_row) continue;
        ++rows;
        auto const tests = line.substr(line.rfind(" | ") + 3);
        int named = 0;
        for (std::sregex_iterator at(tests.begin(), tests.end(), reference), end; at != end; ++at, ++named) {
            auto const [first, last] = files.equal_range((*at)[1]);
            bool const exists = std::any_of(first, last, [&](auto const& file) {
                return read_text(file.second).find((*at)[2]) != std::string::npos;
            });
            BOOST_TEST(exists, "SECURITY.md names " << at->str() << ", which does not exist");
        }
        BOOST_TEST(named > 0, "SECURITY.md names no test for: " << line);
    }
    BOOST_TEST(rows > 20);
}

BOOST_AUTO_TEST_CASE(headers_are_read_once) {
    for (auto const& file : product_sources()) {
        if (!file.path.ends_with(".hpp")) continue;
        BOOST_TEST(std::ranges::count(file.lines, "#pragma once") == 1, file.path);
    }
}

BOOST_AUTO_TEST_SUITE_END()
