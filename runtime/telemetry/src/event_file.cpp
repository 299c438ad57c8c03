#include <det/foundation/bytes.hpp>
#include <det/foundation/shared_directory.hpp>
#include <det/foundation/text.hpp>
#include <det/foundation/varint.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/json_number.hpp>
#include <det/telemetry/event_file.hpp>

#include <bit>
#include <cerrno>
#include <deque>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace det::telemetry {
namespace {

// An event file is a sequence of TFRecords, each with a message Event in the encoding of Protocol Buffers.

enum class WireType : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

// Field numbers of the messages.
namespace event {
constexpr std::uint32_t wall_time = 1;  // double, seconds since 1970
constexpr std::uint32_t step = 2;
constexpr std::uint32_t file_version = 3;
constexpr std::uint32_t summary = 5;
constexpr std::uint32_t session_log = 7;
}  // namespace event
constexpr std::uint32_t summary_value = 1;
constexpr std::uint32_t value_tag = 1;
constexpr std::uint32_t value_simple_value = 2;  // float
constexpr std::uint32_t session_log_status = 1;
constexpr std::uint64_t session_log_start = 1;

void append_key(std::string& message, std::uint32_t field, WireType type) {
    append_varint(message, field << 3 | static_cast<std::uint32_t>(type));
}

void append_bytes(std::string& message, std::uint32_t field, std::string_view bytes) {
    append_key(message, field, WireType::bytes);
    append_varint(message, bytes.size());
    message += bytes;
}

/// The fields that every event has.
std::string begin_event(UtcTime time, std::uint64_t step) {
    std::string message;
    append_key(message, event::wall_time, WireType::fixed64);
    append_value(message, std::bit_cast<std::uint64_t>(static_cast<double>(time.microseconds) / 1e6));
    append_key(message, event::step, WireType::varint);
    append_varint(message, step);
    return message;
}

/// TFRecord stores each CRC in this masked form.
std::uint32_t masked_crc32c(std::string_view bytes) { return std::rotr(crc32c(bytes), 15) + 0xa282ead8u; }

void append_record(std::string& out, std::string_view message) {
    std::string size;
    append_value(size, static_cast<std::uint64_t>(message.size()));
    out += size;
    append_value(out, masked_crc32c(size));
    out += message;
    append_value(out, masked_crc32c(message));
}

std::string render_summary(std::string_view group, std::span<Metric const> metrics) {
    std::string summary;
    for (auto const& metric : metrics) {
        auto tag = fmt::format("{}/{}", group, metric.name);
        if (!is_valid_utf8(tag)) tag = escape_control(tag);  // Protocol Buffers refuse other strings
        std::string value;
        append_bytes(value, value_tag, tag);
        append_key(value, value_simple_value, WireType::fixed32);
        append_value(value, std::bit_cast<std::uint32_t>(static_cast<float>(metric.value)));
        append_bytes(summary, summary_value, value);
    }
    return summary;
}

}  // namespace

Result<EventFile> EventFile::create(std::filesystem::path const& path, UtcTime time,
                                    std::optional<std::uint64_t> resumed_from) {
    UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600));
    if (!file) return os_error(fmt::format("create '{}'", path.string()), errno);
    share_new_file(file.get(), path);
    EventFile events(path, std::move(file));
    auto version = begin_event(time, 0);
    append_bytes(version, event::file_version, "brain.Event:2");
    append_record(events.added_, version);
    if (resumed_from) {
        std::string status;
        append_key(status, session_log_status, WireType::varint);
        append_varint(status, session_log_start);
        auto start = begin_event(time, *resumed_from + 1);
        append_bytes(start, event::session_log, status);
        append_record(events.added_, start);
    }
    DET_TRY(events.flush());
    return events;
}

void EventFile::add(UtcTime time, std::string_view group, std::uint64_t steps_completed,
                    std::span<Metric const> metrics) {
    if (metrics.empty()) return;
    auto message = begin_event(time, steps_completed);
    append_bytes(message, event::summary, render_summary(group, metrics));
    append_record(added_, message);
}

void EventFile::add(MetricsReported const& report) {
    std::deque<std::string> names;  // to which the metrics refer
    std::vector<Metric> metrics;
    for (auto const& [name, value] : report.metrics->items()) {
        auto const number =
            value.is_boolean() ? std::optional(value.get<bool>() ? 1.0 : 0.0) : number_from_json(value);
        if (!number) continue;
        names.push_back(report.rank == Rank{} ? name : fmt::format("{} [rank={}]", name, report.rank.value));
        metrics.push_back({names.back(), *number});
    }
    add(report.time, report.group, report.steps_completed, metrics);
}

Status EventFile::write(std::string_view bytes) {
    if (waiting_.empty() || waiting_.size() + bytes.size() <= waiting_limit_bytes) waiting_ += bytes;
    if (waiting_.empty()) return Ok{};
    if (may_be_incomplete_ && ::ftruncate(file_.get(), size_bytes_) != 0)
        return os_error(fmt::format("cut '{}'", path_.string()), errno);
    may_be_incomplete_ = true;
    DET_TRY(write_all(file_.get(), waiting_, path_.string()));
    may_be_incomplete_ = false;
    size_bytes_ += static_cast<std::int64_t>(waiting_.size());
    waiting_.clear();
    return Ok{};
}

}  // namespace det::telemetry
