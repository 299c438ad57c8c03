#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>
#include <det/journal/reader.hpp>
#include <det/protocol/compare_metrics.hpp>
#include <det/protocol/json.hpp>
#include <det/search/asha.hpp>
#include <det/tracker/history/progress.hpp>
#include <det/tracker/history/record_json.hpp>
#include <det/tracker/history/search_view.hpp>
#include <det/tracker/index/index_history.hpp>
#include <det/tracker/ingest/change_times.hpp>
#include <det/tracker/ingest/experiment_follower.hpp>

#include <algorithm>
#include <optional>

namespace det::tracker::ingest {
namespace {

constexpr std::string_view node_prefix = "node-";
constexpr std::string_view metrics_suffix = ".metrics";

/// The node in the name of a journal of system metrics: "node-3.metrics".
std::optional<std::int32_t> node_of_file(std::string_view name) {
    if (!name.starts_with(node_prefix) || !name.ends_with(metrics_suffix)) return std::nullopt;
    if (name.size() < node_prefix.size() + metrics_suffix.size()) return std::nullopt;
    name.remove_prefix(node_prefix.size());
    name.remove_suffix(metrics_suffix.size());
    auto const node = parse_integer<std::uint16_t>(name);
    return node ? std::optional<std::int32_t>(*node) : std::nullopt;
}

/// Which journal a file of a run's directory is, apart from the chief's: JournalKey::node.
std::optional<std::int32_t> journal_of_file(std::string_view name) {
    if (auto const rank = journal::rank_of_journal(name)) return index::JournalKey::of_rank(*rank);
    return node_of_file(name);
}

/// The bracket and the rung in the name of a rung's directory: "0-2".
std::optional<std::pair<std::uint32_t, std::uint32_t>> parse_rung_name(std::string_view name) {
    auto const dash = name.find('-');
    if (dash == name.npos) return std::nullopt;
    auto const bracket = parse_integer<std::uint32_t>(name.substr(0, dash));
    auto const rung = parse_integer<std::uint32_t>(name.substr(dash + 1));
    if (!bracket || !rung) return std::nullopt;
    return std::pair(*bracket, *rung);
}

bool is_cancelled(DesiredState desired) {
    return desired == DesiredState::cancel || desired == DesiredState::kill;
}

std::string render(history::TrialRecord const& trial) { return to_line(history::to_json(trial)); }

}  // namespace

bool is_settled(history::TrialRecord const& trial, DesiredState desired, std::uint32_t first_run) {
    if (trial.runs.size() <= first_run) return is_cancelled(desired);
    auto const& end = trial.runs.back().ended;
    if (!end) return false;
    return end->next_action == NextAction::stop || is_cancelled(desired);
}

TrialLayout ExperimentFollower::trial_layout(TrialId id) const {
    return ExperimentLayout(root_, id_).at_revision(experiment_.record.revision()).trial(id.index);
}

Status ExperimentFollower::load_stored() {
    if (is_loaded_) return Ok{};
    DET_TRY_ASSIGN(auto found, index::find_experiment(database_, id_));
    if (found) {
        experiment_ = *std::move(found);
        stored_ = to_line(history::to_json_without_trials(experiment_.record));
    }
    DET_TRY_ASSIGN(auto rows, index::list_trials(database_, id_));
    for (auto& row : rows) {
        auto& trial = trials_[row.record.id.index];
        trial.stored = render(row.record);
        DET_TRY_ASSIGN(auto journals, index::list_journals(database_, row.record.id));
        for (auto& journal : journals) {
            auto const key = journal.key;
            trial.journals[key] = std::make_unique<JournalFollower>(database_, std::move(journal));
        }
        trial.row = std::move(row);
    }
    is_loaded_ = true;
    return Ok{};
}

/// Stores why the experiment, or one of its trials, can't be read.
Result<bool> ExperimentFollower::keep_error(Error error) {
    if (experiment_.error == error) return false;
    experiment_.error = std::move(error);
    experiment_.is_settled = false;
    DET_TRY(index::put_experiment(database_, experiment_));
    return true;
}

Result<bool> ExperimentFollower::follow_head(history::ExperimentRecord head) {
    auto json = to_line(history::to_json_without_trials(head));
    if (json == stored_) return false;
    // A continued experiment runs trials that had ended, and their earlier runs do not count for the best.
    for (auto& [index, trial] : trials_) {
        trial.row.is_settled = false;
        trial.has_new_head = true;
    }
    experiment_ = {std::move(head), {}, false, 0};
    stored_ = std::move(json);
    DET_TRY(index::put_experiment(database_, experiment_));
    return true;
}

Result<bool> ExperimentFollower::follow_journal(Trial& trial, index::JournalKey const& key,
                                                std::filesystem::path const& path) {
    auto& follower = trial.journals[key];
    bool const is_new = follower == nullptr;
    if (is_new) {
        DET_TRY_ASSIGN(auto const id, index::add_journal(database_, key));
        index::JournalRow row;
        row.id = id;
        row.key = key;
        row.records.run = key.run;
        follower = std::make_unique<JournalFollower>(database_, std::move(row));
    }
    if (follower->row().is_settled) return false;
    bool const has_ended = trial.row.record.runs[key.run].ended.has_value();
    DET_TRY_ASSIGN(bool const has_grown, follower->follow(path));
    if (has_ended && !has_grown) DET_TRY(follower->mark_settled(path));
    return is_new || has_grown;
}

Result<bool> ExperimentFollower::follow_run(Trial& trial, std::uint32_t run) {
    auto const id = trial.row.record.id;
    auto const layout = trial_layout(id).run(run);
    DET_TRY_ASSIGN(bool has_changed,
                   follow_journal(trial, {id, run, index::JournalKey::chief}, layout.chief_journal()));
    auto const names = list_directory(layout.path());
    if (!names) return has_changed;  // the chief's journal has the error
    for (auto const& name : *names) {
        auto const node = journal_of_file(name);
        if (!node) continue;
        DET_TRY_ASSIGN(bool const has_grown, follow_journal(trial, {id, run, *node}, layout.path() / name));
        has_changed |= has_grown;
    }
    return has_changed;
}

Result<bool> ExperimentFollower::follow_trial(Trial& trial, history::TrialRecord record) {
    auto json = render(record);
    bool has_changed = json != trial.stored;
    bool const is_over = is_settled(record, stricter(experiment_.record.desired, record.desired),
                                    experiment_.record.spec->first_run_of(record.id.index));
    if (has_changed) {
        trial.row.record = std::move(record);
        trial.stored = std::move(json);
    }
    for (std::uint32_t run = 0; run < trial.row.record.runs.size(); ++run) {
        DET_TRY_ASSIGN(bool const has_grown, follow_run(trial, run));
        has_changed |= has_grown;
    }
    // The user may accept the damage of a journal at any time.
    bool const has_damage = std::ranges::any_of(trial.journals, [](auto const& entry) {
        auto const& error = entry.second->row().error;
        return error && error->code == codes::journal_damaged;
    });
    bool const was_settled = std::exchange(trial.row.is_settled, is_over && !has_changed && !has_damage);
    bool const has_new_head = std::exchange(trial.has_new_head, false);
    if (!has_changed && !has_new_head && was_settled == trial.row.is_settled) return false;
    auto best = index::find_best_validation(database_, trial.row.record, *experiment_.record.spec);
    if (best) trial.row.best = *best;  // else a journal has an error, which readers get
    DET_TRY(index::put_trial(database_, trial.row));
    return has_changed;
}

Result<bool> ExperimentFollower::follow_trials() {
    bool has_changed = false;
    for (std::uint32_t index = 0; index < experiment_.record.trial_count(); ++index) {
        auto& trial = trials_[index];
        if (trial.row.is_settled) continue;
        auto record = history_.load_trial(experiment_.record, index);
        if (!record) return keep_error(record.error());
        DET_TRY_ASSIGN(bool const trial_has_changed, follow_trial(trial, *std::move(record)));
        has_changed |= trial_has_changed;
    }
    if (!experiment_.error) return has_changed;
    experiment_.error.reset();
    DET_TRY(index::put_experiment(database_, experiment_));
    return true;
}

Result<bool> ExperimentFollower::follow_rungs() {
    bool has_changed = false;
    auto const directory = ExperimentLayout(root_, id_).path() / "rungs";
    auto const rungs = list_directory(directory);
    if (!rungs) return false;
    for (auto const& name : *rungs) {
        auto const rung = parse_rung_name(name);
        auto names = list_directory(directory / name);
        if (!rung || !names || rungs_[*rung] == *names) continue;
        DET_TRY(index::put_rung(database_, id_, rung->first, rung->second, *names));
        rungs_[*rung] = *std::move(names);
        has_changed = true;
    }
    return has_changed;
}

/// The progress of a trial: 1 once it has ended, 0 before it has started; nullopt if it is not known.
std::optional<double> ExperimentFollower::progress_of(Trial const& trial) const {
    auto const& record = trial.row.record;
    if (record.runs.empty()) return 0;
    if (auto const& end = record.runs.back().ended; end && end->next_action == NextAction::stop) return 1;
    std::vector<history::RunReports const*> runs;
    for (auto const& [key, journal] : trial.journals)
        if (key.node == index::JournalKey::chief) runs.push_back(&journal->row().records);
    return history::progress_of_trial(runs, *experiment_.record.spec);
}

index::SummaryExtras ExperimentFollower::summarise_trials() const {
    index::SummaryExtras extras;
    auto const& spec = experiment_.record.spec;
    auto const count = experiment_.record.trial_count();
    if (!spec || count == 0 || experiment_.error) return extras;
    double sum = 0;
    bool is_known = false;
    for (std::uint32_t trial = 0; trial < count; ++trial) {
        auto const& row = trials_.at(trial).row;
        auto const progress = progress_of(trials_.at(trial));
        is_known |= progress.has_value();
        sum += progress.value_or(0);
        bool const is_better_one = row.best && (!extras.best || is_better(row.best->value, extras.best->value,
                                                                          spec->searcher.smaller_is_better));
        if (is_better_one)
            extras.best = history::BestTrial{trial, row.best->value, row.best->steps_completed};
    }
    extras.progress = progress_of_search();
    if (!extras.progress && is_known) extras.progress = sum / count;
    return extras;
}

history::ExperimentRecord ExperimentFollower::record_with_trials() const {
    auto record = experiment_.record;
    for (std::uint32_t index = 0; index < record.trial_count() && !experiment_.error; ++index)
        record.trials.push_back(trials_.at(index).row.record);
    return record;
}

/// The progress of a search that stops trials, as det-submit shows it; nullopt for any other experiment.
std::optional<double> ExperimentFollower::progress_of_search() const {
    auto const& spec = *experiment_.record.spec;
    if (!search::is_asha(spec.searcher.name)) return std::nullopt;
    auto asha = search::plan_asha(spec.searcher);
    if (!asha) return std::nullopt;
    history::RungEntries entries(asha->brackets.size());
    for (std::uint32_t bracket = 0; bracket < entries.size(); ++bracket) {
        for (std::uint32_t rung = 0; rung < asha->brackets[bracket].rung_lengths.size(); ++rung) {
            auto const found = rungs_.find({bracket, rung});
            entries[bracket].push_back(found == rungs_.end() ? std::vector<search::RungEntry>()
                                                             : search::parse_rung(found->second));
        }
    }
    auto const view = history::view_experiment(record_with_trials(), {});
    return history::view_search(*std::move(asha), entries, view).progress;
}

/// Stores the summary of the experiment for lists.
Status ExperimentFollower::write_summary() {
    return index::put_summary(database_, record_with_trials(), experiment_.error, summarise_trials());
}

Result<FollowResult> ExperimentFollower::follow() {
    auto const changed_ns = ChangeTimes::read_unless_recent(ExperimentLayout(root_.experiment(id_)));
    DET_TRY(load_stored());
    auto head = history_.load_experiment_without_trials(id_);
    if (!head && head.error().code == codes::no_such_experiment) {
        // The directory of a deleted experiment stays, so it is read again after its removal from the index.
        if (experiment_.record.id.value == 0) return FollowResult{false, true, changed_ns};
        DET_TRY(index::remove_experiment(database_, id_));
        return FollowResult{true, true, changed_ns};
    }
    if (!head) {
        stored_.clear();
        experiment_.record = {};
        experiment_.record.id = id_;
        DET_TRY_ASSIGN(bool const is_new_error, keep_error(std::move(head).error()));
        if (is_new_error) DET_TRY(write_summary());
        return FollowResult{is_new_error, false, changed_ns};
    }
    DET_TRY_ASSIGN(bool has_changed, follow_head(*std::move(head)));
    DET_TRY_ASSIGN(bool const trials_have_changed, follow_trials());
    DET_TRY_ASSIGN(bool const rungs_have_changed, follow_rungs());
    has_changed |= trials_have_changed | rungs_have_changed;
    if (has_changed) DET_TRY(write_summary());
    bool const is_over =
        !experiment_.error && !trials_.empty() && !has_changed &&
        std::ranges::all_of(trials_, [](auto const& entry) { return entry.second.row.is_settled; });
    bool const has_other_time = is_over && changed_ns != experiment_.changed_ns;
    if ((is_over != experiment_.is_settled || has_other_time) && !experiment_.error) {
        experiment_.is_settled = is_over;
        experiment_.changed_ns = changed_ns;
        DET_TRY(index::put_experiment(database_, experiment_));
    }
    return FollowResult{has_changed, is_over, changed_ns};
}

}  // namespace det::tracker::ingest
