// What the page can do, and what it says about it before. The commands of det-submit do it.
#include "action_table.hpp"

#include <det/foundation/count_text.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/ids.hpp>

#include <algorithm>
#include <fmt/format.h>

namespace det::tracker::api {
namespace {

using history::ExperimentView;
using lifecycle::State;
using Lines = std::vector<std::string>;

/// The trials that have not ended, by what they do now.
struct Unended {
    std::size_t running = 0, waiting = 0, stopped = 0;
};

Unended count_unended(ExperimentView const& view) {
    Unended count;
    for (auto const& trial : view.trials) {
        if (lifecycle::is_terminal(trial.state)) continue;
        if (trial.state == State::queued || trial.state == State::submitting)
            ++count.waiting;
        else if (trial.state == State::paused || trial.state == State::interrupted)
            ++count.stopped;
        else
            ++count.running;
    }
    return count;
}

Lines begin_with_state(ExperimentView const& view) {
    auto const name = view.record.spec ? " '" + view.record.spec->name + "'" : std::string();
    return {
        fmt::format("Experiment {}{} is {}.", view.record.id.value, name, to_lower(to_string(view.state)))};
}

/// Adds "2 running trials save ..." unless there are none.
void add_count(Lines& lines, std::size_t count, std::string_view kind, std::string_view of_one,
               std::string_view of_many) {
    if (count > 0)
        lines.push_back(fmt::format("{} {}.", count_text(count, fmt::format("{}trial", kind)),
                                    count == 1 ? of_one : of_many));
}

Lines describe_pause(ExperimentView const& view, ActionRequest const&) {
    auto lines = begin_with_state(view);
    auto const count = count_unended(view);
    add_count(lines, count.running, "running ",
              "saves a checkpoint and frees its slots; its job then waits, held",
              "save a checkpoint and free their slots; their jobs then wait, held");
    add_count(lines, count.waiting, "waiting ", "is held", "are held");
    lines.emplace_back("Activate lets it go on from its checkpoints.");
    return lines;
}

Lines describe_activate(ExperimentView const& view, ActionRequest const&) {
    auto lines = begin_with_state(view);
    auto const count = count_unended(view);
    add_count(lines, count.stopped + count.waiting, "",
              "waits for its nodes and goes on from its last checkpoint",
              "wait for their nodes and go on from their last checkpoints");
    return lines;
}

Lines describe_cancel(ExperimentView const& view, ActionRequest const&) {
    auto lines = begin_with_state(view);
    auto const count = count_unended(view);
    add_count(lines, count.running, "running ", "may save a checkpoint, and ends",
              "may save checkpoints, and end");
    add_count(lines, count.waiting + count.stopped, "waiting ", "never starts", "never start");
    lines.emplace_back("It can't be activated again; 'experiment continue' goes on from its checkpoints.");
    return lines;
}

Lines describe_kill(ExperimentView const& view, ActionRequest const&) {
    auto lines = begin_with_state(view);
    auto const count = count_unended(view);
    add_count(lines, count.running, "running ", "ends at once; its work since its last checkpoint is lost",
              "end at once; their work since their last checkpoints is lost");
    add_count(lines, count.waiting + count.stopped, "waiting ", "never starts", "never start");
    return lines;
}

Lines describe_archive(ExperimentView const& view, ActionRequest const&) {
    auto lines = begin_with_state(view);
    lines.emplace_back("It is left out of lists. Nothing is deleted; unarchive brings it back.");
    return lines;
}

Lines describe_unarchive(ExperimentView const& view, ActionRequest const&) {
    auto lines = begin_with_state(view);
    lines.emplace_back("Lists show it again.");
    return lines;
}

Lines describe_kill_trial(ExperimentView const& view, ActionRequest const& request) {
    Lines lines;
    for (auto const& trial : view.trials) {
        if (to_string(trial.record.id) == request.target)
            lines.push_back(fmt::format("Trial {} is {}.", request.target, to_lower(to_string(trial.state))));
    }
    lines.emplace_back("It ends at once; its work since its last checkpoint is lost. Other trials go on.");
    return lines;
}

Lines describe_attribute(ExperimentView const& view, ActionRequest const& request) {
    auto const id = view.record.id.value;
    if (request.action == "label-add") return {fmt::format("Experiment {} gets a label.", id)};
    if (request.action == "label-remove") return {fmt::format("Experiment {} loses a label.", id)};
    return {fmt::format("The {} of experiment {} {} replaced.", request.action.substr(4), id,
                        request.action == "set-notes" ? "are" : "is")};
}

bool is_id_of_job(std::string_view text) {
    return !text.empty() && text.front() != '-' && text.size() <= 64 && std::ranges::all_of(text, [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '_' || c == '-';
    });
}

bool is_target(Action::Target target, std::string_view text) {
    if (target == Action::Target::experiment) return parse_experiment_id(text).has_value();
    if (target == Action::Target::trial) return parse_trial_id(text).has_value();
    return is_id_of_job(text);
}

}  // namespace

std::vector<Action> const& action_table() {
    using T = Action::Target;
    using V = Action::Value;
    using P = Action::Preview;
    static std::vector<Action> const table{
        {"pause", T::experiment, {"experiment", "pause"}, V::none, "", P::state, describe_pause},
        {"activate", T::experiment, {"experiment", "activate"}, V::none, "", P::state, describe_activate},
        {"cancel", T::experiment, {"experiment", "cancel"}, V::none, "", P::state, describe_cancel},
        {"kill", T::experiment, {"experiment", "kill"}, V::none, "", P::state, describe_kill},
        {"archive", T::experiment, {"experiment", "archive"}, V::none, "", P::state, describe_archive},
        {"unarchive", T::experiment, {"experiment", "unarchive"}, V::none, "", P::state, describe_unarchive},
        {"set-name",
         T::experiment,
         {"experiment", "set", "name"},
         V::argument,
         "",
         P::state,
         describe_attribute},
        {"set-description",
         T::experiment,
         {"experiment", "set", "description"},
         V::argument,
         "",
         P::state,
         describe_attribute},
        {"set-notes",
         T::experiment,
         {"experiment", "set", "notes"},
         V::argument,
         "",
         P::state,
         describe_attribute},
        {"label-add",
         T::experiment,
         {"experiment", "label", "add"},
         V::argument,
         "",
         P::state,
         describe_attribute},
        {"label-remove",
         T::experiment,
         {"experiment", "label", "remove"},
         V::argument,
         "",
         P::state,
         describe_attribute},
        {"fork", T::experiment, {"experiment", "fork", "--config-file=-"}, V::none, "", P::dry_run, nullptr},
        {"kill-trial", T::trial, {"trial", "kill"}, V::none, "", P::state, describe_kill_trial},
        {"priority", T::job, {"job", "update"}, V::option, "--priority", P::dry_run, nullptr},
        {"resource-pool", T::job, {"job", "update"}, V::option, "--resource-pool", P::dry_run, nullptr},
        {"ahead-of", T::job, {"job", "update"}, V::option, "--ahead-of", P::dry_run, nullptr},
        {"behind-of", T::job, {"job", "update"}, V::option, "--behind-of", P::dry_run, nullptr},
    };
    return table;
}

Result<Action const*> find_action(ActionRequest const& request) {
    auto const& table = action_table();
    auto const found = std::ranges::find(table, request.action, &Action::name);
    if (found == table.end()) {
        std::vector<std::string_view> names;
        for (auto const& action : table) names.push_back(action.name);
        return Error{codes::bad_request, fmt::format("there is no action '{}'", request.action),
                     fmt::format("there are {}", fmt::join(names, ", "))};
    }
    if (!is_target(found->target, request.target))
        return Error{codes::bad_request, fmt::format("'{}' is no id for '{}'", request.target, found->name)};
    if (found->value == Action::Value::none && !request.value.empty())
        return Error{codes::bad_request, fmt::format("'{}' takes no value", found->name)};
    if (found->value == Action::Value::option && request.value.empty())
        return Error{codes::bad_request, fmt::format("'{}' needs a value", found->name)};
    bool const is_fork = found->name == "fork";
    if (is_fork == request.config.empty())
        return Error{codes::bad_request, is_fork ? "'fork' needs a configuration"
                                                 : fmt::format("'{}' takes no configuration", found->name)};
    if (request.is_paused && !is_fork)
        return Error{codes::bad_request, fmt::format("'{}' takes no 'paused'", found->name)};
    return Result<Action const*>(&*found);
}

ActionCommand command_of(Action const& action, ActionRequest const& request) {
    auto words = action.words;
    if (action.value == Action::Value::option)
        words.push_back(std::string(action.option) + "=" + request.value);
    if (request.is_paused) words.emplace_back("--paused");
    words.insert(words.end(), {"--json", "--", request.target});
    if (action.value == Action::Value::argument) words.push_back(request.value);
    return {std::move(words), request.config};
}

std::string command_text(Action const& action, ActionRequest const& request) {
    std::string text = "det-submit";
    for (auto const& word : action.words)
        text += " " + (word == "--config-file=-" ? "--config-file FILE" : word);
    text += " " + request.target;
    if (action.value == Action::Value::option)
        text += fmt::format(" {} {}", action.option, quote_for_shell(request.value));
    if (action.value == Action::Value::argument) text += " " + quote_for_shell(request.value);
    if (request.is_paused) text += " --paused";
    return text;
}

}  // namespace det::tracker::api
