#pragma once
#include <det/transport/transport.hpp>

namespace det::collectives {

/// The transport and the tag by which an operation communicates. No concurrent operation uses the same tag.
struct Channel {
    transport::Transport& peers;
    transport::Tag tag;
};

/// Whether data comes from lower or from higher ranks.
enum class Side { below, above };

}  // namespace det::collectives
