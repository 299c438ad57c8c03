#pragma once
#include <det/journal/frame.hpp>
#include <det/protocol/metric_frames.hpp>
#include <det/tracker/index/records.hpp>
#include <det/tracker/index/report_writer.hpp>

#include <filesystem>
#include <optional>
#include <string_view>

namespace det::tracker::ingest {

/// Copies a journal into the index while another process writes it.
class JournalFollower {
public:
    /// \param row the state of the journal in the index
    JournalFollower(index::Database& database, index::JournalRow row);
    JournalFollower(JournalFollower const&) = delete;

    index::JournalRow const& row() const { return row_; }

    /// Reads what was appended since the last call, inside the caller's transaction. An error of the journal
    /// is kept in the index and ends the reading; only errors of the index are returned.
    /// \return whether there was something new
    Result<bool> follow(std::filesystem::path const& path);
    /// Marks the journal as settled in the index and joins its blocks. To be called once no process writes
    /// the journal any more and follow() has found nothing new. A journal with damage that the user has not
    /// accepted is not marked: its row has the error.
    Status mark_settled(std::filesystem::path const& path);

private:
    Result<bool> follow_bytes(std::string_view bytes, std::filesystem::path const& path);
    Status check_end(std::filesystem::path const& path);
    Status damage_of(journal::FrameView const& frame, std::filesystem::path const& path) const;
    Status take_frame(journal::FrameView const& frame);
    Status take_values(std::string_view payload);
    Status take_schema(std::string_view payload);
    Status take_record(journal::FrameView const& frame);

    index::Database& database_;
    index::JournalRow row_;
    MetricFrameReader frames_;
    index::ReportWriter blocks_;
    std::optional<std::uint32_t> last_schema_;  // whose group is in row_.records.beginning
};

}  // namespace det::tracker::ingest
