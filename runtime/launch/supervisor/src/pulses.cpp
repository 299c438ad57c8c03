#include <det/foundation/files.hpp>
#include <det/launch/supervisor/pulses.hpp>

#include <fcntl.h>
#include <sys/stat.h>

namespace det::launch::supervisor {
namespace {

constexpr int checks_until_silent = 4;
constexpr int checks_until_all_ended = 2;  // a step ends at once when its last task does

/// Opened, since NFS asks the server then, and not for a stat.
std::optional<std::int64_t> last_beat_ns(std::filesystem::path const& file) {
    UniqueFd const fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat info {};
    if (!fd || ::fstat(fd.get(), &info) != 0) return std::nullopt;
    return info.st_mtim.tv_sec * 1'000'000'000LL + info.st_mtim.tv_nsec;
}

}  // namespace

std::optional<int> Pulses::look() {
    std::optional<int> silent;
    bool all_ended = true;
    for (std::size_t node = 0; node < seen_.size(); ++node) {
        auto& seen = seen_[node];
        auto const beat = last_beat_ns(run_.pulse(static_cast<int>(node)));
        bool const unchanged = beat && *beat == seen.beat_ns;
        // What ended before we looked for the first time has left its log, or how it failed.
        auto const log = run_.node_log(static_cast<int>(node));
        bool const has_begun =
            seen.has_begun || beat || path_exists(log) || path_exists(RunLayout::ends_beside(log));
        seen = {beat.value_or(0), unchanged ? seen.unchanged + 1 : 0, has_begun};
        all_ended = all_ended && seen.has_begun && !beat;
        if (seen.unchanged >= checks_until_silent && !silent) silent = static_cast<int>(node);
    }
    checks_without_any_ = all_ended ? checks_without_any_ + 1 : 0;
    return checks_without_any_ >= checks_until_all_ended ? std::optional(0) : silent;
}

void Pulses::start_over() {
    for (auto& seen : seen_) seen.unchanged = 0;
    checks_without_any_ = 0;
}

}  // namespace det::launch::supervisor
