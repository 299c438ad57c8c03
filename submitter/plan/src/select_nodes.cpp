#include <det/foundation/count_text.hpp>
#include <det/foundation/text.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <set>

#include "plan_steps.hpp"

namespace det::plan {
namespace {

using config::ExperimentConfig;
using site::NodeKind;
using site::Pool;

/// The slots of a trial: the same number twice unless the trial is elastic.
struct SlotRange {
    std::int64_t least = 1, most = 1;
    bool is_elastic = false;
};

SlotRange slot_range_of(ExperimentConfig const& config) {
    auto const most = config.resources.slots_per_trial;
    auto const& least = config.resources.slots_per_trial_min;
    return {least.value_or(most), most, least.has_value()};
}

/// Nodes that a trial may use, and its slots on each.
struct Candidate {
    NodeKind kind;
    std::int64_t per_node = 1;
    std::int64_t nodes_max = 0;  // of one trial

    /// Every size of an elastic trial is a number of whole nodes: `least` and `most` are multiples of the
    /// slots of a node.
    bool fits(SlotRange const& slots) const {
        if (slots.is_elastic && slots.least % per_node != 0) return false;
        if (slots.most <= per_node) return nodes_max >= 1 && (!slots.is_elastic || slots.most == per_node);
        return slots.most % per_node == 0 && slots.most / per_node <= nodes_max;
    }
    std::int64_t nodes_for(std::int64_t slots) const { return slots <= per_node ? 1 : slots / per_node; }
};
using Candidates = std::vector<Candidate>;

std::string counted(std::int64_t nodes, std::int64_t slots) {
    return count_text(nodes, "node") + " of " + count_text(slots, "slot");
}

/// The maximum number of nodes of one job.
std::int64_t nodes_allowed(Pool const& pool, int node_count) {
    std::int64_t most = node_count;
    if (pool.nodes_max) most = std::min<std::int64_t>(most, *pool.nodes_max);
    return std::min(most, pool.limits.nodes_per_trial_max.value_or(most));
}

bool has_type(NodeKind const& kind, Pool const& pool, std::string const& type) {
    return kind.gpu_type.empty() ? pool.gpu_type == type : kind.gpu_type == type;
}

std::vector<std::string> gpu_types(Pool const& pool) {
    std::set<std::string> types;
    for (auto const& kind : pool.kinds) {
        auto const name = kind.gpu_type.empty() ? pool.gpu_type.value_or("") : kind.gpu_type;
        if (!name.empty() && pool.slot_type != SlotType::cpu) types.insert(name);
    }
    return {types.begin(), types.end()};
}

Error no_such_type(ExperimentConfig const& config, Pool const& pool, std::string const& type) {
    auto const known = gpu_types(pool);
    return with_location(
        config, "slurm.gpu_type",
        Error{codes::slots_do_not_fit, fmt::format("pool '{}' has no GPUs of type '{}'", pool.name, type),
              known.empty() ? "remove it: Slurm names no types there"
                            : fmt::format("types there: {}", join(known, ", "))});
}

Error no_type_chosen(ExperimentConfig const& config, Pool const& pool) {
    return with_location(
        config, slots_path,
        Error{codes::slots_do_not_fit,
              fmt::format("the nodes of pool '{}' have GPUs of several types, and none is chosen", pool.name),
              fmt::format("set slurm.gpu_type, one of: {}", join(gpu_types(pool), ", "))});
}

/// The kinds of nodes that satisfy slurm.gpu_type and slurm.slots_per_node.
Result<Candidates> find_candidates(ExperimentConfig const& config, Pool const& pool) {
    auto const& type = config.slurm.gpu_type;
    auto const& wanted = config.slurm.slots_per_node;
    Candidates candidates;
    bool has_this_type = !type, lacks_type = false;
    int most = 0;
    for (auto const& kind : pool.kinds) {
        if (type && (pool.slot_type == SlotType::cpu || !has_type(kind, pool, *type))) continue;
        has_this_type = true;
        most = std::max(most, kind.slots_per_node);
        if (kind.has_other_types && !type && !pool.gpu_type) {
            lacks_type = true;
            continue;
        }
        if (wanted && *wanted > kind.slots_per_node) continue;
        candidates.push_back({kind, wanted.value_or(kind.slots_per_node), nodes_allowed(pool, kind.count)});
    }
    if (!has_this_type) return no_such_type(config, pool, *type);
    if (!candidates.empty()) return candidates;
    if (lacks_type) return no_type_chosen(config, pool);
    if (pool.kinds.empty()) {
        return with_location(
            config, "resources.resource_pool",
            Error{codes::slots_do_not_fit,
                  fmt::format("pool '{}' has no nodes: its partition is '{}'", pool.name, pool.partition),
                  "see 'det-submit resource-pool list'"});
    }
    return with_location(
        config, "slurm.slots_per_node",
        Error{codes::slots_do_not_fit, fmt::format("slurm.slots_per_node is {}: {}", *wanted, describe(pool)),
              fmt::format("use at most {}", most)});
}

/// Prefers nodes that are up, then fewer nodes, then the kind with fewer slots.
bool is_better(Candidate const& a, Candidate const& b, SlotRange const& slots) {
    bool const a_now = a.kind.up_count() >= a.nodes_for(slots.least);
    bool const b_now = b.kind.up_count() >= b.nodes_for(slots.least);
    if (a_now != b_now) return a_now;
    auto const a_nodes = a.nodes_for(slots.most), b_nodes = b.nodes_for(slots.most);
    if (a_nodes != b_nodes) return a_nodes < b_nodes;
    return a.kind.slots_per_node < b.kind.slots_per_node;
}

Candidate const* choose(Candidates const& candidates, SlotRange const& slots) {
    Candidate const* best = nullptr;
    for (auto const& candidate : candidates) {
        if (candidate.fits(slots) && (best == nullptr || is_better(candidate, *best, slots)))
            best = &candidate;
    }
    return best;
}

/// Adds the nodes of another kind. The CPUs and the memory of a node become the smaller ones of the two
/// kinds.
void add(NodeKind& kind, NodeKind const& other) {
    kind.count += other.count;
    kind.out_count += other.out_count;
    kind.cpus = std::min(kind.cpus, other.cpus);
    kind.memory_mib = std::min(kind.memory_mib, other.memory_mib);
}

/// Candidates for pools that may mix kinds: for each kind the nodes of this kind and of all larger kinds,
/// with as many slots on each node as this kind has.
Candidates mixed(Candidates const& candidates, Pool const& pool) {
    Candidates all;
    for (auto const& smallest : candidates) {
        NodeKind together = smallest.kind;
        together.slots_per_node = static_cast<int>(smallest.per_node);
        together.count = together.out_count = 0;
        for (auto const& each : candidates) {
            if (each.per_node >= smallest.per_node) add(together, each.kind);
        }
        all.push_back({together, smallest.per_node, nodes_allowed(pool, together.count)});
    }
    return all;
}

/// A hint with the nearest numbers of slots that fit.
std::string nearest_fits(std::int64_t slots, Candidates const& candidates) {
    std::optional<std::int64_t> below, above;
    for (auto const& candidate : candidates) {
        auto const most = candidate.per_node * candidate.nodes_max;
        auto const low = std::min(slots / candidate.per_node * candidate.per_node, most);
        auto const high = (slots / candidate.per_node + 1) * candidate.per_node;
        if (low > 0 && low < slots) below = std::max(below.value_or(low), low);
        if (high <= most) above = std::min(above.value_or(high), high);
    }
    if (below && above) return fmt::format("use {} or {}", *below, *above);
    if (below || above) return fmt::format("use {}", below ? *below : *above);
    return "";
}

Error no_fit_error(ExperimentConfig const& config, Pool const& pool, Candidates const& candidates) {
    auto const slots = config.resources.slots_per_trial;
    auto const whole = std::find_if(candidates.begin(), candidates.end(),
                                    [&](auto const& each) { return slots % each.per_node == 0; });
    auto const message =
        whole == candidates.end()
            ? fmt::format("{} slots are no whole number of nodes: {}", slots, describe(pool))
            : fmt::format("{} slots are {} nodes, more than {}: {}", slots, slots / whole->per_node,
                          whole->nodes_max < whole->kind.count
                              ? fmt::format("the {} that a trial may have", whole->nodes_max)
                              : "there are",
                          describe(pool));
    return with_location(config, slots_path,
                         Error{codes::slots_do_not_fit, message, nearest_fits(slots, candidates)});
}

/// The refusal of a range of slots, with the widest range within it that fits.
Error no_range_fit_error(ExperimentConfig const& config, Pool const& pool, Candidates const& candidates,
                         SlotRange const& slots) {
    std::optional<SlotRange> best;
    for (auto const& each : candidates) {
        auto const least = (slots.least + each.per_node - 1) / each.per_node * each.per_node;
        auto const most = std::min(slots.most / each.per_node, each.nodes_max) * each.per_node;
        if (least <= most && (!best || most > best->most)) best = SlotRange{least, most, true};
    }
    bool const are_whole_nodes = std::ranges::any_of(candidates, [&](auto const& each) {
        return slots.least % each.per_node == 0 && slots.most % each.per_node == 0;
    });
    auto const why = are_whole_nodes ? "more nodes than a trial may have"
                                     : "no whole numbers of nodes, which each run of an elastic trial has";
    return with_location(
        config, slots_path,
        Error{codes::slots_do_not_fit,
              fmt::format("{} to {} slots are {}: {}", slots.least, slots.most, why, describe(pool)),
              best ? fmt::format("use {{min: {}, max: {}}}", best->least, best->most)
                   : std::string("use one number for trials that use a part of a node")});
}

bool is_same(NodeKind const& a, NodeKind const& b) {
    return a.slots_per_node == b.slots_per_node && a.gpu_type == b.gpu_type && a.cpus == b.cpus &&
           a.has_other_types == b.has_other_types;
}

/// \return The GPU type to request: empty unless the pool has other types too, or the user or the site names
/// the type.
std::string type_to_ask(ExperimentConfig const& config, Pool const& pool, NodeKind const& chosen) {
    if (chosen.gpu_type.empty()) return "";
    bool const has_others = chosen.has_other_types ||
                            std::any_of(pool.kinds.begin(), pool.kinds.end(),
                                        [&](auto const& kind) { return kind.gpu_type != chosen.gpu_type; });
    bool const is_asked = config.slurm.gpu_type.has_value() || pool.gpu_type.has_value();
    return has_others || is_asked ? chosen.gpu_type : "";
}

/// The nodes that the job must exclude: nodes of other kinds that have enough slots and the requested GPU
/// type.
std::string others(Pool const& pool, Candidate const& chosen, std::string const& type) {
    std::vector<std::string> names;
    for (auto const& kind : pool.kinds) {
        bool const is_kept_out =
            kind.slots_per_node < chosen.per_node || (!type.empty() && kind.gpu_type != type);
        if (is_same(kind, chosen.kind) || is_kept_out) continue;
        names.insert(names.end(), kind.names.begin(), kind.names.end());
    }
    return join(names, ",");
}

NodeSelection make_selection(Candidate const& chosen, Pool const& pool, SlotRange const& slots) {
    NodeSelection selection;
    auto const on_each = std::min(slots.most, chosen.per_node);
    selection.nodes_min = static_cast<int>(chosen.nodes_for(slots.least));
    selection.shape = {static_cast<int>(chosen.nodes_for(slots.most)), static_cast<int>(on_each),
                       pool.slot_type};
    selection.node_slots = static_cast<int>(chosen.per_node);
    selection.kind = chosen.kind;
    selection.nodes_up = chosen.kind.up_count();
    selection.nodes_max = static_cast<int>(chosen.nodes_max);
    return selection;
}

Result<NodeSelection> select_for_slots(ExperimentConfig const& config, Pool const& pool) {
    auto const slots = slot_range_of(config);
    DET_TRY_ASSIGN(auto const candidates, find_candidates(config, pool));
    if (auto const* chosen = choose(candidates, slots)) {
        auto selection = make_selection(*chosen, pool, slots);
        selection.gpu_type = type_to_ask(config, pool, chosen->kind);
        if (!pool.may_mix_nodes) selection.exclude = others(pool, *chosen, selection.gpu_type);
        return selection;
    }
    auto const together = pool.may_mix_nodes ? mixed(candidates, pool) : Candidates{};
    if (auto const* chosen = choose(together, slots)) {
        auto selection = make_selection(*chosen, pool, slots);
        selection.gpu_type = config.slurm.gpu_type.value_or("");
        return selection;
    }
    auto const& tried = together.empty() ? candidates : together;
    return slots.is_elastic ? no_range_fit_error(config, pool, tried, slots)
                            : no_fit_error(config, pool, tried);
}

/// Any nodes of the pool, for a trial without slots.
Result<NodeSelection> select_for_no_slots(ExperimentConfig const& config, Pool const& pool) {
    if (pool.kinds.empty())
        return with_location(config, slots_path, Error{codes::slots_do_not_fit, describe(pool), ""});
    auto kind = pool.kinds.front();
    for (std::size_t i = 1; i < pool.kinds.size(); ++i) add(kind, pool.kinds[i]);
    NodeSelection selection;
    selection.shape = {1, 0, SlotType::cpu};
    selection.nodes_min = 1;
    selection.node_slots = pool.slots_per_node;
    selection.nodes_up = kind.up_count();
    selection.nodes_max = static_cast<int>(nodes_allowed(pool, kind.count));
    selection.kind = std::move(kind);
    return selection;
}

}  // namespace

std::string describe(Pool const& pool) {
    std::string nodes;
    for (auto const& kind : pool.kinds)
        nodes += (nodes.empty() ? "" : " and ") + counted(kind.count, kind.slots_per_node);
    return fmt::format("pool '{}' has {}", pool.name, nodes.empty() ? "no nodes" : nodes);
}

Result<NodeSelection> select_nodes(ExperimentConfig const& config, Pool const& pool) {
    auto const slots = config.resources.slots_per_trial;
    if (slots == 0) return select_for_no_slots(config, pool);
    DET_TRY_ASSIGN(auto selection, select_for_slots(config, pool));
    if (config.resources.is_single_node && selection.shape.nodes > 1) {
        return with_location(
            config, slots_path,
            Error{codes::slots_do_not_fit,
                  fmt::format("{} slots don't fit on a single node: {}", slots, describe(pool)),
                  fmt::format("use at most {}", selection.node_slots)});
    }
    return selection;
}

}  // namespace det::plan
