#pragma once
#include <det/foundation/clock.hpp>
#include <det/foundation/result.hpp>
#include <det/journal/writer.hpp>
#include <det/protocol/metric_frames.hpp>
#include <det/protocol/record.hpp>
#include <det/telemetry/event_file.hpp>
#include <det/telemetry/report_ring.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <thread>
#include <vector>

namespace det::telemetry {

struct ReporterOptions {
    std::size_t capacity_bytes = std::size_t{4} << 20;  // of the queue; a power of two
    std::chrono::milliseconds write_period{50};  // a process that is killed loses the reports of this time
    std::chrono::milliseconds sync_period{10'000};
    std::chrono::milliseconds retry_timeout{0};  // for which append(), flush() and close() repeat a write
    std::function<void(std::string const& warning)> warn = {};
    std::optional<EventFile> event_file = {};  // gets all metrics that are numbers, for TensorBoard
    Rank rank = {};                            // whose metrics these are
};

/// Writes the journal of a run's chief, or that of another rank's metrics. report() copies into a queue, from
/// which a thread writes to the journal. While the file can't be written, reports wait in memory: twice
/// capacity_bytes at most, and one report more. If the queue is full, reports are dropped, counted, and the
/// count is written to the journal. append() writes in the calling thread, after the reports before it. All
/// functions are thread-safe. In a forked child reports are lost, and close() and the destructor do nothing;
/// append(), append_in_background() and flush() must not be called there.
class Reporter {
public:
    /// \param clock must outlive the reporter; it measures the retry_timeout
    Reporter(journal::JournalWriter journal, Clock& clock, ReporterOptions options = {});
    /// Calls close() without repeated writes, and ignores its error.
    ~Reporter();
    Reporter(Reporter const&) = delete;
    Reporter& operator=(Reporter const&) = delete;

    /// Reports metrics. Does not wait for the file, unless the report is larger than a quarter of the queue,
    /// and the queue is full: then at most a second, and not again before something was written. \return
    /// codes::report_too_large: the report can't be written, and is not counted as dropped
    Status report(UtcTime time, std::string_view group, std::uint64_t steps_completed,
                  std::span<Metric const> metrics);
    /// Reports a record, as report() does metrics.
    Status report(EncodedRecord const& record);

    /// Writes all reports that were made before, and the record. Repeats a write that fails with
    /// codes::file_system until retry_timeout has passed.
    /// \return the error of the file; the reports are kept and written later, the record is not.
    ///     codes::report_too_large for the record
    Status append(Record const& record, Durability durability = Durability::process_crash);
    /// Queues a record, which is never dropped: the thread writes it after the reports before it, and for
    /// Durability::power_loss syncs it at once. Waits for the file only if the queue is full, like append().
    /// \return as append()
    Status append_in_background(Record const& record, Durability durability = Durability::process_crash);
    /// Writes all reports that were made before. Repeats writes as append() does.
    Status flush();
    /// Writes all reports that were made before, and does not repeat a write that fails.
    Status flush_once();
    /// Ends the thread, writes all reports and syncs the journal. Repeats writes as append() does. Nothing
    /// writes later reports. Does nothing if it was called before.
    /// \return the error of the file; the reports that could not be written are then lost
    Status close();

private:
    struct Pending {
        EncodedRecord record;
        Durability durability;
    };

    void write_periodically(std::stop_token const& stop);
    bool has_forked() const;
    template <class Entry>
    bool push(Entry const& entry);
    template <class Queue>
    void queue_large(Queue const& queue);
    void wake();
    template <class Write>
    Status write_repeatedly(std::chrono::milliseconds retry_timeout, Write const& write);
    Status close(std::chrono::milliseconds retry_timeout);

    // The functions below require file_mutex_.
    Status write_reports();
    Status write_pending();
    Status write_record(EncodedRecord const& record);
    Status sync_if_required();
    void write_event_file();
    Status write_dropped();
    void warn_once(bool& has_warned, std::string const& warning) const;
    void sync_if_due();

    // The functions below require queue_mutex_.
    Pending const* first_pending();
    void take_entries();
    void take_entry(std::string_view entry);
    void queue_record(EncodedRecord record, Durability durability = Durability::process_crash);
    void queue_metrics(UtcTime time, std::string_view group, std::uint64_t steps_completed,
                       std::span<Metric const> metrics);
    void end_frame();
    void add_to_event_file(EncodedRecord const& record);

    Clock& clock_;
    ReporterOptions options_;
    ReportRing ring_;
    std::atomic<std::uint64_t> dropped_ = 0;

    // Held during writes, which may take minutes if the file system does not answer.
    std::mutex file_mutex_;
    journal::JournalWriter journal_;
    std::uint64_t recorded_dropped_ = 0;  // number of dropped reports that the journal has recorded
    std::chrono::steady_clock::time_point dropped_recorded_at_{};
    std::chrono::steady_clock::time_point synced_at_ = std::chrono::steady_clock::now();
    bool is_dirty_ = false;   // written since the last sync
    bool must_sync_ = false;  // a record of append_in_background() was written that is to be synced at once
    std::string last_error_;  // of the last write; empty if it succeeded
    bool has_warned_of_drops_ = false;
    bool has_warned_of_loss_ = false;
    bool has_warned_of_event_file_ = false;
    bool is_closed_ = false;

    // Never held during a write, so that report() does not wait for one. Locked after file_mutex_.
    std::mutex queue_mutex_;
    MetricFrameWriter metrics_;
    std::vector<Metric> entry_metrics_;  // of one entry; kept to reuse its memory
    std::deque<Pending> pending_;        // taken from the ring and not written yet
    std::size_t pending_size_bytes_ = 0;
    std::condition_variable written_;       // a pending record was written
    std::atomic<bool> is_blocked_ = false;  // the last write has failed, or does not return

    std::mutex wake_mutex_;
    std::condition_variable_any wake_;
    bool is_woken_ = false;  // a record is pending that does not wait for the period
    pid_t const owner_;
    std::mutex join_mutex_;  // held by the caller that joins the thread
    std::jthread thread_;    // last: it ends before the other members
};

}  // namespace det::telemetry
