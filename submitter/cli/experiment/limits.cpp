// The commands that change what an experiment may have at once, and its place in the queue.
#include <det/experiment/control_experiment.hpp>
#include <det/experiment/open_experiment.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/json.hpp>

#include <fmt/format.h>

#include "command.hpp"
#include "job/move_jobs.hpp"

namespace det::cli {
namespace {

struct Limit {
    std::string_view name;  // of the argument and in the confirmation
    std::string_view key;   // in the answer with --json
    std::string_view what;  // "slots"
    Result<ExperimentId> (*set)(std::string const& id, std::uint32_t limit, experiment::Context& context);
};

class SetLimit final : public Command {
public:
    explicit SetLimit(Limit const& limit) : limit_(limit) {}

    std::vector<Option> options() override {
        return {{"id", &id_, "the experiment", Need::required},
                {std::string(limit_.name), &value_, fmt::format("{} at once", limit_.what), Need::required}};
    }

    Outcome run(Session& session) override {
        auto const value = parse_integer<std::uint32_t>(value_);
        if (!value)
            return Error{codes::usage, fmt::format("'{}' is not a number of {}", value_, limit_.what)};
        DET_TRY_ASSIGN(auto const id, limit_.set(id_, *value, session));
        session.print_confirmation(
            Json{{"id", id.value}, {std::string(limit_.key), *value}},
            fmt::format("Set {} of experiment {} to {}", limit_.name, id.value, *value));
        return ExitCode::done;
    }

private:
    Limit limit_;
    std::string id_, value_;
};

/// The command `job update exp-ID --priority N` under the name that Determined uses.
class SetPriority final : public Command {
public:
    std::vector<Option> options() override {
        return {{"id", &id_, "the experiment", Need::required},
                {"priority", &priority_, "1 (most urgent) to 99", Need::required},
                {"--dry-run", &update_.is_dry_run, "show the moves, make none"}};
    }

    Outcome run(Session& session) override {
        DET_TRY_ASSIGN(auto const id, experiment::require_experiment_id(id_));
        return move_jobs({{"exp-" + to_string(id), "priority", priority_}}, update_, session);
    }

private:
    std::string id_, priority_;
    MoveOptions update_;
};

}  // namespace

std::unique_ptr<Command> make_experiment_set_max_slots() {
    return std::make_unique<SetLimit>(Limit{"max-slots", "max_slots", "slots", experiment::limit_slots});
}
std::unique_ptr<Command> make_experiment_set_max_concurrent_trials() {
    return std::make_unique<SetLimit>(Limit{"max-concurrent-trials", "max_concurrent_trials", "trials",
                                            experiment::limit_concurrent_trials});
}
std::unique_ptr<Command> make_experiment_set_priority() { return std::make_unique<SetPriority>(); }

}  // namespace det::cli
