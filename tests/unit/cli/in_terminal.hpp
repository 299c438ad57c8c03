#pragma once
#include <det/foundation/text.hpp>

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <csignal>
#include <functional>
#include <poll.h>
#include <pty.h>
#include <string>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>
#include <utility>

namespace det::cli {

/// A command in a child process with a terminal of its own.
class InTerminal {
public:
    /// \param play runs in the child with the terminal; returns its exit code
    explicit InTerminal(std::function<int(int terminal)> const& play) {
        winsize size{10, 100, 0, 0};
        BOOST_REQUIRE(::openpty(&master_, &slave_, nullptr, nullptr, &size) == 0);
        ::tcgetattr(slave_, &before_);
        child_ = ::fork();
        if (child_ == 0) ::_exit(play(slave_));
    }
    ~InTerminal() {
        if (child_ > 0) {
            ::kill(child_, SIGKILL);
            ::waitpid(child_, nullptr, 0);
        }
        ::close(master_);
        ::close(slave_);
    }
    InTerminal(InTerminal const&) = delete;
    InTerminal& operator=(InTerminal const&) = delete;

    void type(std::string const& keys) const {
        BOOST_REQUIRE(::write(master_, keys.data(), keys.size()) == static_cast<ssize_t>(keys.size()));
    }
    void resize(unsigned short columns) const {
        winsize size{10, columns, 0, 0};
        ::ioctl(master_, TIOCSWINSZ, &size);
        ::kill(child_, SIGWINCH);  // the child is not in the session of the terminal
    }
    void signal(int number) const { ::kill(child_, number); }
    /// Reads until the text is seen; what was read before it is dropped.
    void expect(std::string const& text) {
        auto const deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (seen_.find(text) == std::string::npos) {
            pollfd waited{master_, POLLIN, 0};
            if (std::chrono::steady_clock::now() > deadline)
                BOOST_FAIL("never seen: " << text << "\n" << escape_control(seen_));
            if (::poll(&waited, 1, 200) <= 0) continue;
            char buffer[4096];
            auto const count = ::read(master_, buffer, sizeof buffer);
            if (count <= 0) BOOST_FAIL("the terminal ended before: " << text);
            seen_.append(buffer, static_cast<std::size_t>(count));
        }
        seen_.erase(0, seen_.find(text) + text.size());
    }
    int wait() {
        int status = 0;
        ::waitpid(std::exchange(child_, -1), &status, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }
    bool is_as_before() const {
        termios now{};
        ::tcgetattr(slave_, &now);
        return now.c_lflag == before_.c_lflag && now.c_iflag == before_.c_iflag &&
               now.c_cc[VSUSP] == before_.c_cc[VSUSP];
    }

private:
    int master_ = -1, slave_ = -1;
    pid_t child_ = -1;
    termios before_{};
    std::string seen_;
};

}  // namespace det::cli
