#pragma once
#include <set>
#include <string>
#include <string_view>
#include <vector>

/// A file of the project: its path from the top, and its lines without comments.
struct SourceFile {
    std::string path;
    std::vector<std::string> lines;

    bool is_in(std::string_view folder_or_file) const { return path.starts_with(folder_or_file); }
};

/// All C++ of the product: runtime, submitter, spank-plugin, templates.
std::vector<SourceFile> const& product_sources();

/// Paths, from the top, of README.md, CMakeLists.txt, and the C, C++, Python, CMake, Markdown and text files
/// and files without an extension of product and tests. Leaves out docs/, golden files and fuzz corpora.
std::vector<std::string> texts_of_the_project();

/// Paths, from the top, of all files of the project. Leaves out hidden folders, builds, npm's packages,
/// golden files and fuzz corpora.
std::vector<std::string> files_of_the_project();

/// The identifiers in a text, each once.
std::set<std::string> words_of(std::string const& text);

std::string read_text(std::string const& path_from_top);
