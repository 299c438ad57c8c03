#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>
#include <det/launch/node/srun_shim.hpp>
#include <det/protocol/nested_step.hpp>

#include <fmt/format.h>
#include <optional>
#include <unistd.h>

namespace det::launch::node {
namespace {

namespace fs = std::filesystem;

constexpr char shim_folder[] = "srun-shim";
constexpr char srun[] = "srun";

std::string path_variable(Environment const& environment) {
    return environment.find_non_empty("PATH").value_or("/usr/bin:/bin");
}

std::optional<fs::path> find_slurms_srun(Environment const& environment) {
    auto const path = path_variable(environment);
    for (auto const directory : split(path, ':')) {
        auto const program = fs::path(directory) / srun;
        bool const is_shim = fs::path(directory).filename() == shim_folder;
        if (!directory.empty() && !is_shim && ::access(program.c_str(), X_OK) == 0) return program;
    }
    return std::nullopt;
}

}  // namespace

Status write_srun_shim(fs::path const& run_dir, fs::path const& det_launch) {
    DET_TRY(make_directory(run_dir / shim_folder));
    return write_file(
        run_dir / shim_folder / srun,
        fmt::format("#!/bin/sh\n"
                    "# srun inside a run: refuses a step that the first node of the run starts already.\n"
                    "exec {} nested-srun \"$@\"\n",
                    quote_for_shell(det_launch.string())),
        0755);
}

void use_srun_shim(Environment& environment, fs::path const& run_dir) {
    auto const folder = (run_dir / shim_folder).string();
    auto const path = path_variable(environment);
    if (path_exists(run_dir / shim_folder / srun) && !path.starts_with(folder + ":"))
        environment.set("PATH", folder + ":" + path);
}

Result<std::vector<std::string>> plan_nested_srun(std::vector<std::string> const& arguments,
                                                  Environment const& environment) {
    VariableLookup const lookup = [&](std::string_view name) { return environment.find(name); };
    auto const parsed = parse_srun_arguments(arguments, lookup);
    DET_TRY(check_nested_step(
        {count_step_nodes(parsed), parsed.command.empty() ? "" : parsed.command.front()}, lookup));
    auto const program = find_slurms_srun(environment);
    if (!program) return Error{codes::no_such_file, "no srun is in PATH", "load the module of Slurm"};
    std::vector<std::string> argv{*program};
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    return argv;
}

}  // namespace det::launch::node
