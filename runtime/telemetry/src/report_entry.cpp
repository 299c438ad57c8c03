#include "report_entry.hpp"

#include <cstring>

namespace det::telemetry {
namespace {

// Memory order of an entry: Head, for each metric a MetricHead, the group, the names.

struct Head {
    std::int64_t time_us;
    std::uint64_t steps_completed;
    std::uint32_t metrics;
    std::uint32_t group_size_bytes;
    RecordType type;  // of an encoded record; metric_values for metrics
};

struct MetricHead {
    double value;
    std::uint32_t name_size_bytes;
    MetricType type;
};

template <class T>
void put(char*& to, T const& value) {
    std::memcpy(to, &value, sizeof value);
    to += sizeof value;
}

void put(char*& to, std::string_view text) {
    std::memcpy(to, text.data(), text.size());
    to += text.size();
}

template <class T>
T get(std::string_view& from) {
    T value;
    std::memcpy(&value, from.data(), sizeof value);
    from.remove_prefix(sizeof value);
    return value;
}

std::string_view get_text(std::string_view& from, std::size_t size_bytes) {
    auto const text = from.substr(0, size_bytes);
    from.remove_prefix(size_bytes);
    return text;
}

}  // namespace

std::size_t entry_size_bytes(MetricsEntry const& entry) {
    auto size_bytes = sizeof(Head) + entry.group.size() + entry.metrics.size() * sizeof(MetricHead);
    for (auto const& metric : entry.metrics) size_bytes += metric.name.size();
    return size_bytes;
}

void write_entry(char* bytes, MetricsEntry const& entry) {
    put(bytes,
        Head{entry.time.microseconds, entry.steps_completed, static_cast<std::uint32_t>(entry.metrics.size()),
             static_cast<std::uint32_t>(entry.group.size()), RecordType::metric_values});
    for (auto const& metric : entry.metrics)
        put(bytes, MetricHead{metric.value, static_cast<std::uint32_t>(metric.name.size()), metric.type});
    put(bytes, entry.group);
    for (auto const& metric : entry.metrics) put(bytes, metric.name);
}

std::size_t entry_size_bytes(EncodedRecord const& record) { return sizeof(Head) + record.payload.size(); }

void write_entry(char* bytes, EncodedRecord const& record) {
    put(bytes, Head{0, 0, 0, 0, record.type});
    put(bytes, std::string_view(record.payload));
}

std::optional<EncodedRecord> read_record(std::string_view entry) {
    auto const head = get<Head>(entry);
    if (head.type == RecordType::metric_values) return std::nullopt;
    return EncodedRecord{head.type, std::string(entry)};
}

MetricsEntry read_metrics(std::string_view entry, std::vector<Metric>& metrics) {
    auto const head = get<Head>(entry);
    auto heads = get_text(entry, head.metrics * sizeof(MetricHead));
    auto const group = get_text(entry, head.group_size_bytes);
    metrics.clear();
    for (std::uint32_t i = 0; i < head.metrics; ++i) {
        auto const metric = get<MetricHead>(heads);
        metrics.push_back({get_text(entry, metric.name_size_bytes), metric.value, metric.type});
    }
    return {UtcTime{head.time_us}, head.steps_completed, group, metrics};
}

}  // namespace det::telemetry
