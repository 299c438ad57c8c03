#include "output/live_screen.hpp"

#include <algorithm>
#include <string_view>

namespace det::cli {
namespace {

using namespace std::chrono_literals;

struct Sequence {
    std::string_view bytes;
    Key key;
};

// If one sequence begins with another, the longer one is first.
constexpr Sequence sequences[] = {
    {"\x1b[A", Key::up},    {"\x1bOA", Key::up},       {"\x1b[B", Key::down},
    {"\x1bOB", Key::down},  {"\x1b[5~", Key::page_up}, {"\x1b[6~", Key::page_down},
    {"\x1b[H", Key::first}, {"\x1b[F", Key::last},     {"k", Key::up},
    {"j", Key::down},       {"g", Key::first},         {"G", Key::last},
    {"p", Key::pool},       {"u", Key::user},          {"l", Key::logs},
    {"\r", Key::logs},      {"\n", Key::logs},         {"r", Key::refresh},
    {"?", Key::help},       {"h", Key::help},          {"q", Key::quit},
    {"Q", Key::quit},
};

bool is_begin_of_one(std::string_view typed) {
    return std::any_of(std::begin(sequences), std::end(sequences), [&](auto const& sequence) {
        return sequence.bytes.size() > typed.size() && sequence.bytes.starts_with(typed);
    });
}

std::chrono::milliseconds time_until(std::chrono::steady_clock::time_point when, Clock const& clock) {
    return std::max(0ms, std::chrono::ceil<std::chrono::milliseconds>(when - clock.steady_now()));
}

}  // namespace

std::vector<Key> take_keys(std::string& typed) {
    std::vector<Key> keys;
    while (!typed.empty()) {
        auto const found =
            std::find_if(std::begin(sequences), std::end(sequences),
                         [&](auto const& sequence) { return typed.starts_with(sequence.bytes); });
        if (found != std::end(sequences)) {
            keys.push_back(found->key);
            typed.erase(0, found->bytes.size());
        } else if (is_begin_of_one(typed)) {
            return keys;
        } else {
            keys.push_back(Key::other);
            typed.erase(0, 1);
        }
    }
    return keys;
}

ExitCode show_live(LiveScreen& screen, ScreenTerminal& terminal, Clock& clock) {
    std::string typed;
    screen.read();
    for (;;) {
        terminal.draw(screen.render(terminal.size()));
        auto const event = terminal.wait(time_until(screen.next_reading(), clock));
        if (event.is_interrupted) return ExitCode::interrupted;
        typed += event.typed;
        for (auto const key : take_keys(typed)) {
            if (!screen.on_key(key, terminal.size())) return ExitCode::done;
        }
        if (event.is_closed) return ExitCode::done;
        if (time_until(screen.next_reading(), clock) == 0ms) screen.read();
    }
}

}  // namespace det::cli
