#pragma once
#include <det/protocol/directory_layout.hpp>

#include <optional>
#include <string>
#include <vector>

#include "command.hpp"
#include "logs/log_follower.hpp"

namespace det::cli {

enum class LogsOf { trial, experiment };

/// The commands `trial logs` and `experiment logs`. The latter prints the logs of the first trial, as
/// Determined does.
class LogsCommand final : public Command {
public:
    explicit LogsCommand(LogsOf of) : of_(of) {}
    std::vector<Option> options() override;
    Outcome run(Session& session) override;

private:
    Result<TrialId> require_id() const;
    Result<LogChoice> choose(UtcTime now) const;
    /// Fails if the trial does not exist. Without --follow also fails if the requested run does not exist;
    /// with --follow the run may still begin.
    Status require_run(RootLayout const& root, TrialId id) const;
    /// Fails if the trial neither has a requested rank nor a line of it: a script may start more ranks than
    /// the trial has slots.
    Status require_ranks(RootLayout const& root, TrialId id) const;

    LogsOf of_;
    std::string id_;
    bool follow_ = false;
    std::vector<std::uint32_t> ranks_;
    std::optional<std::uint32_t> run_, head_, tail_;
    std::optional<std::string> node_, since_, until_, level_, grep_;
};

}  // namespace det::cli
