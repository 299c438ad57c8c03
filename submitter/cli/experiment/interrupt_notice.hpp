#pragma once
#include <det/foundation/files.hpp>
#include <det/foundation/polling.hpp>
#include <det/protocol/ids.hpp>

#include <optional>
#include <string>
#include <thread>

#include "session.hpp"

namespace det::cli {

/// While it exists, Ctrl-C prints what goes on without this command and how to follow it again, before it
/// ends the process. A thread waits for SIGINT, so that the text comes at once, also while the command waits
/// for Slurm.
class InterruptNotice {
public:
    /// \param command of det-submit that follows the experiment again: "experiment wait 7"
    InterruptNotice(ExperimentId id, std::string const& command, Session const& session);
    InterruptNotice(InterruptNotice const&) = delete;
    InterruptNotice& operator=(InterruptNotice const&) = delete;
    ~InterruptNotice();

private:
    std::optional<SignalReader> signals_;
    UniqueFd stop_;  // an eventfd
    std::jthread thread_;
};

}  // namespace det::cli
