#include <det/foundation/files.hpp>
#include <det/launch/node/node_directory.hpp>
#include <det/launch/node/run_directory.hpp>
#include <det/launch/node/stage_directory.hpp>
#include <det/protocol/staged_file.hpp>
#include <det/protocol/task_identity.hpp>

namespace det::launch::node {

std::filesystem::path stage_directory(Environment const& environment) {
    auto const base = local_base(environment);
    return users_directory(base) / local_directory_name(base, "stage", node_name(environment));
}

Result<std::filesystem::path> make_stage_directory(Environment const& environment) {
    DET_TRY(make_users_directory(local_base(environment)));
    return stage_directory(environment);
}

std::optional<std::filesystem::path> find_job_stage(Environment const& environment, std::string const& job) {
    auto directory = stage_directory(environment) / "jobs" / job;
    bool const is_ours = has_users_directory(local_base(environment)) && path_exists(directory);
    return is_ours ? std::optional(std::move(directory)) : std::nullopt;
}

void use_stage(Environment& environment) {
    auto const value = environment.find_non_empty(variables::stage);
    // An absolute path was set by an outer wrapper of the same run.
    if (!value || value->front() == '/') return;
    auto const directory = find_job_stage(environment, *value);
    environment.unset(variables::stage);
    if (directory) environment.set(variables::stage, directory->string());
}

}  // namespace det::launch::node
