#include "experiment/create_on_host.hpp"

#include <det/experiment/create_experiment.hpp>
#include <det/experiment/remote_submission.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/process.hpp>
#include <det/foundation/spawn.hpp>
#include <det/foundation/text.hpp>

#include <cerrno>
#include <cstdlib>
#include <fmt/format.h>
#include <ostream>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace det::cli {
namespace {

namespace fs = std::filesystem;

constexpr int ssh_failed = 255;
constexpr std::size_t archive_limit_bytes = std::size_t{1}
                                            << 30;  // far above what the limit of the code allows
constexpr int command_not_found = 127;

/// A private directory for the packed code.
class PackingDirectory {
public:
    static Result<PackingDirectory> make() {
        auto name = (fs::temp_directory_path() / "det-submit.XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr) return os_error(fmt::format("make '{}'", name), errno);
        return PackingDirectory(name);
    }
    PackingDirectory(PackingDirectory&& other) noexcept : path_(std::exchange(other.path_, {})) {}
    PackingDirectory& operator=(PackingDirectory&&) = delete;
    ~PackingDirectory() {
        if (!path_.empty()) (void)remove_tree(path_);
    }
    fs::path const& path() const { return path_; }

private:
    explicit PackingDirectory(fs::path path) : path_(std::move(path)) {}
    fs::path path_;
};

Result<std::string> read_config(experiment::ConfigSources const& sources) {
    if (sources.text) return *sources.text;
    auto text = read_file(sources.file, experiment::config_limit_bytes);
    if (!text) return std::move(text).error().while_doing("reading the configuration");
    return text;
}

std::vector<std::string> ssh_words(Environment const& environment) {
    std::vector<std::string> words;
    auto const named = environment.find("DET_SSH").value_or("");
    for (auto const word : split(named, ' ')) {
        if (!word.empty()) words.emplace_back(word);
    }
    return words.empty() ? std::vector<std::string>{"ssh"} : words;
}

/// A program whose standard input this process writes. The input is a socket, because a pipe would end this
/// process by SIGPIPE if the program ends early.
class FedProgram {
public:
    static Result<FedProgram> start(std::vector<std::string> const& argv, Environment const& environment) {
        int ends[2];
        if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
            return os_error("make a socket", errno);
        UniqueFd ours(ends[0]), theirs(ends[1]);
        SpawnSettings settings;
        settings.connect(theirs, STDIN_FILENO);
        DET_TRY_ASSIGN(auto const pid, spawn(argv, environment, settings));
        return FedProgram(std::move(ours), pid);
    }

    /// Returns false if the program reads no more.
    bool send(std::string_view bytes) {
        while (!bytes.empty()) {
            auto const sent = ::send(input_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (sent < 0 && errno == EINTR) continue;
            if (sent < 0) return false;
            bytes.remove_prefix(static_cast<std::size_t>(sent));
        }
        return true;
    }

    /// Closes the program's input, waits until the program ends and returns its exit code.
    int finish() {
        input_.reset();
        int status = 0;
        while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
        }
        return exit_code_of_wait_status(status);
    }

private:
    FedProgram(UniqueFd input, pid_t pid) : input_(std::move(input)), pid_(pid) {}
    UniqueFd input_;
    pid_t pid_;
};

Outcome outcome_of(int exit_code, std::string const& host) {
    if (exit_code == ssh_failed)
        return Error{codes::process, fmt::format("ssh did not reach '{}'", host),
                     fmt::format("try 'ssh {} true'; DET_SSH names another command than ssh", host)};
    if (exit_code == command_not_found)
        return Error{codes::process, fmt::format("there is no det-submit on '{}'", host),
                     "install it there, or put its directory into PATH in ~/.bash_profile there"};
    return static_cast<ExitCode>(exit_code);
}

}  // namespace

std::vector<std::string> remote_command(std::vector<std::string> const& ssh, std::string const& host,
                                        std::vector<std::string> const& options) {
    // A login shell, because profiles set PATH; ssh joins words by blanks for the shell of the account.
    std::string line = "exec bash -lc 'exec \"$0\" \"$@\"' det-submit experiment create --receive";
    for (auto const& option : options) line += " " + quote_for_shell(option);
    auto words = ssh;
    words.insert(words.end(), {"-T", "--", host, line});
    return words;
}

Outcome create_on_host(std::string const& host, experiment::SubmissionOptions const& submission,
                       std::vector<std::string> const& options, Session& session) {
    experiment::RemoteSubmission message{submission.sources.file.string(), {}, {}, 0};
    DET_TRY_ASSIGN(message.config_text, read_config(submission.sources));
    if (!is_valid_utf8(message.config_text) || !is_valid_utf8(message.config_name))
        return Error{codes::syntax, fmt::format("'{}' is not UTF-8", escape_control(message.config_name))};
    DET_TRY_ASSIGN(auto const directory, PackingDirectory::make());
    DET_TRY_ASSIGN(message.code, experiment::pack_code(submission.code, directory.path(), session));
    std::string archive;
    if (message.code) {
        auto const path = directory.path() / (message.code->sha256 + ".tar.zst");
        DET_TRY_ASSIGN(archive, read_file(path, archive_limit_bytes));
    }
    message.archive_bytes = archive.size();
    session.out.flush();
    DET_TRY_ASSIGN(auto program,
                   FedProgram::start(remote_command(ssh_words(session.environment), host, options),
                                     session.environment));
    (void)(program.send(experiment::render_header(message)) && program.send(archive));
    return outcome_of(program.finish(), host);
}

}  // namespace det::cli
