#pragma once
#include <det/foundation/result.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

namespace det::liveness {

/// The operations whose waiting times are recorded separately. The values are written to the page: append
/// only.
enum class WaitOperation : std::uint8_t {
    barrier,
    gather,
    allgather,
    broadcast_object,
    broadcast,
    allreduce,
    reduce,
    reduce_scatter,
    allgather_elements,
    all_to_all,
    control,  // messages and flags outside of collective operations, for example of should_preempt()
};
inline constexpr std::size_t wait_operation_count = 11;
std::string_view to_string(WaitOperation operation);

/// How long a rank has waited for others since the start of the run.
struct RankWaits {
    int rank = 0;
    std::uint64_t operations_begun = 0;  // collective operations, of which the last one may not have ended
    std::uint64_t waits_ended = 0;
    std::array<std::uint64_t, wait_operation_count> waited_ns{};  // by WaitOperation
    struct ForRank {
        int rank = 0;
        std::uint64_t ns = 0;
    };
    /// The ranks that this rank has awaited, at most 8: the last one and those with the longest times. A rank
    /// that was left out and is awaited again starts at zero.
    std::vector<ForRank> waited_for;
};

/// A mapped file, shared by the ranks of a run on a node and by their wrapper. Each rank has a slot, which
/// only that rank writes. A reader gets each number whole, but the numbers may be from different moments.
class WaitPage {
public:
    static constexpr int slots_max = 1024;

    /// Maps the page for a rank; creates it if it does not exist. Allocates the space of the rank's slot, so
    /// that a full file system is an error here and not a signal at the first store.
    /// \param local_rank below slots_max
    /// \return codes::damaged if a file of another size has this path; an error of the file system
    static Result<WaitPage> open_for_writing(std::filesystem::path const& path, int local_rank);
    /// Maps the page for a reader.
    /// \return codes::no_such_file until a rank has created the page; codes::damaged if the file is no page
    ///     of this version, or if a rank is creating it at this moment; an error of the file system
    static Result<WaitPage> open_for_reading(std::filesystem::path const& path);

    WaitPage(WaitPage&& other) noexcept;
    WaitPage& operator=(WaitPage&&) = delete;
    ~WaitPage();

    /// The ranks that have joined, in the order of their slots.
    std::vector<RankWaits> read() const;

    /// An awaited rank. `rank_plus_one` is 0 while the entry is empty or being replaced.
    struct Awaited {
        std::atomic<std::int32_t> rank_plus_one;
        std::int32_t unused;
        std::atomic<std::uint64_t> ns;
    };
    /// Zeroed memory is an empty slot. The first cache line is written with each operation. The rest is
    /// written by join() and in waits.
    struct alignas(128) Slot {
        std::atomic<std::uint64_t> operations_begun;
        alignas(64) std::atomic<std::int32_t> rank_plus_one;
        std::int32_t unused;
        std::atomic<std::uint64_t> waits_ended;
        std::array<std::atomic<std::uint64_t>, wait_operation_count> waited_ns;
        std::array<Awaited, 8> awaited;
    };
    /// Marks the slot of a local rank as used by the rank with this number in the run, and returns the slot.
    /// \param local_rank that for which the page was opened
    Slot& join(int local_rank, int rank);

private:
    struct Layout;
    explicit WaitPage(Layout* page) : page_(page) {}
    static Result<WaitPage> map(int file, std::filesystem::path const& path, int protection);

    Layout* page_;
};

/// The name of the page in DET_RUN_DIR.
inline constexpr char wait_page_file[] = "waits";

}  // namespace det::liveness
