#pragma once
#include <det/config/length.hpp>

#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace det::config {

struct SingleSearch {
    std::optional<Length> max_length;
};
struct RandomSearch {
    std::int64_t max_trials = 0;
    std::int64_t max_concurrent_trials = 0;  // 0: no limit
    std::optional<Length> max_length;
};
struct GridSearch {
    std::int64_t max_concurrent_trials = 0;
    std::optional<Length> max_length;
};

enum class AshaMode { aggressive, standard, conservative };

/// The training of a trial is complete at max_length, or when time_metric reaches max_time.
struct AdaptiveAshaSearch {
    std::int64_t max_trials = 0;
    std::int64_t max_concurrent_trials = 0;
    AshaMode mode = AshaMode::standard;
    double divisor = 4;
    std::int64_t max_rungs = 5;
    std::vector<std::int64_t> bracket_rungs;
    bool stop_once = false;
    std::optional<Length> max_length;
    std::optional<std::string> time_metric;
    std::optional<std::int64_t> max_time;
};
struct AsyncHalvingSearch {
    std::int64_t num_rungs = 0;
    std::int64_t max_trials = 0;
    std::int64_t max_concurrent_trials = 0;
    double divisor = 4;
    bool stop_once = false;
    std::optional<Length> max_length;
    std::optional<std::string> time_metric;
    std::optional<std::int64_t> max_time;
};

struct Searcher {
    std::string name;  // as in the configuration: single, random ...
    std::string metric;
    bool smaller_is_better = true;
    std::optional<std::int64_t> source_trial_id;
    std::optional<std::string> source_checkpoint_uuid;
    std::variant<SingleSearch, RandomSearch, GridSearch, AdaptiveAshaSearch, AsyncHalvingSearch> method;
};

}  // namespace det::config
