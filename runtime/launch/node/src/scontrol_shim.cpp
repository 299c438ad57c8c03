// The commands that a container gets in place of those that its image lacks.
#include <det/foundation/files.hpp>
#include <det/launch/node/container_call.hpp>

namespace det::launch::node {
namespace {

/// Some frameworks requeue their own job by `scontrol requeue`. In a container, this script creates a file
/// instead, and the supervisor, which has Slurm's commands, requeues the job.
constexpr std::string_view scontrol = R"script(#!/bin/sh
# scontrol inside a container: queues the own job again, and does nothing else.
if [ "$#" -ne 2 ] || [ "$1" != requeue ]; then
    echo "scontrol: inside a container there is only 'scontrol requeue JOB', for the job of this program" >&2
    exit 1
fi
array_task="${SLURM_ARRAY_JOB_ID:-none}_${SLURM_ARRAY_TASK_ID:-none}"
if [ "$2" != "${SLURM_JOB_ID:-none}" ] && [ "$2" != "$array_task" ]; then
    echo "scontrol: $2 is not the job of this program" >&2
    exit 1
fi
if [ -z "${DET_RUN_PATH:-}" ]; then
    echo "scontrol: DET_RUN_PATH is not set" >&2
    exit 1
fi
: >"$DET_RUN_PATH/requeue"
)script";

}  // namespace

Status write_scontrol_shim(std::filesystem::path const& run_dir) {
    auto const directory = run_dir / commands_folder;
    DET_TRY(make_directory(directory));
    return write_file(directory / "scontrol", std::string(scontrol), 0755);
}

}  // namespace det::launch::node
