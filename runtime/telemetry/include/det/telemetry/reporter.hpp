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
    std::function<void(std::string const& warning)> warn = {};
    std::optional<EventFile> event_file = {};  // gets all metrics that are numbers, for TensorBoard
    Rank rank = {};                            // whose metrics these are
};

/// Writes the journal of a run's chief, or that of another rank's metrics. report() copies into a queue, from
/// which a thread writes to the journal; if the queue is full, reports are dropped, counted, and the count is
/// written to the journal. append() writes in the calling thread, after the reports before it. All functions
/// are thread-safe. In a forked child reports are lost, and close() and the destructor do nothing; append()
/// and flush() must not be called there.
class Reporter {
public:
    /// \param clock must outlive the reporter
    Reporter(journal::JournalWriter journal, Clock& clock, ReporterOptions options = {});
    /// Calls close() and ignores its error.
    ~Reporter();
    Reporter(Reporter const&) = delete;
    Reporter& operator=(Reporter const&) = delete;

    /// Reports metrics. Never waits, unless the report is larger than a quarter of the queue.
    void report(UtcTime time, std::string_view group, std::uint64_t steps_completed,
                std::span<Metric const> metrics);
    /// Reports a record. Never waits, unless it is larger than a quarter of the queue.
    void report(EncodedRecord const& record);

    /// Writes all reports that were made before, and the record.
    /// \return the error of the file; the reports are kept and written later, the record is not
    Status append(Record const& record, Durability durability = Durability::process_crash);
    /// Writes all reports that were made before.
    Status flush();
    /// Ends the thread, writes all reports and syncs the journal. Nothing writes later reports. Does nothing
    /// if it was called before.
    /// \return the error of the file; the reports that could not be written are then lost
    Status close();

private:
    void write_periodically(std::stop_token const& stop);
    bool has_forked() const;
    template <class Entry>
    bool push(Entry const& entry);

    // The functions below require mutex_.
    Status write_reports();
    bool drop_if_full();
    void take_entries();
    void take_entry(std::string_view entry);
    void queue_record(EncodedRecord record);
    void queue_metrics(UtcTime time, std::string_view group, std::uint64_t steps_completed,
                       std::span<Metric const> metrics);
    void end_frame();
    Status write_pending();
    void add_to_event_file(EncodedRecord const& record);
    void flush_event_file();
    Status write_dropped();
    void sync_if_due();

    Clock& clock_;
    ReporterOptions options_;
    ReportRing ring_;
    std::atomic<std::uint64_t> dropped_ = 0;

    std::mutex mutex_;
    journal::JournalWriter journal_;
    MetricFrameWriter metrics_;
    std::vector<Metric> entry_metrics_;  // of one entry; kept to reuse its memory
    std::deque<EncodedRecord> pending_;  // taken from the ring and not written yet
    std::size_t pending_size_bytes_ = 0;
    std::uint64_t recorded_dropped_ = 0;  // number of dropped reports that the journal has recorded
    std::chrono::steady_clock::time_point dropped_recorded_at_{};
    std::chrono::steady_clock::time_point synced_at_ = std::chrono::steady_clock::now();
    bool is_dirty_ = false;   // written since the last sync
    std::string last_error_;  // of the last write; empty if it succeeded
    bool is_closed_ = false;

    std::condition_variable_any wake_;
    pid_t const owner_;
    std::mutex join_mutex_;  // held by the caller that joins the thread
    std::jthread thread_;    // last: it ends before the other members
};

}  // namespace det::telemetry
