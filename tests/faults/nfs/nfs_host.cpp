#include "nfs_host.hpp"

#include <det/foundation/process.hpp>
#include <det/foundation/text.hpp>

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace det::faults {
namespace {

constexpr int answer_limit_ms = 30'000;
constexpr int end_limit_ms = 10'000;

bool is_readable(UniqueFd const& fd, int limit_ms) {
    pollfd polled{fd.get(), POLLIN, 0};
    return ::poll(&polled, 1, limit_ms) > 0;
}

}  // namespace

std::string NfsHost::find_obstacle() {
    if (::geteuid() != 0) return "only root can mount a FUSE file system";
    if (UniqueFd const device(::open("/dev/fuse", O_RDWR | O_CLOEXEC)); !device)
        return "the kernel has no FUSE (/dev/fuse)";
    return "";
}

Result<std::unique_ptr<NfsHost>> NfsHost::start(std::vector<std::string> const& argv) {
    DET_TRY_ASSIGN(auto commands, make_pipe());
    DET_TRY_ASSIGN(auto answers, make_pipe());
    CStrings const words(argv);
    pid_t const pid = ::fork();
    if (pid < 0) return os_error("start the NFS client of a host", errno);
    if (pid == 0) {
        ::dup2(commands.read_end.get(), STDIN_FILENO);
        ::dup2(answers.write_end.get(), STDOUT_FILENO);
        ::execv(argv[0].c_str(), words.data());
        ::_exit(127);
    }
    std::unique_ptr<NfsHost> host(
        new NfsHost(pid, std::move(commands.write_end), std::move(answers.read_end)));
    answers.write_end.reset();
    DET_TRY_ASSIGN(auto const line, host->read_line());
    if (line != "ready") return Error{codes::process, "the NFS client of a host answers " + line};
    return host;
}

NfsHost::~NfsHost() {
    commands_.reset();
    // Its end closes the pipe.
    char buffer[64];
    while (is_readable(answers_, end_limit_ms) && ::read(answers_.get(), buffer, sizeof buffer) > 0) {
    }
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
}

Result<std::string> NfsHost::read_line() const {
    std::string line;
    char next = 0;
    while (is_readable(answers_, answer_limit_ms)) {
        if (::read(answers_.get(), &next, 1) != 1)
            return Error{codes::process, "the NFS client of a host has ended"};
        if (next == '\n') return line;
        line += next;
    }
    return Error{codes::timed_out, "the NFS client of a host does not answer"};
}

Result<std::uint64_t> NfsHost::send(std::string const& command) const {
    DET_TRY(write_all(commands_.get(), command + "\n", "a command"));
    DET_TRY_ASSIGN(auto const line, read_line());
    auto const words = split(line, ' ');
    auto const number = parse_integer<std::uint64_t>(words.back());
    if (words[0] == "done" && number) return *number;
    return Error{codes::process, fmt::format("the NFS client of a host answers '{}' to '{}'", line, command)};
}

Result<std::uint64_t> NfsHost::lose_replies(std::string const& then, unsigned percent,
                                            std::uint32_t seed) const {
    return send(fmt::format("lose {} {} {}", then, percent, seed));
}

Result<std::uint64_t> NfsHost::cut_power() const { return send("cut"); }

}  // namespace det::faults
