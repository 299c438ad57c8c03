#include <det/checkpoint/error_exchange.hpp>
#include <det/core/searcher.hpp>
#include <det/protocol/json.hpp>
#include <det/search/asha.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <span>

#include "collective_peers.hpp"
#include "context_data.hpp"
#include "trial_files.hpp"

namespace det::core {
namespace {

using search::TrainingLength;

constexpr std::uint64_t length_outside_of_experiments = 1;

Error no_length() {
    return {codes::misuse, "searcher.max_length is not configured, so there are no searcher operations",
            "add 'max_length: {batches: ...}' to the searcher of the configuration"};
}

/// Returns the planned trial whose bracket this trial uses. A replacement trial uses the bracket of the
/// planned trial that it replaces, directly or through other replacements.
Result<std::uint32_t> find_planned_trial(ContextData const& data, std::uint32_t trial_count) {
    auto trial = data.info->trial->trial.index;
    while (trial >= trial_count) {
        DET_TRY_ASSIGN(auto const replaced, journal::load_replaced_trial(experiment_of(data), trial));
        if (!replaced) {
            return Error{
                codes::damaged,
                fmt::format("trial {} is none of the {} planned trials, and it is not known which of "
                            "them it replaces",
                            trial, trial_count)};
        }
        trial = *replaced;
    }
    return trial;
}

/// The rungs of the trial's bracket.
Result<std::vector<std::uint64_t>> find_rung_lengths(ContextData const& data) {
    auto const search = search::plan_asha(data.info->spec->searcher);
    if (!search) return search.error().front().error;
    DET_TRY_ASSIGN(auto const trial, find_planned_trial(data, search->trial_count()));
    return search->brackets.at(search::BracketAssignment(*search).bracket_of(trial)).rung_lengths;
}

/// The longest operation that a run of the trial has completed; 0 if there is none.
Result<std::uint64_t> find_completed_length(ContextData const& data) {
    auto const first = data.info->spec->first_run_of(data.info->trial->trial.index);
    DET_TRY_ASSIGN(auto const records, load_chief_records(trial_of(data), first));
    std::uint64_t length = 0;
    for (auto const& record : records) {
        if (auto const* completed = std::get_if<OperationCompleted>(&record))
            length = std::max(length, completed->length);
    }
    return length;
}

}  // namespace

std::optional<TrainingLength> Searcher::training_length() const {
    if (!data_.in_experiment()) return std::nullopt;
    return search::find_training_length(*data_.info->spec->searcher.options);
}

std::optional<std::uint64_t> Searcher::batches_left(std::uint64_t steps_completed) const {
    auto const length = training_length();
    if (!length || !length->time_metric.empty()) return std::nullopt;
    auto const batch_size = search::read_batch_size(*data_.info->spec->config, *data_.info->trial->hparams);
    auto const batches = search::to_batches(length->value, length->unit, batch_size);
    return batches > steps_completed ? batches - steps_completed : 0;
}

Result<std::vector<std::uint64_t>> Searcher::load_operations() const {
    if (!data_.in_experiment()) return std::vector{length_outside_of_experiments};
    auto const length = training_length();
    if (!length) return no_length();
    std::vector lengths{length->value};
    if (search::is_asha(data_.info->spec->searcher.name)) {
        DET_TRY_ASSIGN(lengths, find_rung_lengths(data_));
    }
    DET_TRY_ASSIGN(auto const completed, find_completed_length(data_));
    std::erase_if(lengths, [&](auto const each) { return each <= completed; });
    lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
    return lengths;
}

Result<std::optional<std::uint64_t>> Searcher::begin_operation() {
    if (current_) return Error{codes::misuse, "you must call report_completed() on each operation"};
    if (!remaining_) {
        DET_TRY_ASSIGN(remaining_, load_operations());
    }
    was_ended_by_notice_ = !remaining_->empty() && data_.has_notice();
    if (remaining_->empty() || was_ended_by_notice_) return std::optional<std::uint64_t>();
    current_ = remaining_->front();
    remaining_->erase(remaining_->begin());
    return current_;
}

Result<std::optional<std::uint64_t>> Searcher::next_operation(Mode mode, Preempt::Acknowledge acknowledge) {
    if (mode == Mode::chief_only) DET_TRY(require_chief(data_, "next_operation with Mode::chief_only"));
    Result<std::optional<std::uint64_t>> begun = std::optional<std::uint64_t>();
    if (data_.distributed.is_chief()) begun = begin_operation();
    if (begun && acknowledge == Preempt::Acknowledge::at_once) {
        if (auto done = acknowledge_end(); !done) begun = std::move(done).error();
    }
    if (mode == Mode::chief_only) return begun;
    CollectivePeers peers(data_.distributed);
    DET_TRY(checkpoint::agree_on_status(peers, begun ? Status(Ok{}) : Status(begun.error())));
    auto length = static_cast<std::int64_t>(begun->value_or(0));  // 0: no more operations
    DET_TRY(data_.distributed.broadcast(std::span<std::int64_t>(&length, 1)));
    if (length == 0) return std::optional<std::uint64_t>();
    return std::optional(static_cast<std::uint64_t>(length));
}

Status Searcher::acknowledge_end() {
    return was_ended_by_notice_ ? data_.acknowledge_preemption() : Status(Ok{});
}

Status Searcher::report_progress(double length) {
    DET_TRY(require_chief(data_, "report_progress"));
    auto const configured = training_length();
    if (data_.in_experiment() && !configured) return no_length();
    auto const whole = configured ? configured->value : length_outside_of_experiments;
    if (!(length >= 0 && length <= static_cast<double>(whole))) {
        return Error{codes::misuse, fmt::format("the length {} is not between 0 and {}", length, whole)};
    }
    if (!data_.reporter) return Ok{};
    return data_.reporter->report(
        encode_record(ProgressReported{data_.clock.now(), length / static_cast<double>(whole)}));
}

Status Searcher::report_completed(double metric) {
    DET_TRY(require_chief(data_, "report_completed"));
    if (!current_) {
        return Error{codes::misuse, "report_completed() was called without an operation",
                     "call it once after each next_operation()"};
    }
    if (data_.reporter) {
        DET_TRY(data_.reporter->append(OperationCompleted{data_.clock.now(), *current_, metric}));
    }
    current_.reset();
    return Ok{};
}

}  // namespace det::core
