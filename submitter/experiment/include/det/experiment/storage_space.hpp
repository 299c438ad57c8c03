#pragma once
#include <det/experiment/submission_request.hpp>
#include <det/foundation/process.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace det::experiment {

/// An amount of bytes and files: free, used or allowed.
struct StorageAmount {
    std::uint64_t bytes = 0;
    /// nullopt: the file system has no fixed number of files, as btrfs and Lustre's clients.
    std::optional<std::uint64_t> files;
};

/// A limit of a user on a file system, as `quota` and `lfs quota` print it.
struct Quota {
    std::string file_system;  // the device, "server:/export" or, on Lustre, the mount point
    StorageAmount used;
    StorageAmount limit;  // of bytes: 0 means none; of files: nullopt means none
};

/// Parses the table of `quota -w -p` or `lfs quota -q`: kilobytes, quota, limit, grace, then the same of
/// files. The soft limit counts if there is one, because the time above it is short. Other lines are ignored.
std::vector<Quota> parse_quotas(std::string_view output);

/// A directory that an experiment fills, and what is left there.
struct StoragePlace {
    std::string name;  // "the root", "the checkpoint storage"
    std::filesystem::path path;
    std::optional<StorageAmount> space = {};
    std::vector<Quota> quotas = {};
};

/// The number of files that an experiment makes besides those of its checkpoints.
std::uint64_t files_of(std::uint32_t trials, int nodes);

/// A warning for each place that has less than 1 GiB or fewer files than needed, and for each quota of which
/// nine tenths are used. Pure.
std::vector<Error> find_storage_warnings(std::vector<StoragePlace> const& places, std::uint64_t files_needed);

/// Asks the file systems of the root and of the checkpoint storage, and `quota` and on Lustre `lfs quota`
/// where they are in PATH. A program that has not answered after a second is ignored: a file server that does
/// not answer says nothing about space.
std::vector<StoragePlace> inspect_storage(SubmissionRequest const& request, Environment const& environment,
                                          ProcessRunner& runner);

}  // namespace det::experiment
