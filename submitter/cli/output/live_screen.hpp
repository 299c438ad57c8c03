#pragma once
#include <det/foundation/clock.hpp>
#include <det/foundation/exit_code.hpp>

#include <chrono>
#include <string>
#include <vector>

#include "output/screen_terminal.hpp"

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

/// What a full screen shows, and what changes it. Errors of reading are shown on the screen.
class LiveScreen {
public:
    virtual ~LiveScreen() = default;
    /// Reads anew what is shown.
    virtual void read() = 0;
    virtual std::chrono::steady_clock::time_point next_reading() const = 0;
    /// Returns the lines of a full screen, each `size.columns` wide.
    virtual std::vector<std::string> render(ScreenSize size) = 0;
    /// Returns false if the key quits.
    virtual bool on_key(Key key, ScreenSize size) = 0;
};

/// Shows the screen until a key or a signal ends it: ExitCode::done or ExitCode::interrupted.
ExitCode show_live(LiveScreen& screen, ScreenTerminal& terminal, Clock& clock);

}  // namespace det::cli
