#include "team.hpp"

#include <algorithm>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <poll.h>
#include <stdexcept>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace det::bench {
namespace {

constexpr int reply_limit_ms = 20'000;

int make_pipe(std::string const& path) {
    // O_RDWR, so that open does not block until the other side opens the pipe.
    if (::mkfifo(path.c_str(), 0600) != 0) throw std::runtime_error("cannot make " + path);
    int const fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (fd < 0) throw std::runtime_error("cannot open " + path);
    return fd;
}

}  // namespace

Team::Team(std::string name, int ranks, std::vector<std::string> command, bool once_per_rank,
           std::string directory)
    : name_(std::move(name)), ranks_(ranks), directory_(std::move(directory)) {
    std::filesystem::create_directory(directory_);
    for (int rank = 0; rank < ranks; ++rank) {
        in_.push_back(make_pipe(pipe_path(directory_, rank, "in")));
        out_.push_back(make_pipe(pipe_path(directory_, rank, "out")));
    }
    int const barrier = ::open(barrier_path(directory_).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (barrier < 0 || ::ftruncate(barrier, static_cast<off_t>(sizeof(BarrierCell)) * ranks) != 0) {
        throw std::runtime_error("cannot make a barrier");
    }
    ::close(barrier);
    command.push_back(directory_);
    if (!once_per_rank) start(command);
    for (int rank = 0; once_per_rank && rank < ranks; ++rank) {
        auto of_rank = command;
        of_rank.push_back(std::to_string(rank));
        of_rank.push_back(std::to_string(ranks));
        start(std::move(of_rank));
    }
}

void Team::start(std::vector<std::string> command) {
    std::vector<char*> arguments;
    for (auto& argument : command) arguments.push_back(argument.data());
    arguments.push_back(nullptr);
    auto const pid = ::fork();
    if (pid < 0) throw std::runtime_error("cannot start " + command.front());
    if (pid == 0) {
        ::dup2(STDERR_FILENO, STDOUT_FILENO);  // stdout is for rows only
        ::execvp(arguments.front(), arguments.data());
        ::_exit(127);
    }
    pids_.push_back(pid);
}

Team::~Team() {
    Sample const end;
    for (int const fd : in_) static_cast<void>(!::write(fd, &end, sizeof end));
    for (auto const pid : pids_) {
        for (int tenths = 0; tenths < 100 && ::waitpid(pid, nullptr, WNOHANG) == 0; ++tenths)
            ::usleep(100'000);
        ::kill(pid, SIGKILL);
        ::waitpid(pid, nullptr, 0);
    }
    for (auto const& fds : {in_, out_}) std::ranges::for_each(fds, [](int fd) { ::close(fd); });
}

double Team::run(Sample const& sample) {
    for (int const fd : in_) {
        if (::write(fd, &sample, sizeof sample) != sizeof sample)
            throw std::runtime_error(name_ + " is gone");
    }
    double longest = 0;
    for (int const fd : out_) {
        pollfd query{fd, POLLIN, 0};
        Outcome outcome;
        if (::poll(&query, 1, reply_limit_ms) != 1 ||
            ::read(fd, &outcome, sizeof outcome) != sizeof outcome) {
            throw std::runtime_error(name_ + " does not answer");
        }
        if (outcome.wrong != 0)
            throw std::runtime_error(fmt::format("{}: {} wrong results", name_, outcome.wrong));
        longest = std::max(longest, outcome.seconds);
    }
    return longest;
}

}  // namespace det::bench
