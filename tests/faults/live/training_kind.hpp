#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace det::faults {

/// A kind of training that the live campaign runs. Its programs exist unchanged in tests/cluster or here.
struct TrainingKind {
    std::string_view name;
    std::string_view program;       // a file of the source tree that is copied into the code; empty: none
    std::string_view config;        // an experiment configuration, or a batch script, with places for fmt
    std::uint64_t steps;            // of a trial
    std::uint64_t report_interval;  // steps between two reports of the group `reports`
    std::string_view reports;       // the group of metrics whose values do not depend on interruptions
    std::uint32_t trials = 1;
    bool is_batch_script = false;
    bool is_search = false;
};

std::span<TrainingKind const> training_kinds();
/// Two trainings by which the cost of faults is measured: they differ in memory checkpoints and a spare node.
std::span<TrainingKind const> cost_kinds();

/// What the text of TrainingKind::config is filled with.
struct ConfigPlaces {
    std::string name, programs, trace, excluded_hosts;
};
std::string render_config(TrainingKind const& kind, ConfigPlaces const& places);

}  // namespace det::faults
