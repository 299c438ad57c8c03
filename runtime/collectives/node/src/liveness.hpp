#pragma once
#include <chrono>
#include <memory>
#include <vector>

#include "segment.hpp"

namespace det::collectives::node {

inline constexpr char loss_hint[] = "end this rank, or make a new group of those that are left";

/// Whether the process behind a rank has ended.
class Liveness {
public:
    virtual ~Liveness() = default;
    virtual bool has_ended(int rank) = 0;
};

/// By a pidfd, which tells of zombies too. Where there is none (old kernels, processes of other containers)
/// nothing ends, and the silence of its heart tells.
std::unique_ptr<Liveness> watch_processes(Segment const& segment);
/// Threads end by leaving.
std::unique_ptr<Liveness> watch_nothing();

/// Writes who this process is; all but that it is there.
void introduce(Member& member, Options const& options);

}  // namespace det::collectives::node
