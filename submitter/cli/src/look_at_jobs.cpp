#include "look_at_jobs.hpp"

#include <algorithm>

#include "cluster_facts.hpp"
#include "root.hpp"

namespace det::cli {
namespace {

using slurm::JobStatus;

bool partitions_matter(std::vector<JobStatus> const& jobs) {
    JobStatus const* first = nullptr;
    for (auto const& job : jobs) {
        if (slurm::parse_gpu_count(job.tres_per_node) == 0) return true;
        if (!queue::is_waiting(job)) continue;
        if (first != nullptr && first->partition != job.partition) return true;
        first = &job;
    }
    return false;
}

bool is_experiment(JobStatus const& job) { return job.comment.starts_with("det:"); }

}  // namespace

Result<JobsSight> look_at_jobs(Session& session, PartitionsNeed need) {
    DET_TRY_ASSIGN(auto jobs, session.slurm.queue({}));
    JobsSight sight;
    if (need == PartitionsNeed::always || partitions_matter(jobs)) {
        DET_TRY_ASSIGN(auto const partitions, find_partitions(session, Freshness::recent));
        sight.queue.tiers = queue::Tiers(partitions);
        sight.site = site::make_site(partitions);
    }
    sight.queue.jobs = queue::in_scheduling_order(std::move(jobs), sight.queue.tiers);
    return sight;
}

queue::JobIdScope naming_of(Session const& session) {
    auto const root = find_root(session.environment);
    return {user_name(session.environment), root ? root_id(*root) : ""};
}

int slots_of(JobStatus const& job, site::Site const& site) {
    if (auto const gpus = slurm::parse_gpu_count(job.tres_per_node); gpus > 0) return job.nodes * gpus;
    auto const* pool = site.find_pool(job.partition);
    if (pool == nullptr || pool->slot_type != SlotType::cpu) return 0;
    // While it waits Slurm counts one CPU of a whole node.
    return is_experiment(job) ? job.nodes * pool->slots_per_node : job.cpus;
}

std::string_view type_of(JobStatus const& job) {
    return is_experiment(job) ? "TYPE_EXPERIMENT" : "TYPE_SLURM";
}

std::string_view status_of(JobStatus const& job) {
    return queue::has_nodes(job) ? "STATE_SCHEDULED" : "STATE_QUEUED";
}

}  // namespace det::cli
