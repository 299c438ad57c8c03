#pragma once
#include <det/foundation/clock.hpp>
#include <det/foundation/environment.hpp>
#include <det/preemption/notice_page.hpp>

#include <filesystem>
#include <set>

namespace det::launch::wrap_rank {

/// Handles signals to a task of a run: writes a notice to the page in DET_RUN_DIR, where the ranks read it,
/// and withholds signals that would end the ranks before they have saved their work.
class RunSignals {
public:
    /// Reads DET_RUN_DIR, DET_RUN_PATH and DET_FORWARD_SIGNALS.
    static Result<RunSignals> open(Environment const& environment);

    /// Returns false if the command must get the signal too.
    bool take(int signal, Clock const& clock);
    /// Adds the signals that the command must not get to its signal mask, because Slurm may send a signal to
    /// every process of a step.
    void block_withheld(sigset_t& mask) const;

private:
    RunSignals(preemption::NoticePage page, std::filesystem::path asked, std::set<int> forwarded)
        : page_(std::move(page)), asked_(std::move(asked)), forwarded_(std::move(forwarded)) {}

    preemption::NoticePage page_;
    std::filesystem::path asked_;
    std::set<int> forwarded_;
};

}  // namespace det::launch::wrap_rank
