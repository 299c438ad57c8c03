#pragma once
#include <det/protocol/directory_layout.hpp>
#include <det/protocol/event.hpp>
#include <det/protocol/experiment_spec.hpp>
#include <det/retention/collect_garbage.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace det::retention {

/// \return retention_policy.log_retention_days of the configuration, or the days of the last event that
/// changed
///     them; nullopt if logs stay for ever. Pure.
std::optional<std::int64_t> log_retention_days(ExperimentSpec const& spec, std::vector<Event> const& events);

/// The kind of the event that changes the days: `log_retention_days`, -1: for ever.
inline constexpr std::string_view log_retention_event = "log-retention";

/// Removes logs of trials that have ended: the logs of their nodes, and Slurm's output files once all trials
/// have ended. A log expires log_retention_days after its last line, an hour after it at the earliest.
/// \return the files that were removed, or with GcMode::dry_run that would be removed
Result<std::vector<std::filesystem::path>> remove_expired_logs(ExperimentLayout const& experiment,
                                                               ExperimentSpec const& spec, UtcTime now,
                                                               GcMode mode = GcMode::remove);

/// Removes the expired logs of all experiments of the root. Does nothing if any process has done so within
/// the last day. Skips experiments whose specification can't be read. After an error in an experiment goes on
/// with the next one.
/// \return the first of these errors; an error also if the experiments can't be listed
Status remove_expired_logs_daily(RootLayout const& root, UtcTime now);

}  // namespace det::retention
