#include "excluded_nodes.hpp"

#include <det/journal/bad_nodes.hpp>
#include <det/protocol/host_list.hpp>

#include <algorithm>
#include <fmt/format.h>

namespace det::launch::supervisor {
namespace {

using Hosts = std::vector<std::string>;

std::string join_host_lists(std::string const& before, Hosts const& hosts) {
    auto const more = compress_host_list(hosts);
    return before.empty() || more.empty() ? before + more : before + "," + more;
}

}  // namespace

Hosts bad_hosts_of(BatchJob const& batch_job) {
    Hosts hosts;
    auto const nodes = journal::load_bad_nodes(RootLayout(batch_job.spec.root));
    if (!nodes) return hosts;
    for (auto const& node : *nodes) {
        if (node.experiment == batch_job.spec.id) hosts.push_back(node.host);
    }
    return hosts;
}

void remember_bad_nodes(BatchJob const& batch_job, SupervisorContext const& context,
                        lifecycle::RunOutcome const& outcome) {
    auto const& spec = batch_job.spec;
    if (outcome.bad_hosts.empty() || outcome.is_bad_for_trial_only) return;
    for (auto const& host : outcome.bad_hosts) {
        auto const remembered = journal::remember_bad_node(
            RootLayout(spec.root), {host, spec.id, context.clock.now(), outcome.message});
        if (!remembered) context.log(fmt::format("node {}: {}", host, remembered.error().message));
    }
    if (!batch_job.job.task || spec.trial_count == 1) return;
    auto const excluded = join_host_lists(spec.excluded_nodes, bad_hosts_of(batch_job));
    auto const changed = context.slurm.update_job({batch_job.job.job, {}}, {.excluded_nodes = excluded});
    // Slurm refuses the change for tasks that run, and makes it for the others.
    if (!changed && changed.error().code != codes::slurm_refused)
        context.log(fmt::format("other trials may get {} too: {}", compress_host_list(outcome.bad_hosts),
                                changed.error().message));
}

}  // namespace det::launch::supervisor
