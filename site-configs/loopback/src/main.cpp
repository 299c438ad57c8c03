#include <det/command_line/options.hpp>
#include <det/foundation/diagnostic.hpp>
#include <det/foundation/text.hpp>

#include <algorithm>
#include <exception>
#include <fmt/format.h>
#include <iostream>

#include "cluster_record.hpp"
#include "commands.hpp"
#include "control_socket.hpp"
#include "error_codes.hpp"
#include "init_start.hpp"
#include "login_environment.hpp"

#ifdef __SANITIZE_ADDRESS__
// The leak check starts a thread. The kernel refuses threads after setns(2) or unshare(2) of the PID
// namespace.
extern "C" __attribute__((visibility("default"))) char const* __asan_default_options() {
    return "detect_leaks=0";
}
#endif

namespace det::loopback {
namespace {

/// The options and arguments of all commands.
struct Arguments {
    std::string base = default_base;
    std::string name = default_name;
    ClusterOptions options;
    std::string proctrack = "auto";
    std::string profile = std::string(plain_profile().name);
    SlurmInstallation slurm;
    std::string root, parts;
    std::vector<std::string> slurm_options;
    bool no_plugin = false;
    bool keep_files = false;
    bool all = false;
    bool json = false;
    std::string user = researcher;
    std::string node;
    std::string action;
    std::string target;
    std::string software;
    std::vector<std::string> remaining;                    // of a command that takes any words
    std::optional<std::vector<std::string>> after_dashes;  // the arguments after "--"
};

using command_line::Need;
using command_line::Option;
using command_line::Words;
using Options = std::vector<Option>;

struct Subcommand {
    char const* name;
    char const* help;  // empty: hidden from --help
    Options (*options)(Arguments&);
    Result<int> (*run)(Arguments const&, Environment const&);
    Words words = Words::all;
};

Result<ClusterPaths> paths_of(Arguments const& arguments) {
    return ClusterPaths::make(arguments.base, arguments.name);
}

Result<ClusterOptions> options_of(Arguments const& arguments) {
    auto options = arguments.options;
    options.proctrack = parse_proctrack(arguments.proctrack);  // nullopt for "auto"
    options.profile = find_profile(arguments.profile).value_or(plain_profile());
    options.plugin = arguments.no_plugin ? Plugin::off : Plugin::when_built;
    for (auto const& line : arguments.slurm_options) {
        auto const equals = line.find('=');
        if (equals == std::string::npos || equals == 0 || line.find('\n') != std::string::npos) {
            return Error{codes::usage, fmt::format("'{}' is not a line of slurm.conf", line),
                         "write --slurm-option KEY=VALUE"};
        }
        options.slurm_options.push_back({line.substr(0, equals), line.substr(equals + 1)});
    }
    if (auto const sockets = options.profile.sockets; sockets > 0 && options.cpus_per_node() % sockets != 0) {
        return Error{codes::usage,
                     fmt::format("{} CPUs can't be divided among the {} sockets of profile {}",
                                 options.cpus_per_node(), sockets, options.profile.name),
                     fmt::format("give --cpus a multiple of {}", sockets)};
    }
    return options;
}

Options operator+(Options a, Options const& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

std::vector<std::string> slurm_choices() {
    std::vector<std::string> choices{installed_slurm};
    for (auto const& release : releases()) choices.emplace_back(release.slurm);
    return choices;
}

std::vector<std::string> profile_choices() {
    std::vector<std::string> choices;
    for (auto const& profile : profiles()) choices.emplace_back(profile.name);
    return choices;
}

Options cluster_options(Arguments& arguments) {
    return {{"--name", &arguments.name, "name of the cluster"},
            {"--dir", &arguments.base, "directory of the clusters' files"}};
}

Options size_options(Arguments& arguments) {
    auto& options = arguments.options;
    return {{"--nodes", &options.nodes, "number of nodes", Need::optional, {}, {{1, nodes_max}}},
            {"--slots", &options.slots, "fake GPUs per node", Need::optional, {}, {{0, slots_max}}},
            {"--cpus",
             &options.cpus,
             "CPUs per node [two per slot, at least 8]",
             Need::optional,
             {},
             {{1, 1024}}}};
}

Options up_options(Arguments& arguments) {
    auto& options = arguments.options;
    return size_options(arguments) +
           Options{
               {"--slurm", &options.slurm,
                "release of Slurm: the installed one, or that of a Debian release, whose root file system "
                "is made first",
                Need::optional, slurm_choices()},
               {"--profile", &arguments.profile, "policy of the site: " + join(profile_choices(), ", "),
                Need::optional, profile_choices()},
               {"--grace",
                &options.grace_s,
                "GraceTime of partition compute, in seconds",
                Need::optional,
                {},
                {{0, 86400}}},
               {"--proctrack",
                &arguments.proctrack,
                "cgroup, linuxproc, or auto: cgroup if available",
                Need::optional,
                {"auto", "cgroup", "linuxproc"}},
               {"--no-plugin", &arguments.no_plugin, "do not load our SPANK plugin"},
               {"--slurm-option", &arguments.slurm_options,
                "KEY=VALUE for slurm.conf; replaces our line for KEY"}};
}

Options init_options(Arguments& arguments) {
    return size_options(arguments) + Options{{"--proctrack", &arguments.proctrack, "", Need::required},
                                             {"--slurm-version", &arguments.slurm.version, ""},
                                             {"--root", &arguments.root, ""},
                                             {"--parts", &arguments.parts, ""},
                                             {"--profile", &arguments.profile, "", Need::required},
                                             {"--software", &arguments.software, "", Need::required}};
}

Options down_options(Arguments& arguments) {
    return {{"--all", &arguments.all, "every cluster in the directory"},
            {"--keep-files", &arguments.keep_files, "keep logs and shared files until the next 'up'"}};
}

Options login_options(Arguments& arguments) {
    return {{"--user", &arguments.user, "name of the user"},
            {"--node", &arguments.node, "run on this node instead of the login host"}};
}

Options env_options(Arguments& arguments) { return {{"--user", &arguments.user, "name of the user"}}; }

Options status_options(Arguments& arguments) { return {{"--json", &arguments.json, "print JSON"}}; }

Options no_options(Arguments&) { return {}; }

Options node_options(Arguments& arguments) {
    return {{"ACTION",
             &arguments.action,
             "cut, heal: network down, up; off, on: power off, on",
             Need::required,
             {"cut", "heal", "off", "on"}},
            {"NODE", &arguments.target, "name of the node", Need::required}};
}

Options daemon_options(Arguments& arguments) {
    return {{"ACTION",
             &arguments.action,
             "kill: with SIGKILL; it stays down until 'start'",
             Need::required,
             {"kill", "start"}},
            {"DAEMON", &arguments.target, "munged, slurmctld, slurmd.n0 ...", Need::required}};
}

Keep keep_of(Arguments const& arguments) {
    return arguments.keep_files ? Keep::logs_and_shared : Keep::nothing;
}

Result<int> do_up(Arguments const& arguments, Environment const&) {
    DET_TRY_ASSIGN(auto const paths, paths_of(arguments));
    DET_TRY_ASSIGN(auto const options, options_of(arguments));
    return run_up(paths, options);
}

Result<int> do_down(Arguments const& arguments, Environment const&) {
    if (arguments.all) return run_down_all(arguments.base, keep_of(arguments));
    DET_TRY_ASSIGN(auto const paths, paths_of(arguments));
    return run_down(paths, keep_of(arguments));
}

Result<int> do_status(Arguments const& arguments, Environment const&) {
    DET_TRY_ASSIGN(auto const paths, paths_of(arguments));
    return run_status(paths, arguments.json ? Format::json : Format::people);
}

Result<int> do_login(Arguments const& arguments, Environment const& environment) {
    DET_TRY_ASSIGN(auto const paths, paths_of(arguments));
    Login login{arguments.user, {}, arguments.remaining};
    if (!arguments.node.empty()) login.node = arguments.node;
    if (arguments.after_dashes) {
        // In 'login git log -- file' the "--" belongs to git.
        if (!login.argv.empty()) login.argv.emplace_back("--");
        login.argv.insert(login.argv.end(), arguments.after_dashes->begin(), arguments.after_dashes->end());
    }
    return run_login(paths, login, environment);
}

Result<int> do_env(Arguments const& arguments, Environment const&) {
    DET_TRY_ASSIGN(auto const paths, paths_of(arguments));
    return run_env(paths, arguments.user);
}

Result<int> do_list(Arguments const& arguments, Environment const&) { return run_list(arguments.base); }

Result<int> do_action(Arguments const& arguments, Environment const&) {
    DET_TRY_ASSIGN(auto const paths, paths_of(arguments));
    DET_TRY(require_root_user());
    DET_TRY(require_running(paths));
    DET_TRY(send_request(paths, fmt::format("{} {}", arguments.action, arguments.target)));
    return 0;
}

Result<int> do_init(Arguments const& arguments, Environment const&) {
    DET_TRY_ASSIGN(auto const paths, paths_of(arguments));
    auto const proctrack = parse_proctrack(arguments.proctrack).value_or(Proctrack::linuxproc);
    auto slurm = arguments.slurm;
    slurm.root = arguments.root;
    slurm.parts = arguments.parts;
    InitOptions const options{paths,
                              arguments.options.nodes,
                              arguments.options.slots,
                              arguments.options.cpus_per_node(),
                              proctrack,
                              arguments.software,
                              slurm,
                              find_profile(arguments.profile).value_or(plain_profile())};
    DET_TRY(run_init_process(options, UniqueFd(startup_fd)));
    return 0;
}

std::vector<Subcommand> const& subcommands() {
    static std::vector<Subcommand> const all{
        {"up", "start a cluster", up_options, do_up},
        {"down", "end a cluster and remove its files", down_options, do_down},
        {"status", "show daemons and nodes; exit code 1 if one is down", status_options, do_status},
        {"login", "run a command, or a shell, on the login host", login_options, do_login, Words::leading},
        {"env", "print the variables of a login as 'export' lines", env_options, do_env},
        {"list", "list all clusters", no_options, do_list},
        {"node", "cut, heal, off or on: simulate the failure of a node", node_options, do_action},
        {"daemon", "kill or start munged, slurmctld, slurmd.n0 ...", daemon_options, do_action},
        {"init", "", init_options, do_init},
    };
    return all;
}

Error with_usage_hint(Error error) {
    error.hint = "run 'cluster --help' or 'cluster COMMAND --help'";
    return error;
}

std::string help(Arguments& arguments) {
    std::string text =
        "A real Slurm cluster on one machine, in namespaces of its own.\n\n"
        "usage: cluster [OPTIONS] COMMAND [OPTIONS] ...\n\n";
    for (auto const& subcommand : subcommands()) {
        if (*subcommand.help != '\0') text += fmt::format("  {:<8}{}\n", subcommand.name, subcommand.help);
    }
    return text + "\n" + render_options(cluster_options(arguments));
}

std::string help(Subcommand const& subcommand, Arguments& arguments) {
    return fmt::format("cluster {}: {}\n\n{}", subcommand.name, subcommand.help,
                       render_options(subcommand.options(arguments) + cluster_options(arguments)));
}

Result<Subcommand> find_subcommand(std::string const& word) {
    std::vector<std::string_view> names;
    for (auto const& subcommand : subcommands()) {
        if (subcommand.name == word) return subcommand;
        names.emplace_back(subcommand.name);
    }
    auto const nearest = nearest_word(word, names);
    return Error{codes::usage, fmt::format("no command '{}'", word),
                 nearest ? fmt::format("use 'cluster {}'", *nearest) : "run 'cluster --help'"};
}

/// Removes "--" and the arguments after it, which belong to the command that 'login' runs.
std::vector<std::string> split_off_dashes(int argc, char const* const* argv, Arguments& arguments) {
    std::vector<std::string> before(argv + 1, argv + argc);
    auto const dashes = std::find(before.begin(), before.end(), "--");
    if (dashes == before.end()) return before;
    arguments.after_dashes.emplace(dashes + 1, before.end());
    before.erase(dashes, before.end());
    return before;
}

/// Parses the command line and runs the command. Returns the exit code.
Result<int> run_command_line(int argc, char const* const* argv, Environment const& environment) {
    Arguments arguments;
    auto words = split_off_dashes(argc, argv, arguments);
    auto before = parse(cluster_options(arguments), std::move(words), Words::leading);
    if (!before) return with_usage_hint(std::move(before).error());
    if (before->asks_for_help) {
        fmt::print("{}", help(arguments));
        return 0;
    }
    if (before->remaining.empty())
        return Error{codes::usage, "a command is required", "run 'cluster --help'"};
    DET_TRY_ASSIGN(auto const subcommand, find_subcommand(before->remaining.front()));
    auto parsed = parse(subcommand.options(arguments) + cluster_options(arguments),
                        {before->remaining.begin() + 1, before->remaining.end()}, subcommand.words);
    if (!parsed) return with_usage_hint(std::move(parsed).error());
    if (parsed->asks_for_help) {
        fmt::print("{}", help(subcommand, arguments));
        return 0;
    }
    arguments.remaining = std::move(parsed->remaining);
    return subcommand.run(arguments, environment);
}

}  // namespace
}  // namespace det::loopback

int main(int argc, char** argv) {
    using namespace det;
    RenderStyle const style{.program = "cluster"};
    try {
        auto const done = loopback::run_command_line(argc, argv, Environment::of_this_process());
        if (done) return *done;
        print(std::cerr, done.error(), style);
        return to_int(done.error().code.exit);
    } catch (std::exception const& exception) {
        print(std::cerr, Error{codes::internal, exception.what()}, style);
        return to_int(ExitCode::internal);
    }
}
