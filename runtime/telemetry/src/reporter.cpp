#include <det/foundation/start_thread.hpp>
#include <det/protocol/json.hpp>
#include <det/telemetry/reporter.hpp>

#include <fmt/format.h>
#include <unistd.h>
#include <utility>

#include "report_entry.hpp"

namespace det::telemetry {

using namespace std::chrono_literals;

Reporter::Reporter(journal::JournalWriter journal, Clock& clock, ReporterOptions options)
    : clock_(clock),
      options_(std::move(options)),
      ring_(options_.capacity_bytes),
      journal_(std::move(journal)),
      metrics_(options_.rank),
      owner_(::getpid()),
      thread_(
          start_thread("det-reports", [this](std::stop_token const& stop) { write_periodically(stop); })) {}

Reporter::~Reporter() {
    // After a fork the thread exists only in the parent, where it may have held the mutex at the time of the
    // fork.
    if (has_forked()) {
        thread_.detach();
    } else {
        (void)close();
    }
}

bool Reporter::has_forked() const { return ::getpid() != owner_; }

/// \return false if the entry is too large for the ring; true if it was pushed, or counted as dropped because
/// the ring is full
template <class Entry>
bool Reporter::push(Entry const& entry) {
    auto const size_bytes = entry_size_bytes(entry);
    if (size_bytes > ring_.entry_limit_bytes()) return false;
    if (!ring_.push(size_bytes, [&](char* bytes) { write_entry(bytes, entry); }))
        dropped_.fetch_add(1, std::memory_order_relaxed);
    return true;
}

void Reporter::report(UtcTime time, std::string_view group, std::uint64_t steps_completed,
                      std::span<Metric const> metrics) {
    if (push(MetricsEntry{time, steps_completed, group, metrics})) return;
    if (has_forked()) return;
    std::scoped_lock const lock(mutex_);
    if (drop_if_full()) return;
    queue_metrics(time, group, steps_completed, metrics);
    (void)write_reports();
}

void Reporter::report(EncodedRecord const& record) {
    if (push(record)) return;
    if (has_forked()) return;
    std::scoped_lock const lock(mutex_);
    if (drop_if_full()) return;
    queue_record(record);
    (void)write_reports();
}

Status Reporter::append(Record const& record, Durability durability) {
    std::scoped_lock const lock(mutex_);
    DET_TRY(write_reports());
    return journal_.append(record, durability);
}

Status Reporter::flush() {
    std::scoped_lock const lock(mutex_);
    return write_reports();
}

Status Reporter::close() {
    if (has_forked()) return Ok{};
    thread_.request_stop();
    {
        std::scoped_lock const joining(join_mutex_);
        if (thread_.joinable()) thread_.join();
    }
    std::scoped_lock const lock(mutex_);
    if (std::exchange(is_closed_, true)) return Ok{};
    DET_TRY(write_reports());
    DET_TRY(write_dropped());
    return journal_.sync();
}

void Reporter::write_periodically(std::stop_token const& stop) {
    std::unique_lock lock(mutex_);
    while (!stop.stop_requested()) {
        wake_.wait_for(lock, stop, options_.write_period, [] { return false; });
        if (!write_reports()) continue;  // tries again after the next period
        if (std::chrono::steady_clock::now() - dropped_recorded_at_ >= 1s) (void)write_dropped();
        sync_if_due();
    }
}

Status Reporter::write_reports() {
    take_entries();
    flush_event_file();
    auto const written = write_pending();
    auto const error = written ? std::string() : written.error().message;
    if (!error.empty() && last_error_.empty() && options_.warn)
        options_.warn(fmt::format("reports are kept in memory until they can be written: {}", error));
    last_error_ = error;
    return written;
}

/// Takes the reports before a large one from the ring. If too many records could not be written, counts the
/// large report as dropped.
/// \return Whether the large report is dropped.
bool Reporter::drop_if_full() {
    take_entries();
    bool const is_full = pending_size_bytes_ > options_.capacity_bytes;
    if (is_full) dropped_.fetch_add(1, std::memory_order_relaxed);
    return is_full;
}

/// Leaves the entries in the ring while too many records could not be written.
void Reporter::take_entries() {
    if (pending_size_bytes_ > options_.capacity_bytes) return;
    ring_.pop_all([this](std::string_view entry) { take_entry(entry); });
    end_frame();
}

void Reporter::take_entry(std::string_view entry) {
    if (auto record = read_record(entry)) {
        queue_record(*std::move(record));
        return;
    }
    auto const report = read_metrics(entry, entry_metrics_);
    queue_metrics(report.time, report.group, report.steps_completed, report.metrics);
}

void Reporter::queue_record(EncodedRecord record) {
    end_frame();
    if (options_.event_file && record.type == RecordType::metrics) add_to_event_file(record);
    pending_size_bytes_ += record.payload.size();
    pending_.push_back(std::move(record));
}

void Reporter::queue_metrics(UtcTime time, std::string_view group, std::uint64_t steps_completed,
                             std::span<Metric const> metrics) {
    metrics_.add(time, group, steps_completed, metrics);
    if (options_.event_file) options_.event_file->add(time, group, steps_completed, metrics);
}

/// Adds the numbers of a report to the event file. Such a report has other values too.
void Reporter::add_to_event_file(EncodedRecord const& record) {
    auto const decoded = decode_record(static_cast<std::uint16_t>(record.type), record.payload);
    if (!decoded || !*decoded) return;
    auto const& report = std::get<MetricsReported>(**decoded);
    entry_metrics_.clear();
    for (auto item = report.metrics->begin(); item != report.metrics->end(); ++item) {
        if (item->is_number()) entry_metrics_.push_back({item.key(), item->get<double>()});
    }
    options_.event_file->add(report.time, report.group, report.steps_completed, entry_metrics_);
}

/// If the event file can't be written, warns and writes no more to it. The journal still gets all reports.
void Reporter::flush_event_file() {
    if (!options_.event_file) return;
    auto const flushed = options_.event_file->flush();
    if (flushed) return;
    if (options_.warn)
        options_.warn(fmt::format("no more metrics for TensorBoard: {}", flushed.error().message));
    options_.event_file.reset();
}

void Reporter::end_frame() {
    for (auto& record : metrics_.take()) {
        pending_size_bytes_ += record.payload.size();
        pending_.push_back(std::move(record));
    }
}

Status Reporter::write_pending() {
    end_frame();
    while (!pending_.empty()) {
        DET_TRY(journal_.append(pending_.front()));
        is_dirty_ = true;
        pending_size_bytes_ -= pending_.front().payload.size();
        pending_.pop_front();
    }
    return Ok{};
}

Status Reporter::write_dropped() {
    auto const dropped = dropped_.load(std::memory_order_relaxed);
    if (dropped == recorded_dropped_) return Ok{};
    constexpr char reason[] = "the queue of reports was full";
    DET_TRY(journal_.append(ReportsDropped{clock_.now(), dropped - recorded_dropped_, reason}));
    if (options_.warn)
        options_.warn(fmt::format("{} reports were dropped: {}", dropped - recorded_dropped_, reason));
    recorded_dropped_ = dropped;
    dropped_recorded_at_ = std::chrono::steady_clock::now();
    return Ok{};
}

void Reporter::sync_if_due() {
    auto const now = std::chrono::steady_clock::now();
    if (!is_dirty_ || now - synced_at_ < options_.sync_period) return;
    (void)journal_.sync();  // best effort: close() syncs again and returns its error
    is_dirty_ = false;
    synced_at_ = now;
}

}  // namespace det::telemetry
