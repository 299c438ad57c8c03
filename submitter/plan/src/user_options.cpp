// The options of a pool that slurm.sbatch_args replace: its partition, QOS, constraint, reservation, account.
#include <det/foundation/text.hpp>

#include <algorithm>
#include <fmt/format.h>

#include "plan_steps.hpp"

namespace det::plan {
namespace {

using config::ExperimentConfig;
using site::Pool;

constexpr char options_path[] = "slurm.sbatch_args";

struct ReplaceableOption {
    std::string_view name;
    std::optional<std::string> Pool::*of_pool;
    bool is_always_users = false;
};
constexpr ReplaceableOption replaceable_options[] = {
    {"account", &Pool::account, true},
    {"qos", &Pool::qos},
    {"reservation", &Pool::reservation},
    {"constraint", &Pool::constraint},
};

bool is_allowed(Pool const& pool, std::string_view option) {
    return std::ranges::find(pool.user_options, option) != pool.user_options.end();
}

Error refusal(ExperimentConfig const& config, Pool const& pool, std::string_view option,
              std::string const& asked, std::string const& own) {
    return with_location(
        config, options_path,
        Error{codes::bad_value,
              fmt::format("--{}={}: pool '{}' has --{}={}", option, asked, pool.name, option, own),
              "remove it, or use another pool"});
}

/// Features that a node must all have: "a100&ib". Slurm reads "a100,ib" in the same way.
bool is_conjunction(std::string_view constraint) {
    return constraint.find_first_of("|[]*()") == std::string_view::npos;
}

bool is_own_partition(Pool const& pool, std::string_view name) {
    for (auto const own : split(pool.partitions.empty() ? pool.partition : pool.partitions, ',')) {
        if (own == name) return true;
    }
    return false;
}

/// Whether the partition is a pool that the site file does not describe.
bool is_plain_pool(site::Site const& site, std::string_view partition) {
    auto const* pool = site.find_pool(partition);
    return pool != nullptr && !pool->is_in_site_file;
}

bool may_ask_for(std::string_view partitions, Pool const& pool, site::Site const& site) {
    if (is_allowed(pool, "partition")) return true;
    auto const names = split(partitions, ',');
    return std::ranges::all_of(names, [&](auto const name) {
        return (pool.passes_partition && is_own_partition(pool, name)) ||
               (!pool.is_in_site_file && is_plain_pool(site, name));
    });
}

std::string pools_on(site::Site const& site, std::string_view partition) {
    std::vector<std::string> names;
    for (auto const& pool : site.pools) {
        if (is_own_partition(pool, partition)) names.push_back(pool.name);
    }
    return join(names, ", ");
}

Status replace_partition(Pool& pool, ExperimentConfig const& config, site::Site const& site) {
    auto const asked = config.slurm.sbatch_args.find("partition");
    if (!asked) return Ok{};
    auto const first = asked->substr(0, asked->find(','));
    if (!may_ask_for(*asked, pool, site)) {
        auto error = refusal(config, pool, "partition", *asked,
                             pool.partitions.empty() ? pool.partition : pool.partitions);
        if (auto const pools = pools_on(site, first); !pools.empty())
            error.hint = fmt::format("set resources.resource_pool: {}", pools);
        return error;
    }
    if (!pool.is_in_site_file && is_plain_pool(site, first)) pool = *site.find_pool(first);
    pool.partition = first;
    pool.partitions = first == *asked ? "" : *asked;
    pool.passes_partition = true;
    return Ok{};
}

void replace_option(Pool& pool, ReplaceableOption const& option, ExperimentConfig const& config,
                    Diagnostics& found) {
    auto& own = pool.*option.of_pool;
    auto const asked = config.slurm.sbatch_args.find(option.name);
    if (!asked || own == *asked) return;
    bool const is_users = option.is_always_users || !own || is_allowed(pool, option.name);
    bool const narrows = option.name == "constraint" && own && is_conjunction(*own) && is_conjunction(*asked);
    if (is_users) {
        own = *asked;
    } else if (narrows) {
        own = *own + "&" + *asked;
    } else {
        found.report(refusal(config, pool, option.name, *asked, *own));
    }
}

}  // namespace

bool is_option_of_pool(std::string_view name) {
    return name == "partition" ||
           std::ranges::any_of(replaceable_options, [&](auto const& option) { return option.name == name; });
}

Result<site::Pool> require_pool_of(ExperimentConfig const& config, site::Site const& site) {
    site::PoolRequest request{config.resources.resource_pool, config.resources.slots_per_trial};
    auto const asked = config.slurm.sbatch_args.find("partition");
    auto const* chosen = site.find_pool(site::choose_pool(request, site.default_pools));
    bool const is_open = request.name.empty() && (chosen == nullptr || !chosen->is_in_site_file);
    if (asked && is_open) {
        auto const first = asked->substr(0, asked->find(','));
        if (is_plain_pool(site, first)) request.name = first;
    }
    return site::require_pool(site, request);
}

Diagnostics replace_pool_options(Pool& pool, ExperimentConfig const& config, site::Site const& site) {
    Diagnostics found;
    auto const partition = pool.partition;
    auto const constraint = pool.constraint;
    if (auto replaced = replace_partition(pool, config, site); !replaced) {
        found.report(std::move(replaced).error());
        return found;
    }
    for (auto const& option : replaceable_options) replace_option(pool, option, config, found);
    bool const has_other_nodes = pool.partition != partition || pool.constraint != constraint;
    if (!found.has_errors() && has_other_nodes) {
        auto renewed = site::renew_pool(site, pool);
        if (renewed) {
            pool = *std::move(renewed);
        } else {
            found.report(with_location(config, options_path, std::move(renewed).error()));
        }
    }
    if (site.accounting) pool.rules = site::find_job_rules(*site.accounting, pool);
    return found;
}

}  // namespace det::plan
