#include <det/experiment/cluster_facts.hpp>
#include <det/experiment/query_all_jobs.hpp>
#include <det/experiment/root_directory.hpp>
#include <det/slurm/experiment_comment.hpp>

#include <algorithm>

namespace det::experiment {
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

bool is_experiment(JobStatus const& job) { return slurm::parse_experiment_comment(job.comment).has_value(); }

}  // namespace

Result<JobsSnapshot> query_all_jobs(Context& context, PartitionsNeed need) {
    DET_TRY_ASSIGN(auto jobs, context.slurm.query_queue({}));
    JobsSnapshot snapshot;
    if (need == PartitionsNeed::always || partitions_matter(jobs)) {
        DET_TRY_ASSIGN(auto const partitions, query_partitions(context, Freshness::recent));
        snapshot.queue.tiers = queue::Tiers(partitions);
        snapshot.site = site::make_site(partitions);
    }
    snapshot.queue.jobs = queue::in_scheduling_order(std::move(jobs), snapshot.queue.tiers);
    return snapshot;
}

queue::PriorityKind find_priority_kind(Context& context) {
    auto const config = query_cluster_config(context, Freshness::recent);
    bool const is_basic = config && config->find("PriorityType").value_or("").ends_with("basic");
    return is_basic ? queue::PriorityKind::basic : queue::PriorityKind::multifactor;
}

queue::ExperimentJobOwner experiment_job_owner(Context const& context) {
    auto const root = find_root(context.environment);
    return {user_name(context.environment), root ? root_id(*root) : ""};
}

int slots_of(JobStatus const& job, site::Site const& site) {
    if (auto const gpus = slurm::parse_gpu_count(job.tres_per_node); gpus > 0) return job.nodes * gpus;
    auto const* pool = site.find_pool(job.partition);
    if (pool == nullptr || pool->slot_type != SlotType::cpu) return 0;
    // For a waiting job that asks for whole nodes, Slurm reports one CPU per node.
    return is_experiment(job) && job.cpus <= job.nodes ? job.nodes * pool->slots_per_node : job.cpus;
}

std::string_view determined_type_of(JobStatus const& job) {
    return is_experiment(job) ? "TYPE_EXPERIMENT" : "TYPE_SLURM";
}

std::string_view determined_status_of(JobStatus const& job) {
    return queue::has_nodes(job) ? "STATE_SCHEDULED" : "STATE_QUEUED";
}

}  // namespace det::experiment
