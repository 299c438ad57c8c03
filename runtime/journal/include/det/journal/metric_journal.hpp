#pragma once
#include <det/journal/writer.hpp>
#include <det/protocol/metric_frames.hpp>

#include <span>
#include <string_view>

namespace det::journal {

/// A journal of a node's reports of numbers, of which some may be lost. Not thread-safe.
class MetricJournal {
public:
    /// \return errors as JournalWriter::open()
    static Result<MetricJournal> open(std::filesystem::path const& path);

    /// Adds a report with `steps` 0 to the next write().
    void add(UtcTime time, std::string_view group, std::span<Metric const> metrics) {
        frames_.add(time, group, 0, metrics);
    }
    /// Writes the reports that were added. If that fails, those not yet written are lost; later ones can be
    /// written.
    Status write();

private:
    explicit MetricJournal(JournalWriter journal) : journal_(std::move(journal)) {}

    JournalWriter journal_;
    MetricFrameWriter frames_;
};

}  // namespace det::journal
