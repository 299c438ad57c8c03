#pragma once
#include <det/foundation/result.hpp>

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace det::core {

struct Session;

/// Reports the progress of the training loop. Only the chief reports: on other ranks each call fails with
/// codes::misuse. Outside of an experiment reports are discarded. Not collective, not thread-safe.
class Train {
public:
    explicit Train(Session& session) : session_(session) {}

    /// \param steps_completed number of batches since the beginning of the trial
    /// \param metrics a JSON object of names and values; anything else is codes::misuse
    Status report_training_metrics(std::uint64_t steps_completed, nlohmann::json metrics);
    Status report_validation_metrics(std::uint64_t steps_completed, nlohmann::json metrics);
    /// \param group "training", "validation" or another name, which must not contain a dot
    Status report_metrics(std::string group, std::uint64_t steps_completed, nlohmann::json metrics);
    /// \param progress from 0 to 1; anything else is codes::misuse
    Status report_progress(double progress);

private:
    Session& session_;
};

}  // namespace det::core
