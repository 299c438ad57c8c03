#include <det/experiment/cluster_facts.hpp>
#include <det/protocol/document.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/json_or_null.hpp>

#include <fmt/format.h>
#include <unistd.h>

#include "private_cache.hpp"

namespace det::experiment {
namespace {

constexpr std::int64_t age_max_us = 60'000'000;
constexpr std::size_t cache_limit_bytes = std::size_t{16} << 20;
constexpr int cache_version = 5;

Json to_json(slurm::NodeGroup const& group) {
    return {group.count, group.cpus, group.state, group.gres, group.features, group.names, group.memory_mib};
}

slurm::NodeGroup group_from(Json const& json) {
    return {json.at(0), json.at(1), json.at(2), json.at(3), json.at(4), json.at(5), json.at(6)};
}

Json to_json(std::optional<std::int64_t> const& number) { return json_or_null(number); }

std::optional<std::int64_t> number_from(Json const& json) {
    return json.is_null() ? std::nullopt : std::optional(json.get<std::int64_t>());
}

Json to_json(slurm::Partition const& partition) {
    auto groups = Json::array();
    for (auto const& group : partition.nodes) groups.push_back(to_json(group));
    return {{"name", partition.name},
            {"is_default", partition.is_default},
            {"is_up", partition.is_up},
            {"preempt_mode", partition.preempt_mode},
            {"grace_time_s", partition.grace_time.count()},
            {"nodes", std::move(groups)},
            {"nodes_max", json_or_null(partition.nodes_max)},
            {"time_max", partition.time_max},
            {"oversubscribe", partition.oversubscribe},
            {"has_default_memory", partition.has_default_memory},
            {"priority_tier", partition.priority_tier},
            {"has_node_facts", partition.has_node_facts},
            {"memory_per_node_max_mib", to_json(partition.memory_max.per_node_mib)},
            {"memory_per_cpu_max_mib", to_json(partition.memory_max.per_cpu_mib)},
            {"qos", partition.qos}};
}

slurm::Partition partition_from(Json const& json) {
    slurm::Partition partition;
    partition.name = json.at("name");
    partition.is_default = json.at("is_default");
    partition.is_up = json.at("is_up");
    partition.preempt_mode = json.at("preempt_mode");
    partition.grace_time = std::chrono::seconds(json.at("grace_time_s").get<std::int64_t>());
    for (auto const& group : json.at("nodes")) partition.nodes.push_back(group_from(group));
    if (auto const& nodes_max = json.at("nodes_max"); !nodes_max.is_null()) partition.nodes_max = nodes_max;
    partition.time_max = json.at("time_max");
    partition.oversubscribe = json.at("oversubscribe");
    partition.has_default_memory = json.at("has_default_memory");
    partition.priority_tier = json.at("priority_tier");
    partition.has_node_facts = json.at("has_node_facts");
    partition.memory_max = {number_from(json.at("memory_per_node_max_mib")),
                            number_from(json.at("memory_per_cpu_max_mib"))};
    partition.qos = json.at("qos");
    return partition;
}

std::string to_text(std::vector<slurm::Partition> const& partitions) {
    auto list = Json::array();
    for (auto const& partition : partitions) list.push_back(to_json(partition));
    return to_line(list);
}

std::vector<slurm::Partition> partitions_from(std::string_view text) {
    std::vector<slurm::Partition> partitions;
    for (auto const& each : parse_json(text)) partitions.push_back(partition_from(each));
    return partitions;
}

std::string to_text(slurm::ClusterConfig const& config) { return config.text(); }

slurm::ClusterConfig config_from(std::string_view text) {
    return slurm::parse_cluster_config(std::string(text));
}

Json to_json(slurm::AccountingLimits const& limits) {
    return {limits.group,
            limits.per_job,
            limits.per_node,
            limits.per_user,
            limits.per_account,
            to_json(limits.jobs_max),
            to_json(limits.submit_max),
            limits.wall_max};
}

slurm::AccountingLimits limits_from(Json const& json) {
    return {json.at(0),
            json.at(1),
            json.at(2),
            json.at(3),
            json.at(4),
            number_from(json.at(5)),
            number_from(json.at(6)),
            json.at(7)};
}

std::string to_text(slurm::Accounting const& accounting) {
    auto associations = Json::array();
    for (auto const& each : accounting.associations)
        associations.push_back({each.account, each.user, each.partition, each.parent, each.qos,
                                each.default_qos, to_json(each.limits)});
    auto qos = Json::array();
    for (auto const& each : accounting.qos)
        qos.push_back({each.name, to_json(each.limits), each.priority, each.grace_time, each.preempt_mode,
                       each.preempts, each.flags});
    return to_line(Json{{"associations", std::move(associations)},
                        {"qos", std::move(qos)},
                        {"default_account", accounting.default_account}});
}

slurm::Accounting accounting_from(std::string_view text) {
    auto const json = parse_json(text);
    slurm::Accounting accounting;
    for (auto const& each : json.at("associations"))
        accounting.associations.push_back({each.at(0), each.at(1), each.at(2), each.at(3), each.at(4),
                                           each.at(5), limits_from(each.at(6))});
    for (auto const& each : json.at("qos"))
        accounting.qos.push_back({each.at(0), limits_from(each.at(1)), each.at(2), each.at(3), each.at(4),
                                  each.at(5), each.at(6)});
    accounting.default_account = json.at("default_account");
    return accounting;
}

/// Identifies the cluster: the file that SLURM_CONF names.
std::string cluster_of(Context const& context) { return context.environment.find("SLURM_CONF").value_or(""); }

bool is_recent(UtcTime time, Context const& context) {
    auto const age_us = context.clock.now().microseconds - time.microseconds;
    return age_us >= 0 && age_us < age_max_us;
}

// A file of the cache is a line of JSON with the time, the cluster and the number of bytes that follow, and
// the facts: JSON, or the settings as Slurm has printed them. As a string of JSON these would take three
// times as long to read.

/// Returns the cached value. Returns nothing if the file is older than a minute, damaged or not private to
/// this user, or if another cluster or another version of the format wrote it.
template <class T>
std::optional<T> find_recent(std::filesystem::path const& file, Context const& context,
                             T (*read)(std::string_view)) {
    auto const text = read_private_text(file, cache_limit_bytes);
    if (!text) return std::nullopt;
    auto const line_end = std::min(text->find('\n'), text->size() - 1) + 1;
    auto const facts = std::string_view(*text).substr(line_end);
    auto const value = decode_json("cache", [&]() -> std::optional<T> {
        auto const written = parse_json(std::string_view(*text).substr(0, line_end));
        bool const is_of_use = written.at("version") == cache_version &&
                               written.at("bytes") == facts.size() &&
                               written.at("cluster") == cluster_of(context) &&
                               is_recent({written.at("time_us").get<std::int64_t>()}, context);
        return is_of_use ? std::optional<T>(read(facts)) : std::nullopt;
    });
    return value ? *value : std::nullopt;
}

void keep(std::filesystem::path const& file, Context const& context, std::string const& facts) {
    auto const written = Json{{"version", cache_version},
                              {"time_us", context.clock.now().microseconds},
                              {"bytes", facts.size()},
                              {"cluster", cluster_of(context)}};
    write_private_text(file, to_line(written) + "\n" + facts);
}

template <class T, class Ask>
Result<T> find_facts(Context& context, Freshness freshness, char const* name, Ask const& ask,
                     T (*read)(std::string_view)) {
    auto const file = context.cache / name;
    bool const has_cache = !context.cache.empty();
    if (has_cache && freshness == Freshness::recent) {
        if (auto recent = find_recent<T>(file, context, read)) return *std::move(recent);
    }
    DET_TRY_ASSIGN(auto facts, ask(context.slurm));
    if (has_cache) keep(file, context, to_text(facts));
    return facts;
}

}  // namespace

Result<std::vector<slurm::Partition>> query_partitions(Context& context, Freshness freshness) {
    return find_facts(
        context, freshness, "partitions.json", [](auto& slurm) { return slurm.query_partitions(); },
        partitions_from);
}

Result<slurm::ClusterConfig> query_cluster_config(Context& context, Freshness freshness) {
    auto& known = context.known_cluster_config;
    // A creation needs the settings three times, and parsing the cached file takes 0.3 ms.
    if (freshness == Freshness::recent && known && is_recent(known->time, context)) return known->config;
    DET_TRY_ASSIGN(auto config, find_facts(
                                    context, freshness, "cluster-config.json",
                                    [](auto& slurm) { return slurm.query_cluster_config(); }, config_from));
    known = Context::KnownClusterConfig{context.clock.now(), config};
    return config;
}

Result<slurm::Accounting> query_accounting(Context& context, slurm::ClusterConfig const& config,
                                           Freshness freshness) {
    auto const ask = [&](auto& slurm) {
        return slurm.query_accounting(user_name(context.environment),
                                      config.find("ClusterName").value_or(""));
    };
    // A database that does not answer costs a timeout of sacctmgr: once a minute, not at each creation.
    auto const silence = context.cache / "accounting-unknown.json";
    bool const has_cache = !context.cache.empty();
    auto const read = [](std::string_view) { return true; };
    if (has_cache && freshness == Freshness::recent && find_recent<bool>(silence, context, read))
        return Error{codes::slurm_unreachable, "the accounting database has not answered a minute ago"};
    auto facts = find_facts(context, freshness, "accounting.json", ask, accounting_from);
    if (!facts && has_cache) keep(silence, context, "");
    return facts;
}

std::filesystem::path cache_directory_of(Environment const& environment) {
    if (auto const named = environment.find_non_empty("DET_CACHE")) return *named;
    return fmt::format("/var/tmp/det-{}", ::geteuid());
}

bool hides_jobs_of_others(Context& context) {
    auto const config = query_cluster_config(context, Freshness::recent);
    return config && config->has_option("PrivateData", "jobs");
}

}  // namespace det::experiment
