#include <det/checkpoint/shared_fs_store.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/ids.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <thread>

#include "as_owner.hpp"
#include "round.hpp"

namespace det::faults {
namespace {

using namespace std::chrono_literals;

struct Committed {
    std::string uuid;
    std::uint32_t run = 0;
    std::uint64_t step = 0;
};

/// The checkpoints that have a manifest.
Result<std::vector<Committed>> list_committed(Training const& training) {
    AsOwner const owner(training.checkpoints());
    checkpoint::SharedFsStore const store(training.checkpoints());
    std::vector<Committed> committed;
    DET_TRY_ASSIGN(auto const uuids, store.list());
    for (auto const& uuid : uuids) {
        auto const manifest = store.load_manifest(uuid);
        if (!manifest && manifest.error().code == codes::no_such_checkpoint) continue;
        if (!manifest) return manifest.error();
        auto const run = manifest->run.substr(manifest->run.rfind('.') + 1);
        committed.push_back({uuid, parse_integer<std::uint32_t>(run).value_or(0), manifest->steps_completed});
    }
    return committed;
}

Status verify(Training const& training, std::vector<Committed> const& committed) {
    std::string command = "det-submit checkpoint verify";
    for (auto const& checkpoint : committed) command += ' ' + checkpoint.uuid;
    if (!committed.empty()) DET_TRY(training.site().shell(command));
    return Ok{};
}

/// Checks that each run resumed at the newest saved step of the earlier runs, and after a preemption at the
/// step of the preemption. Returns "" or a description of the first failure.
std::string check_resumed_steps(std::map<std::uint32_t, TracedRun> const& runs,
                                std::vector<Committed> const& committed) {
    for (auto const& [number, run] : runs) {
        if (!run.resumed_at) continue;
        std::uint64_t saved = 0;
        for (auto const& checkpoint : committed) {
            if (checkpoint.run < number) saved = std::max(saved, checkpoint.step);
        }
        if (*run.resumed_at != saved)
            return fmt::format("run {} resumed at step {}, and {} was saved", number, *run.resumed_at, saved);
        auto const before = number == 0 ? runs.end() : runs.find(number - 1);
        if (before == runs.end() || !before->second.preempted_at) continue;
        if (*before->second.preempted_at != *run.resumed_at)
            return fmt::format("run {} was preempted at step {}, and the next resumed at {}", number - 1,
                               *before->second.preempted_at, *run.resumed_at);
    }
    return "";
}

std::string check_weights(std::map<std::uint32_t, TracedRun> const& runs, std::string const& weights) {
    bool completed = false;
    for (auto const& [number, run] : runs) {
        if (run.weights.empty()) continue;
        completed = true;
        if (!weights.empty() && run.weights != weights)
            return fmt::format("run {} has weights {} instead of {}", number, run.weights, weights);
    }
    return completed ? "" : "no run has reached its last step";
}

/// Waits up to 60 s for the processes and the job of the training to end. Returns "" or the names of those
/// that remain.
Result<std::string> find_remaining_processes(Training const& training) {
    std::string remaining = "?";
    for (auto const deadline = std::chrono::steady_clock::now() + 60s;
         !remaining.empty() && std::chrono::steady_clock::now() < deadline;
         std::this_thread::sleep_for(500ms)) {
        remaining.clear();
        for (auto const* program : {"faults_cluster_worker", "det-wrap-rank", "srun"}) {
            if (!training.processes(program).empty()) remaining += fmt::format(" {}", program);
        }
        if (!training.supervisors().empty()) remaining += " det-launch";
        DET_TRY_ASSIGN(auto const jobs,
                       training.site().shell(
                           fmt::format("squeue --noheader --format=%i --jobs={} || true", training.job())));
        if (!jobs.empty() && jobs.find("Invalid") == std::string::npos) remaining += " job " + jobs;
    }
    return remaining.empty() ? "" : "still running:" + remaining;
}

}  // namespace

Result<std::string> check_training(Training const& training, std::string const& weights) {
    DET_TRY_ASSIGN(auto const remaining, find_remaining_processes(training));
    if (!remaining.empty()) return remaining;
    DET_TRY_ASSIGN(auto const state, training.state());
    if (state != "COMPLETED") return fmt::format("the experiment is {}", state);
    DET_TRY_ASSIGN(auto const committed, list_committed(training));
    DET_TRY(verify(training, committed));
    auto const runs = training.trace();
    if (auto lost = check_resumed_steps(runs, committed); !lost.empty()) return lost;
    return check_weights(runs, weights);
}

}  // namespace det::faults
