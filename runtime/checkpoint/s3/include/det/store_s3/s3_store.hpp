#pragma once
#include <det/checkpoint/store.hpp>
#include <det/foundation/clock.hpp>
#include <det/foundation/environment.hpp>

#include <memory>
#include <optional>

namespace det::store_s3 {

struct Credentials {
    std::string access_key;
    std::string secret_key;
    std::string session_token = {};  // of temporary ones
};

/// AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN. codes::misuse where one of the first two is
/// missing.
Result<Credentials> credentials_from(Environment const& environment);

struct Options {
    std::string bucket;
    std::string prefix = {};  // below which checkpoints lie; may be empty
    std::string endpoint_url = "https://s3.us-east-1.amazonaws.com";  // any server that speaks S3
    std::string region = "us-east-1";
    Credentials credentials = {};
    /// On this node: files lie there on their way.
    std::filesystem::path staging = std::filesystem::temp_directory_path();
    /// Larger files go in parts of this size; S3 wants 5 MiB at least.
    std::size_t part_size_bytes = std::size_t{16} << 20;
    /// Not owned. Null: the system's.
    Clock* clock = nullptr;
};

/// Checkpoints in a bucket, <prefix>/<uuid>/<path>, by path-style addresses. What fails for a moment (no
/// connection, 429, 5xx) is tried again with pauses of up to some seconds; nothing waits for ever.
/// Thread-safe.
Result<std::unique_ptr<checkpoint::Store>> open_s3_store(Options options);

}  // namespace det::store_s3
