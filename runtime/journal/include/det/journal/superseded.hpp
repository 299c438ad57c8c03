#pragma once
#include <det/protocol/record.hpp>

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace det::journal {

/// The step at which a run began to train. It decides which steps of earlier runs the run repeats.
struct RunBeginning {
    /// Steps of the state that the run started from: of its checkpoint, or of a snapshot in memory that it
    /// has loaded. nullopt: there was neither, so the program started from the beginning or from a snapshot
    /// of its own.
    std::optional<std::uint64_t> resumed_from;
    /// The steps of the first report of each group.
    std::map<std::string, std::uint64_t, std::less<>> first_steps;

    /// Evaluates one record of the run's `life` or of its chief's journal. The records must be added in
    /// order.
    void add(Record const& record);
    /// Evaluates the reports of a rank other than the chief, after the records of the chief and of lower
    /// ranks.
    void add(std::vector<MetricsReported> const& reports);
};

/// Tells which reports of a run a later run has superseded: those of steps that the later run trained again.
class CutOff {
public:
    bool supersedes(std::string_view group, std::uint64_t steps_completed) const;
    /// The first superseded step of a group. The largest number if there is none.
    std::uint64_t first_superseded_step(std::string_view group) const;

    friend std::vector<CutOff> find_cut_offs(std::span<RunBeginning const> runs);

private:
    static constexpr auto none = std::numeric_limits<std::uint64_t>::max();
    void lower_to(RunBeginning const& later_run);

    std::uint64_t all_groups_ = none;
    /// First superseded steps, from later runs without a checkpoint.
    std::map<std::string, std::uint64_t, std::less<>> by_group_;
};

/// Decides which reports of a trial's runs are superseded. A later run that resumed from a checkpoint
/// supersedes the reports of more steps than the checkpoint has. A later run without a checkpoint supersedes,
/// in each group, the reports of at least as many steps as its own first report. Pure.
/// \param runs of the trial, in order
/// \return an entry for each run
std::vector<CutOff> find_cut_offs(std::span<RunBeginning const> runs);

}  // namespace det::journal
