#pragma once
#include <chrono>
#include <memory>
#include <vector>

#include "segment.hpp"

namespace det::collectives::node {

inline constexpr char loss_hint[] = "end this rank, or make a new group of those that are left";

/// Detects whether the process of a rank has ended.
class Liveness {
public:
    virtual ~Liveness() = default;
    virtual bool has_ended(int rank) = 0;
};

/// Uses pidfds, which also detect zombies. Where there is none (old kernels, processes of other containers),
/// only the missing heartbeat reveals a lost process.
std::unique_ptr<Liveness> watch_processes(Segment const& segment);
/// For threads, which leave the group when they end.
std::unique_ptr<Liveness> watch_nothing();

/// Writes the identity of this process to `member`, but not yet its state.
void introduce(Member& member, Options const& options);

}  // namespace det::collectives::node
