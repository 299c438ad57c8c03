// Predicts the queue after moves: what Slurm does at each of the scontrol calls.
#include <det/queue/moves.hpp>

#include <algorithm>
#include <set>

namespace det::queue {
namespace {

using slurm::JobStatus;

/// Applies `change` to the waiting tasks of a job.
template <class F>
void for_each_waiting(QueueState& queue, std::uint32_t number, F change) {
    for (auto& job : queue.jobs) {
        if (job.ref.job == number && is_waiting(job)) change(job);
    }
}

/// Simulates `scontrol top` as observed: the job gets the highest priority, and the owner's other jobs
/// of the same partition, account and QOS share the loss.
void simulate_top(QueueState& queue, std::uint32_t number) {
    auto const found = std::find_if(queue.jobs.begin(), queue.jobs.end(),
                                    [&](auto const& job) { return job.ref.job == number; });
    if (found == queue.jobs.end()) return;
    auto const job = *found;
    auto const is_peer = [&](JobStatus const& peer) {
        return is_waiting(peer) && !is_held(peer) && peer.user == job.user &&
               peer.partition == job.partition && peer.account == job.account && peer.qos == job.qos;
    };
    std::set<std::uint32_t> others;
    auto top = job.priority;
    for (auto const& peer : queue.jobs) {
        if (!is_peer(peer)) continue;
        top = std::max(top, peer.priority);
        if (peer.ref.job != number) others.insert(peer.ref.job);
    }
    auto const gain = top - job.priority;
    auto const count = static_cast<std::int64_t>(others.size());
    auto const share = count == 0 ? 0 : (gain + count - 1) / count;
    for (auto& peer : queue.jobs) {
        if (!is_peer(peer)) continue;
        auto const by = peer.ref.job == number ? -gain : share;
        peer.nice += by;
        peer.priority = std::max<std::int64_t>(1, peer.priority - by);
    }
}

/// Applies one move to a queue.
struct ApplyMove {
    QueueState& queue;

    void operator()(ChangeNice const& move) const {
        for_each_waiting(queue, move.job, [&](JobStatus& job) {
            auto const base = job.priority + job.nice;
            job.priority = std::max<std::int64_t>(1, base - move.to);
            job.nice = move.to;
        });
    }
    void operator()(ChangePriority const& move) const {
        for_each_waiting(queue, move.job, [&](JobStatus& job) {
            job.priority = move.priority;
            job.nice = 0;
        });
    }
    void operator()(ComputePriority const&) const {}
    void operator()(ChangePartition const& move) const {
        for_each_waiting(queue, move.job.job, [&](JobStatus& job) {
            if (!move.job.task || job.ref == move.job) job.partition = move.partition;
        });
    }
    void operator()(MoveToTop const& move) const { simulate_top(queue, move.job); }
};

}  // namespace

QueueState after_moves(QueueState queue, std::vector<Move> const& moves) {
    for (auto const& move : moves) std::visit(ApplyMove{queue}, move);
    return queue;
}

}  // namespace det::queue
