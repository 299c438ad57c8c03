// The request is a file in memory: a program that ends without reading it all can't block or signal this
// process. Its two outputs are pipes that poll() reads without blocking.
#include <det/foundation/polling.hpp>
#include <det/foundation/process.hpp>
#include <det/foundation/spawn.hpp>
#include <det/foundation/text.hpp>
#include <det/sampler/answer.hpp>
#include <det/sampler/program.hpp>

#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace det::sampler {
namespace {

constexpr std::size_t errors_kept_bytes = std::size_t{64} << 10;

Result<UniqueFd> file_in_memory(std::string_view text) {
    UniqueFd file(::memfd_create("sampler-request", MFD_CLOEXEC));
    if (!file) return os_error("make a file in memory", errno);
    DET_TRY(write_all(file.get(), text, "the request to the sampler"));
    if (::lseek(file.get(), 0, SEEK_SET) != 0) return os_error("rewind the request to the sampler", errno);
    return file;
}

Status make_non_blocking(UniqueFd const& fd) {
    if (::fcntl(fd.get(), F_SETFL, O_NONBLOCK) == 0) return Ok{};
    return os_error("read the output of the sampler", errno);
}

/// Appends what a pipe has now. Closes it at its end.
void drain(UniqueFd& pipe, std::string& into, std::size_t limit_bytes) {
    std::array<char, 65536> buffer;
    while (pipe && into.size() <= limit_bytes) {
        auto const count = ::read(pipe.get(), buffer.data(), buffer.size());
        if (count > 0) {
            into.append(buffer.data(), static_cast<std::size_t>(count));
        } else if (count == 0 || (errno != EINTR && errno != EAGAIN)) {
            pipe.reset();
        } else if (errno == EAGAIN) {
            return;
        }
    }
}

/// posix_spawn has no working directory in the C libraries that we support.
std::vector<std::string> in_directory(std::filesystem::path const& directory,
                                      std::vector<std::string> const& argv) {
    std::vector<std::string> command{"/bin/sh", "-c", "cd \"$0\" && exec \"$@\"", directory.string()};
    command.insert(command.end(), argv.begin(), argv.end());
    return command;
}

std::string last_line(std::string_view text) {
    auto const lines = split_lines(trim(text));
    return lines.empty() ? "" : escape_control(std::string(lines.back().substr(0, 500)));
}

}  // namespace

SamplerProgram::SamplerProgram(std::string name, pid_t pid, UniqueFd out, UniqueFd err,
                               std::chrono::milliseconds timeout)
    : name_(std::move(name)),
      pid_(pid),
      process_(open_pidfd(pid)),
      out_(std::move(out)),
      err_(std::move(err)),
      timeout_(timeout),
      deadline_(std::chrono::steady_clock::now() + timeout) {}

SamplerProgram::SamplerProgram(SamplerProgram&& other) noexcept
    : name_(std::move(other.name_)),
      pid_(std::exchange(other.pid_, -1)),
      process_(std::move(other.process_)),
      out_(std::move(other.out_)),
      err_(std::move(other.err_)),
      timeout_(other.timeout_),
      deadline_(other.deadline_),
      output_(std::move(other.output_)),
      errors_(std::move(other.errors_)) {}

SamplerProgram::~SamplerProgram() {
    if (pid_ > 0) end();
}

Result<SamplerProgram> SamplerProgram::start(ProgramSettings const& settings, std::string_view request) {
    DET_TRY_ASSIGN(auto const input, file_in_memory(request));
    DET_TRY_ASSIGN(auto out, make_pipe());
    DET_TRY_ASSIGN(auto err, make_pipe());
    DET_TRY(make_non_blocking(out.read_end));
    DET_TRY(make_non_blocking(err.read_end));
    SpawnSettings spawned;
    spawned.connect(input, STDIN_FILENO);
    spawned.connect(out.write_end, STDOUT_FILENO);
    spawned.connect(err.write_end, STDERR_FILENO);
    sigset_t none, all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    spawned.block(none);
    spawned.handle_by_default(all);
    spawned.in_own_group();
    DET_TRY_ASSIGN(auto const pid,
                   spawn(in_directory(settings.directory, settings.argv), settings.environment, spawned));
    return SamplerProgram(join(settings.argv, " "), pid, std::move(out.read_end), std::move(err.read_end),
                          settings.timeout);
}

void SamplerProgram::read() {
    drain(out_, output_, line_limit_bytes);
    std::string errors;
    drain(err_, errors, errors_kept_bytes);
    errors_ += errors;
    if (errors_.size() > errors_kept_bytes) errors_.erase(0, errors_.size() - errors_kept_bytes);
}

/// Kills the process group, with what the program has started. Returns its wait status.
int SamplerProgram::end() {
    ::kill(-pid_, SIGKILL);
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return status;
}

std::optional<Result<std::string>> SamplerProgram::poll() {
    read();
    auto const name = escape_control(name_);
    if (output_.size() > line_limit_bytes) {
        end();
        return Error{codes::bad_value, fmt::format("the sampler '{}' has written more than {}", name,
                                                   format_size(line_limit_bytes))};
    }
    siginfo_t info{};
    bool const has_ended =
        ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0;
    if (has_ended) {
        read();  // what it wrote before it ended
        auto const code = exit_code_of_wait_status(end());
        if (code == 0) return output_;
        auto const said = last_line(errors_);
        return Error{codes::process, fmt::format("the sampler '{}' has failed with exit code {}{}", name,
                                                 code, said.empty() ? "" : ": " + said)};
    }
    if (std::chrono::steady_clock::now() < deadline_) return std::nullopt;
    end();
    return Error{codes::timed_out, fmt::format("the sampler '{}' has not answered within {} s", name,
                                               std::chrono::duration<double>(timeout_).count())};
}

void SamplerProgram::wait(std::chrono::milliseconds at_most) const {
    auto const now = std::chrono::steady_clock::now();
    std::array<pollfd, 3> polled{pollfd{process_.get(), POLLIN, 0}, pollfd{out_.get(), POLLIN, 0},
                                 pollfd{err_.get(), POLLIN, 0}};
    ::poll(polled.data(), polled.size(), poll_timeout_ms(std::min(deadline_, now + at_most), now));
}

}  // namespace det::sampler
