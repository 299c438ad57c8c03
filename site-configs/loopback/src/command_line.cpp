#include "command_line.hpp"

#include <det/foundation/text.hpp>

#include <algorithm>
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <functional>

#include "cluster_record.hpp"
#include "commands.hpp"
#include "control.hpp"
#include "error_codes.hpp"
#include "init_process.hpp"
#include "init_start.hpp"
#include "login_environment.hpp"
#include "requirements.hpp"

namespace det::loopback {
namespace {

/// The options and arguments of all commands.
struct Arguments {
    std::string base = default_base;
    std::string name = default_name;
    ClusterOptions options;
    std::string proctrack = "auto";
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
    std::optional<std::vector<std::string>> after_dashes;  // the arguments after "--"
};

using Run = std::function<Result<int>(Arguments const&, CLI::App const&, Environment const&)>;

struct Subcommand {
    char const* name;
    char const* help;
    std::function<void(CLI::App&, Arguments&)> add_options;
    Run run;
};

Result<ClusterPaths> paths_of(Arguments const& arguments) {
    return ClusterPaths::make(arguments.base, arguments.name);
}

Result<ClusterOptions> options_of(Arguments const& arguments) {
    auto options = arguments.options;
    options.proctrack = parse_proctrack(arguments.proctrack);  // nullopt for "auto"
    options.plugin = arguments.no_plugin ? Plugin::off : Plugin::when_built;
    for (auto const& line : arguments.slurm_options) {
        auto const equals = line.find('=');
        if (equals == std::string::npos || equals == 0 || line.find('\n') != std::string::npos) {
            return Error{codes::usage, fmt::format("'{}' is not a line of slurm.conf", line),
                         "write --slurm-option KEY=VALUE"};
        }
        options.slurm_options.push_back({line.substr(0, equals), line.substr(equals + 1)});
    }
    return options;
}

void add_cluster_options(CLI::App& app, Arguments& arguments) {
    app.add_option("--name", arguments.name, "name of the cluster")->capture_default_str();
    app.add_option("--dir", arguments.base, "directory of the clusters' files")->capture_default_str();
}

void add_size_options(CLI::App& app, Arguments& arguments) {
    app.add_option("--nodes", arguments.options.nodes, "number of nodes")
        ->check(CLI::Range(1, nodes_max))
        ->capture_default_str();
    app.add_option("--slots", arguments.options.slots, "fake GPUs per node")
        ->check(CLI::Range(0, slots_max))
        ->capture_default_str();
}

void add_up_options(CLI::App& app, Arguments& arguments) {
    add_size_options(app, arguments);
    app.add_option("--cpus", arguments.options.cpus, "CPUs per node [two per slot, at least 8]")
        ->check(CLI::Range(1, 1024));
    app.add_option("--grace", arguments.options.grace_s, "GraceTime of partition compute, in seconds")
        ->check(CLI::Range(0, 86400))
        ->capture_default_str();
    app.add_option("--proctrack", arguments.proctrack, "cgroup, linuxproc, or auto: cgroup if available")
        ->check(CLI::IsMember({"auto", "cgroup", "linuxproc"}))
        ->capture_default_str();
    app.add_flag("--no-plugin", arguments.no_plugin, "do not load our SPANK plugin");
    app.add_option("--slurm-option", arguments.slurm_options,
                   "KEY=VALUE for slurm.conf; replaces our line for KEY")
        ->allow_extra_args(false);
}

void add_init_options(CLI::App& app, Arguments& arguments) {
    add_size_options(app, arguments);
    app.add_option("--proctrack", arguments.proctrack)->required();
    app.add_option("--software", arguments.software)->required();
}

void add_down_options(CLI::App& app, Arguments& arguments) {
    app.add_flag("--all", arguments.all, "every cluster in the directory");
    app.add_flag("--keep-files", arguments.keep_files, "keep logs and shared files until the next 'up'");
}

void add_login_options(CLI::App& app, Arguments& arguments) {
    app.add_option("--user", arguments.user, "name of the user")->capture_default_str();
    app.add_option("--node", arguments.node, "run on this node instead of the login host");
    app.prefix_command();  // all further words belong to the command, options too
}

void add_env_options(CLI::App& app, Arguments& arguments) {
    app.add_option("--user", arguments.user, "name of the user")->capture_default_str();
}

void add_status_options(CLI::App& app, Arguments& arguments) {
    app.add_flag("--json", arguments.json, "print JSON");
}

std::function<void(CLI::App&, Arguments&)> add_action(std::vector<std::string> const& actions,
                                                      char const* target, char const* help) {
    return [=](CLI::App& app, Arguments& arguments) {
        app.add_option("ACTION", arguments.action, help)->required()->check(CLI::IsMember(actions));
        app.add_option(target, arguments.target)->required();
    };
}

Keep keep_of(Arguments const& arguments) {
    return arguments.keep_files ? Keep::logs_and_shared : Keep::nothing;
}

Result<int> do_up(Arguments const& arguments, CLI::App const&, Environment const&) {
    DET_TRY_ASSIGN(auto const paths, paths_of(arguments));
    DET_TRY_ASSIGN(auto const options, options_of(arguments));
    return run_up(paths, options);
}

Result<int> do_down(Arguments const& arguments, CLI::App const&, Environment const&) {
    if (arguments.all) return run_down_all(arguments.base, keep_of(arguments));
    DET_TRY_ASSIGN(auto const paths, paths_of(arguments));
    return run_down(paths, keep_of(arguments));
}

Result<int> do_status(Arguments const& arguments, CLI::App const&, Environment const&) {
    DET_TRY_ASSIGN(auto const paths, paths_of(arguments));
    return run_status(paths, arguments.json ? Format::json : Format::people);
}

Result<int> do_login(Arguments const& arguments, CLI::App const& app, Environment const& environment) {
    DET_TRY_ASSIGN(auto const paths, paths_of(arguments));
    Login login{arguments.user, {}, app.remaining()};
    if (!arguments.node.empty()) login.node = arguments.node;
    if (arguments.after_dashes) {
        // In 'login git log -- file' the "--" belongs to git.
        if (!login.argv.empty()) login.argv.emplace_back("--");
        login.argv.insert(login.argv.end(), arguments.after_dashes->begin(), arguments.after_dashes->end());
    }
    return run_login(paths, login, environment);
}

Result<int> do_env(Arguments const& arguments, CLI::App const&, Environment const&) {
    DET_TRY_ASSIGN(auto const paths, paths_of(arguments));
    return run_env(paths, arguments.user);
}

Result<int> do_list(Arguments const& arguments, CLI::App const&, Environment const&) {
    return run_list(arguments.base);
}

Result<int> do_action(Arguments const& arguments, CLI::App const&, Environment const&) {
    DET_TRY_ASSIGN(auto const paths, paths_of(arguments));
    DET_TRY(require_root());
    DET_TRY(require_running(paths));
    DET_TRY(send_request(paths, fmt::format("{} {}", arguments.action, arguments.target)));
    return 0;
}

Result<int> do_init(Arguments const& arguments, CLI::App const&, Environment const&) {
    DET_TRY_ASSIGN(auto const paths, paths_of(arguments));
    auto const proctrack = parse_proctrack(arguments.proctrack).value_or(Proctrack::linuxproc);
    DET_TRY(run_init_process(
        {paths, arguments.options.nodes, arguments.options.slots, proctrack, arguments.software},
        UniqueFd(startup_fd)));
    return 0;
}

std::vector<Subcommand> const& subcommands() {
    static std::vector<Subcommand> const all{
        {"up", "start a cluster", add_up_options, do_up},
        {"down", "end a cluster and remove its files", add_down_options, do_down},
        {"status", "show daemons and nodes; exit code 1 if one is down", add_status_options, do_status},
        {"login", "run a command, or a shell, on the login host", add_login_options, do_login},
        {"env", "print the variables of a login as 'export' lines", add_env_options, do_env},
        {"list", "list all clusters", [](CLI::App&, Arguments&) {}, do_list},
        {"node", "cut, heal, off or on: simulate the failure of a node",
         add_action({"cut", "heal", "off", "on"}, "NODE",
                    "cut, heal: network down, up; off, on: power off, on"),
         do_action},
        {"daemon", "kill or start munged, slurmctld, slurmd.n0 ...",
         add_action({"kill", "start"}, "DAEMON", "kill: with SIGKILL; it stays down until 'start'"),
         do_action},
        {"init", "", add_init_options, do_init},
    };
    return all;
}

Error usage_error(CLI::ParseError const& error) {
    return {codes::usage, error.what(), "run 'cluster --help' or 'cluster COMMAND --help'"};
}

/// A better message than CLI11's, which only says that a subcommand is required.
Status require_known_command(std::vector<std::string> const& words) {
    if (words.empty() || words.front().starts_with("-")) return Ok{};
    std::vector<std::string_view> names;
    for (auto const& subcommand : subcommands()) names.emplace_back(subcommand.name);
    if (std::find(names.begin(), names.end(), words.front()) != names.end()) return Ok{};
    auto const nearest = nearest_word(words.front(), names);
    return Error{codes::usage, fmt::format("no command '{}'", words.front()),
                 nearest ? fmt::format("use 'cluster {}'", *nearest) : "run 'cluster --help'"};
}

/// Removes "--" and the arguments after it, which CLI11 would treat as our positional arguments.
std::vector<std::string> split_off_dashes(int argc, char const* const* argv, Arguments& arguments) {
    std::vector<std::string> before(argv + 1, argv + argc);
    auto const dashes = std::find(before.begin(), before.end(), "--");
    if (dashes == before.end()) return before;
    arguments.after_dashes.emplace(dashes + 1, before.end());
    before.erase(dashes, before.end());
    return before;
}

}  // namespace

Result<int> run_command_line(int argc, char const* const* argv, Environment const& environment) {
    Arguments arguments;
    CLI::App app("A real Slurm cluster on one machine, in namespaces of its own.", "cluster");
    app.require_subcommand(1);
    add_cluster_options(app, arguments);
    std::vector<std::pair<CLI::App*, Run>> runs;
    for (auto const& subcommand : subcommands()) {
        auto* added = app.add_subcommand(subcommand.name, subcommand.help);
        if (*subcommand.help == '\0') added->group("");  // hidden from --help
        add_cluster_options(*added, arguments);
        subcommand.add_options(*added, arguments);
        runs.emplace_back(added, subcommand.run);
    }
    auto words = split_off_dashes(argc, argv, arguments);
    DET_TRY(require_known_command(words));
    try {
        std::reverse(words.begin(), words.end());  // CLI11 expects reverse order
        app.parse(words);
    } catch (CLI::Success const& help) {
        return app.exit(help);
    } catch (CLI::ParseError const& error) {
        return usage_error(error);
    }
    for (auto const& [subcommand, run] : runs) {
        if (subcommand->parsed()) return run(arguments, *subcommand, environment);
    }
    return Error{codes::internal, "no command was run"};
}

}  // namespace det::loopback
