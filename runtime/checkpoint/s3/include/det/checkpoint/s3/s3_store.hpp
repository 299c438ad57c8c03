#pragma once
#include <det/checkpoint/s3/aws_settings.hpp>
#include <det/checkpoint/store.hpp>
#include <det/foundation/clock.hpp>
#include <det/foundation/environment.hpp>

#include <memory>

namespace det::checkpoint::s3 {

struct Options {
    std::string bucket;
    std::string prefix = {};        // prefix of all keys; may be empty
    std::string endpoint_url = {};  // any S3 server; empty: Amazon's server of the region
    std::string region = "us-east-1";
    Credentials credentials = {};
    /// A directory on this node for files before the upload and after the download.
    std::filesystem::path staging = std::filesystem::temp_directory_path();
    /// Candidate paths of det_libcurl.so: the first one that can be opened is used.
    std::vector<std::filesystem::path> modules = {};
    /// Larger files are uploaded in parts of this size. S3 requires at least 5 MiB.
    std::size_t part_size_bytes = std::size_t{16} << 20;
    /// Not owned; must outlive the store. nullptr: the system clock.
    Clock* clock = nullptr;
};

/// Opens a store that keeps checkpoints in a bucket with the keys <prefix>/<uuid>/<path> and path-style
/// addresses. Requests that fail temporarily (no connection, a stalled transfer, 429, 5xx) are sent up to six
/// times, with pauses from 0.1 to 1.6 s. Fails with codes::not_supported if libcurl is missing, with
/// codes::misuse for an empty bucket.
Result<std::unique_ptr<checkpoint::Store>> open_s3_store(Options options);

/// Renders the address of a store: "s3://bucket/pre/fix/" for "bucket" and "/pre/./fix/". Pure.
std::string render_address(std::string const& bucket, std::string const& prefix);

/// The paths at which det_libcurl.so exists: in DET_MODULES, beside the library or program that contains this
/// code or in the lib directory next to it, and in DET_RUN_DIR (for containers). Last the bare name, for the
/// search path of the dynamic linker.
std::vector<std::filesystem::path> module_candidates(Environment const& environment);

}  // namespace det::checkpoint::s3
