#include <det/journal/record_decoder.hpp>

namespace det::journal {

Status RecordDecoder::decode(FrameView const& frame, std::vector<Record>& records) {
    if (frame.type == static_cast<std::uint16_t>(RecordType::metric_schema))
        return metrics_.add_schema(frame.payload);
    if (frame.type == static_cast<std::uint16_t>(RecordType::metric_values))
        return decode_metrics(frame.payload, records);
    if (!may_be_wanted(frame)) return Ok{};
    DET_TRY_ASSIGN(auto record, decode_record(frame.type, frame.payload));
    if (!record) {
        ++skipped_;
        return Ok{};
    }
    auto const* metrics = std::get_if<MetricsReported>(&*record);
    if (only_group_.empty() || (metrics != nullptr && metrics->group == only_group_))
        records.push_back(*std::move(record));
    return Ok{};
}

Status RecordDecoder::decode_metrics(std::string_view payload, std::vector<Record>& records) const {
    return metrics_.visit(payload, [&](MetricReportView const& report) {
        if (only_group_.empty() || report.schema.group == only_group_) records.push_back(to_record(report));
    });
}

/// Whether a record can be a metric of the wanted group. This avoids the parsing of most other records.
bool RecordDecoder::may_be_wanted(FrameView const& frame) const {
    if (only_group_.empty()) return true;
    return frame.type == static_cast<std::uint16_t>(RecordType::metrics) &&
           frame.payload.find(only_group_) != frame.payload.npos;
}

}  // namespace det::journal
