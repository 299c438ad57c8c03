#pragma once
#include <det/journal/writer.hpp>
#include <det/protocol/metric_frames.hpp>

#include <span>
#include <string_view>

namespace det::journal {

/// A journal of metrics of a node, for example the load of its GPUs. Not thread-safe.
class MetricJournal {
public:
    /// Creates or continues a journal, as JournalWriter::open() does, with its errors.
    static Result<MetricJournal> open(std::filesystem::path const& path);

    /// Adds a report with `steps` 0 to the next write().
    void add(UtcTime time, std::string_view group, std::span<Metric const> metrics) {
        frames_.add(time, group, 0, metrics);
    }
    /// Writes the reports that were added. If a write fails, the reports that are not written yet are lost.
    /// Later reports can still be written.
    Status write();

private:
    explicit MetricJournal(JournalWriter journal) : journal_(std::move(journal)) {}

    JournalWriter journal_;
    MetricFrameWriter frames_;
};

}  // namespace det::journal
