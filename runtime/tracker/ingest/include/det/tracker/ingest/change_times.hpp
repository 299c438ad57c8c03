#pragma once
#include <det/protocol/directory_layout.hpp>

#include <cstdint>
#include <map>
#include <mutex>

namespace det::tracker::ingest {

/// When settled experiments changed last. Commands change an experiment by new files in its directory or in
/// its `events`, so two modification times show whether the index is up to date. Thread-safe.
class ChangeTimes {
public:
    /// The later of the two modification times, in nanoseconds since 1970; 0 if there is no experiment.
    static std::int64_t read(ExperimentLayout const& experiment);
    /// Returns read(), but 0 if that time is less than two seconds ago: a later change may then have the same
    /// time.
    static std::int64_t read_unless_recent(ExperimentLayout const& experiment);

    /// Notes that the index has a settled experiment as of this time. 0: the time is not known.
    void set(ExperimentId id, std::int64_t changed_ns);
    void forget(ExperimentId id);
    /// Whether the index has the experiment as of this time, and it is settled.
    bool has(ExperimentId id, std::int64_t changed_ns) const;

private:
    mutable std::mutex mutex_;
    std::map<ExperimentId, std::int64_t> times_;
};

}  // namespace det::tracker::ingest
