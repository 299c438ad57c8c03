#include <det/foundation/text.hpp>
#include <det/protocol/forward_signals.hpp>

#include <csignal>

namespace det {
namespace {

struct NamedSignal {
    std::string_view name;
    int number;
};
constexpr NamedSignal notice_signals[] = {
    {"TERM", SIGTERM}, {"INT", SIGINT}, {"HUP", SIGHUP}, {"USR1", SIGUSR1}, {"USR2", SIGUSR2}};

}  // namespace

std::optional<int> forward_signal_number(std::string_view name) {
    for (auto const& known : notice_signals) {
        if (known.name == name) return known.number;
    }
    return std::nullopt;
}

std::vector<int> parse_forward_signals(std::string_view list) {
    std::vector<int> numbers;
    for (auto const& name : split(list, ',')) {
        if (auto const number = forward_signal_number(name)) numbers.push_back(*number);
    }
    return numbers;
}

}  // namespace det
