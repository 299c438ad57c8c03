#pragma once
#include <memory>
#include <vector>

#include "rank_slot.hpp"

namespace det::collectives::node {

/// What a rank writes to say that it has come: the number of the operation in its lower part, so that it
/// differs from that of the operation before whatever was called, and above it what was called.
inline constexpr int sequence_bits = 16;
inline constexpr std::uint64_t sequence_mask = (std::uint64_t{1} << sequence_bits) - 1;

/// Few instructions: it is on the way of every operation.
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

/// How every operation begins: all ranks arrive, and see from one line of each that all called the same.
/// Nobody goes on before all have come; so what a rank left in shared memory for the operation before has
/// been read by then.
///
/// Where they differ, or one refuses, each writes out what it called and reads what the others did: the same
/// Error on all, and the next operation can be tried.
class CollectiveEntry {
public:
    /// Call and refusal stay where they are. refusal: null where there is none.
    void begin(collectives::Call const& call, Error const* refusal);
    /// What this rank writes to say that it has come.
    std::uint64_t signature() const { return signature_; }
    /// Whether all have come and what follows is known.
    bool advance(RankSlot& slot);

    /// Those who have not come yet.
    std::vector<int> awaited(RankSlot const& slot) const;
    /// Why the operation cannot be, once it is known; else null.
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
    std::unique_ptr<Error const> mismatch_;  // apart: each operation makes an Arrival, and an Error is large
};

}  // namespace det::collectives::node
