#include <det/foundation/clock.hpp>
#include <det/tracker/ingest/change_times.hpp>

#include <algorithm>
#include <sys/stat.h>

namespace det::tracker::ingest {
namespace {

std::int64_t modified_ns(std::filesystem::path const& path) {
    struct stat found {};
    if (::stat(path.c_str(), &found) != 0) return 0;
    return static_cast<std::int64_t>(found.st_mtim.tv_sec) * 1'000'000'000 + found.st_mtim.tv_nsec;
}

}  // namespace

std::int64_t ChangeTimes::read(ExperimentLayout const& experiment) {
    return std::max(modified_ns(experiment.path()), modified_ns(experiment.events()));
}

std::int64_t ChangeTimes::read_unless_recent(ExperimentLayout const& experiment) {
    constexpr std::int64_t margin_us = 2'000'000;
    auto const changed_ns = read(experiment);
    return changed_ns / 1000 + margin_us < SystemClock().now().microseconds ? changed_ns : 0;
}

void ChangeTimes::set(ExperimentId id, std::int64_t changed_ns) {
    std::lock_guard const lock(mutex_);
    times_[id] = changed_ns;
}

void ChangeTimes::forget(ExperimentId id) {
    std::lock_guard const lock(mutex_);
    times_.erase(id);
}

bool ChangeTimes::has(ExperimentId id, std::int64_t changed_ns) const {
    std::lock_guard const lock(mutex_);
    auto const found = times_.find(id);
    return found != times_.end() && changed_ns != 0 && found->second == changed_ns;
}

}  // namespace det::tracker::ingest
