#include <det/experiment/load_site.hpp>
#include <det/experiment/root_directory.hpp>
#include <det/experiment/site_trust.hpp>
#include <det/experiment/template_store.hpp>
#include <det/experiment/template_text.hpp>
#include <det/experiment/trusted_directories.hpp>
#include <det/foundation/executable.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/shared_directory.hpp>
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

/// Refuses a shared template that others than the owner of its directory could have written. The owner may be
/// any user: the user or the site that named the directory trusts him.
Status check_shared(fs::path const& file, TrustRules rules) {
    auto const directory = load_access(file.parent_path());
    if (!directory) return Ok{};  // there are no templates
    rules.other_owner = directory->info.st_uid;
    if (auto checked = check_trusted_directory(file.parent_path(), rules); !checked)
        return std::move(checked).error().while_doing("checking a directory of shared templates");
    auto const access = load_access(file, rules);
    if (!access || !access->can_others_write) return Ok{};
    return Error{codes::unsafe_owner,
                 fmt::format("others than its owner can write the shared template '{}' ({})", file.string(),
                             describe_access(access->info)),
                 fmt::format("chmod go-w '{}'", file.string())};
}

}  // namespace

Result<std::vector<fs::path>> find_shared_template_directories(Environment const& environment,
                                                               config::SiteFile const& site) {
    std::vector<fs::path> directories;
    auto const named = environment.find("DET_TEMPLATES").value_or("");
    for (auto const each : split(named, ':')) {
        if (each.empty()) continue;
        if (!each.starts_with('/'))
            return Error{codes::usage, fmt::format("'{}' in DET_TEMPLATES is not an absolute path", each),
                         "name directories from /, with colons between them"};
        directories.emplace_back(each);
    }
    if (site.templates) directories.emplace_back(*site.templates);
    return directories;
}

TemplateStore::TemplateStore(RootLayout root, std::vector<fs::path> shared, TrustRules rules)
    : root_(std::move(root)),
      shared_(std::move(shared)),
      rules_(std::move(rules)),
      shipped_(data_directory() / "templates" / "config") {}

Result<TemplateStore, Diagnostics> TemplateStore::open(Environment const& environment) {
    DET_TRY_ASSIGN(auto root, find_root(environment));
    DET_TRY_ASSIGN(auto const site, load_site_file(environment));
    DET_TRY_ASSIGN(auto shared, find_shared_template_directories(environment, site));
    return TemplateStore(std::move(root), std::move(shared), site_rules(site));
}

fs::path TemplateStore::own_path(std::string const& name) const {
    return root_.templates() / (name + std::string(ending));
}

bool TemplateStore::has_own(std::string const& name) const {
    return is_template_name(name) && path_exists(own_path(name));
}

std::vector<TemplateFile> TemplateStore::candidates(std::string const& name) const {
    auto const file = name + std::string(ending);
    std::vector<TemplateFile> files{{name, own_path(name), TemplateOrigin::own}};
    for (auto const& directory : shared_) files.push_back({name, directory / file, TemplateOrigin::shared});
    files.push_back({name, shipped_ / file, TemplateOrigin::shipped});
    return files;
}

Result<std::vector<TemplateFile>> TemplateStore::list() const {
    std::map<std::string, TemplateFile> found;
    auto const add = [&](fs::path const& directory, TemplateOrigin origin) -> Status {
        DET_TRY_ASSIGN(auto const names, names_in(directory));
        for (auto const& name : names)
            found.try_emplace(name, TemplateFile{name, directory / (name + std::string(ending)), origin});
        return Ok{};
    };
    DET_TRY(add(root_.templates(), TemplateOrigin::own));
    for (auto const& directory : shared_) DET_TRY(add(directory, TemplateOrigin::shared));
    DET_TRY(add(shipped_, TemplateOrigin::shipped));
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
    auto const all = fmt::format("templates here: {}", join(known, ", "));
    return Error{codes::no_such_template, fmt::format("there is no template '{}'", name),
                 near ? fmt::format("use '{}'; {}", *near, all) : all};
}

Error TemplateStore::not_own(TemplateFile const& file) const {
    auto const whose =
        file.is_shipped() ? "shipped with det-submit" : fmt::format("shared: it is '{}'", file.path.string());
    return {codes::not_yours, fmt::format("the template '{}' is {}", file.name, whose),
            fmt::format("one of your own of that name takes its place: 'det-submit template set {} FILE'",
                        file.name)};
}

Result<TemplateText> TemplateStore::load(std::string const& name) const {
    if (!is_template_name(name)) return no_such_template(name);
    if (has_own(name)) {
        for (auto const& path : {root_.templates(), own_path(name)}) {
            DET_TRY(require_private(path, fmt::format("the template '{}'", path.string()),
                                    "use only templates that no other user can change"));
        }
    }
    for (auto const& file : candidates(name)) {
        if (file.origin == TemplateOrigin::shared) DET_TRY(check_shared(file.path, rules_));
        auto text = read_file(file.path, template_limit_bytes);
        if (text) return TemplateText{file, *std::move(text)};
        if (text.error().code != codes::no_such_file) return std::move(text).error();
    }
    return no_such_template(name);
}

Result<TemplateFile> TemplateStore::write(std::string const& name, std::string_view text) const {
    DET_TRY(check_name(name));
    DET_TRY(make_directories(root_.templates()));
    DET_TRY(write_secret_file(own_path(name), text));  // it may hold passwords
    return TemplateFile{name, own_path(name)};
}

Result<TemplateFile> TemplateStore::create(std::string const& name, std::string_view text) const {
    DET_TRY(check_name(name));
    DET_TRY(make_directories(root_.templates()));
    DET_TRY_ASSIGN(bool const is_new, write_new_secret_file(own_path(name), text));
    if (is_new) return TemplateFile{name, own_path(name)};
    return Error{codes::name_taken, fmt::format("there is a template '{}' already", name),
                 fmt::format("replace it with 'det-submit template set {} FILE'", name)};
}

Result<TemplateFile> TemplateStore::replace(std::string const& name, std::string_view text) const {
    DET_TRY_ASSIGN(auto const found, load(name));
    if (found.file.origin != TemplateOrigin::own) return not_own(found.file);
    return write(name, text);
}

Result<TemplateFile> TemplateStore::remove(std::string const& name) const {
    if (!is_template_name(name)) return no_such_template(name);
    if (!has_own(name)) {
        DET_TRY_ASSIGN(auto const found, load(name));
        return not_own(found.file);
    }
    std::error_code failure;
    fs::remove(own_path(name), failure);
    if (failure) return os_error(fmt::format("remove '{}'", own_path(name).string()), failure.value());
    return TemplateFile{name, own_path(name)};
}

}  // namespace det::experiment
