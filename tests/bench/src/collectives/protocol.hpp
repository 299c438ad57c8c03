#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <string>

namespace det::bench {

/// The command that the coordinator sends to each rank through a pipe. Between two samples the ranks block in
/// read(2), so that they do not disturb other contestants.
struct Sample {
    enum class What : std::uint32_t { allreduce_own, allreduce_private, objects, memory_rate, die, end };
    What what = What::end;
    std::uint32_t iterations = 0;
    std::uint64_t bytes = 0;
};

struct Outcome {
    double seconds =
        0;  // the mean of an iteration on this rank; for `die`: the time of the error (steady clock)
    std::uint64_t wrong = 0;
};

/// All contestants use this barrier, because barriers are not measured.
struct alignas(128) BarrierCell {
    std::atomic<std::uint64_t> count;
};

inline std::string pipe_path(std::string const& directory, int rank, std::string const& direction) {
    return fmt::format("{}/{}.{}", directory, rank, direction);
}
inline std::string barrier_path(std::string const& directory) { return directory + "/barrier"; }

/// Rank r contributes the value r + 1 + offset_of(iteration).
inline float offset_of(std::uint64_t iteration) { return static_cast<float>(iteration % 8); }

/// The mean over the ranks is 1 KiB.
inline int object_size(int rank) { return rank % 2 == 0 ? 512 + 7 : 1536 - 7; }

}  // namespace det::bench
