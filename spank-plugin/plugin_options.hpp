// SPDX-License-Identifier: GPL-2.0-or-later
// Part of the plugin, which includes Slurm's headers, which are GPL-2.0-or-later.
#pragma once
#include <det/foundation/result.hpp>
#include <det/protocol/launch_options.hpp>
#include <det/protocol/step_run.hpp>
#include <det/protocol/task_identity.hpp>

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace det::spank {

/// Whether a task's command runs under det-wrap-rank.
enum class Wrap { off, rank };

std::optional<Wrap> parse_wrap(std::string_view text);

/// The arguments after the plugin's path in plugstack.conf.
struct Settings {
    std::string wrapper = {};                  // path of det-wrap-rank; empty: none
    Wrap wrap = Wrap::rank;                    // the default for jobs
    std::vector<std::string> partitions = {};  // partitions in which the plugin is active; empty: all

    bool is_active_in(std::string_view partition) const;
    /// The path of det-launch, which is beside the wrapper; empty without a wrapper.
    std::string launcher() const;
};

/// Parses the arguments: wrapper=/absolute/path wrap=rank|off partitions=a,b
Result<Settings> parse_settings(std::vector<std::string_view> const& arguments);

/// The options that the plugin adds to srun, sbatch and salloc.
enum class Option { det, wrap, log, launch, requeue };

inline constexpr std::size_t option_count = 5;

/// The given values of the options: nullopt if an option was not given, "" if it was given without a value.
using OptionValues = std::array<std::optional<std::string>, option_count>;

/// The parsed options of a step.
struct PluginOptions {
    std::optional<bool> enabled = {};  // empty: no option was given, DET_SPANK decides
    RankVariables rank_variables = RankVariables::missing;
    std::optional<Launch> launch = {};
    std::optional<Wrap> wrap = {};
    std::string log = {};      // empty: none
    bool is_requeued = false;  // the batch script runs under `det-launch script`
};

/// Checks one option alone. The error names the valid values.
Status check_option(Option option, std::string_view value);

/// Parses all options together. Each of them but --det-requeue enables the plugin, unless --det=off is given.
Result<PluginOptions> parse_options(OptionValues const& values);

/// The log file of this node: %j, %s, %n, %N are the job, the step, the node's index and its name; %% is a %.
/// If a step has several nodes and the pattern has neither %n nor %N, the index is put before the extension:
/// run.log is run-1.log on node 1.
std::string expand_log_path(std::string_view pattern, TaskIdentity const& task, std::string_view node_name);

}  // namespace det::spank
