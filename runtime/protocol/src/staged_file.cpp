#include <det/protocol/json.hpp>
#include <det/protocol/staged_file.hpp>

#include <algorithm>

namespace det {
namespace {

constexpr std::string_view archive_suffixes[] = {".tar", ".tar.gz", ".tgz", ".tar.zst"};

/// The suffix of an archive; empty for other files, and if nothing would be left of the name.
std::string_view suffix_of_archive(std::string_view name) {
    auto const* const found = std::ranges::find_if(
        archive_suffixes, [&](auto suffix) { return name.ends_with(suffix) && name.size() > suffix.size(); });
    return found == std::end(archive_suffixes) ? std::string_view() : *found;
}

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

Json const* find_in_slurm(JsonValue const& config, char const* key) {
    Json::json_pointer const pointer(std::string("/slurm/") + key);
    return config->is_object() && config->contains(pointer) ? &config->at(pointer) : nullptr;
}

}  // namespace

std::vector<StagedFile> staged_files(JsonValue const& config) {
    std::vector<StagedFile> files;
    auto const* const list = find_in_slurm(config, "stage");
    if (list == nullptr || !list->is_array()) return files;
    for (auto const& item : *list) {
        if (!item.is_object()) continue;
        StagedFile file{item.value("path", ""), item.value("size_bytes", std::uint64_t{0}),
                        item.value("sha256", "")};
        if (!file.path.empty() && !file.sha256.empty()) files.push_back(std::move(file));
    }
    return files;
}

void set_staged_files(JsonValue& config, std::vector<StagedFile> const& files) {
    if (files.empty()) return;
    auto list = Json::array();
    for (auto const& file : files)
        list.push_back(Json{{"path", file.path}, {"size_bytes", file.size_bytes}, {"sha256", file.sha256}});
    (*config)["slurm"]["stage"] = std::move(list);
}

std::optional<std::uint64_t> stage_limit(JsonValue const& config) {
    auto const* const limit = find_in_slurm(config, "stage_limit");
    if (limit == nullptr || !limit->is_number_integer()) return std::nullopt;
    return limit->get<std::uint64_t>();
}

bool is_staged_archive(std::string_view path) { return !suffix_of_archive(file_name(path)).empty(); }

std::string staged_name(std::string_view path) {
    auto const name = file_name(path);
    return std::string(name.substr(0, name.size() - suffix_of_archive(name).size()));
}

}  // namespace det
