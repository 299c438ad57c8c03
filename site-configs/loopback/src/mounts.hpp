#pragma once
#include <det/foundation/files.hpp>

#include <functional>
#include <vector>

// Mounts of a mount namespace of our own. They go away with the namespace, so nothing here unmounts.
namespace det::loopback {

/// What we mount stays here; what the host mounts and unmounts still arrives, so that we never keep one of
/// its file systems busy.
Status keep_mounts_to_ourselves();

Status bind_mount(std::filesystem::path const& source, std::filesystem::path const& target);
Status bind_mount_read_only(std::filesystem::path const& source, std::filesystem::path const& target);
Status mount_file_system(std::string const& type, std::filesystem::path const& target,
                         std::string const& options = "");

/// The directory as it is, with changes that only we see; they are kept in `changes`, or there already.
Status mount_overlay(std::filesystem::path const& directory, std::filesystem::path const& changes,
                     std::filesystem::path const& scratch);

/// Mounts something over `directory`, and puts what lies at `kept` (with all mounts below) back in its place
/// afterwards: a state directory may well lie under the /tmp that a node gets instead of the host's.
Status mount_over(std::filesystem::path const& directory, std::vector<std::filesystem::path> const& kept,
                  std::function<Status()> const& mount);

}  // namespace det::loopback
