#include "hang_detector.hpp"

#include <det/foundation/files.hpp>

#include <algorithm>
#include <fcntl.h>
#include <sys/stat.h>

#include "progress_files.hpp"

namespace det::launch::supervisor {
namespace {

/// Opens the file: an NFS client asks the server on open(2), but may answer stat(2) from its cache.
std::uint64_t size_bytes_of(std::filesystem::path const& file) {
    UniqueFd const fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat info {};
    return fd && ::fstat(fd.get(), &info) == 0 ? static_cast<std::uint64_t>(info.st_size) : 0;
}

/// The number in the heartbeat file of a node that is not connected. It changes when ranks of the node begin
/// or end collective operations of libdet; it is empty while they use none.
std::string read_activity(RunLayout const& run, int node) {
    constexpr std::size_t size_limit_bytes = 64;
    return read_file(run.heartbeat(node), size_limit_bytes).value_or("");
}

}  // namespace

ReportedProgress read_progress(TrialLayout const& trial, RunLayout const& run,
                               std::vector<std::optional<std::string>> activity,
                               std::vector<std::string> const& progress_globs) {
    ReportedProgress progress{size_bytes_of(run.chief_journal()), newest_change(progress_globs, trial)};
    for (std::size_t node = 0; node < activity.size(); ++node)
        progress.activity.push_back(activity[node] ? *std::move(activity[node])
                                                   : read_activity(run, static_cast<int>(node)));
    return progress;
}

HangDetector::HangDetector(std::optional<std::chrono::seconds> timeout, Time begin)
    : timeout_(timeout), changed_at_(begin), next_check_at_(timeout ? begin + interval() : begin) {}

std::chrono::milliseconds HangDetector::interval() const {
    return std::max<std::chrono::milliseconds>(std::chrono::milliseconds(*timeout_) / 10,
                                               std::chrono::seconds(1));
}

std::optional<HangDetector::Time> HangDetector::next_check() const {
    return timeout_ ? std::optional(next_check_at_) : std::nullopt;
}

bool HangDetector::check(ReportedProgress const& progress, Time now) {
    if (!timeout_) return false;
    bool const is_late = now > next_check_at_ + interval();
    next_check_at_ = now + interval();
    if (is_late || progress != progress_) {
        progress_ = progress;
        changed_at_ = now;
        return false;
    }
    return now - changed_at_ >= *timeout_;
}

}  // namespace det::launch::supervisor
