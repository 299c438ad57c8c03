#pragma once
#include <det/config/experiment_config.hpp>
#include <det/config/layers.hpp>
#include <det/experiment/load_site.hpp>
#include <det/foundation/clock.hpp>
#include <det/foundation/diagnostic.hpp>
#include <det/protocol/layout.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace det::experiment {

/// The layers of a configuration, as the command line names them.
struct ConfigSources {
    std::filesystem::path file;
    std::optional<std::string> template_name;
    std::vector<std::string> overrides;  // "a.b=value", the last typed wins
    config::SiteFile const* site = nullptr;
    /// Called only if the default pool has layers of its own and nothing names the pool.
    FindDefaultPartition find_default_partition = {};
    /// A file with changes of `file`: each KEY and SECTION.KEY in it replaces the one below.
    std::optional<std::filesystem::path> changes = {};
    /// The secrets of the experiment whose configuration `file` is, which are masked there. The file need not
    /// exist.
    std::optional<std::filesystem::path> secrets = {};
};

/// The written layers, checked and merged; without defaults, so required keys may be missing.
struct MergedConfig {
    yaml::Node document;
    std::string written;                       // the file, as it is
    std::optional<std::string> template_file;  // the path that places in it name
    Diagnostics warnings;
};

struct LoadedConfig {
    config::ExperimentConfig config;
    std::string written;  // the file, as it is
    std::optional<std::string> template_file;
    Diagnostics warnings;
};

/// Reads, checks and merges the written layers; a template without a configuration is valid. `root` holds the
/// user's templates.
Result<MergedConfig, Diagnostics> merge_config(ConfigSources const& sources, RootLayout const& root);

/// Merges the written layers with the site and the defaults. Reports all errors of file, template and
/// overrides at once. `root` is also the default place of checkpoints; `now` gives the default seed.
Result<LoadedConfig, Diagnostics> load_config(ConfigSources const& sources, RootLayout const& root,
                                              UtcTime now);

}  // namespace det::experiment
