#include <det/experiment/root_directory.hpp>
#include <det/experiment/template_store.hpp>
#include <det/experiment/template_text.hpp>
#include <det/foundation/executable.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace det::experiment {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t name_bytes_max = 200;  // leaves space for suffixes in a file name of 255 bytes
constexpr std::string_view ending = ".yaml";

bool is_template_name(std::string_view name) {
    constexpr std::string_view known = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    return !name.empty() && name.size() <= name_bytes_max && name.front() != '.' && name.front() != '-' &&
           name.find_first_not_of(known) == std::string_view::npos;
}

Status check_name(std::string const& name) {
    if (is_template_name(name)) return Ok{};
    return Error{codes::usage, fmt::format("'{}' is no name for a template", name),
                 "use letters, digits, '.', '_' and '-', a letter or digit first"};
}

/// Returns the names of the templates in a directory.
Result<std::vector<std::string>> names_in(fs::path const& directory) {
    DET_TRY_ASSIGN(auto const files, list_directory(directory));
    std::vector<std::string> names;
    for (auto const& file : files) {
        if (!file.ends_with(ending)) continue;
        auto name = file.substr(0, file.size() - ending.size());
        if (is_template_name(name)) names.push_back(std::move(name));
    }
    return names;
}

}  // namespace

TemplateStore::TemplateStore(RootLayout root)
    : root_(std::move(root)), shipped_(data_directory() / "templates" / "config") {}

fs::path TemplateStore::own_path(std::string const& name) const {
    return root_.templates() / (name + std::string(ending));
}

bool TemplateStore::has_own(std::string const& name) const {
    return is_template_name(name) && path_exists(own_path(name));
}

Result<std::vector<TemplateFile>> TemplateStore::list() const {
    std::map<std::string, TemplateFile> found;
    DET_TRY_ASSIGN(auto const own, names_in(root_.templates()));
    for (auto const& name : own) found[name] = {name, own_path(name), false};
    DET_TRY_ASSIGN(auto const shipped, names_in(shipped_));
    for (auto const& name : shipped)
        found.try_emplace(name, TemplateFile{name, shipped_ / (name + std::string(ending)), true});
    std::vector<TemplateFile> files;
    for (auto& [name, file] : found) files.push_back(std::move(file));
    return files;
}

Error TemplateStore::no_such_template(std::string const& name) const {
    std::vector<std::string> known;
    for (auto const& file : list().value_or(std::vector<TemplateFile>{})) known.push_back(file.name);
    std::vector<std::string_view> const candidates(known.begin(), known.end());
    auto const typed =
        name.ends_with(ending) ? std::string_view(name).substr(0, name.size() - ending.size()) : name;
    auto const near = nearest_word(typed, candidates);
    return Error{
        codes::no_such_template, fmt::format("there is no template '{}'", name),
        near ? fmt::format("use '{}'", *near) : fmt::format("templates here: {}", join(known, ", "))};
}

Result<TemplateText> TemplateStore::load(std::string const& name) const {
    if (!is_template_name(name)) return no_such_template(name);
    if (has_own(name)) {
        for (auto const& path : {root_.templates(), own_path(name)}) {
            DET_TRY(require_private(path, fmt::format("the template '{}'", path.string()),
                                    "use only templates that no other user can change"));
        }
    }
    for (auto const& file : {TemplateFile{name, own_path(name), false},
                             TemplateFile{name, shipped_ / (name + std::string(ending)), true}}) {
        auto text = read_file(file.path, template_limit_bytes);
        if (text) return TemplateText{file, *std::move(text)};
        if (text.error().code != codes::no_such_file) return std::move(text).error();
    }
    return no_such_template(name);
}

Result<TemplateFile> TemplateStore::write(std::string const& name, std::string_view text) const {
    DET_TRY(check_name(name));
    DET_TRY(make_directories(root_.templates()));
    DET_TRY(write_file(own_path(name), text));
    return TemplateFile{name, own_path(name), false};
}

Result<TemplateFile> TemplateStore::create(std::string const& name, std::string_view text) const {
    DET_TRY(check_name(name));
    DET_TRY(make_directories(root_.templates()));
    DET_TRY_ASSIGN(bool const is_new, write_new_file(own_path(name), text));
    if (is_new) return TemplateFile{name, own_path(name), false};
    return Error{codes::name_taken, fmt::format("there is a template '{}' already", name),
                 fmt::format("replace it with 'det-submit template set {} FILE'", name)};
}

Result<TemplateFile> TemplateStore::remove(std::string const& name) const {
    if (!is_template_name(name)) return no_such_template(name);
    if (!has_own(name)) {
        if (!path_exists(shipped_ / (name + std::string(ending)))) return no_such_template(name);
        return Error{codes::not_yours, fmt::format("the template '{}' is shipped with det-submit", name),
                     "it can't be removed; one of your own of that name takes its place"};
    }
    std::error_code failure;
    fs::remove(own_path(name), failure);
    if (failure) return os_error(fmt::format("remove '{}'", own_path(name).string()), failure.value());
    return TemplateFile{name, own_path(name), false};
}

}  // namespace det::experiment
