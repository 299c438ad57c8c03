#include <det/checkpoint/error_exchange.hpp>
#include <det/core/train.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/list_numeric_names.hpp>
#include <det/journal/best_validation.hpp>
#include <det/protocol/compare_metrics.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/steps_completed.hpp>

#include <array>
#include <fmt/format.h>

#include "collective_peers.hpp"
#include "context_data.hpp"
#include "json_metrics.hpp"
#include "trial_files.hpp"

namespace det::core {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 2> early_exits{early_exit_reasons::invalid_hyperparameters,
                                                      early_exit_reasons::user_requested_stop};
constexpr std::array<std::string_view, 4> alert_levels{"debug", "info", "warn", "error"};

constexpr char not_a_map[] = "metrics are a map of names to values";

Status check_report(std::string_view group, std::uint64_t steps_completed) {
    if (group.empty() || group.find('.') != group.npos)
        return Error{codes::misuse, fmt::format("'{}' can't name a group of metrics", group)};
    return check_steps_completed(steps_completed);
}

}  // namespace

Status Train::report_training_metrics(std::uint64_t steps_completed, nlohmann::json metrics) {
    return report_metrics("training", steps_completed, std::move(metrics));
}

Status Train::report_validation_metrics(std::uint64_t steps_completed, nlohmann::json metrics) {
    return report_metrics("validation", steps_completed, std::move(metrics));
}

Status Train::report_metrics(std::string_view group, std::uint64_t steps_completed,
                             std::span<Metric const> metrics) {
    DET_TRY(check_report(group, steps_completed));
    DET_TRY_ASSIGN(auto* const reporter, data_.metrics_reporter());
    if (reporter == nullptr) return Ok{};
    DET_TRY(data_.note_steps(steps_completed));
    return reporter->report(data_.clock.now(), group, steps_completed, metrics);
}

Status Train::report_metrics(std::string group, std::uint64_t steps_completed, nlohmann::json metrics) {
    if (!metrics.is_object()) return Error{codes::misuse, not_a_map};
    MetricList numbers;
    if (find_numbers(metrics, numbers.list)) return report_metrics(group, steps_completed, numbers.list);
    DET_TRY(check_report(group, steps_completed));
    name_non_finite(metrics);
    DET_TRY_ASSIGN(auto* const reporter, data_.metrics_reporter());
    if (reporter == nullptr) return Ok{};
    DET_TRY(data_.note_steps(steps_completed));
    return reporter->report(encode_record(MetricsReported{
        data_.clock.now(), std::move(group), steps_completed, std::move(metrics), data_.distributed.rank()}));
}

Status Train::report_metrics_text(std::string const& group, std::uint64_t steps_completed,
                                  std::string_view metrics) {
    MetricList numbers;
    if (parse_numbers(metrics, numbers.list)) return report_metrics(group, steps_completed, numbers.list);
    auto parsed = try_parse_json(metrics);
    if (parsed.is_discarded()) return Error{codes::misuse, fmt::format("metrics is no JSON: {}", metrics)};
    return report_metrics(group, steps_completed, std::move(parsed));
}

Result<std::vector<double>> Train::report_mean_metrics(std::string_view group, std::uint64_t steps_completed,
                                                       std::span<Metric const> metrics) {
    auto const is_valid = check_report(group, steps_completed);
    CollectivePeers peers(data_.distributed);
    DET_TRY(checkpoint::agree_on_status(peers, is_valid));
    DET_TRY_ASSIGN(auto const reports, data_.distributed.allgather(encode_for_mean(metrics)));
    DET_TRY_ASSIGN(auto means, mean_of_reports(reports));
    if (data_.distributed.is_chief()) {
        std::vector<Metric> averaged;
        for (std::size_t i = 0; i < metrics.size(); ++i) averaged.push_back({metrics[i].name, means[i]});
        DET_TRY(report_metrics(group, steps_completed, averaged));
    }
    return means;
}

Status Train::report_record(Record const& record) {
    return data_.reporter ? data_.reporter->report(encode_record(record)) : Ok{};
}

Status Train::report_progress(double progress) {
    DET_TRY(require_chief(data_, "report_progress"));
    if (!(progress >= 0 && progress <= 1)) {
        return Error{codes::misuse, fmt::format("progress {} is not between 0 and 1", progress)};
    }
    return report_record(ProgressReported{data_.clock.now(), progress});
}

Status Train::flush() const { return data_.flush_reports(); }

Status Train::report_early_exit(EarlyExit reason) {
    DET_TRY(require_chief(data_, "report_early_exit"));
    if (!data_.reporter || has_exited_early_.exchange(true)) return Ok{};
    return data_.reporter->append(
        EarlyExitReported{data_.clock.now(), std::string(early_exits.at(static_cast<std::size_t>(reason)))});
}

Status Train::set_status(std::string status) {
    DET_TRY(require_chief(data_, "set_status"));
    return report_record(StatusSet{data_.clock.now(), std::move(status)});
}

Status Train::report_alert(Alert alert) {
    DET_TRY(require_chief(data_, "alert"));
    return report_record(AlertRaised{data_.clock.now(), std::move(alert.title), std::move(alert.description),
                                     std::string(alert_levels.at(static_cast<std::size_t>(alert.level)))});
}

Status Train::set_metadata(nlohmann::json metadata) {
    DET_TRY(require_chief(data_, "set_metadata"));
    if (!metadata.is_object()) return Error{codes::misuse, "the metadata of a trial is a map"};
    if (!data_.reporter) return Ok{};
    return data_.reporter->append(TrialMetadataSet{data_.clock.now(), std::move(metadata)});
}

Result<nlohmann::json> Train::load_metadata() const {
    auto metadata = nlohmann::json::object();
    if (!data_.in_experiment()) return metadata;
    DET_TRY_ASSIGN(auto const records, load_chief_records(trial_of(data_)));
    for (auto const& record : records) {
        if (auto const* set = std::get_if<TrialMetadataSet>(&record)) metadata = *set->metadata;
    }
    return metadata;
}

Result<std::optional<double>> Train::find_experiment_best_validation() const {
    std::optional<double> best;
    if (!data_.in_experiment()) return best;
    DET_TRY(flush());
    auto const& spec = *data_.info->spec;
    journal::Objective const objective{spec.searcher.metric, spec.searcher.smaller_is_better};
    auto const trials = trial_of(data_).path().parent_path();
    DET_TRY_ASSIGN(auto const indices, list_numeric_names(trials));
    for (auto const index : indices) {
        DET_TRY_ASSIGN(auto const found,
                       journal::load_best_validation(TrialLayout(trials / std::to_string(index)),
                                                     spec.first_run_of(index), objective));
        if (found && (!best || is_better(found->value, *best, objective.smaller_is_better)))
            best = found->value;
    }
    return best;
}

Result<std::optional<std::uint64_t>> Train::find_last_steps() const {
    std::optional<std::uint64_t> last;
    if (!data_.in_experiment()) return last;
    DET_TRY(flush());
    DET_TRY_ASSIGN(auto const records, load_chief_records(trial_of(data_)));
    for (auto const& record : records) {
        auto const* metrics = std::get_if<MetricsReported>(&record);
        if (metrics != nullptr && (!last || metrics->steps_completed > *last))
            last = metrics->steps_completed;
    }
    return last;
}

Result<std::optional<fs::path>> Train::make_tensorboard_directory() const {
    if (!data_.in_experiment()) return std::optional<fs::path>();
    auto path = trial_of(data_).tensorboard();
    DET_TRY(make_directories(path));
    return std::optional(std::move(path));
}

}  // namespace det::core
