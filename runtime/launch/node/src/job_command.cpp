#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>
#include <det/launch/node/job_command.hpp>

#include <fmt/format.h>

namespace det::launch::node {
namespace {

namespace fs = std::filesystem;

constexpr char folder_name[] = "scontrol-filter";
constexpr char program_name[] = "scontrol";

// Slurm's scontrol is the next one in PATH. bash keeps the quoted text of a replacement as it is. The last
// character keeps the newlines at the end of the output.
constexpr std::string_view filter = R"script(#!/bin/bash
# scontrol in a batch script of an experiment: the command of the job is the user's script, as without det-submit.
submitted={submitted}
users={users}
PATH=":$PATH:"
PATH=${{PATH//":${{0%/*}}:"/:}}
PATH=${{PATH#:}}
PATH=${{PATH%:}}
case " $* " in
    *" show job"* | *" show -"*" job"*) ;;
    *) exec scontrol "$@" ;;
esac
case "$(scontrol --version)" in
    *" "2[0-3].*) users+={arguments} ;; # later releases show no arguments
esac
shown=$(scontrol "$@"; code=$?; printf .; exit $code)
code=$?
shown=${{shown%.}}
printf %s "${{shown//"Command=$submitted"/"Command=$users"}}"
exit $code
)script";

}  // namespace

Status write_scontrol_filter(fs::path const& run_dir, JobCommand const& command) {
    DET_TRY(make_directory(run_dir / folder_name));
    auto const arguments = command.arguments.empty() ? "" : " " + command.arguments;
    return write_file(run_dir / folder_name / program_name,
                      fmt::format(filter, fmt::arg("submitted", quote_for_shell(command.submitted)),
                                  fmt::arg("users", quote_for_shell(command.users)),
                                  fmt::arg("arguments", quote_for_shell(arguments))),
                      0755);
}

void use_scontrol_filter(Environment& environment, fs::path const& run_dir) {
    auto const folder = (run_dir / folder_name).string();
    auto const path = environment.find_non_empty("PATH").value_or("/usr/bin:/bin");
    if (path_exists(run_dir / folder_name / program_name) && !path.starts_with(folder + ":"))
        environment.set("PATH", folder + ":" + path);
}

}  // namespace det::launch::node
