#include "experiment/export_directory.hpp"

#include <det/foundation/files.hpp>
#include <det/protocol/document.hpp>
#include <det/protocol/json.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <system_error>

// An export is written into DIRECTORY/.det-export.new. Then the mark is written, and each entry is renamed
// into DIRECTORY, after the entry that it replaces was renamed into DIRECTORY/.det-export.old. A process that
// ends in between leaves these two directories, which the next export of the same experiment removes.
namespace det::cli {
namespace {

constexpr char const* mark_file = ".det-export.json";
constexpr char const* incomplete_export = ".det-export.new";
constexpr char const* replaced_export = ".det-export.old";

bool has_mark(std::filesystem::path const& directory, Json const& mark) {
    auto const text = read_file(directory / mark_file);
    return text && try_parse_json(*text) == mark;
}

Status require_export_directory(std::filesystem::path const& directory, Json const& mark) {
    DET_TRY_ASSIGN(auto const names, list_directory(directory));
    bool const is_empty =
        std::ranges::all_of(names, [](auto const& name) { return name == incomplete_export; });
    if (is_empty || has_mark(directory, mark)) return Ok{};
    return Error{codes::name_taken,
                 fmt::format("'{}' is not empty and has no earlier export of this experiment in this format",
                             directory.string()),
                 "name a new or empty directory"};
}

Status rename_entry(std::filesystem::path const& from, std::filesystem::path const& to) {
    std::error_code problem;
    std::filesystem::rename(from, to, problem);
    if (problem)
        return os_error(fmt::format("rename '{}' to '{}'", from.string(), to.string()), problem.value());
    return Ok{};
}

Status publish_export(std::filesystem::path const& directory, Json const& mark) {
    auto const incomplete = directory / incomplete_export;
    auto const replaced = directory / replaced_export;
    DET_TRY(write_file(directory / mark_file, to_line(mark) + '\n'));
    DET_TRY(remove_tree(replaced));
    DET_TRY(make_directory(replaced));
    DET_TRY_ASSIGN(auto const names, list_directory(incomplete));
    for (auto const& name : names) {
        if (path_exists(directory / name)) DET_TRY(rename_entry(directory / name, replaced / name));
        DET_TRY(rename_entry(incomplete / name, directory / name));
    }
    DET_TRY(remove_tree(replaced));
    return remove_tree(incomplete);
}

}  // namespace

Status fill_export_directory(std::filesystem::path const& directory, Json const& mark,
                             std::function<Status(std::filesystem::path const&)> const& write) {
    DET_TRY_ASSIGN(bool const is_new, make_directory(directory));
    DET_TRY(require_export_directory(directory, mark));
    auto const incomplete = directory / incomplete_export;
    auto const fill = [&]() -> Status {
        DET_TRY(remove_tree(incomplete));
        DET_TRY(make_directory(incomplete));
        DET_TRY(write(incomplete));
        return publish_export(directory, mark);
    };
    auto done = fill();
    if (!done) {
        (void)remove_tree(incomplete);
        std::error_code ignored;
        if (is_new) std::filesystem::remove(directory, ignored);  // fails if it is not empty
    }
    return done;
}

}  // namespace det::cli
