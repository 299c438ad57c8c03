#include "job/print_moves.hpp"

#include <det/experiment/query_all_jobs.hpp>
#include <det/foundation/overloaded.hpp>
#include <det/protocol/json.hpp>
#include <det/queue/job_level.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <ostream>
#include <set>

#include "output/table.hpp"

namespace det::cli {
namespace {

using queue::Move;
using queue::Request;

Json to_json(Move const& move) {
    return std::visit(
        Overloaded{
            [](queue::ChangeNice const& each) {
                return Json{{"kind", "nice"}, {"job", each.job}, {"from", each.from}, {"to", each.to}};
            },
            [](queue::ChangePriority const& each) {
                return Json{{"kind", "priority"}, {"job", each.job}, {"to", each.priority}};
            },
            [](queue::ComputePriority const& each) {
                return Json{{"kind", "computed-priority"}, {"job", each.job}};
            },
            [](queue::ChangePartition const& each) {
                return Json{{"kind", "partition"}, {"job", to_string(each.job)}, {"to", each.partition}};
            },
            [](queue::MoveToTop const& each) {
                return Json{{"kind", "top"}, {"job", each.job}};
            }},
        move);
}

/// Returns the waiting, not held jobs of the requested jobs' partitions, in scheduling order.
std::vector<slurm::JobStatus> jobs_concerned(queue::QueueState const& queue,
                                             std::vector<Request> const& requests) {
    std::set<std::string> partitions;
    for (auto const& request : requests) {
        for (auto const& job : queue.jobs) {
            if (job.ref.job == job_of(request)) partitions.insert(job.partition);
        }
    }
    std::vector<slurm::JobStatus> jobs;
    for (auto& job : in_scheduling_order(queue.jobs, queue.tiers)) {
        bool const waits = queue::is_waiting(job) && !queue::is_held(job);
        if (waits && partitions.contains(job.partition)) jobs.push_back(std::move(job));
    }
    return jobs;
}

void print_json(std::vector<Move> const& moves, std::vector<slurm::JobStatus> const& jobs, bool is_dry_run,
                Session& session) {
    Json answer{{"dry_run", is_dry_run}, {"moves", Json::array()}, {"order", Json::array()}};
    for (auto const& move : moves) {
        answer["moves"].push_back(to_json(move));
        answer["moves"].back()["text"] = to_text(move);
    }
    for (auto const& job : jobs) {
        answer["order"].push_back({{"id", to_string(job.ref)},
                                   {"name", job.name},
                                   {"resource_pool", job.partition},
                                   {"priority", job.priority},
                                   {"nice", job.nice},
                                   {"user", job.user}});
    }
    session.answer(answer);
}

void print_text(std::vector<Move> const& moves, std::vector<slurm::JobStatus> const& jobs, Session& session) {
    for (auto const& move : moves) session.out << to_text(move) << '\n';
    if (moves.empty()) session.out << "nothing to change\n";
    Table table({"#", "ID", "Job Name", "Resource Pool", "Priority", "Nice", "User"},
                {"Nice", "User", "Priority"});
    auto const kind = experiment::find_priority_kind(session);
    std::size_t place = 0;
    for (auto const& job : jobs) {
        table.add({std::to_string(place++), to_string(job.ref), job.name, job.partition,
                   std::to_string(queue::level_of(job, kind)), std::to_string(job.nice), job.user});
    }
    print_table(session, table);
}

}  // namespace

std::string to_text(Move const& move) {
    return std::visit(
        Overloaded{[](queue::ChangeNice const& each) {
                       return fmt::format("job {}: nice {} -> {}", each.job, each.from, each.to);
                   },
                   [](queue::ChangePriority const& each) {
                       return fmt::format("job {}: Slurm's priority -> {}", each.job, each.priority);
                   },
                   [](queue::ComputePriority const& each) {
                       return fmt::format("job {}: Slurm computes its priority", each.job);
                   },
                   [](queue::ChangePartition const& each) {
                       return fmt::format("job {}: partition -> {}", to_string(each.job), each.partition);
                   },
                   [](queue::MoveToTop const& each) {
                       return fmt::format("job {}: to the top of its owner's jobs", each.job);
                   }},
        move);
}

void announce_lowered(std::vector<Move> const& moves, std::vector<Request> const& requests,
                      Session const& session) {
    for (auto const& move : moves) {
        auto const* change = std::get_if<queue::ChangeNice>(&move);
        if (change == nullptr || change->to <= change->from) continue;
        bool const is_named = std::any_of(requests.begin(), requests.end(), [&](auto const& request) {
            return job_of(request) == change->job;
        });
        if (!is_named)
            session.say(fmt::format("job {} falls back: its nice becomes {}", change->job, change->to));
    }
}

void announce_places_replaced(queue::QueueState const& before, std::vector<Request> const& requests,
                              std::vector<Move> const& moves, Session const& session) {
    for (auto const& change : find_reversed_pairs(before, requests, moves))
        session.say(fmt::format(
            "job {0} now comes before job {1}: jobs of the same priority start in the order of their "
            "submission; 'det-submit job update {1} --ahead-of {0}' restores the order before",
            change.ahead, change.behind));
}

void print_answer(MoveContext const& context, std::vector<Request> const& requests,
                  std::vector<Move> const& moves, bool is_dry_run) {
    auto const jobs = jobs_concerned(context.snapshot.queue, requests);
    if (context.session.wants_json()) {
        print_json(moves, jobs, is_dry_run, context.session);
    } else {
        print_text(moves, jobs, context.session);
    }
    if (is_dry_run) context.session.say("dry run: nothing was changed");
    bool const is_multifactor =
        context.config.find("PriorityType").value_or("").find("multifactor") != std::string::npos;
    if (is_multifactor && !moves.empty()) {
        context.session.say(
            fmt::format("note: Slurm computes priorities anew every {}, by age and size: look again later",
                        context.config.find("PriorityCalcPeriod").value_or("few minutes")));
    }
}

}  // namespace det::cli
