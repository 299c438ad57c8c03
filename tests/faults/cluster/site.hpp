#pragma once
#include <det/foundation/process.hpp>
#include <det/protocol/document.hpp>

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace det::faults {

/// A process of the cluster. The pids are those of the host machine.
struct Process {
    pid_t pid = 0;
    pid_t parent = 0;
    std::string program;  // without its directory
    std::string command_line;
};

struct SiteOptions {
    int nodes = 3;
    int slots = 2;             // of a node
    std::string slurm = {};    // release; empty: the installed one
    std::string profile = {};  // policy of the site; empty: plain
};

/// A private loopback Slurm; the destructor removes it. Thread-safe except start() and keep_files().
class Site {
public:
    /// Returns why no cluster can be started here (not root, no Slurm), or "".
    static std::string find_obstacle();
    explicit Site(SiteOptions options);
    ~Site();
    Site(Site const&) = delete;
    Site& operator=(Site const&) = delete;

    Status start();
    /// The destructor keeps the logs and the files of the shared file system.
    void keep_files() { keeps_files_ = true; }
    /// Runs a shell script as researcher on the login node. Returns its trimmed stdout; a non-zero exit code
    /// is an error.
    Result<std::string> shell(std::string const& script,
                              std::chrono::milliseconds timeout = std::chrono::seconds(60)) const;
    /// Runs `det-submit COMMAND --json` and returns its output.
    Result<Json> ask(std::string const& command) const;
    /// The words before a command that runs as root on a node, or on the login node ("").
    std::vector<std::string> root_command(std::string const& node) const;
    /// Runs `cluster WORDS...`, for example to cut off a node.
    Status control(std::vector<std::string> words) const;

    /// Runs a shell script as root on the login node. A non-zero exit code is an error.
    Status run_as_root(std::string const& script) const;

    int nodes() const { return options_.nodes; }
    /// What `up` has printed: the release of Slurm and the profile.
    std::string const& description() const { return description_; }
    std::string const& name() const { return name_; }
    std::filesystem::path state() const;
    std::filesystem::path shared() const { return state() / "shared"; }
    std::filesystem::path root() const { return shared() / "det"; }
    std::filesystem::path home() const { return shared() / "home" / "researcher"; }

private:
    Result<ProcessOutput> run(std::vector<std::string> arguments, std::chrono::milliseconds timeout) const;

    SiteOptions options_;
    std::string name_, description_;
    bool is_up_ = false, keeps_files_ = false;
};

/// The processes of this machine whose command line contains `word`.
std::vector<Process> find_processes(std::string const& word);

}  // namespace det::faults
