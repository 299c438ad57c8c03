#include "slurm_readings.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <stdexcept>

using namespace det;
using namespace det::slurm;
using nlohmann::json;

namespace {

json as_json(NodeGroup const& group);
json as_json(Partition const& partition);

json as_json(std::optional<UtcTime> const& time) {
    return time ? json(time->microseconds / 1'000'000) : json(nullptr);
}

json as_json(JobStatus const& job) {
    return {{"ref", to_string(job.ref)},
            {"state", static_cast<int>(job.state)},
            {"state_text", job.state_text},
            {"reason", to_hex(job.reason)},
            {"preempt_time", as_json(job.preempt_time)},
            {"end_time", as_json(job.end_time)},
            {"start_time", as_json(job.start_time)},
            {"submit_time", as_json(job.submit_time)},
            {"restarts", job.restarts},
            {"batch_host", job.batch_host},
            {"nodes", job.nodes},
            {"cpus", job.cpus},
            {"nice", job.nice},
            {"priority", job.priority},
            {"user", job.user},
            {"account", job.account},
            {"qos", job.qos},
            {"node_list", job.node_list},
            {"partition", job.partition},
            {"tres_per_node", to_hex(job.tres_per_node)},
            {"comment", to_hex(job.comment)},
            {"name", to_hex(job.name)}};
}

json as_json(Node const& node) {
    return {{"name", node.name},           {"partition", node.partition}, {"state", node.state},
            {"cpus", node.cpus},           {"cpus_used", node.cpus_used}, {"gres", node.gres},
            {"gres_used", node.gres_used}, {"reason", node.reason}};
}

template <class Values>
json sorted(Values const& values) {
    std::vector<json> list;
    for (auto const& value : values) list.push_back(as_json(value));
    std::sort(list.begin(), list.end());
    return list;
}

json as_json(NodeGroup const& group) {
    return {{"count", group.count},          {"cpus", group.cpus},
            {"state", group.state},          {"gres", group.gres},
            {"features", group.features},    {"names", group.names},
            {"memory_mib", group.memory_mib}};
}

json as_json(Partition const& partition) {
    return {{"name", partition.name},
            {"is_default", partition.is_default},
            {"is_up", partition.is_up},
            {"preempt_mode", partition.preempt_mode},
            {"grace_time_s", partition.grace_time.count()},
            {"nodes_max", partition.nodes_max.value_or(-1)},
            {"time_max", partition.time_max},
            {"oversubscribe", partition.oversubscribe},
            {"qos", partition.qos},
            {"has_default_memory", partition.has_default_memory},
            {"priority_tier", partition.priority_tier},
            {"memory_per_node_max_mib", partition.memory_max.per_node_mib.value_or(-1)},
            {"memory_per_cpu_max_mib", partition.memory_max.per_cpu_mib.value_or(-1)},
            {"nodes", sorted(partition.nodes)}};
}

json by_ref(std::vector<JobStatus> const& jobs) {
    auto all = json::object();
    for (auto const& job : jobs) {
        if (!all.emplace(to_string(job.ref), as_json(job)).second)
            throw std::runtime_error("twice in the queue: " + to_string(job.ref));
    }
    return all;
}

template <class T>
T must_read(Result<T> result) {
    if (result) return *std::move(result);
    throw std::runtime_error(result.error().message + " " +
                             fmt::format("{}", fmt::join(result.error().notes, "; ")));
}

}  // namespace

std::string to_hex(std::string_view bytes) {
    std::string hex;
    for (unsigned char const byte : bytes) hex += fmt::format("{:02x}", byte);
    return hex;
}

json readings_of(SlurmClient& slurm) {
    json readings;
    auto const all = must_read(slurm.query_queue({.include_finished = true}));
    readings["all"] = by_ref(all);
    readings["queue"] = by_ref(must_read(slurm.query_queue({})));
    readings["of_user"] = by_ref(must_read(slurm.query_queue({.user = "researcher"})));
    readings["partitions"] = sorted(must_read(slurm.query_partitions()));
    readings["nodes"] = sorted(must_read(slurm.query_nodes()));
    auto const config = must_read(slurm.query_cluster_config());
    for (auto const* name :
         {"MaxArraySize", "MaxJobCount", "MinJobAge", "KillWait", "PreemptMode", "PreemptType",
          "SchedulerParameters", "SelectType", "ClusterName", "PrologFlags", "JobRequeue"}) {
        readings["config"][name] = config.find(name).value_or("nothing");
    }
    return readings;
}
