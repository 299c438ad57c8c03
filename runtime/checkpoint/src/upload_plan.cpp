#include "upload_plan.hpp"

#include <det/protocol/json.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>

#include "checkpoint_files.hpp"

namespace det::checkpoint {
namespace {

Error conflict_error(std::string_view what, std::set<std::string> const& conflicts) {
    return {codes::misuse,
            fmt::format("refusing to upload with {} conflicts: {}", what, fmt::join(conflicts, ", "))};
}

bool is_directory(std::string const& path) { return path.ends_with('/'); }

/// The directories above a path: "a/" and "a/b/" for "a/b/c".
std::vector<std::string> parents_of(std::string const& path) {
    std::vector<std::string> parents;
    for (auto at = path.find('/'); at != std::string::npos && at + 1 < path.size();
         at = path.find('/', at + 1))
        parents.push_back(path.substr(0, at + 1));
    return parents;
}

void merge_into(Json& merged, Json const& other, std::string const& where, std::set<std::string>& conflicts) {
    for (auto const& [key, value] : other.items()) {
        auto const place = where + "/" + key;
        auto const found = merged.find(key);
        if (found == merged.end()) {
            merged[key] = value;
        } else if (found->is_object() && value.is_object()) {
            merge_into(*found, value, place, conflicts);
        } else if (*found != value) {
            conflicts.insert(place);
        }
    }
}

}  // namespace

Result<std::vector<std::vector<std::string>>> plan_uploads(std::vector<Uploads> const& ranks) {
    std::vector<std::vector<std::string>> plan(ranks.size());
    std::map<std::string, std::string> digests;  // path and digest
    std::set<std::string> directories, conflicts;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
        for (auto const& [path, digest] : ranks[rank]) {
            for (auto& parent : parents_of(path)) directories.insert(std::move(parent));
            if (is_directory(path)) directories.insert(path);
            auto const [at, is_new] = digests.emplace(path, digest);
            if (is_new) plan[rank].push_back(path);
            if (at->second != digest) conflicts.insert(path);
        }
    }
    for (auto const& directory : directories) {
        auto const as_file = directory.substr(0, directory.size() - 1);
        if (digests.contains(as_file)) conflicts.insert(as_file);
    }
    if (!conflicts.empty()) return conflict_error("files", conflicts);
    return plan;
}

Result<Json> merge_metadata(std::vector<Json> const& ranks) {
    auto merged = Json::object();
    std::set<std::string> conflicts;
    for (auto const& metadata : ranks) {
        DET_TRY(check_metadata(metadata));
        merge_into(merged, metadata, "", conflicts);
    }
    if (!conflicts.empty()) return conflict_error("metadata", conflicts);
    return merged;
}

}  // namespace det::checkpoint
