#pragma once
#include <det/foundation/environment.hpp>
#include <det/foundation/result.hpp>

#include <optional>
#include <string>
#include <vector>

#include "cluster_options.hpp"
#include "cluster_paths.hpp"
#include "login.hpp"
#include "state_directory.hpp"

// What 'cluster' can be asked to do. Each returns the exit code; stdout is the answer, stderr is talk.
namespace det::loopback {

enum class Format { people, json };

Result<int> run_up(ClusterPaths const& paths, ClusterOptions const& options);
Result<int> run_down(ClusterPaths const& paths, Keep keep);
Result<int> run_down_all(std::filesystem::path const& base, Keep keep);
Result<int> run_status(ClusterPaths const& paths, Format format);
Result<int> run_list(std::filesystem::path const& base);
Result<int> run_env(ClusterPaths const& paths, std::string const& user);
Result<int> run_login(ClusterPaths const& paths, Login const& login, Environment const& caller);
/// `action` is a word of control.hpp.
Result<int> run_action(ClusterPaths const& paths, std::string const& action, std::string const& target);

}  // namespace det::loopback
