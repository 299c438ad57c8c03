#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <string>

namespace det::bench {

/// What the coordinator tells each rank through a pipe. Between two samples ranks sleep in a read, so that
/// those of one contestant don't disturb the other's.
struct Sample {
    enum class What : std::uint32_t { allreduce_own, allreduce_private, objects, memory_rate, die, end };
    What what = What::end;
    std::uint32_t iterations = 0;
    std::uint64_t bytes = 0;
};

struct Outcome {
    double seconds =
        0;  // the mean of an iteration on this rank; of `die`: when the error came, by the steady clock
    std::uint64_t wrong = 0;
};

/// The same barrier for all contestants: it is not what is measured.
struct alignas(128) BarrierCell {
    std::atomic<std::uint64_t> count;
};

inline std::string pipe_path(std::string const& directory, int rank, std::string const& direction) {
    return fmt::format("{}/{}.{}", directory, rank, direction);
}
inline std::string barrier_path(std::string const& directory) { return directory + "/barrier"; }

/// Rank r adds r + 1 + this.
inline float offset_of(std::uint64_t iteration) { return static_cast<float>(iteration % 8); }

/// 1 KiB in the mean.
inline int object_size(int rank) { return rank % 2 == 0 ? 512 + 7 : 1536 - 7; }

}  // namespace det::bench
