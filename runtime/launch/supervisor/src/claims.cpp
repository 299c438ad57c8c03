#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>
#include <det/journal/event_log.hpp>
#include <det/launch/supervisor/claims.hpp>

namespace det::launch::supervisor {
namespace {

Result<std::optional<slurm::JobRef>> load_claimant(TrialLayout const& trial) {
    auto const text = read_file(trial.claimed());
    if (text) return slurm::parse_job_ref(trim(*text));
    if (text.error().code == codes::no_such_file) return std::optional<slurm::JobRef>();
    return text.error();
}

Result<bool> is_wanted(TrialLayout const& trial) {
    DET_TRY_ASSIGN(auto const desired, journal::load_desired(trial.desired()));
    return desired == Desired::run;
}

}  // namespace

Result<std::optional<std::uint32_t>> Claims::claim_next() {
    DET_TRY_ASSIGN(auto const of_all, journal::load_desired(assignment_.experiment.desired()));
    if (of_all != Desired::run) return std::optional<std::uint32_t>();
    if (assignment_.spec.lanes == 1) return claim_assigned();
    if (std::exchange(may_have_earlier_claims_, false)) {
        DET_TRY_ASSIGN(earlier_, find_earlier_claims());
    }
    while (!earlier_.empty()) {
        auto const trial = earlier_.back();
        earlier_.pop_back();
        DET_TRY_ASSIGN(bool const wanted, is_wanted(assignment_.experiment.trial(trial)));
        if (wanted) return std::optional(trial);
    }
    return claim_free();
}

Result<std::optional<std::uint32_t>> Claims::claim_assigned() {
    DET_TRY_ASSIGN(bool const wanted, is_wanted(assignment_.experiment.trial(assignment_.first_trial)));
    if (!wanted || !unavailable_.insert(assignment_.first_trial).second)
        return std::optional<std::uint32_t>();
    return std::optional(assignment_.first_trial);
}

Result<std::optional<std::uint32_t>> Claims::claim_free() {
    auto const count = assignment_.spec.trial_count;
    for (std::uint32_t i = 0; i < count; ++i) {
        auto const trial = (assignment_.first_trial + i) % count;
        if (unavailable_.contains(trial)) continue;
        auto const layout = assignment_.experiment.trial(trial);
        DET_TRY_ASSIGN(bool const wanted, is_wanted(layout));
        if (!wanted) continue;
        // Another job may have claimed and finished the trial before the experiment was continued.
        DET_TRY_ASSIGN(bool const ended, assignment_.has_ended(trial));
        if (ended) {
            unavailable_.insert(trial);
            continue;
        }
        DET_TRY(make_directories(layout.path()));
        DET_TRY_ASSIGN(bool const mine,
                       write_new_file(layout.claimed(), slurm::to_string(assignment_.job) + "\n"));
        unavailable_.insert(trial);
        if (mine) return std::optional(trial);
    }
    return std::optional<std::uint32_t>();
}

/// Returns the trials in descending order, because claim_next() takes them from the end.
Result<std::vector<std::uint32_t>> Claims::find_earlier_claims() {
    std::vector<std::uint32_t> own;
    for (auto trial = assignment_.spec.trial_count; trial-- > 0;) {
        auto const layout = assignment_.experiment.trial(trial);
        DET_TRY_ASSIGN(auto const claimant, load_claimant(layout));
        if (!claimant) continue;
        unavailable_.insert(trial);
        if (*claimant != assignment_.job) continue;
        DET_TRY_ASSIGN(bool const ended, assignment_.has_ended(trial));
        if (!ended) own.push_back(trial);
    }
    return own;
}

Status Claims::release_all() {
    if (assignment_.spec.lanes == 1) return Ok{};
    DET_TRY_ASSIGN(auto const own, find_earlier_claims());
    for (auto const trial : own) DET_TRY(release(trial));
    return Ok{};
}

Status Claims::release(std::uint32_t trial) {
    unavailable_.erase(trial);
    return remove_tree(assignment_.experiment.trial(trial).claimed());
}

}  // namespace det::launch::supervisor
