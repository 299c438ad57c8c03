#pragma once
#include <det/foundation/process.hpp>
#include <det/protocol/document.hpp>

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace det::faults {

/// A process of the cluster, as this machine sees it.
struct Process {
    pid_t pid = 0;
    pid_t parent = 0;
    std::string program;  // without its directory
    std::string command_line;
};

/// A loopback Slurm of the campaign's own, up while this lives. Threads: any.
class Site {
public:
    /// What is needed for it, but for the programs: root and Slurm. Empty: it is there.
    static std::string find_obstacle();
    explicit Site(int nodes);
    ~Site();
    Site(Site const&) = delete;
    Site& operator=(Site const&) = delete;

    Status start();
    /// Its logs, and what lies on its shared file system, outlive it.
    void keep_files() { keeps_files_ = true; }
    /// A line of researcher's shell on the login node, in DET_ROOT's cluster; it must succeed. What it wrote.
    Result<std::string> shell(std::string const& script,
                              std::chrono::milliseconds timeout = std::chrono::seconds(60)) const;
    /// What `det-submit COMMAND --json` answers.
    Result<Json> ask(std::string const& command) const;
    /// `cluster WORDS...`: to break it and to mend it.
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

/// Processes of this machine whose command line has the word in it.
std::vector<Process> find_processes(std::string const& word);

}  // namespace det::faults
