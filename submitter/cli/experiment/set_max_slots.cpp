#include <det/foundation/text.hpp>
#include <det/protocol/json.hpp>
#include <det/tracker/history/attributes.hpp>

#include <algorithm>
#include <fmt/format.h>

#include "command.hpp"
#include "open_experiment.hpp"
#include "tell_jobs.hpp"

namespace det::cli {
namespace {

/// How many of an array's tasks may run at once when those of the experiment may: each array has its share by
/// its size, at least one.
std::uint32_t share_of(ArrayJob const& array, std::uint32_t running_max, std::uint32_t trial_count) {
    auto const size = std::min(array.trial_count, trial_count);
    auto const share = std::uint64_t{running_max} * size / std::max(1u, trial_count);
    return std::max(1u, static_cast<std::uint32_t>(share));
}

class ExperimentSetMaxSlots final : public Command {
public:
    std::vector<Option> options() override {
        return {{"id", &id_, "the experiment", Need::required},
                {"max-slots", &max_slots_, "slots at once", Need::required}};
    }

    Outcome run(Session& session) override {
        DET_TRY(change(session));
        return ExitCode::done;
    }

private:
    Status change(Session& session) const {
        auto const slots = parse_integer<std::uint32_t>(max_slots_);
        if (!slots) return Error{codes::usage, fmt::format("'{}' is not a number of slots", max_slots_)};
        DET_TRY_ASSIGN(auto const experiment, open_experiment_with_jobs(id_, session));
        auto const& record = experiment.view.record;
        if (lifecycle::is_terminal(experiment.view.state) || !record.spec) {
            return Error{codes::wrong_state,
                         fmt::format("experiment {} is {}: nothing is left to limit", experiment.id().value,
                                     to_string(experiment.view.state))};
        }
        auto const lanes = record.spec->lanes;
        auto const per_job = static_cast<std::uint32_t>(record.spec->shape.ranks()) * lanes;
        if (*slots < per_job) {
            auto const what =
                lanes == 1 ? "one trial has" : fmt::format("{} trials that share a node have", lanes);
            return Error{codes::usage,
                         fmt::format("{} {} slots: nothing runs with at most {}", what, per_job, *slots),
                         fmt::format("use at least {}", per_job)};
        }
        DET_TRY(limit(record, *slots / per_job, session.slurm));
        auto [kind, body] = tracker::history::changes::set_max_slots(*slots);
        DET_TRY(record_event(experiment, kind, std::move(body), session));
        if (session.wants_json()) {
            session.answer(Json{{"id", experiment.id().value}, {"max_slots", *slots}});
        } else {
            session.say(fmt::format("Set max-slots of experiment {} to {}", experiment.id().value, *slots));
        }
        return Ok{};
    }

    static Status limit(tracker::history::ExperimentRecord const& record, std::uint32_t running_max,
                        slurm::SlurmClient& slurm) {
        for (auto const& array : record.arrays()) {
            auto done =
                slurm.change({array.job, {}},
                             {.running_tasks_max = share_of(array, running_max, record.spec->trial_count)});
            if (done || has_ended(done.error())) continue;
            // Only operators may, since Slurm 23.02.
            auto error = std::move(done).error();
            if (error.code == codes::slurm_refused) {
                error.hint =
                    "a Slurm operator can change it; or cancel it and create it again with "
                    "searcher.max_concurrent_trials or resources.max_slots; 'scontrol hold' keeps single "
                    "trials "
                    "from starting";
            }
            return error;
        }
        return Ok{};
    }

    std::string id_, max_slots_;
};

}  // namespace

std::unique_ptr<Command> make_experiment_set_max_slots() { return std::make_unique<ExperimentSetMaxSlots>(); }

}  // namespace det::cli
