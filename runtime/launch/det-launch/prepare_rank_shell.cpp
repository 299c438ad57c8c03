#include "prepare_rank_shell.hpp"

#include <det/foundation/executable.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/list_numeric_names.hpp>
#include <det/foundation/text.hpp>
#include <det/launch/node/container_variables.hpp>
#include <det/protocol/cluster_info.hpp>
#include <det/protocol/directory_layout.hpp>
#include <det/protocol/experiment_spec.hpp>
#include <det/protocol/launcher_environment.hpp>

#include <fmt/format.h>
#include <map>

namespace det::launch {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t environment_limit_bytes = std::size_t{8} << 20;

struct FoundProcess {
    std::uint32_t pid = 0;
    Environment environment;
};

Environment parse_environment(std::string_view text) {
    std::map<std::string, std::string, std::less<>> variables;
    for (auto const entry : split(text, '\0')) {
        auto const equals = entry.find('=');
        if (equals != std::string_view::npos && equals > 0)
            variables.emplace(entry.substr(0, equals), entry.substr(equals + 1));
    }
    return Environment(std::move(variables));
}

/// The processes of the run on this node whose environment this user can read, by process id.
std::vector<FoundProcess> find_processes(std::string const& run_path, fs::path const& proc) {
    std::vector<FoundProcess> found;
    for (auto const pid : list_numeric_names(proc).value_or(std::vector<std::uint32_t>())) {
        auto const text = read_file(proc / std::to_string(pid) / "environ", environment_limit_bytes);
        if (!text) continue;
        auto environment = parse_environment(*text);
        if (environment.find(variables::run_path) == run_path) found.push_back({pid, std::move(environment)});
    }
    return found;
}

/// Whether the process belongs to the rank. A wrapper that srun has started has the number of its rank too,
/// but sets DET_RUN_DIR and the other variables only for its command.
bool has_rank(FoundProcess const& process, std::uint32_t rank) {
    if (!process.environment.find_non_empty(variables::run_dir)) return false;
    auto const found =
        find_rank([&](std::string_view name) { return process.environment.find_non_empty(name); });
    return found && parse_integer<std::uint32_t>(*found) == rank;
}

/// Whether DET_RUN_DIR of the process is a path on this node. Inside most containers it is not.
bool is_outside_container(FoundProcess const& process) {
    auto const run_dir = process.environment.find_non_empty(variables::run_dir);
    return run_dir && path_exists(fs::path(*run_dir) / info_files::directory / info_files::spec);
}

template <class Condition>
FoundProcess const* find_first(std::vector<FoundProcess> const& processes, Condition const& condition) {
    auto const found = std::ranges::find_if(processes, condition);
    return found != processes.end() ? &*found : nullptr;
}

Result<bool> has_container(FoundProcess const& process) {
    auto const run_dir = process.environment.find(variables::run_dir).value_or("");
    DET_TRY_ASSIGN(auto const text, read_file(fs::path(run_dir) / info_files::directory / info_files::spec));
    DET_TRY_ASSIGN(auto const spec, parse_spec(text));
    return spec.container.has_value();
}

std::vector<std::string> command_or_shell(RankToEnter const& request) {
    return request.command.empty() ? std::vector<std::string>{"/bin/bash", "-i"} : request.command;
}

}  // namespace

Result<EnteredProgram> prepare_rank_shell(RankToEnter const& request, Environment const& own,
                                          fs::path const& proc) {
    auto const processes = find_processes(request.run_path, proc);
    auto const* outside = find_first(processes, is_outside_container);
    if (outside == nullptr)
        return Error{codes::wrong_state, fmt::format("no process of '{}' is on this node", request.run_path),
                     "it may have ended, or not have started: see 'det-submit trial describe'"};
    auto const* rank = find_first(processes, [&](auto const& each) { return has_rank(each, request.rank); });
    auto const& model = rank != nullptr ? *rank : *outside;
    EnteredProgram program;
    program.argv = command_or_shell(request);
    DET_TRY_ASSIGN(bool const is_contained, has_container(*outside));
    if (is_contained) {
        program.environment = outside->environment;
        for (auto const& line : model.environment.to_list()) {
            auto const equals = line.find('=');
            if (node::is_set_by_launchers(line.substr(0, equals)))
                program.environment.set(line.substr(0, equals), line.substr(equals + 1));
        }
        program.argv.insert(program.argv.begin(), {sibling_program("det-launch").string(), "contain"});
        program.directory = outside->environment.find(variables::run_dir).value_or("/");
    } else {
        program.environment = model.environment;
        std::error_code failure;
        program.directory = fs::read_symlink(proc / std::to_string(model.pid) / "cwd", failure);
        if (failure) program.directory = model.environment.find(variables::run_dir).value_or("/");
    }
    if (auto const terminal = own.find("TERM")) program.environment.set("TERM", *terminal);
    return program;
}

}  // namespace det::launch
