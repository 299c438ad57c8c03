#pragma once
#include <det/foundation/result.hpp>
#include <det/protocol/ids.hpp>

#include <cstddef>
#include <memory>

namespace det::transport {

enum class MpiType { uint8, int32, int64, float32, float64 };

/// MPI's own collectives among all ranks, to compare with ours: reductions are sums. Counts are elements, of
/// the whole or of one rank's part; in == out is in place. Initialises MPI unless that was done, as the
/// transport does.
class MpiCollectives {
public:
    static Result<MpiCollectives> open();
    MpiCollectives(MpiCollectives&&) noexcept;
    MpiCollectives& operator=(MpiCollectives&&) noexcept;
    ~MpiCollectives();

    Rank rank() const;
    int size() const;

    Status allreduce(void const* in, void* out, std::size_t count, MpiType type);
    Status reduce(void const* in, void* out, std::size_t count, MpiType type, Rank to);
    Status broadcast(void* data, std::size_t count, MpiType type, Rank from);
    Status reduce_scatter(void const* all, void* part, std::size_t part_count, MpiType type);
    Status allgather(void const* part, void* all, std::size_t part_count, MpiType type);
    /// count: of all parts together.
    Status all_to_all(void const* in, void* out, std::size_t count, MpiType type);

private:
    struct Session;
    explicit MpiCollectives(std::unique_ptr<Session> session);
    std::unique_ptr<Session> session_;
};

}  // namespace det::transport
