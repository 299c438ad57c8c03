#pragma once
#include <functional>

#include "channel.hpp"
#include "message.hpp"
#include "schedule.hpp"

namespace det::collectives {

/// Merges the payload of another part of the ranks into `mine`. Both parts call it with the same two
/// messages, so both get the same result if it depends only on which part is below and which is above.
using Merge = std::function<void(Message& mine, Message const& theirs, Side theirs_is)>;

/// The schedule of an agreement: an allreduce of messages. Empty for a single rank.
Schedule agreement_schedule(Rank rank, int ranks);

/// Executes the schedule. Afterwards `mine` contains the payloads of all ranks, merged in the same order on
/// all ranks. All ranks get the same verdict and the same message: that two ranks differ in the call, or that
/// a rank has failed before. `theirs` is scratch memory. Fails if a rank is unreachable.
Result<Verdict> agree(Channel channel, Schedule const& schedule, Message& mine, Message& theirs,
                      Merge const& merge);

}  // namespace det::collectives
