#pragma once
#include <det/foundation/result.hpp>
#include <det/protocol/directory_layout.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace det::journal {

/// The trials beyond the planned ones. Each replaces a trial whose hyperparameters the program called
/// invalid: replacement -> replaced trial, which may be a replacement itself.
using Replacements = std::map<std::uint32_t, std::uint32_t>;

/// Lists the replacements of an experiment. If two processes replaced the same trial, only the replacement
/// with the lower index counts.
/// \param trial_count the number of planned trials
Result<Replacements> load_replacements(ExperimentLayout const& experiment, std::uint32_t trial_count);

/// The replacement of a trial, if it has one. Pure.
std::optional<std::uint32_t> find_replacement(Replacements const& replacements, std::uint32_t replaced);

/// The planned trial at the beginning of the chain of replacements that leads to `trial`. Pure.
std::uint32_t find_planned_trial(Replacements const& replacements, std::uint32_t trial);

/// Returns the replacement of a trial; creates it if there is none. The directory of the new trial gets the
/// index after the last trial. It is renamed into place with its files. If two processes replace the same
/// trial at the same time, each may create a directory; load_replacements() tells which one counts.
/// codes::no_such_trial if no index is free.
/// \param claimed the content of the new trial's file `claimed`; empty: no such file
Result<std::uint32_t> find_or_create_replacement(ExperimentLayout const& experiment,
                                                 std::uint32_t trial_count, std::uint32_t replaced,
                                                 std::string const& claimed);

}  // namespace det::journal
