#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

namespace det::config {

/// A directory that every node mounts.
struct SharedFsStorage {
    std::string host_path;
    std::optional<std::string> storage_path;  // below host_path
    std::string propagation;
};
/// A directory inside the container.
struct DirectoryStorage {
    std::string container_path;
};
struct S3Storage {
    std::string bucket;
    std::optional<std::string> access_key;
    std::optional<std::string> secret_key;
    std::optional<std::string> endpoint_url;
    std::optional<std::string> prefix;
};
struct GcsStorage {
    std::string bucket;
    std::optional<std::string> prefix;
};
struct AzureStorage {
    std::string container;
    std::optional<std::string> connection_string;
    std::optional<std::string> account_url;
    std::optional<std::string> credential;
};

/// The checkpoint storage, and how many checkpoints are kept after the end of the experiment.
struct CheckpointStorage {
    std::string type;  // as in the configuration: shared_fs, s3 ...
    std::int64_t save_experiment_best = 0;
    std::int64_t save_trial_best = 1;
    std::int64_t save_trial_latest = 1;
    std::variant<SharedFsStorage, DirectoryStorage, S3Storage, GcsStorage, AzureStorage> location;
};

}  // namespace det::config
