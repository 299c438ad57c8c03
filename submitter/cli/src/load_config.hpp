#pragma once
#include <det/config/experiment_config.hpp>
#include <det/config/layers.hpp>
#include <det/foundation/clock.hpp>
#include <det/foundation/diagnostic.hpp>
#include <det/protocol/layout.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "load_site.hpp"

namespace det::cli {

/// What a configuration is made of, as the command line names it.
struct ConfigSources {
    std::filesystem::path file;
    std::optional<std::string> template_name;
    std::vector<std::string> overrides;  // "a.b=value", the last typed wins
    config::SiteFile const* site = nullptr;
    /// Asked only where the pool decides on defaults, and nobody names one.
    FindDefaultPartition find_default_partition = {};
    /// A file with changes, over `file`: each KEY and SECTION.KEY that it has replaces the one below.
    std::optional<std::filesystem::path> changes = {};
    /// Of an experiment's own configuration: what is masked in it. It need not be there.
    std::optional<std::filesystem::path> secrets = {};
};

/// The documents that people wrote, each sane, merged; no defaults yet, and something may be missing.
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

/// Reads, checks and merges what was written: a template on its own is fine. root: where templates of the
/// user's lie.
Result<MergedConfig, Diagnostics> merge_config(ConfigSources const& sources, RootLayout const& root);

/// And completes it: everything that is wrong with file, template and overrides, in one go. root: also where
/// checkpoints go by default. now: the default seed.
Result<LoadedConfig, Diagnostics> load_config(ConfigSources const& sources, RootLayout const& root,
                                              UtcTime now);

}  // namespace det::cli
