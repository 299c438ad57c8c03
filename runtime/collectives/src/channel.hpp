#pragma once
#include <det/transport/transport.hpp>

namespace det::collectives {

/// What an operation communicates by. No other operation uses its tag.
struct Channel {
    transport::Transport& peers;
    transport::Tag tag;
};

/// Whether data comes from lower or from higher ranks.
enum class Side { below, above };

}  // namespace det::collectives
