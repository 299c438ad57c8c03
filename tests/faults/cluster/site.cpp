#include "site.hpp"

#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/json.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <unistd.h>

#include "test_paths.hpp"

namespace det::faults {
namespace {

using namespace std::chrono_literals;

/// Parses /proc/PID/stat: "PID (name) state parent ...". The name may contain any character.
pid_t parent_of(std::string const& stat) {
    auto const name_end = stat.rfind(')');
    if (name_end == std::string::npos) return 0;
    auto const fields = split(std::string_view(stat).substr(name_end), ' ');
    return fields.size() > 2 ? parse_integer<pid_t>(fields[2]).value_or(0) : 0;
}

std::string program_of(std::string const& command_line) {
    auto const first = command_line.substr(0, command_line.find(' '));
    return first.substr(first.rfind('/') + 1);
}

}  // namespace

std::string Site::find_obstacle() {
    if (::geteuid() != 0) return "a cluster needs root";
    for (auto const* daemon : {"/usr/sbin/munged", "/usr/sbin/slurmctld", "/usr/sbin/slurmd"}) {
        if (!path_exists(daemon)) return fmt::format("{} is not installed", daemon);
    }
    return "";
}

Site::Site(SiteOptions options) : options_(std::move(options)), name_(fmt::format("faults-{}", ::getpid())) {}

Site::~Site() {
    if (!is_up_) return;
    std::vector<std::string> down{"down"};
    if (keeps_files_) down.emplace_back("--keep-files");
    static_cast<void>(run(std::move(down), 60s));
}

std::filesystem::path Site::state() const { return std::filesystem::path("/var/lib/det-loopback") / name_; }

Status Site::start() {
    auto const munge = (state() / "run" / "munge.sock").string();
    is_up_ = true;  // a partly started cluster is removed too
    // Slurm notices a cut-off node after 20 s, and a requeued job waits 20 s instead of two minutes.
    std::vector<std::string> up{"up", fmt::format("--nodes={}", options_.nodes),
                                fmt::format("--slots={}", options_.slots), "--slurm-option=SlurmdTimeout=20",
                                fmt::format("--slurm-option=AuthInfo=socket={},cred_expire=20", munge)};
    if (!options_.slurm.empty()) up.push_back("--slurm=" + options_.slurm);
    if (!options_.profile.empty()) up.push_back("--profile=" + options_.profile);
    DET_TRY_ASSIGN(auto const output, run(std::move(up), options_.slurm.empty() ? 120s : 600s));
    description_ = split_lines(output.out).empty() ? "" : std::string(split_lines(output.out).front());
    if (output.exit_code == 0) return Ok{};
    return Error{codes::process, "the cluster does not come up: " + output.err};
}

Result<ProcessOutput> Site::run(std::vector<std::string> arguments, std::chrono::milliseconds timeout) const {
    arguments.insert(arguments.begin(), det::test::built_path("bin/det-loopback"));
    arguments.insert(arguments.begin() + 2, "--name=" + name_);
    return SystemProcessRunner().run({arguments, Environment::of_this_process(), timeout});
}

Result<std::string> Site::shell(std::string const& script, std::chrono::milliseconds timeout) const {
    DET_TRY_ASSIGN(auto const output,
                   run({"login", "--user=researcher", "--", "bash", "-c", "cd && " + script}, timeout));
    if (output.exit_code == 0) return std::string(trim(output.out));
    return Error{codes::process,
                 fmt::format("'{}' ended with {}: {}{}", script, output.exit_code, output.out, output.err)};
}

Status Site::run_as_root(std::string const& script) const {
    DET_TRY_ASSIGN(auto const output, run({"login", "--user=root", "--", "bash", "-c", script}, 60s));
    if (output.exit_code == 0) return Ok{};
    return Error{codes::process,
                 fmt::format("'{}' ended with {}: {}{}", script, output.exit_code, output.out, output.err)};
}

std::vector<std::string> Site::root_command(std::string const& node) const {
    std::vector<std::string> words{det::test::built_path("bin/det-loopback"), "login", "--name=" + name_,
                                   "--user=root"};
    if (!node.empty()) words.push_back("--node=" + node);
    words.emplace_back("--");
    return words;
}

Result<Json> Site::ask(std::string const& command) const {
    DET_TRY_ASSIGN(auto const text, shell("det-submit " + command + " --json"));
    auto answer = try_parse_json(text);
    if (answer.is_discarded()) return Error{codes::internal, command + " answers " + text};
    return answer;
}

Status Site::control(std::vector<std::string> words) const {
    auto const what = join(words, " ");
    DET_TRY_ASSIGN(auto const output, run(std::move(words), 60s));
    if (output.exit_code == 0) return Ok{};
    return Error{codes::process, fmt::format("'cluster {}' failed: {}", what, output.err)};
}

std::vector<Process> find_processes(std::string const& word) {
    std::vector<Process> found;
    for (auto const& name : list_directory("/proc").value_or(std::vector<std::string>())) {
        auto const pid = parse_integer<pid_t>(name);
        if (!pid || *pid == ::getpid()) continue;
        auto const directory = std::filesystem::path("/proc") / name;
        auto command_line = read_file(directory / "cmdline").value_or("");
        std::ranges::replace(command_line, '\0', ' ');
        if (command_line.find(word) == std::string::npos) continue;
        auto const parent = parent_of(read_file(directory / "stat").value_or(""));
        found.push_back({*pid, parent, program_of(command_line), std::move(command_line)});
    }
    return found;
}

}  // namespace det::faults
