#include <det/foundation/repeat_write.hpp>
#include <det/foundation/start_thread.hpp>
#include <det/journal/frame.hpp>
#include <det/protocol/metric_schema_size.hpp>
#include <det/telemetry/reporter.hpp>

#include <fmt/format.h>
#include <unistd.h>
#include <utility>

#include "report_entry.hpp"

namespace det::telemetry {

using namespace std::chrono_literals;

namespace {

constexpr auto between_retries = 100ms;
constexpr auto room_timeout = 1s;  // for which a large report waits if the queue is full

/// codes::report_too_large if the schema of the metrics is too large. Their values take less: at most 8 bytes
/// each, and an entry of the schema takes more.
Status check_size(Rank rank, std::string_view group, std::span<Metric const> metrics) {
    auto const size_bytes = schema_size_bytes_max(rank, group, metrics, journal::payload_limit_bytes);
    if (size_bytes <= journal::payload_limit_bytes) return Ok{};
    return journal::too_large(fmt::format("a report of {} metrics with their names", metrics.size()),
                              size_bytes);
}

Status check_size(EncodedRecord const& record) {
    if (record.payload.size() <= journal::payload_limit_bytes) return Ok{};
    return journal::too_large("a report", record.payload.size());
}

}  // namespace

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
    // After a fork the thread exists only in the parent, where it may have held a mutex at the time of the
    // fork.
    if (has_forked()) {
        thread_.detach();
    } else {
        (void)close(0ms);
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

/// Calls `queue` for a report that is too large for the ring, after taking the reports before it from the
/// ring, and wakes the thread. If too much is pending, waits a moment for the thread, unless it has written
/// nothing since the last such wait. If then too much is pending, counts the report as dropped.
template <class Queue>
void Reporter::queue_large(Queue const& queue) {
    if (has_forked()) return;
    {
        std::unique_lock lock(queue_mutex_);
        take_entries();
        auto const has_room = [this] { return pending_size_bytes_ <= options_.capacity_bytes; };
        if (!is_blocked_ && !written_.wait_for(lock, room_timeout, has_room)) is_blocked_ = true;
        take_entries();
        if (!has_room()) {
            dropped_.fetch_add(1, std::memory_order_relaxed);
            return;
        }
        queue();
        end_frame();
    }
    wake();
}

/// Lets the thread write at once.
void Reporter::wake() {
    std::scoped_lock const lock(wake_mutex_);
    is_woken_ = true;
    wake_.notify_one();
}

Status Reporter::report(UtcTime time, std::string_view group, std::uint64_t steps_completed,
                        std::span<Metric const> metrics) {
    DET_TRY(check_size(options_.rank, group, metrics));
    if (push(MetricsEntry{time, steps_completed, group, metrics})) return Ok{};
    queue_large([&] { queue_metrics(time, group, steps_completed, metrics); });
    return Ok{};
}

Status Reporter::report(EncodedRecord const& record) {
    DET_TRY(check_size(record));
    if (!push(record)) queue_large([&] { queue_record(record); });
    return Ok{};
}

/// Calls `write` with file_mutex_ locked, again and again until it succeeds, fails for good, or the timeout
/// has passed. Another thread may write between two calls.
template <class Write>
Status Reporter::write_repeatedly(std::chrono::milliseconds retry_timeout, Write const& write) {
    return repeat_write(clock_, {retry_timeout, between_retries}, [&]() -> Status {
        std::scoped_lock const lock(file_mutex_);
        return write();
    });
}

Status Reporter::append(Record const& record, Durability durability) {
    auto const encoded = encode_record(record);
    bool is_appended = false;
    return write_repeatedly(options_.retry_timeout, [&]() -> Status {
        if (!is_appended) {
            DET_TRY(write_reports());
            DET_TRY(journal_.append(encoded));
            is_appended = true;
        }
        return durability == Durability::power_loss ? journal_.sync() : Ok{};
    });
}

Status Reporter::append_in_background(Record const& record, Durability durability) {
    auto encoded = encode_record(record);
    DET_TRY(check_size(encoded));
    std::unique_lock lock(queue_mutex_);
    take_entries();
    bool const is_full = pending_size_bytes_ > options_.capacity_bytes;
    if (!is_full) queue_record(std::move(encoded), durability);
    lock.unlock();
    if (is_full) return append(record, durability);
    wake();
    return Ok{};
}

Status Reporter::flush() {
    return write_repeatedly(options_.retry_timeout, [this] { return write_reports(); });
}

Status Reporter::flush_once() {
    std::scoped_lock const lock(file_mutex_);
    return write_reports();
}

Status Reporter::close() {
    if (has_forked()) return Ok{};
    return close(options_.retry_timeout);
}

Status Reporter::close(std::chrono::milliseconds retry_timeout) {
    thread_.request_stop();
    {
        std::scoped_lock const joining(join_mutex_);
        if (thread_.joinable()) thread_.join();
    }
    auto const closed = write_repeatedly(retry_timeout, [this]() -> Status {
        if (is_closed_) return Ok{};
        DET_TRY(write_reports());
        DET_TRY(write_dropped());
        DET_TRY(journal_.sync());
        is_closed_ = true;
        return Ok{};
    });
    std::scoped_lock const lock(file_mutex_);
    is_closed_ = true;
    return closed;
}

void Reporter::write_periodically(std::stop_token const& stop) {
    while (!stop.stop_requested()) {
        {
            std::unique_lock lock(wake_mutex_);
            wake_.wait_for(lock, stop, options_.write_period, [this] { return is_woken_; });
            is_woken_ = false;
        }
        std::scoped_lock const lock(file_mutex_);
        bool const is_written = write_reports().has_value();
        if (std::chrono::steady_clock::now() - dropped_recorded_at_ >= 1s && is_written)
            (void)write_dropped();
        if (is_written) sync_if_due();  // otherwise tries again after the next period
    }
}

Status Reporter::write_reports() {
    {
        std::scoped_lock const lock(queue_mutex_);
        take_entries();
    }
    write_event_file();
    auto const written = write_pending();
    auto const error = written ? std::string() : written.error().message;
    if (!error.empty() && last_error_.empty() && options_.warn)
        options_.warn(fmt::format("reports are kept in memory until they can be written: {}", error));
    last_error_ = error;
    if (!written) is_blocked_ = true;
    if (dropped_.load(std::memory_order_relaxed) > recorded_dropped_)
        warn_once(has_warned_of_drops_,
                  "reports are dropped, because the queue of reports is full; the journal will have their "
                  "number");
    return written;
}

void Reporter::warn_once(bool& has_warned, std::string const& warning) const {
    if (!std::exchange(has_warned, true) && options_.warn) options_.warn(warning);
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

void Reporter::queue_record(EncodedRecord record, Durability durability) {
    end_frame();
    if (options_.event_file && record.type == RecordType::metrics) add_to_event_file(record);
    pending_size_bytes_ += record.payload.size();
    pending_.push_back({std::move(record), durability});
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
    options_.event_file->add(std::get<MetricsReported>(**decoded));
}

/// If the event file can't be written, warns once and tries again later.
void Reporter::write_event_file() {
    if (!options_.event_file) return;
    std::string added;
    {
        std::scoped_lock const lock(queue_mutex_);
        added = options_.event_file->take();
    }
    if (auto const written = options_.event_file->write(added); !written)
        warn_once(has_warned_of_event_file_,
                  fmt::format("metrics for TensorBoard wait until they can be written: {}",
                              written.error().message));
}

void Reporter::end_frame() {
    for (auto& record : metrics_.take()) {
        pending_size_bytes_ += record.payload.size();
        pending_.push_back({std::move(record), Durability::process_crash});
    }
}

/// The pointer stays valid while other threads queue records.
Reporter::Pending const* Reporter::first_pending() {
    std::scoped_lock const lock(queue_mutex_);
    return pending_.empty() ? nullptr : &pending_.front();
}

Status Reporter::write_pending() {
    while (auto const* pending = first_pending()) {
        DET_TRY(write_record(pending->record));
        if (pending->durability == Durability::power_loss) must_sync_ = true;
        std::scoped_lock const lock(queue_mutex_);
        pending_size_bytes_ -= pending->record.payload.size();
        pending_.pop_front();
        is_blocked_ = false;
        written_.notify_all();
    }
    return sync_if_required();
}

Status Reporter::sync_if_required() {
    if (!must_sync_) return Ok{};
    DET_TRY(journal_.sync());
    must_sync_ = false;
    return Ok{};
}

/// Writes a record. One that can never be written is counted as dropped, so that it does not hold back later
/// records.
Status Reporter::write_record(EncodedRecord const& record) {
    auto const written = journal_.append(record);
    is_dirty_ = is_dirty_ || written.has_value();
    if (written || written.error().code != codes::report_too_large) return written;
    dropped_.fetch_add(1, std::memory_order_relaxed);
    warn_once(has_warned_of_loss_, fmt::format("a report is lost: {}", written.error().message));
    return Ok{};
}

Status Reporter::write_dropped() {
    auto const dropped = dropped_.load(std::memory_order_relaxed);
    if (dropped == recorded_dropped_) return Ok{};
    DET_TRY(journal_.append(
        ReportsDropped{clock_.now(), dropped - recorded_dropped_, "the queue of reports was full"}));
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
