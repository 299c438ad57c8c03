#pragma once
#include <det/transport/transport.hpp>

#include <cstdint>
#include <string_view>

namespace det::liveness {
class WaitRecorder;
}

namespace det::collectives {

/// Describes a call in messages: the function, for example "should_preempt()", which all ranks call equally
/// often, and the number of the call, counted from 1.
struct NamedCall {
    std::string_view name;
    std::uint64_t number = 1;
};

/// One 64-bit flag for each rank of a node, in memory that all these ranks map. A flag is zero until its rank
/// writes it.
class SharedFlags {
public:
    using IsEnough = bool (*)(std::uint64_t value, std::uint64_t call);

    virtual ~SharedFlags() = default;
    /// Sets this rank's flag. Does not block.
    virtual void write(std::uint64_t value) = 0;
    virtual std::uint64_t read(int local_rank) const = 0;
    /// Blocks until `is_enough(flag, call.number)` is true. Meanwhile started operations make progress.
    /// \return the flag's value. codes::transport if a rank is lost, codes::timed_out as for operations.
    virtual Result<std::uint64_t> wait(int local_rank, IsEnough is_enough, NamedCall const& call) = 0;
};

/// The means by which ranks signal each other outside of collective operations.
struct ControlChannel {
    SharedFlags* flags = nullptr;                // of this node's ranks; null if they share no memory
    transport::Transport* transport = nullptr;   // between all ranks; null if no messages connect them
    transport::Tag tag{transport::tag_max};      // no collective operation uses this tag
    liveness::WaitRecorder* recorder = nullptr;  // of the waits for these messages; may be null
};

}  // namespace det::collectives
