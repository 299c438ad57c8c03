#pragma once
#include <det/foundation/result.hpp>
#include <det/tracker/history/experiment_view.hpp>

#include <string>
#include <string_view>
#include <vector>

#include "confirmations.hpp"

namespace det::tracker::api {

/// What a client asks to do.
struct ActionRequest {
    std::string action;  // "pause"
    std::string target;  // the id of an experiment, a trial or a job, as the routes and `job list` have it
    std::string value = {};
    std::string config = {};  // of a fork
    bool is_paused = false;   // a fork waits for `activate`
};

/// An action of the page: a command of det-submit, and how to say what it will do.
struct Action {
    enum class Target { experiment, trial, job };
    enum class Value { none, argument, option };
    /// How the client learns what will happen: by the state of the experiment, or by the command's own
    /// --dry-run.
    enum class Preview { state, dry_run };
    using Describe = std::vector<std::string> (*)(history::ExperimentView const& view,
                                                  ActionRequest const& request);

    std::string_view name;
    Target target;
    std::vector<std::string> words;  // of the command
    Value value;
    std::string_view option;  // for Value::option
    Preview preview;
    Describe describe;  // for Preview::state; one sentence a line
};

std::vector<Action> const& action_table();

/// codes::bad_request if there is no such action, the target is no id, or a value is missing or too many.
Result<Action const*> find_action(ActionRequest const& request);

/// The command line without the name of the program. Values never become options. Pure.
/// \pre find_action() found it
ActionCommand command_of(Action const& action, ActionRequest const& request);
/// The same for the eye, as one pastes it into a shell.
std::string command_text(Action const& action, ActionRequest const& request);

}  // namespace det::tracker::api
