#pragma once
#include <chrono>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace det::tracker::api {

/// A command of det-submit with its standard input.
struct ActionCommand {
    std::vector<std::string> arguments;
    std::string input = {};
};

/// Commands that were shown to the user and that he has not confirmed yet, by random names. Each can be taken
/// once, within `lifetime`: a request that is sent again does nothing. Thread-safe.
class Confirmations {
public:
    using Time = std::chrono::steady_clock::time_point;
    static constexpr std::chrono::seconds lifetime{120};
    static constexpr std::size_t count_max = 64;  // the oldest are dropped

    /// \return its name
    std::string add(ActionCommand command, Time now);
    /// nullopt if there is no such command, it was taken before, or it is too old.
    std::optional<ActionCommand> take(std::string_view name, Time now);

private:
    struct Waiting {
        std::string name;
        Time added;
        ActionCommand command;
    };
    std::mutex mutex_;
    std::deque<Waiting> waiting_;  // by age, the oldest first
};

}  // namespace det::tracker::api
