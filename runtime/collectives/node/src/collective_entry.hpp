#pragma once
#include <memory>
#include <vector>

#include "rank_slot.hpp"
#include "signature.hpp"

namespace det::collectives::node {

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
