#include "libslurm_client.hpp"

#include <det/foundation/environment.hpp>
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
#include <filesystem>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libslurm_wire_format.hpp"
#include "slurm_errors.hpp"

namespace det::slurm {

/// A call of the libslurm module, which may be unusable on this machine.
struct LibslurmCall {
    std::filesystem::path module;
    Environment environment;
    std::chrono::milliseconds timeout;
};

namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr char library_name[] = "libslurm";
constexpr int pipe_size_bytes = 1 << 20;
constexpr std::size_t answer_limit_bytes = std::size_t{1} << 30;

Result<Pipe> make_large_pipe() {
    DET_TRY_ASSIGN(auto pipe, make_pipe());
    // A larger pipe saves system calls. If the kernel refuses, the pipe is only slower.
    ::fcntl(pipe.write_end.get(), F_SETPIPE_SZ, pipe_size_bytes);
    return pipe;
}

det_libslurm_request make_request(det_libslurm_reading reading, QueueFilter const& filter) {
    det_libslurm_request request{};
    request.reading = reading;
    request.user = filter.user ? filter.user->c_str() : nullptr;
    request.jobs = filter.jobs.data();
    request.job_count = filter.jobs.size();
    request.include_finished = filter.include_finished ? 1 : 0;
    return request;
}

/// Returns the module, or the reason why it cannot be used.
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

/// Runs the query in the child process; libslurm's own output goes to `messages`. Ends the process without
/// running the parent's destructors or flushing its buffers.
[[noreturn]] void run_child(LibslurmCall const& call, det_libslurm_request const& request, pid_t parent,
                            UniqueFd const& answer_end, UniqueFd const& messages) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(EXIT_FAILURE);
    ::signal(SIGPIPE, SIG_DFL);
    ::dup2(messages.get(), STDOUT_FILENO);
    ::dup2(messages.get(), STDERR_FILENO);
    auto environment = call.environment;
    environment.set("SLURM_BITSTR_LEN", "0");  // otherwise libslurm truncates the list of tasks of an array
    CStrings const variables(environment.to_list());
    environ = const_cast<char**>(variables.data());
    AnswerWriter writer([&](std::string_view bytes) {
        if (!write_all(answer_end.get(), bytes, "answer")) ::_exit(EXIT_FAILURE);
    });
    answer(call, request, writer);
    ::_exit(EXIT_SUCCESS);
}

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
    std::array<char, 65'536> bytes;  // not initialized: clearing it would take longer than reading an answer
    auto const count = ::read(from.get(), bytes.data(), bytes.size());
    if (count > 0) into.append(bytes.data(), static_cast<std::size_t>(count));
    if (count == 0 || (count < 0 && errno != EINTR)) from.reset();
}

struct ChildOutput {
    std::string answer;
    std::string messages;
};

Result<ChildOutput> read_output(UniqueFd answer, UniqueFd messages, std::chrono::milliseconds timeout) {
    auto const deadline = SteadyClock::now() + timeout;
    ChildOutput output;
    while (answer) {
        std::array<pollfd, 2> polled{pollfd{answer.get(), POLLIN, 0}, pollfd{messages.get(), POLLIN, 0}};
        int const ready = ::poll(polled.data(), polled.size(), poll_timeout_ms(deadline, SteadyClock::now()));
        if (ready < 0 && errno != EINTR) return os_error("wait for libslurm", errno);
        if (ready == 0)
            return unreachable(library_name, fmt::format("nothing for {} s", timeout.count() / 1000));
        if (polled[1].revents != 0) read_available(messages, output.messages);
        if (polled[0].revents != 0) read_available(answer, output.answer);
        if (output.answer.size() + output.messages.size() > answer_limit_bytes) {
            return Error{codes::slurm_output,
                         fmt::format("libslurm printed more than {}", format_size(answer_limit_bytes))};
        }
    }
    if (messages) {
        ::fcntl(messages.get(), F_SETFL, O_NONBLOCK);
        read_available(messages, output.messages);
    }
    return output;
}

Error unusable(std::string_view why) {
    return Error{codes::slurm_backend, "Slurm cannot be queried through libslurm here",
                 "without DET_SLURM_BACKEND=libslurm Slurm's commands are used"}
        .noting(std::string(trim(why)));
}

Result<LibslurmAnswer> parse_output(ChildOutput const& output) {
    auto answer = parse_libslurm_answer(output.answer);
    if (!answer) return unusable("libslurm ended early: " + output.messages);
    if (*answer) return **std::move(answer);
    auto const& failed = answer->error();
    if (failed.trouble == LibslurmTrouble::not_loaded) return unusable(failed.why);
    return failure(library_name, failed.why);
}

/// Fails at once if the configuration file is missing, because libslurm would wait a minute for it.
Status check_configuration(Environment const& environment) {
    auto const file = environment.find_non_empty("SLURM_CONF");
    if (!file || path_exists(*file)) return Ok{};
    return Error{codes::slurm_unreachable, fmt::format("SLURM_CONF names '{}', which does not exist", *file)};
}

/// Queries Slurm in a child process, because libslurm blocks for minutes, prints to stderr, and exits if it
/// rejects its configuration. The error slurm_backend means that the module is unusable here; other errors
/// are those of Slurm.
Result<LibslurmAnswer> ask_libslurm(LibslurmCall const& call, det_libslurm_reading reading,
                                    QueueFilter const& filter) {
    DET_TRY_ASSIGN(auto answer, make_large_pipe());
    DET_TRY_ASSIGN(auto messages, make_large_pipe());
    auto const request = make_request(reading, filter);
    auto const parent = ::getpid();
    auto const pid = ::fork();
    if (pid < 0) return os_error("start a process for libslurm", errno);
    if (pid == 0) run_child(call, request, parent, answer.write_end, messages.write_end);
    Child const child(pid);
    answer.write_end.reset();
    messages.write_end.reset();
    DET_TRY_ASSIGN(auto const output,
                   read_output(std::move(answer.read_end), std::move(messages.read_end), call.timeout));
    return parse_output(output);
}

/// Whether slurmctld hides something from this user (PrivateData).
bool is_denied(Result<LibslurmAnswer> const& answer) {
    return !answer && std::ranges::any_of(answer.error().notes, [](auto const& note) {
        return note.find("Access/permission denied") != std::string::npos;
    });
}

}  // namespace

/// Queries Slurm with libslurm until libslurm turns out to be unusable on this machine.
class LibslurmClient::Reader {
public:
    Reader(Environment environment, Clock& clock, LibslurmOptions options)
        : call_{std::move(options.module), std::move(environment), options.timeouts.other},
          clock_(clock),
          fallback_(options.fallback) {}

    /// Empty if commands must be used from now on.
    std::optional<Result<LibslurmAnswer>> ask(det_libslurm_reading reading, QueueFilter const& filter = {}) {
        if (!is_usable_) return std::nullopt;
        auto answer = ask_until_answered(reading, filter);
        is_usable_ = answer || answer.error().code != codes::slurm_backend ||
                     fallback_ == LibslurmOptions::Fallback::error;
        if (!is_usable_) return std::nullopt;
        return answer;
    }

private:
    Result<LibslurmAnswer> ask_until_answered(det_libslurm_reading reading, QueueFilter const& filter) {
        DET_TRY(check_configuration(call_.environment));  // not repeated: a missing file stays missing
        return read_with_retries(
            clock_, [&] { return ask_libslurm(call_, reading, filter); },
            [](auto const& got) { return !got && got.error().code == codes::slurm_unreachable; });
    }

    LibslurmCall call_;
    Clock& clock_;
    LibslurmOptions::Fallback fallback_;
    bool is_usable_ = true;
};

LibslurmClient::LibslurmClient(ProcessRunner& runner, Environment environment, Clock& clock,
                               LibslurmOptions options)
    : commands_(runner, environment, clock, options.timeouts),
      reader_(std::make_unique<Reader>(std::move(environment), clock, std::move(options))) {}

LibslurmClient::~LibslurmClient() = default;

Result<std::vector<JobStatus>> LibslurmClient::query_queue(QueueFilter const& filter) {
    auto answer = reader_->ask(DET_LIBSLURM_JOBS, filter);
    if (!answer) return commands_.query_queue(filter);
    DET_TRY(*answer);
    return std::move((*answer)->jobs);
}

Result<std::optional<JobStatus>> LibslurmClient::query_job(JobRef const& job) {
    DET_TRY_ASSIGN(auto jobs, query_queue({.jobs = {job.job}, .include_finished = true}));
    return pick_job(std::move(jobs), job);
}

Result<std::vector<Partition>> LibslurmClient::query_partitions() {
    auto answer = reader_->ask(DET_LIBSLURM_PARTITIONS);
    // The commands show what slurmctld does not hide.
    if (!answer || is_denied(*answer)) return commands_.query_partitions();
    DET_TRY(*answer);
    return std::move((*answer)->partitions);
}

Result<std::vector<Node>> LibslurmClient::query_nodes() {
    auto answer = reader_->ask(DET_LIBSLURM_NODES);
    if (!answer || is_denied(*answer)) return commands_.query_nodes();
    DET_TRY(*answer);
    return std::move((*answer)->nodes);
}

Result<ClusterConfig> LibslurmClient::query_cluster_config() {
    auto answer = reader_->ask(DET_LIBSLURM_CONFIG);
    if (!answer) return commands_.query_cluster_config();
    DET_TRY(*answer);
    return parse_cluster_config((*answer)->text);
}

Result<Accounting> LibslurmClient::query_accounting(std::string const& user, std::string const& cluster) {
    return commands_.query_accounting(user, cluster);
}

Result<std::vector<FairShare>> LibslurmClient::query_fair_shares(std::string const& user) {
    return commands_.query_fair_shares(user);
}

Result<std::uint32_t> LibslurmClient::query_running_job_id(JobRef const& job) {
    return commands_.query_running_job_id(job);
}

}  // namespace det::slurm
