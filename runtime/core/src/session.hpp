#pragma once
#include <det/checkpoint/store.hpp>
#include <det/collectives/distributed_context.hpp>
#include <det/core/info.hpp>
#include <det/foundation/clock.hpp>
#include <det/journal/writer.hpp>
#include <det/preemption/notice_page.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>

namespace det::core {

/// What the parts of a Context share.
struct Session {
    Clock& clock;
    std::optional<Info> info;
    collectives::DistributedContext distributed;
    std::unique_ptr<checkpoint::Store> store;
    std::optional<journal::JournalWriter> journal;                      // the chief's, in an experiment
    std::optional<preemption::NoticePage> notice;                       // in a run
    std::optional<std::chrono::steady_clock::time_point> job_end = {};  // where Slurm says it
    std::function<void(std::string const& warning)> warn = {};

    bool in_experiment() const { return info && info->trial; }
    /// When the ranks will be killed, as far as that is known now.
    std::optional<std::chrono::steady_clock::time_point> killed_at() const;
};

/// codes::misuse on every rank but the chief.
Status require_chief(Session const& session, std::string_view call);

}  // namespace det::core
