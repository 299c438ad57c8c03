#pragma once
#include <det/foundation/result.hpp>

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace det::core {

struct Session;

/// Reports of the training loop. Only the chief reports: on other ranks each call is codes::misuse. Outside
/// of an experiment reports go nowhere.
class Train {
public:
    explicit Train(Session& session) : session_(session) {}

    /// metrics: a map of names to numbers or other JSON. steps_completed: batches since the trial's
    /// beginning.
    Status report_training_metrics(std::uint64_t steps_completed, nlohmann::json metrics);
    Status report_validation_metrics(std::uint64_t steps_completed, nlohmann::json metrics);
    /// group: training, validation or a name of one's own, without a dot.
    Status report_metrics(std::string group, std::uint64_t steps_completed, nlohmann::json metrics);
    /// From 0 to 1.
    Status report_progress(double progress);

private:
    Session& session_;
};

}  // namespace det::core
