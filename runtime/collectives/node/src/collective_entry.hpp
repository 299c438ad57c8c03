#pragma once
#include <memory>
#include <vector>

#include "rank_slot.hpp"

namespace det::collectives::node {

/// A signature is the value that a rank writes when it enters an operation. Its lower bits are the number of
/// the operation, so that it differs from the previous signature. Its upper bits are a fingerprint of the
/// call.
inline constexpr int sequence_bits = 16;
inline constexpr std::uint64_t sequence_mask = (std::uint64_t{1} << sequence_bits) - 1;

/// A hash of few instructions, because every operation computes it.
inline std::uint64_t mix(std::uint64_t count, std::uint64_t rest) {
    auto const sum = count * 0x9e37'79b9'7f4a'7c15u + rest * 0xbf58'476d'1ce4'e5b9u;
    return (sum ^ (sum >> 32)) * 0x94d0'49bb'1331'11ebu;
}

inline std::uint64_t signature_of(collectives::Call const& call, bool is_refusal) {
    auto const rest = static_cast<std::uint64_t>(static_cast<std::uint32_t>(call.root)) << 32 |
                      static_cast<std::uint64_t>(call.kind) << 16 |
                      static_cast<std::uint64_t>(call.type) << 8 | static_cast<std::uint64_t>(call.op);
    auto const fingerprint = is_refusal ? 0 : mix(call.count, rest + 1) | (sequence_mask + 1);
    return (fingerprint & ~sequence_mask) | ((call.sequence + 1) & sequence_mask);
}

/// The entry of every operation. Each rank writes its signature and reads those of all other ranks, to check
/// that all ranks have entered with the same call. No rank continues before all ranks have entered. By then
/// every rank has finished reading the data of the previous operation in shared memory. If calls differ or a
/// rank refuses, each rank writes a CallRecord and reads those of the other ranks: all ranks get the same
/// Error, and the next operation may succeed.
class CollectiveEntry {
public:
    /// Begins the entry. `call` and `refusal` must outlive it. `refusal` is null if this rank accepts the
    /// call.
    void begin(collectives::Call const& call, Error const* refusal);
    /// The signature that this rank writes when it enters.
    std::uint64_t signature() const { return signature_; }
    /// Makes progress without blocking. Returns whether all ranks have entered and any mismatch is known.
    bool advance(RankSlot& slot);

    /// The ranks that have not entered yet.
    std::vector<int> awaited(RankSlot const& slot) const;
    /// The Error for which the operation cannot be done; null if all ranks agree.
    Error const* mismatch() const { return mismatch_.get(); }

private:
    enum class Stage { entering, recording };

    bool advance_recording(RankSlot& slot);
    void write_record(RankSlot& slot);
    Error find_mismatch(RankSlot const& slot) const;

    collectives::Call const* call_ = nullptr;
    Error const* refusal_ = nullptr;
    std::uint64_t signature_ = 0;
    Stage stage_ = Stage::entering;
    int next_ = 0;
    bool differs_ = false;
    std::unique_ptr<Error const>
        mismatch_;  // on the heap, because each operation makes a CollectiveEntry and an Error is large
};

}  // namespace det::collectives::node
