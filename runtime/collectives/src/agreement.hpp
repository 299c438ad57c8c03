#pragma once
#include <functional>

#include "message.hpp"

namespace det::collectives {

/// What an operation talks through: nothing else uses its tag.
struct Channel {
    transport::Transport& peers;
    transport::Tag tag;
};

/// Whether something comes from ranks below ours or above.
enum class Side { below, above };

/// Puts what another part of the ranks sent to what we have. Called for the same two parts on both, so the
/// result is the same on both when it depends on what is below and what is above alone.
using Merge = std::function<void(Message& mine, Message const& theirs, Side theirs_is)>;

/// Recursive doubling: afterwards `mine` holds the payloads of all ranks, merged in the same order
/// everywhere. The verdict is the same on every rank, and so is what `mine` then says: that any two ranks
/// differ in the call, or that one has failed before. `theirs` is memory to work with. An Error: a rank is
/// out of reach.
Result<Verdict> agree(Channel channel, Message& mine, Message& theirs, Merge const& merge);

}  // namespace det::collectives
