#pragma once
#include <det/checkpoint/peers.hpp>
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

/// The data that all parts of a Context share.
struct Session {
    Clock& clock;
    std::optional<Info> info;
    collectives::DistributedContext distributed;
    std::unique_ptr<checkpoint::Store> store;
    std::optional<journal::JournalWriter> journal;                      // on the chief, in an experiment
    std::optional<preemption::NoticePage> notice;                       // in a run
    std::optional<std::chrono::steady_clock::time_point> job_end = {};  // if Slurm reports an end time
    std::function<void(std::string const& warning)> warn = {};

    bool in_experiment() const { return info && info->trial; }
    /// The allocation id of the run; empty outside of an experiment.
    std::string run_name() const { return in_experiment() ? info->cluster.allocation_id : ""; }
    /// Fencing: fails with codes::superseded if a newer incarnation of the job has begun a run with a higher
    /// number. Before every commit.
    Status require_newest() const;
    /// The time at which the ranks will be killed; nullopt if it is unknown.
    std::optional<std::chrono::steady_clock::time_point> killed_at() const;
};

/// Fails with codes::misuse on every rank except the chief.
Status require_chief(Session const& session, std::string_view call);

/// Implements the Peers of the checkpoint module with the DistributedContext of the run.
class CollectivePeers final : public checkpoint::Peers {
public:
    explicit CollectivePeers(collectives::DistributedContext& distributed) : distributed_(distributed) {}

    int rank() const override { return distributed_.rank().value; }
    int size() const override { return distributed_.size(); }
    Result<std::vector<std::string>> gather(std::string value) override {
        return distributed_.gather(std::move(value));
    }
    Result<std::vector<std::string>> allgather(std::string value) override {
        return distributed_.allgather(std::move(value));
    }
    Result<std::string> broadcast(std::string value) override {
        return distributed_.broadcast(std::move(value));
    }
    Status minimum(std::span<std::int64_t> values) override {
        return distributed_.allreduce(values, collectives::ReduceOp::min);
    }

private:
    collectives::DistributedContext& distributed_;
};

}  // namespace det::core
