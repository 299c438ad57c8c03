#include "libslurm_process.hpp"

#include <det/foundation/files.hpp>
#include <det/foundation/polling.hpp>
#include <det/foundation/process.hpp>
#include <det/foundation/shared_module.hpp>
#include <det/foundation/text.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "failure.hpp"

namespace det::slurm {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr char library_name[] = "libslurm";
constexpr int pipe_size_bytes = 1 << 20;
constexpr std::size_t answer_limit_bytes = std::size_t{1} << 30;

Result<Pipe> make_large_pipe() {
    DET_TRY_ASSIGN(auto pipe, make_pipe());
    // A larger pipe saves system calls. If the kernel refuses, the pipe is only slower
    ::fcntl(pipe.write_end.get(), F_SETPIPE_SZ, pipe_size_bytes);
    return pipe;
}

// ---- Functions of the child process.

det_libslurm_request make_request(det_libslurm_reading reading, QueueFilter const& filter) {
    det_libslurm_request request{};
    request.reading = reading;
    request.user = filter.user ? filter.user->c_str() : nullptr;
    request.jobs = filter.jobs.data();
    request.job_count = filter.jobs.size();
    request.include_finished = filter.include_finished ? 1 : 0;
    return request;
}

/// Returns the module, or the reason why it can't be used.
Result<det_libslurm_module const*, std::string> load_module(std::filesystem::path const& path) {
    DET_TRY_ASSIGN(auto* const function, open_module(path, DET_LIBSLURM_ENTRY, SymbolScope::all));
    auto const entry = reinterpret_cast<det_libslurm_entry>(function);
    auto const* const module = entry();
    if (module->abi_version != DET_LIBSLURM_ABI_VERSION) {
        return fmt::format("{} belongs to another version of this program", path.string());
    }
    if (auto const* const reason = module->why_not()) return fmt::format("{}: {}", path.string(), reason);
    return module;
}

void answer(LibslurmCall const& call, det_libslurm_request const& request, AnswerWriter& out) {
    auto const module = load_module(call.module);
    if (!module) return out.fail(LibslurmTrouble::not_loaded, module.error());
    auto const sink = out.sink();
    auto const* const why = (*module)->read(&request, &sink);
    if (why != nullptr) return out.fail(LibslurmTrouble::refused, why);
    out.finish();
}

/// Runs the query in the child process; libslurm prints to `said`. Ends the process without running the
/// parent's destructors or flushing its buffers.
[[noreturn]] void be_the_child(LibslurmCall const& call, det_libslurm_request const& request, pid_t parent,
                               UniqueFd const& to_parent, UniqueFd const& said) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(EXIT_FAILURE);
    ::signal(SIGPIPE, SIG_DFL);
    ::dup2(said.get(), STDOUT_FILENO);
    ::dup2(said.get(), STDERR_FILENO);
    auto environment = call.environment;
    environment.set("SLURM_BITSTR_LEN", "0");  // otherwise libslurm truncates the list of tasks of an array
    CStrings const variables(environment.to_list());
    environ = const_cast<char**>(variables.data());
    AnswerWriter writer([&](std::string_view bytes) {
        if (!write_all(to_parent.get(), bytes, "answer")) ::_exit(EXIT_FAILURE);
    });
    answer(call, request, writer);
    ::_exit(EXIT_SUCCESS);
}

// ---- Functions of the parent process.

/// The child process; the destructor kills and reaps it.
class Child {
public:
    explicit Child(pid_t pid) : pid_(pid) {}
    Child(Child const&) = delete;
    Child& operator=(Child const&) = delete;
    ~Child() {
        ::kill(pid_, SIGKILL);
        while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
        }
    }

private:
    pid_t pid_;
};

/// Reads the available bytes; closes the descriptor at the end of the stream.
void read_available(UniqueFd& from, std::string& into) {
    auto const size = into.size();
    into.resize(size + pipe_size_bytes);
    auto const count = ::read(from.get(), into.data() + size, pipe_size_bytes);
    into.resize(size + (count > 0 ? static_cast<std::size_t>(count) : 0));
    if (count == 0 || (count < 0 && errno != EINTR)) from.reset();
}

struct ChildOutput {
    std::string bytes;
    std::string said;
};

Result<ChildOutput> read_output(UniqueFd answer, UniqueFd said, std::chrono::milliseconds timeout) {
    auto const deadline = SteadyClock::now() + timeout;
    ChildOutput output;
    while (answer) {
        std::array<pollfd, 2> polled{pollfd{answer.get(), POLLIN, 0}, pollfd{said.get(), POLLIN, 0}};
        int const ready = ::poll(polled.data(), polled.size(), poll_timeout_ms(deadline, SteadyClock::now()));
        if (ready < 0 && errno != EINTR) return os_error("wait for libslurm", errno);
        if (ready == 0)
            return unreachable(library_name, fmt::format("nothing for {} s", timeout.count() / 1000));
        if (polled[1].revents != 0) read_available(said, output.said);
        if (polled[0].revents != 0) read_available(answer, output.bytes);
        if (output.bytes.size() + output.said.size() > answer_limit_bytes) {
            return Error{codes::slurm_output,
                         fmt::format("libslurm printed more than {}", format_size(answer_limit_bytes))};
        }
    }
    if (said) {
        ::fcntl(said.get(), F_SETFL, O_NONBLOCK);
        read_available(said, output.said);
    }
    return output;
}

Error unusable(std::string_view why) {
    return Error{codes::slurm_backend, "Slurm can't be read through libslurm here",
                 "without DET_SLURM_BACKEND=libslurm Slurm's commands are used"}
        .noting(std::string(trim(why)));
}

Result<LibslurmAnswer> parse_output(ChildOutput const& output) {
    auto answer = parse_libslurm_answer(output.bytes);
    if (!answer) return unusable("libslurm ended early: " + output.said);
    if (*answer) return **std::move(answer);
    auto const& failed = answer->error();
    if (failed.trouble == LibslurmTrouble::not_loaded) return unusable(failed.why);
    return failure(library_name, failed.why);
}

/// Fails at once if the configuration file is missing, because libslurm would wait a minute for it.
Status check_configuration(Environment const& environment) {
    auto const file = environment.find_non_empty("SLURM_CONF");
    if (!file || path_exists(*file)) return Ok{};
    return Error{codes::slurm_unreachable, fmt::format("SLURM_CONF names '{}', which is not there", *file)};
}

}  // namespace

Result<LibslurmAnswer> ask_libslurm(LibslurmCall const& call, det_libslurm_reading reading,
                                    QueueFilter const& filter) {
    DET_TRY(check_configuration(call.environment));
    DET_TRY_ASSIGN(auto answer, make_large_pipe());
    DET_TRY_ASSIGN(auto said, make_large_pipe());
    auto const request = make_request(reading, filter);
    auto const parent = ::getpid();
    auto const pid = ::fork();
    if (pid < 0) return os_error("start a process for libslurm", errno);
    if (pid == 0) be_the_child(call, request, parent, answer.write_end, said.write_end);
    Child const child(pid);
    answer.write_end.reset();
    said.write_end.reset();
    DET_TRY_ASSIGN(auto const output,
                   read_output(std::move(answer.read_end), std::move(said.read_end), call.timeout));
    return parse_output(output);
}

}  // namespace det::slurm
