#pragma once
#include <det/config/batch_script.hpp>
#include <det/config/experiment_config.hpp>
#include <det/config/layers.hpp>
#include <det/experiment/load_site.hpp>
#include <det/foundation/clock.hpp>
#include <det/foundation/diagnostic.hpp>
#include <det/protocol/directory_layout.hpp>
#include <det/protocol/experiment_spec.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace det::experiment {

/// A file of a configuration that is larger is refused.
inline constexpr std::size_t config_limit_bytes = std::size_t{1} << 20;

/// The layers of a configuration, as the command line names them.
struct ConfigSources {
    std::filesystem::path file;
    std::optional<std::string> template_name;
    std::vector<std::string> overrides;  // "a.b=value"; a later one replaces an earlier one
    config::SiteFile const* site = nullptr;
    /// Called only if the site file has pools, and neither the configuration nor the site file names one.
    FindDefaultPools find_default_pools = {};
    /// A file with changes of `file`: each KEY and SECTION.KEY in it replaces the value in `file`.
    std::optional<std::filesystem::path> changes = {};
    /// Set if `file` is the effective configuration of an experiment: the experiment's secrets, which are
    /// masked in `file`. This file need not exist. There are no warnings about values of `file`, most of
    /// which are defaults: those that the user set were judged when that experiment was created.
    std::optional<std::filesystem::path> secrets = {};
    /// The text of `file`, if it is not read from there. `file` is then its name in messages.
    std::optional<std::string> text = {};
    std::vector<std::filesystem::path> shared_template_directories =
        {};                // see find_shared_template_directories()
    bool is_test = false;  // one trial of one batch (--test)
    /// If `file` is a batch script: the arguments with which it is called.
    std::vector<std::string> script_arguments = {};
    /// If `file` is a batch script: the options that sbatch would take from its variables.
    std::vector<config::SbatchArg> sbatch_variables = {};
};

/// The layers that the user wrote, checked and merged. They have no defaults: required keys may be missing.
struct MergedConfig {
    yaml::Node document;
    std::string
        written;  // the text of `changes` if it is set, else of `file`; the header of a script as YAML
    std::optional<std::string> template_file;  // its path, as error locations name it
    Diagnostics warnings;
};

/// A batch script as it is submitted: its text is copied, as sbatch copies it.
struct SubmittedScript {
    std::string name;  // of the file, for messages
    std::string text;
    std::vector<std::string> interpreter;  // the words of the shebang line
    std::vector<std::string> arguments;
    std::filesystem::path
        directory;  // absolute: SLURM_SUBMIT_DIR; it runs there if its header has no --chdir
};

struct LoadedConfig {
    config::ExperimentConfig config;
    std::string written;  // the text of `changes` if it is set, else of `file`
    std::optional<std::string> template_file;
    Diagnostics warnings;
    std::optional<SubmittedScript> script = {};  // if `file` is a batch script
};

/// Reads, checks and merges the layers that the user wrote. Does not report missing required keys. `root`
/// holds the user's templates.
Result<MergedConfig, Diagnostics> merge_config(ConfigSources const& sources, RootLayout const& root);

/// Merges the layers that the user wrote with the site's layers and the defaults. Reports the errors of file,
/// template and overrides together. If one of them can't be read or parsed, the merged configuration is not
/// checked: missing keys and wrong types are then not reported. The configuration of a test is that of the
/// experiment, which is checked too, below the layers of --test. Checkpoints are stored below `root` by
/// default; `now` gives the default seed.
Result<LoadedConfig, Diagnostics> load_config(ConfigSources const& sources, RootLayout const& root,
                                              UtcTime now);

/// True if `file`, or `text` in its place, is a batch script. False for a file that can't be read.
bool names_batch_script(ConfigSources const& sources);

/// Reads the copy of the batch script that an experiment runs.
/// \return nothing if it runs none
Result<std::optional<SubmittedScript>> load_recorded_script(ExperimentLayout const& experiment,
                                                            ExperimentSpec const& spec);

}  // namespace det::experiment
