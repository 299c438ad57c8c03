#pragma once
#include <det/foundation/clock.hpp>
#include <det/foundation/files.hpp>

#include <filesystem>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>

namespace det::launch::wrap_rank {

/// The log of a node, as one wrapper writes to it. Several append to the same file: each batch of whole lines
/// is one write to a file opened with O_APPEND. A log that can't be written never stops a command: the first
/// failure is told, the log is tried again once a second, and where it goes on it says how many lines are
/// missing. Thread-safe.
class RankLog {
public:
    using Complain = std::function<void(Error const&)>;
    static constexpr std::size_t last_words_size_max = 8320;  // the longest line fits

    /// label: "[rank=3] ", or nothing: what every line has behind its time.
    RankLog(std::filesystem::path path, std::string label, Clock const& clock, Complain complain);

    /// Whole lines, each with its time.
    void append(std::string_view lines);
    /// The last whole lines that were given to append(), kept or not, without their time and label.
    std::string last_words() const;
    /// Tells it if what was written went nowhere.
    void finish();

private:
    bool is_open();
    void open();
    void check_that_it_is_there();
    void write(std::string_view lines);
    void fail(Error error);
    void remember(std::string_view lines);

    std::filesystem::path const path_;
    std::string const label_;
    Clock const& clock_;
    Complain const complain_;

    mutable std::mutex mutex_;
    UniqueFd file_;
    std::chrono::steady_clock::time_point looked_at_;  // when it was last opened, or seen to be there
    bool has_complained_ = false;
    bool is_torn_ = false;           // the last write broke off within a line
    std::size_t missing_lines_ = 0;  // since it could last be written
    std::string last_words_;
};

}  // namespace det::launch::wrap_rank
