#pragma once
#include <string>
#include <variant>

#include "job/watch_screen.hpp"

namespace det::cli {

enum class Key {
    up,
    down,
    page_up,
    page_down,
    first,
    last,
    pool,
    user,
    logs,
    refresh,
    help,
    quit,
    other,
};

/// Removes whole keys from the front of the input and returns them. An incomplete key stays.
std::vector<Key> take_keys(std::string& typed);

// The action that a key requests from the event loop, in addition to the change of the view.
struct Nothing {};
struct Quit {};
struct Refresh {};
struct FollowLogs {
    std::uint32_t experiment = 0;
};
using Action = std::variant<Nothing, Quit, Refresh, FollowLogs>;

/// Changes the view as the key requests and returns the action for the event loop. Does no I/O.
Action on_key(WatchView& view, Key key, ScreenSize size);

}  // namespace det::cli
