#pragma once
#include <functional>

#include "channel.hpp"
#include "message.hpp"
#include "schedule.hpp"

namespace det::collectives {

/// Puts what another part of the ranks sent to what we have. Called for the same two parts on both, so the
/// result is the same on both when it depends on what is below and what is above alone.
using Merge = std::function<void(Message& mine, Message const& theirs, Side theirs_is)>;

/// What an agreement follows: an allreduce of messages. Without steps for a single rank.
Schedule agreement_schedule(Rank rank, int ranks);

/// By that schedule: afterwards `mine` holds the payloads of all ranks, merged in the same order
/// everywhere. The verdict is the same on every rank, and so is what `mine` then says: that any two ranks
/// differ in the call, or that one has failed before. `theirs` is memory to work with. An Error: a rank is
/// out of reach.
Result<Verdict> agree(Channel channel, Schedule const& schedule, Message& mine, Message& theirs,
                      Merge const& merge);

}  // namespace det::collectives
