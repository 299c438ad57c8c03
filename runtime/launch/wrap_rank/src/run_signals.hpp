#pragma once
#include <det/foundation/clock.hpp>
#include <det/foundation/environment.hpp>
#include <det/preemption/notice_page.hpp>

#include <filesystem>
#include <set>

namespace det::launch::wrap_rank {

/// What signals mean to a task of a run: its ranks are told by the page in DET_RUN_DIR, and get no signal
/// that would end them before they have saved their work.
class RunSignals {
public:
    /// From DET_RUN_DIR, DET_RUN_PATH and DET_FORWARD_SIGNALS.
    static Result<RunSignals> open(Environment const& environment);

    /// False where the command is to have it too.
    bool take(int signal, Clock const& clock);
    /// The command's mask: without what it must not have, whoever sends it. Slurm may send a signal to every
    /// process of a step.
    void withhold(sigset_t& mask) const;

private:
    RunSignals(preemption::NoticePage page, std::filesystem::path asked, std::set<int> forwarded)
        : page_(std::move(page)), asked_(std::move(asked)), forwarded_(std::move(forwarded)) {}

    preemption::NoticePage page_;
    std::filesystem::path asked_;
    std::set<int> forwarded_;
};

}  // namespace det::launch::wrap_rank
