#pragma once
#include <det/foundation/clock.hpp>
#include <det/foundation/files.hpp>

#include <filesystem>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>

namespace det::launch::wrap_rank {

/// The log of a node, to which each wrapper of the node appends by its own NodeLogWriter: each batch of whole
/// lines is one write(2) to a file opened with O_APPEND. A log that can't be written never stops the command:
/// the first error is reported, the file is opened again once a second, and a line in the log states how many
/// lines are missing. Thread-safe.
class NodeLogWriter {
public:
    using ErrorHandler = std::function<void(Error const&)>;
    static constexpr std::size_t last_output_size_max = 8320;  // the longest line fits

    /// \param label "[rank=3] " or empty: the label after the time in every line.
    NodeLogWriter(std::filesystem::path path, std::string label, Clock const& clock, ErrorHandler on_error);

    /// Appends whole lines, each of which begins with its time.
    void append(std::string_view lines);
    /// A line of the log will state that these lines are missing after those given to append().
    void add_missing(std::size_t lines);
    /// The last whole lines given to append(), written or not, without time and label.
    std::string last_output() const;
    /// Writes how many lines are missing at the end, if the log can be written. Reports an error if the file
    /// has been removed while the command ran.
    void finish();

private:
    /// Opens the log if it is not open and the last attempt was a second ago or more. Closes it first if it
    /// has been removed. Returns whether it is open.
    bool ensure_open();
    void open();
    void check_still_linked();
    void write(std::string_view lines);
    void close_and_report(Error error);
    void keep_last_output(std::string_view lines);

    std::filesystem::path const path_;
    std::string const label_;
    Clock const& clock_;
    ErrorHandler const on_error_;

    mutable std::mutex mutex_;
    UniqueFd file_;
    std::chrono::steady_clock::time_point checked_at_;  // when the file was last opened or checked
    bool has_reported_ = false;
    bool is_torn_ = false;           // the last write was cut within a line
    std::size_t missing_lines_ = 0;  // since the last successful write
    std::string last_output_;
};

}  // namespace det::launch::wrap_rank
