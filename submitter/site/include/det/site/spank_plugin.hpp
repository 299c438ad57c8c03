#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// What a cluster's plugstack.conf says of our SPANK plugin.
namespace det::site {

/// A line: "optional /opt/det/lib/slurm/spank_det.so wrapper=...", "include /etc/slurm/plugstack.d/*".
struct PlugstackLine {
    std::string kind;  // optional, required, include
    std::string path;
    std::vector<std::string> arguments;

    bool is_ours() const;
    /// The value of "wrapper=/...".
    std::optional<std::string> find_argument(std::string_view name) const;
};

/// Comments, empty lines and what is no such line are left out. Pure.
std::vector<PlugstackLine> parse_plugstack(std::string_view text);

/// Which Slurm a plugin was built for: `plugin_version` among the symbols of its shared object, which Slurm
/// compares with its own. Nothing of the object is run. Nothing where it is none, or does not say. Pure.
std::optional<std::uint32_t> find_plugin_version(std::string_view shared_object);

/// "22.05" of 0x160508: what has to agree. And of "22.05.8".
std::string release_of(std::uint32_t plugin_version);
std::string release_of(std::string_view slurm_version);

}  // namespace det::site
