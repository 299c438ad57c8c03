#pragma once
#include <det/foundation/result.hpp>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

// Mounts in a private mount namespace. The kernel unmounts everything when the namespace ends.
namespace det::loopback {

/// Makes all mounts MS_SLAVE: our mounts are invisible to the host, and the host's mounts and unmounts still
/// take effect here, so that this namespace never keeps a file system of the host busy.
Status make_mounts_slave();

Status bind_mount(std::filesystem::path const& source, std::filesystem::path const& target);

Status bind_mount_read_only(std::filesystem::path const& source, std::filesystem::path const& target);

Status mount_file_system(std::string const& type, std::filesystem::path const& target,
                         std::string const& options = "");

/// Mounts an overlayfs over `directory`: its own files below the files in `changes`. Writes go to `changes`;
/// overlayfs needs the empty directory `scratch` for its work.
Status mount_overlay(std::filesystem::path const& directory, std::filesystem::path const& changes,
                     std::filesystem::path const& scratch);

/// Calls `mount`, which mounts something over `directory`. Afterwards the paths `kept` below `directory` show
/// the same trees as before, including mounts below them. Needed because a state directory may be below /tmp,
/// over which each node mounts its own /tmp.
Status mount_over(std::filesystem::path const& directory, std::vector<std::filesystem::path> const& kept,
                  std::function<Status()> const& mount);

}  // namespace det::loopback
