#include "startup_pipe.hpp"

#include <det/foundation/text.hpp>

#include <array>
#include <fmt/format.h>
#include <optional>
#include <poll.h>
#include <unistd.h>

#include "codes.hpp"

namespace det::loopback {
namespace {

constexpr std::string_view say_prefix = "say ", failed_prefix = "failed ";

Error failure_of(std::string_view text) {
    auto const lines = split_lines(text);
    Error error{codes::process, std::string(lines.empty() ? text : lines.front())};
    for (std::size_t i = 1; i < lines.size(); ++i) error.notes.emplace_back(lines[i]);
    return error;
}

/// What of `text` is whole lines is handled and removed; true once the keeper has started.
Result<bool> handle_lines(std::string& text, std::function<void(std::string_view)> const& say) {
    for (;;) {
        if (text.starts_with(failed_prefix)) return false;  // the rest comes until the end
        auto const end = text.find('\n');
        if (end == std::string::npos) return false;
        auto const line = text.substr(0, end);
        text.erase(0, end + 1);
        if (line == "started") return true;
        if (line.starts_with(say_prefix)) say(line.substr(say_prefix.size()));
    }
}

/// Nothing at the end of the pipe.
Result<std::optional<std::string>> read_some(UniqueFd const& pipe, SignalWatch const& interrupts,
                                             Deadline const& deadline) {
    std::array<pollfd, 2> polled{pollfd{pipe.get(), POLLIN, 0}, pollfd{interrupts.fd(), POLLIN, 0}};
    auto const ready = ::poll(polled.data(), polled.size(), deadline.milliseconds_left());
    if (ready == 0) return Error{codes::timed_out, "the daemons did not start in time"};
    if (polled[1].revents != 0) return Error{codes::interrupted, "interrupted"};
    std::array<char, 4096> buffer;
    auto const count = ::read(pipe.get(), buffer.data(), buffer.size());
    if (count <= 0) return std::optional<std::string>();
    return std::optional(std::string(buffer.data(), static_cast<std::size_t>(count)));
}

}  // namespace

bool StartupReport::send(std::string_view kind, std::string_view text) {
    if (!pipe_) return false;
    auto const separator = text.empty() ? "" : " ";
    return static_cast<bool>(write_all(pipe_.get(), fmt::format("{}{}{}\n", kind, separator, text), "pipe"));
}

bool StartupReport::started() {
    bool const heard = send("started", "");
    pipe_.reset();
    return heard;
}

void StartupReport::failed(Error const& error) {
    auto text = error.message;
    for (auto const& note : error.notes) text += "\n" + note;
    send("failed", text);
    pipe_.reset();
}

Status await_started(UniqueFd const& pipe, SignalWatch const& interrupts, Deadline const& deadline,
                     std::function<void(std::string_view)> const& say) {
    std::string text;
    for (;;) {
        DET_TRY_ASSIGN(auto const more, read_some(pipe, interrupts, deadline));
        if (!more) break;
        text += *more;
        DET_TRY_ASSIGN(bool const started, handle_lines(text, say));
        if (started) return Ok{};
    }
    if (text.starts_with(failed_prefix)) return failure_of(text.substr(failed_prefix.size()));
    return Error{codes::process, "the keeper ended without saying why"};
}

}  // namespace det::loopback
