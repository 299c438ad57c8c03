#pragma once
#include <functional>

#include "channel.hpp"
#include "message.hpp"
#include "schedule.hpp"

namespace det::collectives {

/// Merges another message into `mine`. Both ranks merge the same two messages, so the result must depend only
/// on which one comes from the lower ranks.
using Merge = std::function<void(Message& mine, Message const& theirs, Side theirs_is)>;

/// The schedule of an agreement: an allreduce of messages. For a single rank it has no steps.
Schedule agreement_schedule(Rank rank, int ranks);

/// Runs the schedule of an agreement. Afterwards `mine` holds the payloads of all ranks, merged in the same
/// order on every rank, or the reason of a failure: two ranks differ in the call, or a rank has refused it.
/// The verdict and the reason are the same on every rank. `theirs` is scratch memory. The function returns an
/// Error if the transport fails (a rank is lost, for example).
Result<Verdict> agree(Channel channel, Schedule const& schedule, Message& mine, Message& theirs,
                      Merge const& merge);

}  // namespace det::collectives
