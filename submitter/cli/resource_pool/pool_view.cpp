#include "resource_pool/pool_view.hpp"

#include <det/foundation/text.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/json_or_null.hpp>

#include <fmt/format.h>
#include <set>

#include "output/no_such_name.hpp"

namespace det::cli {
namespace {

Json kinds_as_json(site::Pool const& pool) {
    auto kinds = Json::array();
    for (auto const& kind : pool.kinds) {
        kinds.push_back({{"slots_per_node", kind.slots_per_node},
                         {"gpu_type", kind.gpu_type},
                         {"cpus", kind.cpus},
                         {"nodes", kind.count},
                         {"nodes_out", kind.out_count},
                         {"names", join(kind.names, ",")}});
    }
    return kinds;
}

}  // namespace

Result<std::vector<PoolView>, Diagnostics> load_pools(Session& session) {
    DET_TRY_ASSIGN(auto const file, experiment::load_site_file(session.environment));
    print(session.err, file.warnings, session.style);
    DET_TRY_ASSIGN(auto site, experiment::load_site(file, session));
    DET_TRY_ASSIGN(auto const nodes, session.slurm.query_nodes());
    DET_TRY_ASSIGN(auto const jobs, session.slurm.query_queue({}));
    std::vector<PoolView> views;
    for (auto& pool : site.pools) {
        auto const use = site::count_use(pool, nodes, jobs);
        views.push_back({std::move(pool), use});
    }
    return views;
}

Status require_pool_or_partition(std::string const& name, Session& session) {
    auto const file = experiment::load_site_file(session.environment);
    if (!file) return Ok{};
    auto const site = experiment::load_site(*file, session, experiment::Freshness::recent);
    if (!site) return Ok{};
    std::set<std::string> names;
    for (auto const& pool : site->pools) names.insert({pool.name, pool.partition});
    if (names.empty() || names.contains(name)) return Ok{};
    return no_such_name(codes::no_such_pool, "resource pool", name, "this cluster", names);
}

Json to_json(PoolView const& view) {
    auto const& [pool, use] = view;
    return Json{{"name", pool.name},
                {"description", pool.description},
                {"partition", pool.partition},
                {"is_up", pool.is_up},
                {"default_compute", pool.is_default},
                {"default_aux", pool.is_default_aux},
                {"slot_type", to_string(pool.slot_type)},
                {"slots_per_node", pool.slots_per_node},
                {"slots", use.slots},
                {"slots_used", use.slots_used},
                {"slots_out", use.slots_out},
                {"nodes", use.nodes},
                {"nodes_free", use.nodes_free},
                {"nodes_out", use.nodes_out},
                {"preempt_mode", preempt_mode_of(pool)},
                {"grace_time_seconds", grace_time_of(pool)},
                {"max_wall", pool.rules.time_max.empty() ? Json(nullptr) : Json(pool.rules.time_max)},
                {"user_options", pool.user_options},
                {"jobs_waiting", use.jobs_waiting},
                {"jobs_running", use.jobs_running},
                {"qos", json_or_null(pool.qos)},
                {"account", json_or_null(pool.account)},
                {"reservation", json_or_null(pool.reservation)},
                {"constraint", json_or_null(pool.constraint)},
                {"gpu_type", json_or_null(pool.gpu_type)},
                {"whole_memory", pool.has_whole_memory},
                {"mixed_nodes", pool.may_mix_nodes},
                {"scheduler", config::to_string(pool.scheduler)},
                {"container_runtime", pool.container_name()},
                {"limits",
                 {{"slots_per_trial", json_or_null(pool.limits.slots_per_trial_max)},
                  {"nodes_per_trial", json_or_null(pool.limits.nodes_per_trial_max)},
                  {"time", json_or_null(pool.limits.time_max)}}},
                {"kinds", kinds_as_json(pool)}};
}

std::string const& preempt_mode_of(site::Pool const& pool) {
    return pool.rules.preempt_mode.empty() ? pool.preempt_mode : pool.rules.preempt_mode;
}

std::int64_t grace_time_of(site::Pool const& pool) {
    return pool.rules.preempt_mode.empty() ? pool.grace_time.count() : pool.rules.grace_time_s;
}

std::string default_words(site::Pool const& pool) {
    if (pool.is_default && pool.is_default_aux) return "compute, aux";
    if (pool.is_default) return "compute";
    return pool.is_default_aux ? "aux" : "";
}

std::string type_words(site::Pool const& pool) {
    std::set<std::string> types;
    for (auto const& kind : pool.kinds) {
        if (!kind.gpu_type.empty()) types.insert(kind.gpu_type);
    }
    if (pool.gpu_type) types = {*pool.gpu_type};
    std::vector<std::string> const names(types.begin(), types.end());
    auto const type = std::string(to_string(pool.slot_type));
    return names.empty() ? type : type + " " + join(names, ", ");
}

std::string slots_per_node_text(site::Pool const& pool) {
    std::vector<std::string> numbers;
    for (auto const& kind : pool.kinds) {
        auto number = std::to_string(kind.slots_per_node);
        if (numbers.empty() || numbers.back() != number) numbers.push_back(std::move(number));
    }
    return join(numbers, ", ");
}

}  // namespace det::cli
