#pragma once
#include <det/foundation/result.hpp>
#include <det/protocol/metric_frames.hpp>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace det::core {

struct ContextData;

/// Why a program ends its trial before the end of the training.
enum class EarlyExit : std::uint8_t { invalid_hp, user_requested_stop };

/// A message of the program to its user.
struct Alert {
    enum class Level : std::uint8_t { debug, info, warn, error };

    std::string title = {};
    std::string description = {};
    Level level = Level::info;
};

/// Reports the progress of the training loop. Any rank may report metrics; the first report of a rank other
/// than the chief makes its journal. Curves, best values and checkpoints take the value of the lowest rank
/// that has reported a metric for a step; searches are decided by the chief's reports. All other reports are
/// for the chief: on other ranks they fail with codes::misuse, except report_timings() and flush(). Outside
/// of an experiment reports are discarded. Not collective, except report_mean_metrics(), which one thread at
/// a time may call; several threads may make the other calls. Reports of metrics, progress, status and alerts
/// are put into a queue, and do not wait for a disk. A thread writes the queue to the journal every 50 ms.
/// The record of a checkpoint is written after all reports that the chief made before it.
/// report_early_exit(), set_metadata() and flush() wait for write(2), and repeat one that fails for
/// DET_STORAGE_TIMEOUT_S seconds (300). A report that takes more than 16 MiB in the journal is
/// codes::report_too_large, in every call.
class Train {
public:
    explicit Train(ContextData& data) : data_(data) {}

    /// \param steps_completed number of batches since the beginning of the trial; more than
    ///     steps_completed_max, as a converted negative number is, is codes::misuse in every call
    /// \param metrics a JSON object of names and values; anything else is codes::misuse
    Status report_training_metrics(std::uint64_t steps_completed, nlohmann::json metrics);
    Status report_validation_metrics(std::uint64_t steps_completed, nlohmann::json metrics);
    /// \param group "training", "validation" or another name, which must not contain a dot
    Status report_metrics(std::string group, std::uint64_t steps_completed, nlohmann::json metrics);
    /// Reports numbers. Copies them into a queue that a thread writes to the journal, without allocation or
    /// system call. If the queue is full the report is dropped; the journal has the number of dropped
    /// reports.
    Status report_metrics(std::string_view group, std::uint64_t steps_completed,
                          std::span<Metric const> metrics);
    /// report_metrics() for metrics that are JSON text already, which is faster. codes::misuse if the text is
    /// not JSON.
    Status report_metrics_text(std::string const& group, std::uint64_t steps_completed,
                               std::string_view metrics);
    /// Reports the mean over all ranks of each number. Collective: every rank calls it, with the same names
    /// in the same order.
    /// \return the means, in the order of `metrics`; codes::misuse on all ranks if their names differ
    Result<std::vector<double>> report_mean_metrics(std::string_view group, std::uint64_t steps_completed,
                                                    std::span<Metric const> metrics);
    /// Reports the counts and times of the named spans (telemetry/span.hpp) since the last call, as metrics
    /// of the group `timing`. Context::close() reports the rest. On ranks other than the chief it reports
    /// nothing.
    /// \param steps_completed nullopt: as in the last call, or 0
    Status report_timings(std::optional<std::uint64_t> steps_completed = {});
    /// \param progress from 0 to 1; anything else is codes::misuse
    Status report_progress(double progress);
    /// Writes all reports of this rank made so far to its journal instead of leaving that to the thread.
    /// Waits for write(2).
    Status flush() const;
    /// Records why the program is about to end. Only the first call counts.
    Status report_early_exit(EarlyExit reason);
    /// Reports a text for the user about what the program does now.
    Status set_status(std::string status);
    /// Writes the message to the journal: `trial describe` shows it.
    Status report_alert(Alert alert);
    /// Replaces the metadata of the trial, which later runs read.
    /// \param metadata a JSON object; anything else is codes::misuse
    Status set_metadata(nlohmann::json metadata);

    // Any rank may call the functions below. Outside of an experiment they find nothing: load_metadata()
    // returns an empty object, the others nullopt.

    /// \return the metadata of the trial; an empty object if none was set
    Result<nlohmann::json> load_metadata() const;
    /// Reads the journals of all trials of the experiment. A report of another process counts once it is in
    /// that process's journal.
    /// \return the best value of the searcher's metric among the validations; nullopt if there is none
    Result<std::optional<double>> find_experiment_best_validation() const;
    /// Reads the journals of the trial's runs.
    /// \return the largest steps_completed of the metrics; nullopt if there are none
    Result<std::optional<std::uint64_t>> find_last_steps() const;
    /// Makes the directory if it does not exist.
    /// \return the trial's directory for files of TensorBoard, on the shared file system
    Result<std::optional<std::filesystem::path>> make_tensorboard_directory() const;

private:
    Status report_record(Record const& record);

    ContextData& data_;
    std::atomic<bool> has_exited_early_ = false;
    std::atomic<std::uint64_t> timing_steps_ = 0;
};

}  // namespace det::core
