#include <det/foundation/files.hpp>
#include <det/foundation/list_numeric_names.hpp>
#include <det/journal/event_log.hpp>
#include <det/journal/reader.hpp>
#include <det/protocol/json.hpp>
#include <det/retention/expired_logs.hpp>

#include <algorithm>
#include <sys/stat.h>

namespace det::retention {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t second_us = 1'000'000;
constexpr std::int64_t hour_us = 3600 * second_us;
constexpr std::int64_t day_us = 24 * hour_us;

/// When the file was last written; nothing if there is no such file.
std::optional<std::int64_t> last_change_us(fs::path const& path) {
    struct stat info {};
    if (::lstat(path.c_str(), &info) != 0) return std::nullopt;
    return std::int64_t{info.st_mtim.tv_sec} * second_us + info.st_mtim.tv_nsec / 1000;
}

/// Whether the supervisor has recorded for the trial's last run that no further run follows.
Result<bool> has_trial_ended(TrialLayout const& trial) {
    DET_TRY_ASSIGN(auto const runs, list_numeric_names(trial.runs()));
    if (runs.empty()) return false;
    DET_TRY_ASSIGN(auto const life, journal::load_journal(trial.run(runs.back()).supervisor_journal()));
    return std::any_of(life.records.begin(), life.records.end(), [](auto const& record) {
        auto const* ended = std::get_if<RunEnded>(&record);
        return ended != nullptr && ended->next_action == NextAction::stop;
    });
}

class LogCleanup {
public:
    LogCleanup(std::int64_t days, UtcTime now, GcMode mode)
        : newest_us_(now.microseconds - std::max(days * day_us, hour_us)), mode_(mode) {}

    Status clean_trial(TrialLayout const& trial) {
        DET_TRY_ASSIGN(auto const runs, list_numeric_names(trial.runs()));
        for (auto const number : runs) {
            auto const run = trial.run(number).path();
            DET_TRY(remove_files(run, "node-", ".log"));
        }
        return Ok{};
    }

    /// Removes the expired files in `directory` whose names begin and end like this.
    Status remove_files(fs::path const& directory, std::string_view begin, std::string_view end) {
        DET_TRY_ASSIGN(auto const names, list_directory(directory));
        for (auto const& name : names) {
            if (!name.starts_with(begin) || !name.ends_with(end)) continue;
            auto const changed = last_change_us(directory / name);
            if (!changed || *changed > newest_us_) continue;
            if (mode_ == GcMode::remove) DET_TRY(remove_tree(directory / name));
            removed_.push_back(directory / name);
        }
        return Ok{};
    }

    std::vector<fs::path> removed() && { return std::move(removed_); }

private:
    std::int64_t newest_us_;
    GcMode mode_;
    std::vector<fs::path> removed_;
};

}  // namespace

std::optional<std::int64_t> log_retention_days(ExperimentSpec const& spec, std::vector<Event> const& events) {
    constexpr char key[] = "log_retention_days";
    auto const policy = spec.config->is_object() ? spec.config->value("retention_policy", Json()) : Json();
    auto days = policy.is_object() ? policy.value(key, Json()) : Json();
    for (auto const& event : events) {
        if (event.kind == log_retention_event && event.body->is_object())
            days = event.body->value(key, Json());
    }
    if (!days.is_number_integer() || days.get<std::int64_t>() < 0) return std::nullopt;
    return days.get<std::int64_t>();
}

Result<std::vector<fs::path>> remove_expired_logs(ExperimentLayout const& experiment,
                                                  ExperimentSpec const& spec, UtcTime now, GcMode mode) {
    DET_TRY_ASSIGN(auto const events, journal::load_events(experiment.events()));
    auto const days = log_retention_days(spec, events);
    if (!days) return std::vector<fs::path>();
    LogCleanup cleanup(*days, now, mode);
    DET_TRY_ASSIGN(auto const trials, list_numeric_names(experiment.trials()));
    bool all_ended = !trials.empty();
    for (auto const trial : trials) {
        DET_TRY_ASSIGN(bool const has_ended, has_trial_ended(experiment.trial(trial)));
        all_ended = all_ended && has_ended;
        if (has_ended) DET_TRY(cleanup.clean_trial(experiment.trial(trial)));
    }
    if (all_ended) DET_TRY(cleanup.remove_files(experiment.path(), "slurm-", ".out"));
    return std::move(cleanup).removed();
}

Status remove_expired_logs_daily(RootLayout const& root, UtcTime now) {
    auto const stamp = root.path() / "logs-cleaned";
    auto const last = last_change_us(stamp);
    if (last && now.microseconds - *last < day_us) return Ok{};
    DET_TRY(write_file(stamp, format_utc(now) + "\n"));
    DET_TRY_ASSIGN(auto const experiments, list_numeric_names(root.experiments()));
    Status all = Ok{};
    for (auto const id : experiments) {
        ExperimentLayout const experiment(root, {id});
        // An experiment that is being created or removed has no specification.
        if (auto const spec = journal::load_spec(experiment)) {
            auto removed = remove_expired_logs(experiment, *spec, now);
            if (!removed && all) all = std::move(removed).error();
        }
    }
    return all;
}

}  // namespace det::retention
