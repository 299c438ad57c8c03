#include <det/experiment/plugin_facts.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>

#include <glob.h>

namespace det::experiment {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t plugstack_limit_bytes = std::size_t{1} << 20;
constexpr int include_depth_max = 4;
constexpr char plugstack_path[] = "/etc/slurm/plugstack.conf";

/// Returns the files that "include dir/*.conf" selects, in the order in which Slurm reads them.
std::vector<fs::path> included(std::string const& pattern) {
    std::vector<fs::path> paths;
    glob_t found{};
    if (::glob(pattern.c_str(), 0, nullptr, &found) == 0) {
        for (std::size_t i = 0; i < found.gl_pathc; ++i) paths.emplace_back(found.gl_pathv[i]);
    }
    ::globfree(&found);
    return paths;
}

Result<std::optional<site::PlugstackLine>> find_line(fs::path const& path, int depth) {
    DET_TRY_ASSIGN(auto const text, read_file(path, plugstack_limit_bytes));
    for (auto const& line : site::parse_plugstack(text)) {
        if (line.kind != "include") {
            if (line.is_det_plugin()) return std::optional(line);
            continue;
        }
        auto const pattern =
            line.path.starts_with('/') ? line.path : (path.parent_path() / line.path).string();
        if (depth == include_depth_max) continue;
        for (auto const& file : included(pattern)) {
            DET_TRY_ASSIGN(auto found, find_line(file, depth + 1));
            if (found) return found;
        }
    }
    return std::optional<site::PlugstackLine>();
}

/// Finds the plugin's shared object as Slurm does: searches PluginDir's directories if the path is relative.
fs::path object_path(std::string const& written, slurm::ClusterConfig const& config) {
    if (written.starts_with('/')) return written;
    auto const directories = config.find("PluginDir").value_or("");
    for (auto const directory : split(directories, ':')) {
        auto const path = fs::path(directory) / written;
        if (path_exists(path)) return path;
    }
    return written;
}

}  // namespace

site::PluginFacts collect_plugin_facts(slurm::ClusterConfig const& config) {
    site::PluginFacts facts;
    facts.plugstack = config.find("PlugStackConfig").value_or("");
    if (facts.plugstack.empty()) facts.plugstack = plugstack_path;
    if (!path_exists(facts.plugstack)) return facts;  // Slurm treats a missing file as an empty one
    auto line = find_line(facts.plugstack, 0);
    if (!line) {
        facts.why_unknown = line.error().message;
        return facts;
    }
    facts.line = *std::move(line);
    if (!facts.line) return facts;
    auto const object = read_file(object_path(facts.line->path, config));
    facts.is_object_there = object.has_value();
    if (object) facts.built_for = site::find_plugin_version(*object);
    auto const wrapper = facts.line->find_argument("wrapper");
    facts.is_wrapper_there = wrapper && path_exists(*wrapper);
    return facts;
}

}  // namespace det::experiment
