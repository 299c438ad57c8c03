#pragma once
#include <det/checkpoint/s3/aws_settings.hpp>
#include <det/checkpoint/store.hpp>
#include <det/foundation/clock.hpp>
#include <det/foundation/environment.hpp>

#include <memory>

namespace det::checkpoint::s3 {

struct Options {
    std::string bucket;
    std::string prefix = {};        // below which checkpoints lie; may be empty
    std::string endpoint_url = {};  // any server that speaks S3; empty: Amazon's of the region
    std::string region = "us-east-1";
    Credentials credentials = {};
    /// On this node: files lie there on their way.
    std::filesystem::path staging = std::filesystem::temp_directory_path();
    /// Where det_libcurl.so may lie: the first that can be opened is taken.
    std::vector<std::filesystem::path> modules = {};
    /// Larger files go in parts of this size; S3 wants 5 MiB at least.
    std::size_t part_size_bytes = std::size_t{16} << 20;
    /// Not owned. Null: the system's.
    Clock* clock = nullptr;
};

/// Checkpoints in a bucket, <prefix>/<uuid>/<path>, by path-style addresses. What fails for a moment (no
/// connection, 429, 5xx) is tried again with pauses of up to some seconds; nothing waits for ever.
/// Thread-safe. codes::not_supported where libcurl is missing.
Result<std::unique_ptr<checkpoint::Store>> open_s3_store(Options options);

/// "bucket" and "/pre/./fix/" as people are shown them: "s3://bucket/pre/fix". Pure.
std::string render_address(std::string const& bucket, std::string const& prefix);

/// Files at which the module may lie: where DET_MODULES says, beside the library or program that this code is
/// in, where a container has them, and wherever the loader looks.
std::vector<std::filesystem::path> module_candidates(Environment const& environment);

}  // namespace det::checkpoint::s3
