#include <det/foundation/text.hpp>
#include <det/queue/order.hpp>

#include <algorithm>
#include <limits>
#include <tuple>

namespace det::queue {
namespace {

constexpr int default_tier = 1;

int rank_of(slurm::JobStatus const& job) { return has_nodes(job) ? 0 : is_held(job) ? 2 : 1; }

}  // namespace

Tiers::Tiers(std::vector<slurm::Partition> const& partitions) {
    for (auto const& partition : partitions) set(partition.name, partition.priority_tier);
}

int Tiers::highest_of(std::string_view partitions) const {
    int highest = std::numeric_limits<int>::min();
    for (auto const name : split(partitions, ',')) {
        auto const found = tiers_.find(name);
        highest = std::max(highest, found == tiers_.end() ? default_tier : found->second);
    }
    return highest;
}

bool has_nodes(slurm::JobStatus const& job) {
    return job.state == slurm::JobState::running || job.state == slurm::JobState::completing ||
           job.state == slurm::JobState::configuring || job.state == slurm::JobState::suspended;
}

bool is_waiting(slurm::JobStatus const& job) { return job.state == slurm::JobState::pending; }

bool is_held(slurm::JobStatus const& job) { return is_waiting(job) && job.priority == 0; }

std::vector<slurm::JobStatus> in_scheduling_order(std::vector<slurm::JobStatus> jobs, Tiers const& tiers) {
    auto const key = [&](slurm::JobStatus const& job) {
        auto const tier = is_waiting(job) ? tiers.highest_of(job.partition) : 0;
        return std::tuple(rank_of(job), -tier, -job.priority, job.ref);
    };
    // Jobs are large objects: each key is computed once, and each job is moved once.
    std::vector<std::pair<decltype(key(jobs.front())), std::size_t>> places;
    places.reserve(jobs.size());
    for (std::size_t i = 0; i < jobs.size(); ++i) places.emplace_back(key(jobs[i]), i);
    std::sort(places.begin(), places.end());
    std::vector<slurm::JobStatus> ordered;
    ordered.reserve(jobs.size());
    for (auto const& [place, i] : places) ordered.push_back(std::move(jobs[i]));
    return ordered;
}

}  // namespace det::queue
