#include "source_tree.hpp"

#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cctype>
#include <set>

#include "check_result.hpp"
#include "test_paths.hpp"

namespace {

namespace fs = std::filesystem;

fs::path const top = det::test::source_path();

std::string without_comment(std::string_view line) { return std::string(line.substr(0, line.find("//"))); }

std::vector<SourceFile> read_sources() {
    std::vector<SourceFile> files;
    std::set<fs::path> const extensions{".cpp", ".hpp", ".c", ".h"};
    for (auto const* folder : {"runtime", "submitter", "spank-plugin", "templates"}) {
        fs::recursive_directory_iterator entries(top / folder);
        for (auto const& entry : entries) {
            if (entry.path().filename() == "node_modules") entries.disable_recursion_pending();
            if (!extensions.contains(entry.path().extension())) continue;
            SourceFile file{fs::relative(entry.path(), top).string(), {}};
            auto const text = det::must(det::read_file(entry.path()));
            for (auto const line : det::split_lines(text)) file.lines.push_back(without_comment(line));
            files.push_back(std::move(file));
        }
    }
    BOOST_REQUIRE(files.size() > 100);  // else the rules hold because nothing was read
    return files;
}

}  // namespace

std::vector<SourceFile> const& product_sources() {
    static auto const files = read_sources();
    return files;
}

std::vector<std::string> texts_of_the_project() {
    std::vector<std::string> paths{"README.md", "CMakeLists.txt"};
    std::set<fs::path> const extensions{".cpp", ".hpp", ".c", ".h", ".md", ".txt", ".cmake", ".py", ""};
    for (auto const* folder :
         {"runtime", "submitter", "spank-plugin", "templates", "site-configs", "tests"}) {
        fs::recursive_directory_iterator entries(top / folder);
        for (auto const& entry : entries) {
            if (entry.path().filename() ==
                "node_modules") {  // packages that npm has installed for the web page
                entries.disable_recursion_pending();
                continue;
            }
            auto const path = fs::relative(entry.path(), top).string();
            if (!entry.is_regular_file() || !extensions.contains(entry.path().extension())) continue;
            if (path.starts_with("tests/golden/") || path.starts_with("tests/fuzz/corpus/")) continue;
            paths.push_back(path);
        }
    }
    return paths;
}

std::vector<std::string> files_of_the_project() {
    std::set<std::string> const skipped{"build", "node_modules", "golden", "corpus"};
    std::vector<std::string> paths;
    fs::recursive_directory_iterator entries(top);
    for (auto const& entry : entries) {
        auto const name = entry.path().filename().string();
        if (name.starts_with('.') || (entry.is_directory() && skipped.contains(name))) {
            entries.disable_recursion_pending();
        } else if (entry.is_regular_file()) {
            paths.push_back(fs::relative(entry.path(), top).string());
        }
    }
    return paths;
}

std::set<std::string> words_of(std::string const& text) {
    auto const is_part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
    std::set<std::string> words;
    for (auto at = text.begin(); at != text.end();) {
        auto const begin = std::find_if(at, text.end(), is_part);
        at = std::find_if_not(begin, text.end(), is_part);
        if (begin != at) words.emplace(begin, at);
    }
    return words;
}

std::string read_text(std::string const& path_from_top) {
    return det::must(det::read_file(top / path_from_top));
}
