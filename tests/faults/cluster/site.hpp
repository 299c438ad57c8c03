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

/// A private loopback Slurm; the destructor removes it. Thread-safe except start() and keep_files().
class Site {
public:
    /// Returns why no cluster can be started here (not root, no Slurm), or "".
    static std::string find_obstacle();
    explicit Site(int nodes);
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
    /// Runs `cluster WORDS...`, for example to cut off a node.
    Status control(std::vector<std::string> words) const;

    int nodes() const { return nodes_; }
    std::string const& name() const { return name_; }
    std::filesystem::path state() const;
    std::filesystem::path shared() const { return state() / "shared"; }
    std::filesystem::path root() const { return shared() / "det"; }
    std::filesystem::path home() const { return shared() / "home" / "researcher"; }

private:
    Result<ProcessOutput> run(std::vector<std::string> arguments, std::chrono::milliseconds timeout) const;

    int nodes_;
    std::string name_;
    bool is_up_ = false, keeps_files_ = false;
};

/// The processes of this machine whose command line contains `word`.
std::vector<Process> find_processes(std::string const& word);

}  // namespace det::faults
