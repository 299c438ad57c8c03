#include "top/running_trials.hpp"

#include <det/experiment/cluster_facts.hpp>
#include <det/experiment/query_all_jobs.hpp>
#include <det/experiment/root_directory.hpp>
#include <det/protocol/host_list.hpp>
#include <det/protocol/json_number.hpp>
#include <det/tracker/history/attributes.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <iterator>
#include <set>

namespace det::cli {
namespace {

using lifecycle::State;
using tracker::history::TrialView;

constexpr std::string_view use_name = "gpu_util ";  // the GPU's UUID follows
constexpr std::int64_t report_age_max_us = 60'000'000;

bool is_shown(State state) {
    return state == State::starting || state == State::running || state == State::stopping_canceled ||
           state == State::stopping_killed;
}

bool is_recent(Record const& record, UtcTime now) {
    auto const* const report = std::get_if<MetricsReported>(&record);
    return report != nullptr && now.microseconds - report->time.microseconds <= report_age_max_us;
}

}  // namespace

/// The nodes that report are those with a journal: a run without profiling has none.
std::optional<GpuUse> RunningTrialsReader::read_gpu_use(RunLayout const& run, std::string const& hosts,
                                                        UtcTime now) {
    auto const names = expand_host_list(hosts);
    if (!names) return std::nullopt;
    double sum = 0;
    std::size_t count = 0;
    for (int node = 0; node < static_cast<int>(names->size()); ++node) {
        auto const path = run.node_metrics(node);
        auto& reports = node_reports_.try_emplace(path, path).first->second;
        for (auto const& [device, percent] : last_gpu_use(reports.read_recent(now), now)) {
            sum += percent;
            ++count;
        }
    }
    if (count == 0) return std::nullopt;
    return GpuUse{count, sum / static_cast<double>(count)};
}

std::vector<Record> const& RunningTrialsReader::NodeReports::read_recent(UtcTime now) {
    tail_.close_file();  // another node writes it
    for (;;) {
        // A journal that can't be read, or not any more, has no new reports.
        auto records = tail_.read_new();
        if (!records || records->empty()) break;
        std::ranges::move(*records, std::back_inserter(recent_));
        std::erase_if(recent_, [&](auto const& record) { return !is_recent(record, now); });
    }
    std::erase_if(recent_, [&](auto const& record) { return !is_recent(record, now); });
    return recent_;
}

std::map<std::string, double> last_gpu_use(std::vector<Record> const& records, UtcTime now) {
    std::map<std::string, double> use;
    for (auto const& record : records) {
        if (!is_recent(record, now)) continue;
        for (auto const& [name, json] : std::get<MetricsReported>(record).metrics->items()) {
            auto const value = number_from_json(json);
            if (value && name.starts_with(use_name)) use[name.substr(use_name.size())] = *value;
        }
    }
    return use;
}

Result<RunningTrialsReader> RunningTrialsReader::open(Session& session) {
    DET_TRY_ASSIGN(auto root, experiment::find_shown_root(session));
    auto owner = experiment::experiment_job_owner(session);
    if (auto const& foreign = session.foreign_root)
        owner = {foreign->owner_name, experiment::root_id(foreign->root)};
    return RunningTrialsReader(session, std::move(root), std::move(owner));
}

RunningTrialsReader::RunningTrialsReader(Session& session, RootLayout root, queue::ExperimentJobOwner owner)
    : session_(session),
      root_(std::move(root)),
      owner_(std::move(owner)),
      history_(session.open_journals(root_)) {}

Result<RunningTrials> RunningTrialsReader::read() {
    DET_TRY_ASSIGN(auto jobs, session_.slurm.query_queue({owner_.user, {}, false}));
    std::set<std::uint32_t, std::greater<>> experiments;
    for (auto const& job : jobs) {
        if (auto const id = queue::experiment_of(job, owner_)) experiments.insert(*id);
    }
    tracker::history::QueueSnapshot const queue(true, std::move(jobs));
    RunningTrials running{session_.clock.now(), {}, 0};
    for (auto const id : experiments) {
        auto record = history_->load_experiment({id});
        if (!record) {
            session_.warn(std::move(record).error().while_doing(fmt::format("reading experiment {}", id)));
            continue;
        }
        auto const view = view_experiment(*std::move(record), queue);
        if (!view.record.spec) continue;
        auto const name = tracker::history::attributes_of(view.record).name;
        for (auto const& trial : view.trials) {
            if (trial.state == State::queued) ++running.queued_trials;
            if (!is_shown(trial.state)) continue;
            running.trials.push_back(read_trial(trial, *view.record.spec));
            running.trials.back().experiment_name = name;
        }
    }
    return running;
}

RunningTrial RunningTrialsReader::read_trial(TrialView const& trial, ExperimentSpec const& spec) {
    RunningTrial shown;
    shown.id = trial.record.id;
    shown.state = trial.state;
    shown.metric_name = spec.searcher.metric;
    if (trial.job) shown.hosts = trial.job->node_list;
    auto const& runs = trial.record.runs;
    if (runs.empty()) return shown;
    auto const now = session_.clock.now();
    auto const reports = history_->load_reports(shown.id);
    if (reports) {
        shown.training = progress_from_reports(*reports, trial, spec, now);
    } else {
        session_.warn(
            Error(reports.error()).while_doing(fmt::format("reading trial {}", to_string(shown.id))));
    }
    auto const& run = runs.back();
    bool const runs_now = run.started && !run.ended;
    // The speed and the time left would be those of a run that has ended.
    if (!runs_now) {
        shown.training.steps_per_s.reset();
        shown.training.time_left_s.reset();
        return shown;
    }
    shown.hosts = run.started->hosts;
    auto const layout = ExperimentLayout(root_, shown.id.experiment).trial(shown.id.index);
    shown.gpus = read_gpu_use(layout.run(static_cast<std::uint32_t>(runs.size() - 1)), shown.hosts, now);
    return shown;
}

}  // namespace det::cli
