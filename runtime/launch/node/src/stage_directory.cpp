#include <det/foundation/files.hpp>
#include <det/launch/node/node_directory.hpp>
#include <det/launch/node/run_directory.hpp>
#include <det/launch/node/stage_directory.hpp>
#include <det/protocol/staged_file.hpp>
#include <det/protocol/task_identity.hpp>

namespace det::launch::node {

namespace {

namespace fs = std::filesystem;

std::string stage_name(Environment const& environment) {
    return local_directory_name(local_base(environment), "stage", node_name(environment));
}

/// Suffixes differ between nodes: every user of a node can read its names, and could take the same ones
/// elsewhere.
std::string suffix_key(Environment const& environment) { return "stage-" + node_name(environment); }

}  // namespace

Result<fs::path> make_stage_directory(Environment const& environment) {
    auto const base = local_base(environment);
    auto made = make_users_directory(base);
    bool const is_taken = !made && made.error().code == codes::unsafe_owner;
    auto const suffix =
        is_taken ? find_local_suffix(environment, suffix_key(environment)).value_or("") : std::string();
    if (!suffix.empty()) made = make_users_directory(base, suffix);
    DET_TRY_ASSIGN(auto const users, std::move(made));
    return users / stage_name(environment);
}

std::optional<fs::path> find_job_stage(Environment const& environment, std::string const& job) {
    auto const base = local_base(environment);
    auto const find_below = [&](fs::path const& users) -> std::optional<fs::path> {
        auto directory = users / stage_name(environment) / "jobs" / job;
        if (!is_own_directory(users) || !path_exists(directory)) return std::nullopt;
        return directory;
    };
    if (auto found = find_below(users_directory(base))) return found;
    // Also if that name is this user's again: the other user may have removed his directory meanwhile.
    auto const suffix = known_local_suffix(environment, suffix_key(environment)).value_or("");
    return suffix.empty() ? std::nullopt : find_below(users_directory(base, suffix));
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
