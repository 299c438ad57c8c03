#include <det/experiment/control_experiment.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/json.hpp>

#include <fmt/format.h>

#include "command.hpp"

namespace det::cli {
namespace {

class ExperimentSetMaxSlots final : public Command {
public:
    std::vector<Option> options() override {
        return {{"id", &id_, "the experiment", Need::required},
                {"max-slots", &max_slots_, "slots at once", Need::required}};
    }

    Outcome run(Session& session) override {
        auto const slots = parse_integer<std::uint32_t>(max_slots_);
        if (!slots) return Error{codes::usage, fmt::format("'{}' is not a number of slots", max_slots_)};
        DET_TRY_ASSIGN(auto const id, experiment::limit_slots(id_, *slots, session));
        session.print_confirmation(Json{{"id", id.value}, {"max_slots", *slots}},
                                   fmt::format("Set max-slots of experiment {} to {}", id.value, *slots));
        return ExitCode::done;
    }

private:
    std::string id_, max_slots_;
};

}  // namespace

std::unique_ptr<Command> make_experiment_set_max_slots() { return std::make_unique<ExperimentSetMaxSlots>(); }

}  // namespace det::cli
