// SPDX-License-Identifier: GPL-2.0-or-later
// It includes Slurm's headers, which are GPL-2.0-or-later.
#pragma once
#include <det/protocol/launch.hpp>
#include <det/protocol/task_identity.hpp>

#include <array>

#include "settings.hpp"

namespace det::spank {

/// The options of srun, sbatch and salloc that we add.
enum class Option { det, wrap, log, launch };

inline constexpr std::size_t option_count = 4;

/// What somebody gave as the options' values: nothing where an option was not given, "" where without a
/// value.
using OptionValues = std::array<std::optional<std::string>, option_count>;

/// What the options of a step ask for.
struct Wishes {
    std::optional<bool> act = {};  // nothing: no option was given, DET_SPANK decides
    std::optional<Launch> launch = {};
    std::optional<Wrap> wrap = {};
    std::string log = {};  // empty: none
};

/// One option alone, as the command line gives it: an Error tells the user what it may be.
Status check_option(Option option, std::string_view value);

/// All of them together. Any of them asks for us, unless --det=off is there.
Result<Wishes> parse_wishes(OptionValues const& values);

/// The log of this node: %j, %s, %n, %N are the job, the step, the node's number and its name. Where neither
/// %n nor %N tells the nodes of a step apart, the number stands before the extension: run.log is run-1.log on
/// node 1.
std::string expand_log_path(std::string_view pattern, TaskIdentity const& task, std::string_view node_name);

}  // namespace det::spank
