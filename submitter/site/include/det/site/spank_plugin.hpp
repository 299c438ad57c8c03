#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// The SPANK plugin in a cluster's plugstack.conf.
namespace det::site {

/// A line of plugstack.conf: "optional /opt/det/lib/slurm/spank_det.so wrapper=...", "include
/// /etc/slurm/plugstack.d/*".
struct PlugstackLine {
    std::string kind;  // optional, required, include
    std::string path;
    std::vector<std::string> arguments;

    bool is_det_plugin() const;
    /// \return The value of the argument NAME=VALUE, for example of "wrapper=/..."; nothing if it is absent.
    std::optional<std::string> find_argument(std::string_view name) const;
};

/// Parses plugstack.conf. Skips comments, empty and malformed lines. Pure.
std::vector<PlugstackLine> parse_plugstack(std::string_view text);

/// Finds the Slurm version for which a plugin was built: the symbol `plugin_version` of its shared object,
/// which Slurm compares with its own version. Executes nothing of the object.
/// \return Nothing if the bytes are not a shared object or have no such symbol. Pure.
std::optional<std::uint32_t> find_plugin_version(std::string_view shared_object);

/// \return The release, the part of the version that must agree: "22.05" for 0x160508 or "22.05.8".
std::string release_of(std::uint32_t plugin_version);
std::string release_of(std::string_view slurm_version);

}  // namespace det::site
