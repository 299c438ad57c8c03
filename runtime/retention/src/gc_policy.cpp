#include <det/protocol/compare_metrics.hpp>
#include <det/protocol/json.hpp>
#include <det/retention/gc_policy.hpp>

#include <algorithm>
#include <map>

namespace det::retention {
namespace {

using Pointers = std::vector<KnownCheckpoint const*>;

struct Field {
    char const* name;
    std::uint64_t GcPolicy::*value;
};

constexpr Field fields[] = {{"save_experiment_best", &GcPolicy::save_experiment_best},
                            {"save_trial_best", &GcPolicy::save_trial_best},
                            {"save_trial_latest", &GcPolicy::save_trial_latest}};

void read_fields(Json const& json, GcPolicy& policy) {
    for (auto const& field : fields) {
        auto const number = json.is_object() ? json.value(field.name, Json()) : Json();
        if (number.is_number_integer() && number >= 0) policy.*(field.value) = number;
    }
}

void keep_best(Pointers checkpoints, std::uint64_t count, bool smaller_is_better,
               std::set<std::string>& kept) {
    std::erase_if(checkpoints, [](auto const* c) { return !c->metric; });
    std::ranges::stable_sort(checkpoints, [&](KnownCheckpoint const* a, KnownCheckpoint const* b) {
        return is_better(*a->metric, *b->metric, smaller_is_better);
    });
    for (std::size_t i = 0; i < checkpoints.size() && i < count; ++i) kept.insert(checkpoints[i]->uuid);
}

/// Keeps each checkpoint for which fewer than `count` checkpoints have a later step.
void keep_latest(Pointers const& checkpoints, std::uint64_t count, std::set<std::string>& kept) {
    for (auto const* checkpoint : checkpoints) {
        auto const later = std::ranges::count_if(
            checkpoints, [&](auto const* c) { return c->steps_completed > checkpoint->steps_completed; });
        if (static_cast<std::uint64_t>(later) < count) kept.insert(checkpoint->uuid);
    }
}

}  // namespace

GcPolicy policy_of(ExperimentSpec const& spec, std::vector<Event> const& events) {
    GcPolicy policy;
    if (spec.config->is_object())
        read_fields(spec.config->value("checkpoint_storage", Json::object()), policy);
    for (auto const& event : events) {
        if (event.kind == gc_policy_event) read_fields(event.body, policy);
    }
    return policy;
}

Json to_json(GcPolicy const& policy) {
    auto json = Json::object();
    for (auto const& field : fields) json[field.name] = policy.*field.value;
    return json;
}

std::set<std::string> choose_kept(GcPolicy const& policy, bool smaller_is_better,
                                  std::span<KnownCheckpoint const> checkpoints) {
    Pointers all;
    std::map<std::uint32_t, Pointers> trials;
    for (auto const& checkpoint : checkpoints) {
        all.push_back(&checkpoint);
        trials[checkpoint.trial].push_back(&checkpoint);
    }
    std::set<std::string> kept;
    keep_best(all, policy.save_experiment_best, smaller_is_better, kept);
    for (auto const& [trial, own] : trials) {
        keep_best(own, policy.save_trial_best, smaller_is_better, kept);
        keep_latest(own, policy.save_trial_latest, kept);
    }
    return kept;
}

}  // namespace det::retention
