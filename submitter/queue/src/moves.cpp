#include <det/queue/moves.hpp>
#include <det/queue/priority_levels.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <set>

#include "minimal_changes.hpp"
#include "waiting_job.hpp"

namespace det::queue {
namespace {

constexpr std::int64_t highest_priority = 4'294'967'293;  // Slurm reserves the values above
constexpr std::int64_t lowest_nice = -2'147'483'645;

std::int64_t highest_allowed_priority(WaitingJob const& entry, Caller const& caller) {
    if (caller.rights == Rights::owner) return std::max(entry.base(), entry.priority);
    return std::min(highest_priority, entry.base() - lowest_nice);
}

std::size_t index_of(std::vector<WaitingJob> const& order, std::uint32_t job) {
    return static_cast<std::size_t>(
        std::find_if(order.begin(), order.end(), [&](auto const& entry) { return entry.job == job; }) -
        order.begin());
}

bool is_done(std::vector<WaitingJob> const& order, Reorder const& reorder) {
    bool const is_ahead = index_of(order, reorder.job) < index_of(order, reorder.other);
    return is_ahead == (reorder.side == Reorder::Side::ahead_of);
}

void put(std::vector<WaitingJob>& order, Reorder const& reorder) {
    auto const from = order.begin() + static_cast<std::ptrdiff_t>(index_of(order, reorder.job));
    auto entry = *from;
    order.erase(from);
    auto at = index_of(order, reorder.other);
    if (reorder.side == Reorder::Side::behind_of) ++at;
    order.insert(order.begin() + static_cast<std::ptrdiff_t>(at), std::move(entry));
}

/// The jobs in the requested order.
Result<std::vector<WaitingJob>> wanted_order(std::vector<WaitingJob> order,
                                             std::vector<Reorder> const& reorders) {
    // One request may undo another. If the order is not reached after as many rounds as requests, it never
    // is.
    for (std::size_t round = 0; round <= reorders.size(); ++round) {
        bool all_done = true;
        for (auto const& reorder : reorders) {
            if (is_done(order, reorder)) continue;
            put(order, reorder);
            all_done = false;
        }
        if (all_done) return order;
    }
    return Error{codes::usage, "what is asked for contradicts itself: no order fulfils all of it"};
}

/// \return The jobs that the requests name, and the other jobs in these jobs' partitions that the caller may
/// change.
std::vector<WaitingJob> jobs_to_order(std::vector<WaitingJob> const& waiting,
                                      std::vector<Reorder> const& reorders, int tier) {
    std::set<std::string> partitions;
    std::set<std::uint32_t> named;
    for (auto const& reorder : reorders) {
        for (auto const job : {reorder.job, reorder.other}) {
            named.insert(job);
            partitions.insert(waiting[index_of(waiting, job)].partition);
        }
    }
    std::vector<WaitingJob> order;
    for (auto const& entry : waiting) {
        bool const is_concerned = entry.may_change && partitions.contains(entry.partition);
        if (entry.tier == tier && (is_concerned || named.contains(entry.job))) order.push_back(entry);
    }
    return order;
}

std::vector<OrderedJob> ordered_jobs(std::vector<WaitingJob> const& order, Caller const& caller) {
    std::vector<OrderedJob> places;
    for (auto const& entry : order) {
        places.push_back({entry.job, entry.priority, entry.lowest_priority,
                          highest_allowed_priority(entry, caller), !entry.may_change});
    }
    return places;
}

/// `scontrol top` gives a job the highest priority that its owner has in its partition, account and QOS.
std::optional<Move> move_to_top(std::vector<WaitingJob> const& waiting, std::vector<WaitingJob> const& wanted,
                                Reorder const& reorder, Caller const& caller) {
    if (!caller.may_move_to_top || reorder.side != Reorder::Side::ahead_of) return std::nullopt;
    auto const& entry = waiting[index_of(waiting, reorder.job)];
    auto const is_peer = [&](WaitingJob const& peer) {
        return peer.user == caller.user && peer.user == entry.user && peer.partition == entry.partition &&
               peer.account == entry.account && peer.qos == entry.qos;
    };
    auto const top = std::find_if(waiting.begin(), waiting.end(), is_peer);  // in scheduling order
    if (top == waiting.end() || entry.partition.find(',') != std::string::npos) return std::nullopt;
    auto const first_own =
        std::find_if(wanted.begin(), wanted.end(), [](auto const& each) { return each.may_change; });
    bool const is_first = first_own != wanted.end() && first_own->job == entry.job;
    // `scontrol top` lowers only the peers. Every other job must already be behind the peers' highest
    // priority.
    bool const is_enough = std::all_of(wanted.begin(), wanted.end(), [&](WaitingJob const& each) {
        return is_peer(each) || is_before(top->priority, entry.job, each.priority, each.job);
    });
    return is_first && is_enough ? std::optional<Move>(MoveToTop{entry.job}) : std::nullopt;
}

Error no_move(std::vector<WaitingJob> const& waiting, Reorder const& reorder, Caller const& caller) {
    auto const& entry = waiting[index_of(waiting, reorder.job)];
    auto const& other = waiting[index_of(waiting, reorder.other)];
    if (other.may_change) {
        return Error{
            codes::no_legal_move,
            fmt::format("no priorities are left with which Slurm would put {}", to_string(Request(reorder))),
            "they are at their lowest already: ask an operator"};
    }
    return Error{
        codes::no_legal_move,
        fmt::format("job {} can't pass job {} of {}: it has priority {} and reaches {} with nice 0, and "
                    "job {} has {}",
                    entry.job, other.job, other.user, entry.priority, highest_allowed_priority(entry, caller),
                    other.job, other.priority),
        "an owner can only take back nice; an operator can do more"};
}

Error other_tier(WaitingJob const& entry, WaitingJob const& other) {
    return Error{
        codes::no_legal_move,
        fmt::format("job {} is in partition '{}' of tier {}, job {} in '{}' of tier {}: Slurm considers "
                    "all jobs of the higher tier first",
                    entry.job, entry.partition, entry.tier, other.job, other.partition, other.tier),
        "move it to the other pool with --resource-pool"};
}

Error not_yours(std::uint32_t job, std::string const& user, Caller const& caller) {
    return Error{codes::not_yours, fmt::format("job {} is {}'s, not {}'s", job, user, caller.user),
                 "its owner or an operator can move it"};
}

Status check_reorder(QueueState const& queue, Caller const& caller, Reorder const& reorder) {
    DET_TRY_ASSIGN(auto const entry, require_waiting_job(queue, caller, reorder.job));
    DET_TRY_ASSIGN(auto const other, require_waiting_job(queue, caller, reorder.other));
    if (reorder.job == reorder.other)
        return Error{codes::usage, fmt::format("job {} can't stand before or behind itself", reorder.job)};
    // Moving the other job would also reach the requested order, but the request names this job.
    if (!entry.may_change) return not_yours(entry.job, entry.user, caller);
    bool const is_ahead = entry.tier > other.tier;
    if (entry.tier != other.tier && is_ahead != (reorder.side == Reorder::Side::ahead_of))
        return other_tier(entry, other);
    return Ok{};
}

std::vector<Move> nice_moves(std::vector<WaitingJob> const& order,
                             std::vector<std::optional<std::int64_t>> const& priorities) {
    std::vector<Move> moves;
    for (std::size_t i = 0; i < order.size(); ++i) {
        if (priorities[i])
            moves.push_back(ChangeNice{order[i].job, order[i].nice, order[i].base() - *priorities[i]});
    }
    return moves;
}

/// Plans the moves for all reorder requests of one tier.
Result<std::vector<Move>> plan_order(QueueState const& queue, Caller const& caller,
                                     std::vector<Reorder> const& reorders, int tier) {
    auto const waiting = waiting_jobs(queue, caller);
    auto const order = jobs_to_order(waiting, reorders, tier);
    DET_TRY_ASSIGN(auto const wanted, wanted_order(order, reorders));
    auto const changes = minimal_changes(ordered_jobs(wanted, caller));
    auto moves = changes ? nice_moves(wanted, *changes) : std::vector<Move>{};
    if (reorders.size() == 1 && (!changes || moves.size() > 1)) {
        if (auto const top = move_to_top(waiting, wanted, reorders.front(), caller)) return std::vector{*top};
    }
    if (!changes) return no_move(waiting, reorders.front(), caller);
    return moves;
}

Result<std::vector<Move>> plan_all_orders(QueueState const& queue, Caller const& caller,
                                          std::vector<Reorder> const& reorders) {
    std::map<int, std::vector<Reorder>> by_tier;
    for (auto const& reorder : reorders) {
        DET_TRY(check_reorder(queue, caller, reorder));
        DET_TRY_ASSIGN(auto const entry, require_waiting_job(queue, caller, reorder.job));
        DET_TRY_ASSIGN(auto const other, require_waiting_job(queue, caller, reorder.other));
        if (entry.tier == other.tier) by_tier[entry.tier].push_back(reorder);
    }
    std::vector<Move> moves;
    for (auto const& [tier, some] : by_tier) {
        DET_TRY_ASSIGN(auto const planned, plan_order(queue, caller, some, tier));
        moves.insert(moves.end(), planned.begin(), planned.end());
    }
    return moves;
}

Result<std::vector<Move>> plan_level(QueueState const& queue, Caller const& caller, SetLevel const& request) {
    if (request.level < most_urgent_level || request.level > least_urgent_level) {
        return Error{codes::usage, fmt::format("priority {} is not one of {} (most urgent) to {}",
                                               request.level, most_urgent_level, least_urgent_level)};
    }
    DET_TRY_ASSIGN(auto const entry, require_waiting_job(queue, caller, request.job));
    if (!entry.may_change) return not_yours(entry.job, entry.user, caller);
    if (caller.rights == Rights::operators) {
        if (request.level == default_level) return std::vector<Move>{ComputePriority{entry.job}};
        auto const priority = priority_of_level(request.level);
        if (entry.priority == priority && entry.lowest_priority == priority) return std::vector<Move>{};
        return std::vector<Move>{ChangePriority{entry.job, priority}};
    }
    auto const nice = nice_of_level(request.level);
    bool const has_it = entry.nice == nice && entry.priority == entry.lowest_priority;
    return has_it ? std::vector<Move>{} : std::vector<Move>{ChangeNice{entry.job, entry.nice, nice}};
}

Result<std::vector<Move>> plan_partition(QueueState const& queue, Caller const& caller,
                                         SetPartition const& request) {
    std::vector<Move> moves;
    bool has_waiting_task = false;
    bool has_begun_task = false;
    std::optional<std::string> user;
    for (auto const& job : queue.jobs) {
        if (job.ref.job != request.job) continue;
        user = job.user;
        (is_waiting(job) ? has_waiting_task : has_begun_task) = true;
        if (is_waiting(job) && job.partition != request.partition) {
            moves.push_back(ChangePartition{job.ref, request.partition});
        }
    }
    if (user && caller.rights == Rights::owner && *user != caller.user)
        return not_yours(request.job, *user, caller);
    if (!has_waiting_task) return require_waiting_job(queue, caller, request.job).error();
    // Slurm refuses to change the partition of a whole array while one of its tasks runs.
    if (!has_begun_task && !moves.empty())
        return std::vector<Move>{ChangePartition{{request.job, {}}, request.partition}};
    return moves;
}

}  // namespace

std::uint32_t job_of(Request const& request) {
    return std::visit([](auto const& each) { return each.job; }, request);
}

std::string to_string(Request const& request) {
    if (auto const* level = std::get_if<SetLevel>(&request)) {
        return fmt::format("job {} at priority {}", level->job, level->level);
    }
    if (auto const* partition = std::get_if<SetPartition>(&request)) {
        return fmt::format("job {} in partition '{}'", partition->job, partition->partition);
    }
    auto const& reorder = std::get<Reorder>(request);
    bool const is_ahead = reorder.side == Reorder::Side::ahead_of;
    return fmt::format("job {} {} job {}", reorder.job, is_ahead ? "ahead of" : "behind", reorder.other);
}

Result<std::vector<Move>> plan_moves(QueueState const& queue, Caller const& caller,
                                     std::vector<Request> const& requests) {
    std::set<std::uint32_t> seen;
    std::vector<Move> moves;
    std::vector<Reorder> reorders;
    for (auto const& request : requests) {
        if (!seen.insert(job_of(request)).second)
            return Error{codes::usage, fmt::format("job {} is changed twice", job_of(request))};
        if (auto const* reorder = std::get_if<Reorder>(&request)) {
            reorders.push_back(*reorder);
            continue;
        }
        auto const* level = std::get_if<SetLevel>(&request);
        DET_TRY_ASSIGN(auto const planned,
                       level != nullptr ? plan_level(queue, caller, *level)
                                        : plan_partition(queue, caller, std::get<SetPartition>(request)));
        moves.insert(moves.end(), planned.begin(), planned.end());
    }
    // Reorder requests apply to the queue after the other changes.
    DET_TRY_ASSIGN(auto const planned, plan_all_orders(after_moves(queue, moves), caller, reorders));
    for (auto const& move : planned) {
        if (auto const* nice = std::get_if<ChangeNice>(&move)) {
            // Replaces the change of nice that was planned for the level of the same job.
            std::erase_if(moves, [&](Move const& before) {
                auto const* same = std::get_if<ChangeNice>(&before);
                return same != nullptr && same->job == nice->job;
            });
        }
        moves.push_back(move);
    }
    return moves;
}

std::vector<OrderChange> find_reversed_pairs(QueueState const& before, std::vector<Request> const& requests,
                                             std::vector<Move> const& moves) {
    auto const after = after_moves(before, moves);
    auto const is_ahead = [](QueueState const& queue, std::uint32_t a, std::uint32_t b) {
        auto const jobs = in_scheduling_order(queue.jobs, queue.tiers);
        auto const first = std::find_if(jobs.begin(), jobs.end(), [&](auto const& job) {
            return is_waiting(job) && (job.ref.job == a || job.ref.job == b);
        });
        return first != jobs.end() && first->ref.job == a;
    };
    std::vector<OrderChange> changes;
    for (std::size_t i = 0; i < requests.size(); ++i) {
        for (std::size_t j = 0; j < requests.size(); ++j) {
            auto const* one = std::get_if<SetLevel>(&requests[i]);
            auto const* other = std::get_if<SetLevel>(&requests[j]);
            if (i == j || one == nullptr || other == nullptr || one->level != other->level) continue;
            if (is_ahead(before, other->job, one->job) && is_ahead(after, one->job, other->job))
                changes.push_back({one->job, other->job});
        }
    }
    return changes;
}

std::vector<Request> unfulfilled(QueueState const& queue, std::vector<Request> const& requests,
                                 Caller const& caller) {
    std::vector<Request> open;
    for (auto const& request : requests) {
        auto const moves = plan_moves(queue, caller, {request});
        bool const has_left = !moves && (moves.error().code == codes::no_such_job ||
                                         moves.error().code == codes::job_not_waiting);
        if (has_left) continue;
        // plan_moves() always returns ComputePriority for level 42, so this move does not show that the
        // request is unfulfilled.
        bool const is_done = moves && std::all_of(moves->begin(), moves->end(), [](Move const& move) {
                                 return std::holds_alternative<ComputePriority>(move);
                             });
        if (!is_done) open.push_back(request);
    }
    return open;
}

}  // namespace det::queue
