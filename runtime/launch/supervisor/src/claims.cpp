#include "claims.hpp"

#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>
#include <det/foundation/trusted_file.hpp>
#include <det/journal/event_log.hpp>
#include <det/protocol/json.hpp>
#include <det/search/search.hpp>

#include <algorithm>
#include <functional>

namespace det::launch::supervisor {
namespace {

Result<std::optional<slurm::JobRef>> load_claimant(TrialLayout const& trial) {
    auto const text = read_trusted_file(trial.claimed());
    if (text) return slurm::parse_job_ref(trim(*text));
    if (text.error().code == codes::no_such_file) return std::optional<slurm::JobRef>();
    return text.error();
}

Result<bool> is_wanted(TrialLayout const& trial) {
    DET_TRY_ASSIGN(auto const desired, journal::load_newest_desired(trial.desired()));
    return desired == DesiredState::run;
}

// Limits the trials of a program that calls all hyperparameters invalid.
constexpr int replacements_in_a_row_max = 100;

/// The length of the chain of replaced trials before `trial`.
int count_replaced(journal::Replacements const& replacements, std::uint32_t trial) {
    int count = 0;
    for (auto found = replacements.find(trial); found != replacements.end();
         found = replacements.find(found->second))
        ++count;
    return count;
}

}  // namespace

Result<std::optional<std::uint32_t>> Claims::claim_next() {
    DET_TRY_ASSIGN(auto const desired, journal::load_newest_desired(batch_job_.experiment.desired()));
    if (desired != DesiredState::run) return std::optional<std::uint32_t>();
    if (!batch_job_.spec.claims_trials()) return claim_assigned();
    // The caller may repeat a call that has failed: what is known stays known until it is handled.
    if (may_have_earlier_claims_) {
        DET_TRY_ASSIGN(pending_, find_own_claims());
        may_have_earlier_claims_ = false;
    }
    while (!pending_.empty()) {
        auto const trial = pending_.back();
        DET_TRY_ASSIGN(bool const wanted, is_wanted(batch_job_.experiment.trial(trial)));
        pending_.pop_back();
        if (wanted) return std::optional(trial);
    }
    return claim_free();
}

Result<std::optional<std::uint32_t>> Claims::claim_assigned() {
    DET_TRY_ASSIGN(auto const replacements, load_replacements());
    auto trial = batch_job_.first_trial;
    while (auto const replacement = journal::find_replacement(replacements, trial)) trial = *replacement;
    DET_TRY_ASSIGN(bool const wanted, is_wanted(batch_job_.experiment.trial(trial)));
    // After a preemption with grace, Slurm (24.05 to 26.05) requeues the job once more when its trial has
    // ended.
    DET_TRY_ASSIGN(bool const ended, batch_job_.has_ended(trial));
    if (!wanted || ended || !unavailable_.insert(trial).second) return std::optional<std::uint32_t>();
    return std::optional(trial);
}

Result<journal::Replacements> Claims::load_replacements() const {
    return journal::load_replacements(batch_job_.experiment, batch_job_.spec.trial_count);
}

/// All trials that have not been replaced, beginning with the one of this job's array task.
Result<std::vector<std::uint32_t>> Claims::list_trials() const {
    DET_TRY_ASSIGN(auto const replacements, load_replacements());
    auto const count = batch_job_.spec.trial_count;
    std::vector<std::uint32_t> trials;
    for (std::uint32_t i = 0; i < count; ++i) trials.push_back((batch_job_.first_trial + i) % count);
    std::set<std::uint32_t> replaced;
    for (auto const& [replacement, replaced_trial] : replacements) {
        trials.push_back(replacement);
        replaced.insert(replaced_trial);
    }
    std::erase_if(trials, [&](auto trial) { return replaced.contains(trial); });
    return trials;
}

Result<std::optional<std::uint32_t>> Claims::claim_free() {
    DET_TRY_ASSIGN(auto const trials, list_trials());
    for (auto const trial : trials) {
        if (unavailable_.contains(trial)) continue;
        auto const layout = batch_job_.experiment.trial(trial);
        DET_TRY_ASSIGN(bool const wanted, is_wanted(layout));
        if (!wanted) continue;
        // Another job may have claimed and finished the trial before the experiment was continued.
        DET_TRY_ASSIGN(bool const ended, batch_job_.has_ended(trial));
        if (ended) {
            unavailable_.insert(trial);
            continue;
        }
        DET_TRY(make_directories(layout.path()));
        DET_TRY_ASSIGN(bool const is_claimed_here, write_new_file(layout.claimed(), own_claim()));
        unavailable_.insert(trial);
        if (is_claimed_here) return std::optional(trial);
    }
    return std::optional<std::uint32_t>();
}

// The caller may repeat a call that has failed.
Result<Claims::Found> Claims::claim_first_of(std::vector<std::uint32_t> const& trials) {
    DET_TRY_ASSIGN(auto const desired, journal::load_newest_desired(batch_job_.experiment.desired()));
    if (desired != DesiredState::run) return Found{};
    if (may_have_earlier_claims_) {
        DET_TRY_ASSIGN(auto const own, find_own_claims());
        std::vector<std::uint32_t> kept;
        for (auto const trial : own) {
            // What this task had claimed before it was requeued, and has not finished, comes first.
            if (std::ranges::find(trials, trial) != trials.end())
                kept.push_back(trial);
            else
                DET_TRY(release(trial));
        }
        pending_ = std::move(kept);
        may_have_earlier_claims_ = false;
    }
    Found found;
    while (!pending_.empty()) {
        auto const trial = pending_.back();
        DET_TRY_ASSIGN(bool const wanted, is_wanted(batch_job_.experiment.trial(trial)));
        if (!wanted) DET_TRY(release(trial));
        pending_.pop_back();
        if (wanted) return Found{trial, {}};
    }
    for (auto const trial : trials) {
        if (ended_.contains(trial)) continue;
        auto const layout = batch_job_.experiment.trial(trial);
        DET_TRY_ASSIGN(bool const wanted, is_wanted(layout));
        if (!wanted) continue;
        DET_TRY(make_directories(layout.path()));
        DET_TRY_ASSIGN(bool const is_claimed_here, write_new_file(layout.claimed(), own_claim()));
        if (is_claimed_here) {
            found.trial = trial;
            return found;
        }
        // Trials that the sampler did not need have ended without its decision, and stay claimed.
        DET_TRY_ASSIGN(bool const ended, batch_job_.has_ended(trial));
        DET_TRY_ASSIGN(auto const claimant, load_claimant(layout));
        if (ended)
            ended_.insert(trial);
        else  // a claim that was given up meanwhile is free at the next look
            found.claimants.push_back(claimant.value_or(batch_job_.job));
    }
    return found;
}

/// Returns the trials in descending order, because claim_next() takes them from the end.
Result<std::vector<std::uint32_t>> Claims::find_own_claims() {
    DET_TRY_ASSIGN(auto trials, list_trials());
    std::ranges::sort(trials, std::greater<>());
    std::vector<std::uint32_t> own;
    for (auto const trial : trials) {
        auto const layout = batch_job_.experiment.trial(trial);
        DET_TRY_ASSIGN(auto const claimant, load_claimant(layout));
        if (!claimant) continue;
        unavailable_.insert(trial);
        if (*claimant != batch_job_.job) continue;
        DET_TRY_ASSIGN(bool const ended, batch_job_.has_ended(trial));
        if (!ended) own.push_back(trial);
    }
    return own;
}

/// The trials that this job has claimed.
Result<std::vector<std::uint32_t>> Claims::load_own_claims() const {
    DET_TRY_ASSIGN(auto const trials, list_trials());
    std::vector<std::uint32_t> own;
    for (auto const trial : trials) {
        DET_TRY_ASSIGN(auto const claimant, load_claimant(batch_job_.experiment.trial(trial)));
        if (claimant == batch_job_.job) own.push_back(trial);
    }
    return own;
}

Result<bool> Claims::has_unclaimed() const {
    if (!batch_job_.spec.claims_trials()) return false;
    DET_TRY_ASSIGN(auto const trials, list_trials());
    for (auto const trial : trials) {
        auto const layout = batch_job_.experiment.trial(trial);
        DET_TRY_ASSIGN(auto const claimant, load_claimant(layout));
        DET_TRY_ASSIGN(bool const wanted, is_wanted(layout));
        if (claimant || !wanted) continue;
        DET_TRY_ASSIGN(bool const ended, batch_job_.has_ended(trial));
        if (!ended) return true;
    }
    return false;
}

Result<std::vector<std::uint32_t>> Claims::list_own() const {
    if (batch_job_.spec.claims_trials()) return load_own_claims();
    DET_TRY_ASSIGN(auto const replacements, load_replacements());
    std::vector<std::uint32_t> own{batch_job_.first_trial};
    while (auto const replacement = journal::find_replacement(replacements, own.back()))
        own.push_back(*replacement);
    return own;
}

std::string Claims::own_claim() const { return slurm::to_string(batch_job_.job) + "\n"; }

Result<std::optional<std::uint32_t>> Claims::claim_replacement(std::uint32_t trial) {
    auto const& spec = batch_job_.spec;
    auto const search = search::Search::parse(spec.searcher, spec.hyperparameters, spec.experiment_seed);
    // Such a sampler decides by itself what follows.
    bool const asks = search::sampler_sets_lengths(spec.searcher);
    if (!search || asks || !search->replaces_invalid_trials()) return std::optional<std::uint32_t>();
    DET_TRY_ASSIGN(auto const replacements, load_replacements());
    if (count_replaced(replacements, trial) >= replacements_in_a_row_max)
        return std::optional<std::uint32_t>();
    bool const claims_trials = spec.claims_trials();
    DET_TRY_ASSIGN(auto const replacement,
                   journal::find_or_create_replacement(batch_job_.experiment, spec.trial_count, trial,
                                                       claims_trials ? own_claim() : ""));
    if (claims_trials && unavailable_.insert(replacement).second) pending_.push_back(replacement);
    return std::optional(replacement);
}

Status Claims::release_all() {
    if (!batch_job_.spec.claims_trials()) return Ok{};
    DET_TRY_ASSIGN(auto const own, find_own_claims());
    for (auto const trial : own) DET_TRY(release(trial));
    return Ok{};
}

Status Claims::release(std::uint32_t trial) {
    unavailable_.erase(trial);
    return remove_tree(batch_job_.experiment.trial(trial).claimed());
}

}  // namespace det::launch::supervisor
