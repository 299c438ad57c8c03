#include "job/move_jobs.hpp"

#include <det/experiment/update_jobs.hpp>
#include <det/foundation/overloaded.hpp>

#include <fmt/format.h>

#include "job/print_moves.hpp"

namespace det::cli {
namespace {

using queue::Move;
using queue::Request;

// Slurm computes priorities again when a nice changes; the new order may need a correction in another round.
constexpr int rounds_max = 3;

Status make_move(Move const& move, slurm::SlurmClient& slurm) {
    return std::visit(Overloaded{[&](queue::ChangeNice const& each) {
                                     return slurm.update_job({each.job, {}}, {.nice = each.to});
                                 },
                                 [&](queue::ChangePriority const& each) {
                                     return slurm.update_job({each.job, {}}, {.priority = each.priority});
                                 },
                                 [&](queue::ComputePriority const& each) {
                                     return slurm.release({each.job, {}});
                                 },
                                 [&](queue::ChangePartition const& each) {
                                     return slurm.update_job(each.job, {.partition = each.partition});
                                 },
                                 [&](queue::MoveToTop const& each) {
                                     return slurm.move_to_top({{each.job, {}}});
                                 }},
                      move);
}

std::uint32_t job_moved_by(Move const& move) {
    return std::visit(Overloaded{[](queue::ChangePartition const& each) { return each.job.job; },
                                 [](auto const& each) { return each.job; }},
                      move);
}

/// Makes moves until the queue is as requested, in at most rounds_max rounds. `made` lists the moves that
/// were made, also after an error.
Status apply(MoveContext& context, std::vector<Request> const& requests, std::vector<Move> moves,
             std::vector<Move>& made) {
    auto open = requests;
    for (int round = 0; round < rounds_max; ++round) {
        for (auto const& move : moves) {
            DET_TRY(make_move(move, context.session.slurm));
            made.push_back(move);
        }
        if (moves.empty()) return Ok{};
        DET_TRY_ASSIGN(context.snapshot,
                       experiment::query_all_jobs(context.session, experiment::PartitionsNeed::always));
        open = unfulfilled(context.snapshot.queue, requests, context.caller);
        if (open.empty()) return Ok{};
        DET_TRY_ASSIGN(moves, plan_moves(context.snapshot.queue, context.caller, open));
    }
    return Error{
        codes::no_legal_move,
        fmt::format("Slurm did not come to {}: its priority does not follow its nice",
                    to_string(open.front())),
        "an operator may have set that priority: hold the job and release it, and Slurm computes it anew"};
}

/// Adds the reason to codes::no_legal_move if all priority weights are 0: then no nice can reorder jobs.
Error explain(Error error, MoveContext const& context) {
    if (error.code != codes::no_legal_move || !context.config.has_equal_priorities()) return error;
    error.notes.push_back(
        "this site computes priorities (priority/multifactor) with all weights 0: every job has "
        "the same priority, whatever its nice");
    error.hint = "ask an administrator for PriorityType=priority/basic, or for a PriorityWeight";
    return error;
}

Error with_what_was_done(Error error, std::vector<Move> const& made) {
    for (auto const& move : made) error.notes.push_back("done before: " + to_text(move));
    return error;
}

}  // namespace

Outcome move_jobs(std::vector<MoveRequest> const& items, MoveOptions const& options, Session& session) {
    DET_TRY_ASSIGN(auto context, read_move_context(options.rights, session));
    DET_TRY_ASSIGN(auto const requests, make_requests(context, items));
    auto planned = plan_moves(context.snapshot.queue, context.caller, requests);
    if (!planned) return explain(std::move(planned).error(), context);
    auto const& moves = *planned;
    announce_places_replaced(context.snapshot.queue, requests, moves, session);
    auto made = moves;
    if (options.is_dry_run) {
        context.snapshot.queue = after_moves(std::move(context.snapshot.queue), moves);
    } else {
        made.clear();
        announce_lowered(moves, requests, session);
        auto applied = apply(context, requests, moves, made);
        for (auto const& move : made) {
            experiment::record_move(job_moved_by(move), to_text(move), context.snapshot.queue.jobs,
                                    context.owner, session);
            if (auto const* moved = std::get_if<queue::ChangePartition>(&move))
                experiment::update_spec_partition(moved->job.job, context.snapshot.queue.jobs, context.owner,
                                                  session);
        }
        if (!applied) return with_what_was_done(explain(std::move(applied).error(), context), made);
    }
    print_answer(context, requests, made, options.is_dry_run);
    return ExitCode::done;
}

}  // namespace det::cli
