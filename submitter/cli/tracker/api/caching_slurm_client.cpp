#include "caching_slurm_client.hpp"

#include <algorithm>

namespace det::tracker::api {

using slurm::JobStatus;
using slurm::QueueFilter;

namespace {

bool is_equal(QueueFilter const& one, QueueFilter const& other) {
    return one.user == other.user && one.jobs == other.jobs && one.include_finished == other.include_finished;
}

}  // namespace

Error CachingSlurmClient::refusal() { return Error{codes::internal, "the tracker changes nothing in Slurm"}; }

void CachingSlurmClient::forget() {
    queues_.clear();
    partitions_.reset();
    nodes_.reset();
}

bool CachingSlurmClient::is_recent(std::chrono::steady_clock::time_point time) const {
    return clock_.steady_now() < time + age_max_;
}

template <class Value, class Ask>
Result<Value> CachingSlurmClient::recent(std::optional<Answer<Value>>& known, Ask&& ask) {
    if (!known || !is_recent(known->time)) {
        auto const asked = clock_.steady_now();
        known.emplace(Answer<Value>{asked, ask()});
    }
    return known->value;
}

Result<std::vector<JobStatus>> CachingSlurmClient::query_queue(QueueFilter const& filter) {
    std::erase_if(queues_, [this](auto const& known) { return !is_recent(known.answer.time); });
    auto const known = std::ranges::find_if(
        queues_, [&](auto const& candidate) { return is_equal(candidate.filter, filter); });
    if (known != queues_.end()) return known->answer.value;
    auto const asked = clock_.steady_now();
    queues_.push_back({filter, {asked, slurm_.query_queue(filter)}});
    return queues_.back().answer.value;
}

Result<std::vector<slurm::Partition>> CachingSlurmClient::query_partitions() {
    return recent(partitions_, [this] { return slurm_.query_partitions(); });
}

Result<std::vector<slurm::Node>> CachingSlurmClient::query_nodes() {
    return recent(nodes_, [this] { return slurm_.query_nodes(); });
}

}  // namespace det::tracker::api
