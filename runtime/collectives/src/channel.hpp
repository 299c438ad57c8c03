#pragma once
#include <det/transport/transport.hpp>

namespace det::collectives {

/// What an operation talks through: nothing else uses its tag.
struct Channel {
    transport::Transport& peers;
    transport::Tag tag;
};

/// Whether something comes from ranks below ours or above.
enum class Side { below, above };

}  // namespace det::collectives
