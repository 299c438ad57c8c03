#pragma once
#include <det/config/experiment_config.hpp>
#include <det/foundation/clock.hpp>
#include <det/foundation/diagnostic.hpp>
#include <det/protocol/layout.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace det::cli {

/// What a configuration is made of, as the command line names it.
struct ConfigSources {
    std::filesystem::path file;
    std::optional<std::string> template_name;
    std::vector<std::string> overrides;  // "a.b=value", the last typed wins
};

struct LoadedConfig {
    config::ExperimentConfig config;
    std::string written;  // the file, as it is
    Diagnostics warnings;
};

/// Reads, checks, merges and completes: everything that is wrong with file, template and overrides, in one
/// go. root: where templates of the user's lie, and checkpoints go by default. now: the default seed.
Result<LoadedConfig, Diagnostics> load_config(ConfigSources const& sources, RootLayout const& root,
                                              UtcTime now);

}  // namespace det::cli
