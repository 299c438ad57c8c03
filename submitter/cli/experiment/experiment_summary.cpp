#include "experiment/experiment_summary.hpp"

#include <det/experiment/config_changes.hpp>
#include <det/foundation/count_text.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/json.hpp>
#include <det/queue/explain_reason.hpp>
#include <det/queue/order.hpp>
#include <det/retention/list_checkpoints.hpp>
#include <det/tracker/history/attributes.hpp>
#include <det/tracker/history/progress.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "experiment/training_progress.hpp"
#include "output/first_failure.hpp"
#include "output/table.hpp"
#include "output/trial_text.hpp"
#include "output/value_text.hpp"

namespace det::cli {
namespace {

using lifecycle::State;
using tracker::history::ExperimentView;
using tracker::history::TrialView;

constexpr std::size_t label_columns = 15;
constexpr std::string_view error_indent = "    ";
constexpr std::size_t message_rows_max = 2, error_rows_max = 4, next_commands_max = 3;

/// Whether a run that ended like this counts as a failure, of its program or of what it ran on.
bool is_failure(Cause cause) {
    return cause == Cause::failed || cause == Cause::node_failed || cause == Cause::not_launched ||
           cause == Cause::hung || cause == Cause::checkpoint_damaged;
}

std::string failure_message(RunEnded const& ended) {
    return ended.cause == Cause::failed ? ended.message
                                        : fmt::format("{} ({})", ended.message, ended.cause_name());
}

std::optional<FailedRun> find_last_failed_run(ExperimentView const& view) {
    std::optional<FailedRun> last;
    for (auto const& trial : view.trials) {
        for (std::uint32_t number = 0; number < trial.record.runs.size(); ++number) {
            auto const& ended = trial.record.runs[number].ended;
            if (!ended || !is_failure(ended->cause) || (last && ended->time < last->time)) continue;
            last = FailedRun{{trial.record.id, number}, ended->time, failure_message(*ended), {}};
        }
    }
    return last;
}

Status read_trial_progress(TrialView const& trial, ExperimentSpec const& spec,
                           tracker::history::History& history, SummaryFacts& facts) {
    if (trial.record.runs.empty()) return Ok{};
    DET_TRY_ASSIGN(auto const runs, history.load_reports_without_metrics(trial.record.id));
    facts.progress = trial.state == State::completed ? 1 : tracker::history::progress_of_trial(runs, spec);
    for (auto const& run : runs) {
        if (run.last_step) facts.step = run.last_step;
    }
    return Ok{};
}

/// The text of a summary, line by line.
class SummaryLines {
public:
    explicit SummaryLines(std::size_t columns) : columns_(columns) {}

    void add(std::string_view label, std::string_view text) {
        lines_.push_back(cut(fmt::format("{:<{}}{}", label, label_columns, escape_control(text))));
    }
    void add_line(std::string_view text) { lines_.push_back(cut(escape_control(text))); }
    /// Adds a line that a user copies: it is never cut.
    void add_whole(std::string_view label, std::string_view text) {
        lines_.push_back(fmt::format("{:<{}}{}", label, label_columns, escape_control(text)));
    }
    void add_rows(std::vector<std::string> const& rows) {
        for (auto const& row : rows) lines_.push_back(std::string(error_indent) + row);
    }
    /// Splits a text into at most `rows_max` rows below an indentation. The last one is cut if that is too
    /// little.
    std::vector<std::string> wrap(std::string_view text, std::size_t rows_max) const {
        auto const escaped = escape_control(text);
        std::vector<std::string> rows;
        for (std::string_view rest = escaped; rows.size() < rows_max && !rest.empty();) {
            if (rows.size() + 1 == rows_max || display_width(rest) <= row_columns()) {
                rows.push_back(cut_to(rest, row_columns()));
                break;
            }
            auto const row = fit_to_width(rest, row_columns());
            // A blank replaces half of a wide character that does not fit.
            auto const same = std::ranges::mismatch(row, rest).in1 - row.begin();
            rows.emplace_back(rest.substr(0, static_cast<std::size_t>(same)));
            rest.remove_prefix(static_cast<std::size_t>(same));
        }
        return rows;
    }
    std::size_t size() const { return lines_.size(); }
    std::string text() const {
        std::string text;
        for (auto const& line : lines_) text += line + '\n';
        return text;
    }

private:
    std::size_t row_columns() const {
        return columns_ == Table::any_width ? columns_ : columns_ - error_indent.size();
    }
    std::string cut(std::string_view line) const { return cut_to(line, columns_); }
    static std::string cut_to(std::string_view line, std::size_t columns) {
        if (display_width(line) <= columns) return std::string(line);
        return fit_to_width(line, columns - 3) + "...";
    }

    std::size_t columns_;
    std::vector<std::string> lines_;
};

/// While running trials save their work for a pause, the state is still RUNNING; the text adds that the
/// experiment then pauses.
std::string summary_state(ExperimentView const& view) {
    bool const is_to_pause = view.record.desired == DesiredState::pause && view.state != State::paused &&
                             !lifecycle::is_terminal(view.state);
    bool const is_archived = view.record.spec && tracker::history::attributes_of(view.record).is_archived;
    return fmt::format("{}{}{}", to_string(view.state), is_to_pause ? ", saves its work and then pauses" : "",
                       is_archived ? ", archived" : "");
}

void add_attributes(SummaryLines& lines, tracker::history::Attributes const& now) {
    lines.add("Name:", now.name);
    if (!now.description.empty()) lines.add("Description:", now.description);
    if (!now.labels.empty()) lines.add("Labels:", fmt::format("{}", fmt::join(now.labels, ", ")));
    if (!now.notes.empty()) lines.add("Notes:", now.notes);
}

void add_times(SummaryLines& lines, ExperimentView const& view, TimeText const& time_text) {
    auto const& spec = *view.record.spec;
    lines.add("Created:", fmt::format("{} by {}", time_text(spec.created), spec.owner));
    auto const started = view.started(), ended = view.ended();
    if (!started) return;
    auto text = time_text(started);
    if (ended) {
        auto const duration_s = static_cast<double>(ended->microseconds - started->microseconds) / 1e6;
        text += fmt::format(", ended {}, after {}", time_text(ended), duration_text(duration_s));
    }
    lines.add("Started:", text);
}

std::string resources_text(ExperimentSpec const& spec, tracker::history::Attributes const& now) {
    auto const nodes = count_text(spec.shape.nodes, "node");
    auto text = fmt::format("{}, {} of {}", spec.pool,
                            spec.is_elastic() ? fmt::format("{} to {}", spec.nodes_min, nodes) : nodes,
                            count_text(spec.shape.slots_per_node, "slot"));
    if (now.max_slots) text += fmt::format(", at most {} in use", count_text(*now.max_slots, "slot"));
    if (now.max_concurrent_trials)
        text += fmt::format(", {} at a time", count_text(*now.max_concurrent_trials, "trial"));
    return text;
}

/// Describes the last continuation: its time and user, and its changes.
void add_continuation(SummaryLines& lines, std::vector<Event> const& events, TimeText const& time_text) {
    auto const last = std::find_if(events.rbegin(), events.rend(),
                                   [](auto const& event) { return event.kind == event_kinds::continued; });
    if (last == events.rend()) return;
    auto text = fmt::format("{} by {}", time_text(last->time), last->by);
    for (auto const& change : experiment::changes_in(*last))
        text += (text.ends_with(last->by) ? ": " : "; ") + experiment::describe(change);
    lines.add("Continued:", text);
}

std::string trial_and_run(TrialView const& trial) {
    auto text = to_string(trial.record.id);
    auto const& runs = trial.record.runs;
    if (runs.empty()) return text;
    text += fmt::format(", run {}", runs.size() - 1);
    if (runs.back().started) text += " on " + runs.back().started->hosts;
    return text;
}

/// "40 by adaptive_asha: 30 COMPLETED, 8 RUNNING, 2 ERROR".
std::string trials_by_state(ExperimentView const& view) {
    std::map<State, std::size_t> counts;
    for (auto const& trial : view.trials) ++counts[trial.state];
    std::vector<std::string> parts;
    for (auto const& [state, count] : counts) parts.push_back(fmt::format("{} {}", count, to_string(state)));
    return fmt::format("{} by {}: {}", view.trials.size(), view.record.spec->searcher.name,
                       join(parts, ", "));
}

/// Says why the first job that waits does so. Slurm's own word follows, as its documentation has it.
void add_waiting_job(SummaryLines& lines, ExperimentView const& view) {
    for (auto const& trial : view.trials) {
        if (!trial.job || !queue::is_waiting(*trial.job)) continue;
        auto const reason = trial.job->reason == "None" ? "" : trial.job->reason;
        auto const words = queue::explain_reason(reason);
        auto text = fmt::format("job {}", slurm::to_string(trial.job->ref));
        if (!words.empty()) text += fmt::format(": {}", words);
        if (!words.empty() && words != reason) text += fmt::format(" ({})", reason);
        return lines.add("Waits:", text);
    }
}

/// Says which run is idle, or ended because it was: the one that was noticed last.
void add_idle_run(SummaryLines& lines, ExperimentView const& view, TimeText const& time_text) {
    TrialView const* found = nullptr;
    UtcTime noticed;
    std::string message;
    for (auto const& trial : view.trials) {
        if (trial.record.runs.empty()) continue;
        auto const& run = trial.record.runs.back();
        bool const has_ended_idle = run.ended && run.ended->cause == Cause::idle;
        bool const is_warned_of = !run.ended && !run.alerts.empty();
        if (!has_ended_idle && !is_warned_of) continue;
        auto const time = has_ended_idle ? run.ended->time : run.alerts.back().time;
        if (found != nullptr && time < noticed) continue;
        found = &trial;
        noticed = time;
        message = has_ended_idle ? run.ended->message : run.alerts.back().description;
    }
    if (found == nullptr) return;
    lines.add("Idle:",
              fmt::format("trial {}, {}: {}", to_string(found->record.id), time_text(noticed), message));
}

void add_progress(SummaryLines& lines, SummaryFacts const& facts) {
    std::vector<std::string> parts;
    if (facts.progress) parts.push_back(fmt::format("{:.0f} %", *facts.progress * 100));
    if (facts.step) parts.push_back(fmt::format("step {}", *facts.step));
    if (!parts.empty()) lines.add("Progress:", join(parts, ", "));
}

void add_best(SummaryLines& lines, ExperimentSpec const& spec, SummaryFacts const& facts,
              NumberText const& number_text) {
    if (!facts.best) return;
    auto const id = facts.best->view->record.id;
    lines.add("Best trial:",
              fmt::format("{}, {} {} {} at step {}", to_string(id),
                          spec.searcher.smaller_is_better ? "smallest" : "largest", spec.searcher.metric,
                          number_text(facts.best->validation.value), facts.best->validation.steps_completed));
    auto const layout = facts.layout.value_or(ExperimentLayout(RootLayout(spec.root), spec.id));
    auto const drawn = hyperparameters_of(layout, spec, id.index);
    if (!drawn.empty()) lines.add("", describe_hyperparameters(drawn));
}

/// The last lines of a program's output that are not blank: the last one, and those before it for which rows
/// are left.
std::vector<std::string> error_rows(SummaryLines const& lines, std::string output, std::size_t rows_max) {
    std::ranges::replace(output, '\t', ' ');
    auto const of_output = split_lines(output);
    std::vector<std::string> rows;
    for (auto line = of_output.rbegin(); line != of_output.rend() && rows.size() < rows_max; ++line) {
        auto const end = line->find_last_not_of(" \r");
        if (end == line->npos) continue;
        auto const left = rows_max - rows.size();
        auto of_line = lines.wrap(line->substr(0, end + 1), rows.empty() ? left : left + 1);
        if (of_line.size() > left) break;
        rows.insert(rows.begin(), of_line.begin(), of_line.end());
    }
    return rows;
}

/// \param rows_max for the message and the error
void add_failure(SummaryLines& lines, FailedRun const& failed, TimeText const& time_text,
                 std::size_t rows_max) {
    lines.add("Last failure:", fmt::format("trial {}, run {}, {}", to_string(failed.run.trial),
                                           failed.run.number, time_text(failed.time)));
    bool const has_error = failed.failure && !trim(failed.failure->last_output).empty();
    auto const for_error = has_error ? std::size_t{1} : 0;
    // The message of the run does not say why a process was killed; what its node has recorded does.
    bool const was_out_of_memory = failed.failure && failed.failure->was_out_of_memory;
    auto const text = failed.message + (was_out_of_memory ? "; " + describe(*failed.failure) : "");
    auto const message =
        lines.wrap(text, std::min(message_rows_max, rows_max - std::min(rows_max, for_error)));
    lines.add_rows(message);
    if (!has_error) return;
    lines.add_rows(
        error_rows(lines, failed.failure->last_output, std::min(error_rows_max, rows_max - message.size())));
}

bool can_continue(ExperimentView const& view) {
    auto const& searcher = view.record.spec->searcher.name;
    bool const has_rest =
        std::ranges::any_of(view.trials, [](auto const& trial) { return trial.state != State::completed; });
    return searcher == "single" || ((searcher == "grid" || searcher == "random") && has_rest);
}

std::string failure_log_command(FailedRun const& failed) {
    bool const has_rank = failed.failure && failed.failure->rank;
    return fmt::format("trial logs {} --run {}{}", to_string(failed.run.trial), failed.run.number,
                       has_rank ? fmt::format(" --rank {}", *failed.failure->rank) : "");
}

/// Commands that only read, for the state of an experiment.
std::vector<std::string> reading_commands(ExperimentView const& view, SummaryFacts const& facts) {
    auto const id = view.record.id.value;
    bool const has_one_trial = view.trials.size() == 1;
    std::vector<std::string> commands;
    bool const is_stopping = view.state == State::stopping_canceled || view.state == State::stopping_killed;
    if (facts.last_failure && view.state != State::completed)
        commands.push_back(failure_log_command(*facts.last_failure));
    if (view.state == State::queued) commands.emplace_back("job list");
    if (is_stopping) commands.push_back(fmt::format("experiment wait {}", id));
    if (view.state == State::starting || view.state == State::running)
        commands.push_back(has_one_trial ? fmt::format("experiment logs {} --follow", id)
                                         : fmt::format("experiment list-trials {} --by-metric", id));
    if (view.state == State::interrupted && !facts.last_failure)
        commands.push_back(fmt::format("experiment logs {} --tail 50", id));
    if (lifecycle::is_terminal(view.state) && facts.has_checkpoint)
        commands.push_back(fmt::format("experiment {} {}",
                                       facts.has_validated_checkpoint ? "download" : "list-checkpoints", id));
    if (view.state == State::completed && !has_one_trial && facts.best)
        commands.push_back(fmt::format("experiment best {}", id));
    if (view.state == State::completed && facts.last_failure)
        commands.push_back(failure_log_command(*facts.last_failure));
    return commands;
}

/// The command that changes an experiment in this state; empty if there is none to recommend.
std::string changing_command(ExperimentView const& view) {
    auto const id = view.record.id.value;
    auto const command = [&](std::string_view verb) { return fmt::format("experiment {} {}", verb, id); };
    switch (view.state) {
        case State::submitting:
            return command("kill");
        case State::queued:
            return command("cancel");
        case State::starting:
        case State::running:
            return view.record.desired == DesiredState::run ? command("pause") : "";
        case State::paused:
        case State::interrupted:
            return command("activate");
        case State::canceled:
        case State::error:
            if (tracker::history::attributes_of(view.record).is_archived) return command("unarchive");
            return command(can_continue(view) ? "continue" : "fork");
        case State::stopping_canceled:
        case State::stopping_killed:
        case State::completed:
            break;
    }
    return "";
}

}  // namespace

Result<SummaryFacts> load_summary_facts(experiment::OpenExperiment const& experiment,
                                        Session const& session) {
    SummaryFacts facts;
    facts.layout = experiment.layout;
    auto const& view = experiment.view;
    if (!view.record.spec) return facts;
    auto const& spec = *view.record.spec;
    auto& history = *experiment.history;
    if (view.trials.size() == 1) {
        DET_TRY(read_trial_progress(view.trials[0], spec, history, facts));
    } else {
        DET_TRY_ASSIGN(facts.progress, load_search_progress(view, spec, history));
    }
    DET_TRY_ASSIGN(auto const ranked, rank_trials(view, history));
    if (!ranked.empty()) facts.best = ranked.front();
    facts.last_failure = find_last_failed_run(view);
    if (auto& failed = facts.last_failure)
        failed->failure = first_failure(experiment.layout, failed->run, session);
    if (!lifecycle::is_terminal(view.state)) return facts;
    DET_TRY_ASSIGN(auto const checkpoints, retention::list_committed(experiment.layout, spec, nullptr));
    facts.has_checkpoint = !checkpoints.empty();
    facts.has_validated_checkpoint =
        std::ranges::any_of(checkpoints, [](auto const& each) { return each.metric.has_value(); });
    return facts;
}

std::vector<std::string> next_commands(ExperimentView const& view, SummaryFacts const& facts,
                                       SummaryContext const& context) {
    auto commands = view.record.spec ? reading_commands(view, facts) : std::vector<std::string>();
    auto const changing = context.is_foreign ? "" : changing_command(view);
    auto const others_max = next_commands_max - (changing.empty() ? 0 : 1);
    if (commands.size() > others_max) commands.resize(others_max);
    if (!changing.empty()) commands.push_back(changing);
    for (auto& command : commands) command = fmt::format("det-submit {}{}", command, context.root_option);
    return commands;
}

std::string summary_text(ExperimentView const& view, SummaryFacts const& facts,
                         SummaryContext const& context) {
    SummaryLines lines(context.columns);
    lines.add_line(fmt::format("Experiment {}: {}", view.record.id.value, summary_state(view)));
    auto const commands = next_commands(view, facts, context);
    if (view.record.spec) {
        auto const& spec = *view.record.spec;
        auto const now = tracker::history::attributes_of(view.record);
        add_attributes(lines, now);
        add_times(lines, view, context.time_text);
        lines.add("Resource pool:", resources_text(spec, now));
        add_continuation(lines, view.record.events, context.time_text);
        if (view.trials.size() == 1)
            lines.add("Trial:", trial_and_run(view.trials[0]));
        else
            lines.add("Trials:", trials_by_state(view));
        add_waiting_job(lines, view);
        add_idle_run(lines, view, context.time_text);
        add_progress(lines, facts);
        add_best(lines, spec, facts, context.number_text);
        // The line above the message counts too.
        auto const used = lines.size() + 1 + commands.size();
        if (facts.last_failure)
            add_failure(lines, *facts.last_failure, context.time_text,
                        summary_lines_max - std::min(summary_lines_max, used));
    }
    for (auto const& command : commands)
        lines.add_whole(&command == &commands.front() ? "Next:" : "", command);
    return lines.text();
}

}  // namespace det::cli
