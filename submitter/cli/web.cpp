#include <det/experiment/root_directory.hpp>
#include <det/foundation/executable.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/find_program.hpp>
#include <det/foundation/process.hpp>
#include <det/foundation/shared_directory.hpp>
#include <det/foundation/spawn.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/json_or_null.hpp>
#include <det/tracker/client/find_or_start_tracker.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <ostream>
#include <unistd.h>

#include "command.hpp"

namespace det::cli {
namespace {

using tracker::client::TrackerPaths;
using tracker::client::TrackerState;

/// Where the page of a running tracker is.
struct PageAddress {
    TrackerPaths paths;
    TrackerState state;
    std::uint16_t laptop_port;

    /// On this host; nullopt if the tracker has no port.
    std::optional<std::string> here() const {
        if (state.port == 0) return std::nullopt;
        return fmt::format("http://localhost:{}/#token={}", state.port, state.token);
    }
    /// Forwards a port of another computer to the tracker's port, where the token is needed: each user of
    /// that computer can connect to the forwarded port. The unix socket takes whatever comes through ssh for
    /// the owner, so the command forwards to it only if the tracker has no port.
    std::string ssh_command() const {
        auto const tracker =
            state.port != 0 ? fmt::format("127.0.0.1:{}", state.port) : paths.socket().string();
        return fmt::format("ssh -N -L 127.0.0.1:{}:{} {}", laptop_port, tracker, state.host);
    }
    std::string on_laptop() const {
        auto const page = fmt::format("http://localhost:{}/", laptop_port);
        return state.port != 0 ? fmt::format("{}#token={}", page, state.token) : page;
    }
};

/// Whether a browser that is started here shows its window to the user: not over ssh.
bool has_screen(Environment const& environment) {
    bool const has_display =
        environment.find_non_empty("DISPLAY") || environment.find_non_empty("WAYLAND_DISPLAY");
    return has_display && !environment.find_non_empty("SSH_CONNECTION");
}

/// Opens the page by a file that leads to it: other users see the arguments of a program, but not this file.
Status open_browser(PageAddress const& address, std::string const& url, Environment const& environment) {
    auto const text = fmt::format(
        "<!doctype html><meta charset=\"utf-8\"><meta http-equiv=\"refresh\" content=\"0; url={}\">\n", url);
    DET_TRY(write_secret_file(address.paths.entry_page(), text));
    UniqueFd const nothing(::open("/dev/null", O_WRONLY | O_CLOEXEC));
    if (!nothing) return os_error("open '/dev/null'", errno);
    SpawnSettings settings;
    settings.without_input();
    settings.connect(nothing, STDOUT_FILENO);
    settings.connect(nothing, STDERR_FILENO);
    settings.in_own_group();
    DET_TRY(spawn({"xdg-open", address.paths.entry_page().string()}, environment, settings));
    return Ok{};
}

class Web final : public Command {
public:
    std::vector<Option> options() override {
        return {{"--no-browser", &no_browser_, "only print the addresses"},
                {"--actions", &actions_, "the page can pause, end and create experiments and move jobs"},
                {"--port",
                 &port_,
                 "of the tracker on this host; 0: any free one",
                 Need::optional,
                 {},
                 std::pair(0, 65535)},
                {"--laptop-port",
                 &laptop_port_,
                 "of your own computer, in the ssh command",
                 Need::optional,
                 {},
                 std::pair(1, 65535)}};
    }

    Outcome run(Session& session) override {
        DET_TRY_ASSIGN(auto const address, find_page(session));
        auto const url = address.here();
        bool const is_opened = url && !no_browser_ && has_screen(session.environment) &&
                               find_program("xdg-open", session.environment);
        session.answer(as_json(address, is_opened), as_text(address));
        if (is_opened) DET_TRY(open_browser(address, *url, session.environment));
        if (address.state.allows_actions && !actions_)
            session.say("The page has actions, because the tracker was started with --actions.");
        if (!url) {
            session.say(
                "The tracker runs without a port: through this ssh command every user of the computer with "
                "the "
                "browser could read your experiments. 'det-tracker stop', then this command again, starts "
                "one "
                "with a port, which asks for a token.");
        }
        return ExitCode::done;
    }

private:
    Result<PageAddress> find_page(Session const& session) const {
        if (actions_ && session.foreign_root)
            return Error{
                codes::not_yours,
                fmt::format("--actions is not possible for the root of {}", session.foreign_root->owner_name),
                "leave out --actions: the page can show it"};
        DET_TRY_ASSIGN(auto const root, experiment::find_shown_root(session));
        SystemProcessRunner runner;
        tracker::client::StartSettings settings{sibling_program("det-submit")};
        settings.port = static_cast<std::uint16_t>(port_);
        settings.needs_actions = actions_;
        DET_TRY(tracker::client::find_or_start_tracker(session.environment, root, settings, runner));
        DET_TRY_ASSIGN(auto paths, tracker::client::make_tracker_paths(session.environment, root));
        DET_TRY_ASSIGN(auto state, tracker::client::find_state(paths));
        if (!state) return Error{codes::process, "the tracker has just ended", "run this command again"};
        return PageAddress{std::move(paths), *std::move(state), static_cast<std::uint16_t>(laptop_port_)};
    }

    static Json as_json(PageAddress const& address, bool is_opened) {
        auto const url = address.here();
        return {{"address", json_or_null(url)},
                {"socket", address.paths.socket().string()},
                {"host", address.state.host},
                {"ssh", address.ssh_command()},
                {"address_through_ssh", address.on_laptop()},
                {"actions", address.state.allows_actions},
                {"browser", is_opened}};
    }

    static std::string as_text(PageAddress const& address) {
        auto text = fmt::format("Experiments of '{}':\n", address.state.root);
        if (auto const url = address.here()) text += fmt::format("  on this host    {}\n", *url);
        return text + fmt::format("  from elsewhere  {}\n                  and then {}\n",
                                  address.ssh_command(), address.on_laptop());
    }

    bool no_browser_ = false;
    bool actions_ = false;
    int port_ = 0;
    int laptop_port_ = 8080;
};

}  // namespace

std::unique_ptr<Command> make_web() { return std::make_unique<Web>(); }

}  // namespace det::cli
