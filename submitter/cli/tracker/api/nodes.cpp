// Which jobs are on which node.
#include "nodes.hpp"

#include <det/experiment/open_experiment.hpp>
#include <det/experiment/query_all_jobs.hpp>
#include <det/protocol/host_list.hpp>
#include <det/protocol/json_or_null.hpp>
#include <det/queue/find_job.hpp>
#include <det/queue/order.hpp>
#include <det/slurm/node.hpp>

#include <map>

#include "warnings_context.hpp"

namespace det::tracker::api {
namespace {

using JobsByNode = std::map<std::string, Json>;

JobsByNode find_jobs_on_nodes(experiment::JobsSnapshot const& snapshot,
                              queue::ExperimentJobOwner const& owner) {
    JobsByNode found;
    for (auto const& job : snapshot.queue.jobs) {
        if (!queue::has_nodes(job)) continue;
        auto const hosts = expand_host_list(job.node_list);
        if (!hosts) continue;  // a newer Slurm may write host lists in another form
        auto const own = queue::experiment_of(job, owner);
        for (auto const& host : *hosts) {
            auto& jobs = found.try_emplace(host, Json::array()).first->second;
            jobs.push_back({{"id", slurm::to_string(job.ref)},
                            {"user", job.user},
                            {"name", job.name},
                            {"experiment", json_or_null(own)}});
        }
    }
    return found;
}

Json node_json(slurm::Node const& node, JobsByNode const& jobs) {
    auto const on_node = jobs.find(node.name);
    return {{"name", node.name},
            {"partitions", Json::array()},
            {"state", node.state},
            {"is_free", node.is_free()},
            {"is_out", node.is_unavailable()},
            {"reason", node.reason},
            {"cpus", node.cpus},
            {"cpus_used", node.cpus_used},
            {"gpus", slurm::parse_gpu_count(node.gres)},
            {"gpus_used", slurm::parse_gpu_count(node.gres_used)},
            {"jobs", on_node == jobs.end() ? Json::array() : on_node->second}};
}

Result<Json> list_nodes(Sources const& sources, Request const& request) {
    DET_TRY(reject_unknown_parameters(request, {}));
    WarningsContext context(sources);
    DET_TRY_ASSIGN(auto const nodes, sources.slurm.query_nodes());
    auto const snapshot = experiment::query_all_jobs(context, experiment::PartitionsNeed::where_they_matter);
    if (!snapshot) return snapshot.error();
    auto const jobs = find_jobs_on_nodes(*snapshot, experiment::experiment_job_owner(context));
    std::map<std::string, Json> by_name;  // a node is listed once for each of its partitions
    for (auto const& node : nodes) {
        auto& json = by_name.try_emplace(node.name, node_json(node, jobs)).first->second;
        json["partitions"].push_back(node.partition);
    }
    auto list = Json::array();
    for (auto& [name, json] : by_name) list.push_back(std::move(json));
    return Result<Json>(Json{{"nodes", std::move(list)}, {"warnings", context.warnings}});
}

}  // namespace

void add_node_routes(Routes& routes, Sources& sources, ServiceThread& services) {
    routes.push_back(get_service_route(
        "/v1/nodes", services, [&sources](Request const& request) { return list_nodes(sources, request); }));
}

}  // namespace det::tracker::api
