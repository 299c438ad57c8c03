#include "node_log_writer.hpp"

#include <det/foundation/shared_directory.hpp>
#include <det/foundation/text.hpp>

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace det::launch::wrap_rank {
namespace {

constexpr std::chrono::seconds check_interval{1};
constexpr std::size_t time_size = 27;

std::string quoted(std::filesystem::path const& path) { return fmt::format("the log '{}'", path.string()); }

}  // namespace

NodeLogWriter::NodeLogWriter(std::filesystem::path path, std::string label, Clock const& clock,
                             ErrorHandler on_error)
    : path_(std::move(path)), label_(std::move(label)), clock_(clock), on_error_(std::move(on_error)) {
    open();
}

void NodeLogWriter::append(std::string_view lines) {
    std::lock_guard const guard(mutex_);
    keep_last_output(lines);
    if (ensure_open()) write(lines);
    if (!file_) missing_lines_ += static_cast<std::size_t>(std::count(lines.begin(), lines.end(), '\n'));
}

std::string NodeLogWriter::last_output() const {
    std::lock_guard const guard(mutex_);
    std::string_view text(last_output_);
    if (text.size() > last_output_size_max) {  // keep whole lines within the limit
        text.remove_prefix(text.size() - last_output_size_max - 1);
        text.remove_prefix(std::min(text.find('\n') + 1, text.size()));
    }
    std::string texts;
    for (auto const line : split_lines(text))
        texts.append(line.substr(std::min(line.size(), time_size + 1 + label_.size()))).push_back('\n');
    return texts;
}

void NodeLogWriter::finish() {
    std::lock_guard const guard(mutex_);
    if (file_ && missing_lines_ != 0) write({});
    if (file_) check_still_linked();
}

void NodeLogWriter::add_missing(std::size_t lines) {
    std::lock_guard const guard(mutex_);
    missing_lines_ += lines;
}

bool NodeLogWriter::ensure_open() {
    if (clock_.steady_now() - checked_at_ < check_interval) return static_cast<bool>(file_);
    if (file_) check_still_linked();
    if (!file_) open();
    return static_cast<bool>(file_);
}

void NodeLogWriter::open() {
    checked_at_ = clock_.steady_now();
    // O_NONBLOCK: opening a named pipe without reader fails instead of blocking.
    file_ = UniqueFd(
        ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0600));
    if (!file_) close_and_report(os_error("open " + quoted(path_), errno));
    if (file_) share_new_file(file_.get(), path_);
}

void NodeLogWriter::check_still_linked() {
    checked_at_ = clock_.steady_now();
    struct stat info {};
    if (::fstat(file_.get(), &info) != 0) {
        close_and_report(os_error("look at " + quoted(path_), errno));
    } else if (info.st_nlink == 0) {
        close_and_report(Error{codes::no_such_file, quoted(path_) + " was removed"});
    }
}

void NodeLogWriter::write(std::string_view lines) {
    if (is_torn_ || missing_lines_ != 0) {
        auto const remark =
            fmt::format("{}{} {}det-wrap-rank: {} lines are missing here\n{}", is_torn_ ? "\n" : "",
                        format_utc(clock_.now()), label_, missing_lines_, lines);
        is_torn_ = false;
        missing_lines_ = 0;
        write(remark);
        return;
    }
    auto rest = lines;
    while (!rest.empty()) {
        auto const count = ::write(file_.get(), rest.data(), rest.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) {
            is_torn_ = rest.size() < lines.size() && lines[lines.size() - rest.size() - 1] != '\n';
            close_and_report(os_error("append to " + quoted(path_), errno));
            return;
        }
        rest.remove_prefix(static_cast<std::size_t>(count));
    }
}

void NodeLogWriter::close_and_report(Error error) {
    file_.reset();
    if (has_reported_) return;
    has_reported_ = true;
    error.hint = "the command continues; its output is only on standard output until the log can be written";
    on_error_(error);
}

void NodeLogWriter::keep_last_output(std::string_view lines) {
    constexpr std::size_t kept = 2 * last_output_size_max;
    if (lines.size() >= kept) {
        last_output_ = lines.substr(lines.size() - kept);
        return;
    }
    if (last_output_.size() + lines.size() > 2 * kept) last_output_.erase(0, last_output_.size() - kept);
    last_output_ += lines;
}

}  // namespace det::launch::wrap_rank
