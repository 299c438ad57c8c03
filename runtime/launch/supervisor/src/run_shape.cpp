#include "run_shape.hpp"

#include <det/foundation/text.hpp>
#include <det/protocol/host_list.hpp>

#include <algorithm>

namespace det::launch::supervisor {
namespace {

/// The number of nodes that a run can use of `allocated` ones.
int usable_nodes(ExperimentSpec const& spec, int allocated) {
    if (!spec.is_elastic()) return spec.shape.nodes;
    auto const usable = static_cast<std::int64_t>(allocated) - spec.spare_nodes;
    auto const at_least = std::max<std::int64_t>(usable, spec.nodes_min);
    return static_cast<int>(std::min<std::int64_t>(at_least, spec.shape.nodes));
}

bool is_among_hosts(std::vector<std::string> const& hosts, std::string const& host) {
    return std::ranges::find(hosts, host) != hosts.end();
}

/// Removes hosts until `count` are left: from the end those on which no interpreter waits, then the others.
/// The batch host stays: the ports of the run were found free there.
void leave_out_spare_hosts(std::vector<std::string>& hosts, std::size_t count,
                           JobAllocation const& allocation) {
    auto const& warm_hosts = allocation.warm_hosts;
    std::size_t const first = hosts.front() == allocation.hosts.front() ? 1 : 0;
    for (bool const with_warm : {false, true}) {
        for (auto i = hosts.size(); i-- > first && hosts.size() > count;) {
            if (with_warm || !is_among_hosts(warm_hosts, hosts[i]))
                hosts.erase(hosts.begin() + static_cast<std::ptrdiff_t>(i));
        }
    }
}

}  // namespace

RunShape decide_run_shape(ExperimentSpec const& spec, JobAllocation const& allocation) {
    RunShape run{spec.shape, allocation.hosts};
    if (spec.launch == Launch::script) {
        if (allocation.gpus_per_node > 0) run.shape.slots_per_node = allocation.gpus_per_node;
        return run;
    }
    auto const allocated = static_cast<int>(allocation.hosts.size());
    run.shape.nodes = usable_nodes(spec, allocated);
    if (spec.spare_nodes > 0 || spec.is_elastic()) {
        auto good = allocation.hosts;
        std::erase_if(good, [&](auto const& host) { return is_among_hosts(allocation.bad_hosts, host); });
        auto const good_count = static_cast<int>(good.size());
        if (spec.is_elastic() && good_count >= spec.nodes_min)
            run.shape.nodes = std::min(run.shape.nodes, good_count);
        if (good_count >= run.shape.nodes) {
            run.hosts = std::move(good);
            if (!run.hosts.empty())
                leave_out_spare_hosts(run.hosts, static_cast<std::size_t>(run.shape.nodes), allocation);
        }
        run.hosts.resize(std::min(run.hosts.size(), static_cast<std::size_t>(run.shape.nodes)));
    }
    run.task_nodes = run.shape.nodes;
    run.is_part_of_job = spec.spare_nodes > 0 || run.hosts.size() < allocation.hosts.size();
    return run;
}

Result<JobAllocation> find_allocation(BatchJob const& batch_job, Environment const& job,
                                      std::vector<std::string> bad_hosts) {
    DET_TRY_ASSIGN(auto hosts, expand_host_list(batch_job.hosts));
    auto const gpus = job.find("SLURM_GPUS_ON_NODE");
    return JobAllocation{std::move(hosts), std::move(bad_hosts),
                         gpus ? std::max(0, parse_integer<int>(*gpus).value_or(0)) : 0};
}

}  // namespace det::launch::supervisor
