#pragma once
#include <det/transport/transport.hpp>

namespace det::collectives {

/// The transport and the tag of an operation. No other operation uses this tag.
struct Channel {
    transport::Transport& peers;
    transport::Tag tag;
};

/// Whether data comes from lower or higher ranks than the own one.
enum class Side { below, above };

}  // namespace det::collectives
