#include <det/journal/metric_journal.hpp>

namespace det::journal {

Result<MetricJournal> MetricJournal::open(std::filesystem::path const& path) {
    DET_TRY_ASSIGN(auto journal, JournalWriter::open(path));
    return MetricJournal(std::move(journal));
}

Status MetricJournal::write() {
    for (auto const& frame : frames_.take()) {
        auto written = journal_.append(frame);
        if (written) continue;
        frames_ = MetricFrameWriter();  // later frames need their schemas again
        return written;
    }
    return Ok{};
}

}  // namespace det::journal
