#include <det/experiment/open_experiment.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/json.hpp>
#include <det/tracker/history/attributes.hpp>
#include <det/tracker/history/journal_history.hpp>

#include <fmt/format.h>
#include <ostream>

#include "command.hpp"
#include "experiment/usage_report.hpp"
#include "output/table.hpp"
#include "output/value_text.hpp"

namespace det::cli {
namespace {

using tracker::usage::Usage;
using tracker::usage::Use;

double seconds(std::int64_t microseconds) { return static_cast<double>(microseconds) / 1e6; }

double share(std::int64_t part, std::int64_t whole) {
    return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

Json optional_time(std::optional<UtcTime> const& time) {
    return time ? Json(format_utc(*time)) : Json(nullptr);
}

Json uses_json(Usage const& usage) {
    auto json = Json::object();
    for (std::size_t i = 0; i < tracker::usage::use_count; ++i)
        json[to_string(static_cast<Use>(i))] = seconds(usage.by_use[i]);
    return json;
}

Json causes_json(Usage const& usage) {
    auto json = Json::array();
    for (auto const& [key, slot_us] : usage.by_cause)
        json.push_back({{"use", to_string(key.first)}, {"cause", key.second}, {"slot_s", seconds(slot_us)}});
    return json;
}

Json allocation_json(AllocationUsage const& used) {
    auto const& allocation = used.allocation;
    auto runs = Json::array();
    for (auto const& run : allocation.runs) runs.push_back(to_string(RunId{run.trial, run.run}));
    return {{"job", allocation.job},
            {"restart_count", allocation.restart_count},
            {"submitted", optional_time(allocation.submitted)},
            {"started", format_utc(allocation.started)},
            {"ended", format_utc(allocation.ended)},
            {"end_known_from", to_string(allocation.end_source)},
            {"nodes", allocation.nodes},
            {"slots", allocation.slots},
            {"slot_s", seconds(allocation.slot_us())},
            {"uses", uses_json(used.usage)},
            {"runs", runs}};
}

Json utilisation_json(UsageReport const& report) {
    auto json = Json::object();
    for (auto const* name : {"gpu_util", "cpu_util_simple"}) {
        auto const found = report.utilisation.find(name);
        json[name] = found == report.utilisation.end() ? Json(nullptr) : Json(found->second);
    }
    return json;
}

Json recovery_json(tracker::usage::Recovery const& recovery) {
    auto const duration_us = recovery.duration_us();
    return {{"run", to_string(recovery.run)},
            {"cause", recovery.cause},
            {"nodes", recovery.nodes},
            {"fault", format_utc(recovery.fault)},
            {"fault_known_from", to_string(recovery.fault_source)},
            {"first_step", optional_time(recovery.first_step)},
            {"seconds", duration_us ? Json(seconds(*duration_us)) : Json(nullptr)},
            {"from", to_string(recovery.from)},
            {"steps_completed", recovery.steps_completed},
            {"repeated_steps", recovery.repeated_steps},
            {"same_allocation", recovery.is_same_allocation}};
}

Json as_json(tracker::history::ExperimentView const& view, UsageReport const& report) {
    auto allocations = Json::array();
    for (auto const& allocation : report.allocations) allocations.push_back(allocation_json(allocation));
    auto recoveries = Json::array();
    for (auto const& recovery : report.recoveries) recoveries.push_back(recovery_json(recovery));
    return {{"id", view.record.id.value},
            {"state", to_string(view.state)},
            {"allocated_slot_s", seconds(report.allocated_slot_us)},
            {"uses", uses_json(report.total)},
            {"causes", causes_json(report.total)},
            {"queued_s", report.queued_us ? Json(seconds(*report.queued_us)) : Json(nullptr)},
            {"checkpoints",
             {{"count", report.checkpoints},
              {"size_bytes", report.checkpoint_size_bytes},
              {"blocked_s", seconds(report.blocked_us)}}},
            {"utilisation", utilisation_json(report)},
            {"recoveries", recoveries},
            {"allocations", allocations}};
}

/// "lost to node" for "lost_to_node".
std::string label_of(Use use) {
    std::string label(to_string(use));
    std::ranges::replace(label, '_', ' ');
    return label;
}

std::string percent(double value) { return fmt::format("{:.1f} %", value); }

std::string uses_table(UsageReport const& report, AnswerStyle const& style) {
    Table table({"Use", "Slot time", "Share", "Cause"});
    auto const add = [&](std::string name, std::int64_t slot_us, std::string cause) {
        table.add({std::move(name), duration_text(seconds(slot_us)),
                   percent(100 * share(slot_us, report.allocated_slot_us)), std::move(cause)});
    };
    for (std::size_t i = 0; i < tracker::usage::use_count; ++i) {
        auto const use = static_cast<Use>(i);
        auto const total = report.total.by_use[i];
        if (total == 0) continue;
        auto causes = 0;
        for (auto const& [key, slot_us] : report.total.by_cause) {
            if (key.first != use) continue;
            add(label_of(use), slot_us, key.second);
            ++causes;
        }
        if (causes == 0) add(label_of(use), total, "");
    }
    add("allocated", report.allocated_slot_us, "");
    return table.render(style);
}

std::string jobs_table(UsageReport const& report, AnswerStyle const& style) {
    Table table({"Job", "Restarts", "Submitted", "Started", "Ended", "Slots", "Slot time", "Training"},
                {"Restarts", "Submitted", "Slots"});
    for (auto const& [allocation, usage] : report.allocations) {
        table.add({allocation.job, std::to_string(allocation.restart_count), style.time(allocation.submitted),
                   style.time(allocation.started),
                   allocation.end_source == tracker::usage::EndSource::running ? "runs"
                                                                               : style.time(allocation.ended),
                   std::to_string(allocation.slots), duration_text(seconds(allocation.slot_us())),
                   percent(100 * share(usage.of(Use::training), allocation.slot_us()))});
    }
    return table.render(style);
}

/// What followed on faults; empty if there were none.
std::string recoveries_table(UsageReport const& report, AnswerStyle const& style) {
    if (report.recoveries.empty()) return "";
    Table table({"Run", "Cause", "Node", "Fault", "To first step", "From", "Steps again"},
                {"To first step", "Steps again"});
    for (auto const& recovery : report.recoveries) {
        auto const duration_us = recovery.duration_us();
        std::string from(to_string(recovery.from));
        if (recovery.from != tracker::usage::StateSource::beginning)
            from += fmt::format(", step {}", recovery.steps_completed);
        table.add({to_string(recovery.run), recovery.cause, recovery.nodes, style.time(recovery.fault),
                   duration_us ? fmt::format("{:.1f} s", seconds(*duration_us)) : "none yet", from,
                   std::to_string(recovery.repeated_steps)});
    }
    return "Recoveries\n" + table.render(style) + "\n";
}

std::string as_text(UsageReport const& report, AnswerStyle const& style) {
    if (report.allocations.empty()) return "None of its jobs has started.\n";
    auto text = uses_table(report, style) + "\n" + jobs_table(report, style) + "\n";
    text += recoveries_table(report, style);
    if (report.queued_us)
        text += fmt::format("In the queue: {}\n", duration_text(seconds(*report.queued_us)));
    text += fmt::format("Checkpoints:  {}, {}; training waited {:.1f} s for them\n", report.checkpoints,
                        format_size(report.checkpoint_size_bytes), seconds(report.blocked_us));
    for (auto const& [name, mean] : report.utilisation)
        text +=
            fmt::format("{}     {}\n", name == "gpu_util" ? "GPUs in use:" : "CPUs in use:", percent(mean));
    return text;
}

/// What Slurm's accounting knows about the jobs of an experiment; empty on sites without accounting, and if
/// it does not answer.
std::vector<slurm::JobExecution> query_executions(tracker::history::ExperimentRecord const& record,
                                                  Session& session) {
    std::vector<std::uint32_t> jobs;
    for (auto const& array : record.arrays()) jobs.push_back(array.job);
    return session.slurm.query_executions(jobs).value_or(std::vector<slurm::JobExecution>());
}

class ExperimentReport final : public Command {
public:
    std::vector<Option> options() override { return {{"id", &id_, "the experiment", Need::required}}; }

    Outcome run(Session& session) override {
        DET_TRY_ASSIGN(auto const experiment,
                       experiment::open_experiment(id_, experiment::SlurmAnswer::optional, session));
        if (!experiment.view.record.spec) {
            return Error{codes::wrong_state,
                         fmt::format("experiment {} had no jobs: its creation was interrupted",
                                     experiment.id().value)};
        }
        auto const history = session.open_journals(experiment.root);
        DET_TRY_ASSIGN(
            auto const report,
            load_usage_report(experiment.view, *history, ExperimentLayout(experiment.root, experiment.id()),
                              query_executions(experiment.view.record, session), session.clock.now()));
        session.answer(as_json(experiment.view, report), as_text(report, answer_style_of(session)));
        return ExitCode::done;
    }

private:
    std::string id_;
};

}  // namespace

std::unique_ptr<Command> make_experiment_report() { return std::make_unique<ExperimentReport>(); }

}  // namespace det::cli
