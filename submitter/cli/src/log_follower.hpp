#pragma once
#include <det/protocol/layout.hpp>

#include <functional>
#include <map>

#include "log_merge.hpp"
#include "session.hpp"

namespace det::cli {

using LogSink = std::function<void(std::uint32_t run, LogLine const& line)>;

/// Gives what the node logs of a trial hold that it has not given yet: whole lines, those of one glance in
/// the order of their times.
class LogFollower {
public:
    explicit LogFollower(TrialLayout trial) : trial_(std::move(trial)) {}
    Status read_news(LogSink const& sink);

private:
    Status read_news_of(std::uint32_t run, LogSink const& sink);

    TrialLayout trial_;
    std::map<std::filesystem::path, std::size_t> read_bytes_;
};

/// What a trial prints, until it has ended. Returns its last state.
Result<lifecycle::State> follow_trial(RootLayout const& root, TrialId id, LogSink const& sink,
                                      Session& session);

}  // namespace det::cli
