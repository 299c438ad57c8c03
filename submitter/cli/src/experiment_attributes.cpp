// What people may change of an experiment without its trials noticing: each change is one event.
#include <det/tracker/history/attributes.hpp>

#include <fmt/format.h>

#include "command.hpp"
#include "open_experiment.hpp"

namespace det::cli {
namespace {

using tracker::history::Attributes;
namespace changes = tracker::history::changes;

/// A change of one kind: `value_name` is what the second argument is called, empty where there is none.
struct ChangeKind {
    std::string_view value_name;
    changes::Change (*make)(std::string const& value);
    /// Why it can't be done; `lifecycle::State` is the experiment's.
    Status (*check)(Attributes const& now, lifecycle::State state, std::string const& value);
    std::string_view done;  // "Archived experiment 7"
};

Status fine(Attributes const&, lifecycle::State, std::string const&) { return Ok{}; }

Status check_over(Attributes const&, lifecycle::State state, std::string const&) {
    if (lifecycle::is_terminal(state)) return Ok{};
    return Error{codes::wrong_state,
                 fmt::format("it is {}: only what has ended is archived", to_string(state)),
                 "end it first with 'det-submit experiment cancel' or 'kill'"};
}

Status check_named(Attributes const&, lifecycle::State, std::string const& value) {
    if (!value.empty()) return Ok{};
    return Error{codes::usage, "a name has at least one character"};
}

Status check_label(Attributes const&, lifecycle::State, std::string const& value) {
    if (!value.empty()) return Ok{};
    return Error{codes::usage, "a label has at least one character"};
}

Status check_labelled(Attributes const& now, lifecycle::State, std::string const& value) {
    if (now.labels.contains(value)) return Ok{};
    return Error{codes::no_such_label, fmt::format("it has no label '{}'", value),
                 now.labels.empty() ? "it has none" : fmt::format("it has: {}", fmt::join(now.labels, ", "))};
}

class ChangeExperiment final : public Command {
public:
    explicit ChangeExperiment(ChangeKind const& kind) : kind_(kind) {}

    std::vector<Option> options() override {
        std::vector<Option> options{{"id", &id_, "the experiment", Need::required}};
        if (!kind_.value_name.empty())
            options.push_back({std::string(kind_.value_name), &value_, "the new one", Need::required});
        return options;
    }

    Outcome run(Session& session) override {
        DET_TRY(change(session));
        return ExitCode::done;
    }

private:
    Status change(Session& session) const {
        DET_TRY_ASSIGN(auto const experiment, open_experiment(id_, session));
        auto const now = tracker::history::attributes_of(experiment.view.record);
        if (auto possible = kind_.check(now, experiment.view.state, value_); !possible)
            return std::move(possible).error().while_doing("changing experiment " +
                                                           to_string(experiment.id()));
        auto [kind, body] = kind_.make(value_);
        DET_TRY(record_event(experiment, kind, std::move(body), session));
        if (session.wants_json()) {
            session.answer(Json{{"id", experiment.id().value}});
        } else {
            session.say(fmt::format("{} experiment {}", kind_.done, experiment.id().value));
        }
        return Ok{};
    }

    ChangeKind kind_;
    std::string id_, value_;
};

std::unique_ptr<Command> make_change(ChangeKind const& kind) {
    return std::make_unique<ChangeExperiment>(kind);
}

}  // namespace

std::unique_ptr<Command> make_experiment_archive() {
    return make_change({"", [](auto const&) { return changes::archive(); }, check_over, "Archived"});
}
std::unique_ptr<Command> make_experiment_unarchive() {
    return make_change({"", [](auto const&) { return changes::unarchive(); }, fine, "Unarchived"});
}
std::unique_ptr<Command> make_experiment_set_name() {
    return make_change({"name", changes::set_name, check_named, "Set name of"});
}
std::unique_ptr<Command> make_experiment_set_description() {
    return make_change({"description", changes::set_description, fine, "Set description of"});
}
std::unique_ptr<Command> make_experiment_label_add() {
    return make_change({"label", changes::add_label, check_label, "Labelled"});
}
std::unique_ptr<Command> make_experiment_label_remove() {
    return make_change({"label", changes::remove_label, check_labelled, "Removed a label of"});
}

}  // namespace det::cli
