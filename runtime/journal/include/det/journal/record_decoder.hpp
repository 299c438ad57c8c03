#pragma once
#include <det/journal/frame.hpp>
#include <det/protocol/metric_frames.hpp>
#include <det/protocol/record.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace det::journal {

/// Decodes the frames of one journal to records, in order. A frame of binary metrics becomes one record per
/// report.
class RecordDecoder {
public:
    /// \param only_group if not empty: decodes the metrics of this group and leaves out all other records
    explicit RecordDecoder(std::string only_group = {}) : only_group_(std::move(only_group)) {}

    /// Appends the records of a whole frame to `records`.
    Status decode(FrameView const& frame, std::vector<Record>& records);

    /// Number of frames of types that this program does not know. Always 0 with only_group.
    std::size_t skipped() const { return skipped_; }

private:
    Status decode_metrics(std::string_view payload, std::vector<Record>& records) const;
    bool may_be_wanted(FrameView const& frame) const;

    std::string only_group_;
    MetricFrameReader metrics_;
    std::size_t skipped_ = 0;
};

}  // namespace det::journal
