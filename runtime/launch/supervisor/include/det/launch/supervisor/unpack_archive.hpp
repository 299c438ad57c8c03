#pragma once
#include <det/foundation/result.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace det::launch::supervisor {

/// Returns whether to unpack the member of an archive with this relative path. An empty function: all members
/// are unpacked.
using MemberFilter = std::function<bool(std::filesystem::path const&)>;

/// Unpacks a context archive (tar, zstd) into an existing directory and reads it once from beginning to end.
/// The SHA-256 of its decompressed content must be `sha256`. Hard links and members whose path leaves the
/// directory are refused. After an error the directory is in an undefined state.
Status unpack_archive(std::filesystem::path const& archive, std::string const& sha256,
                      std::filesystem::path const& directory, MemberFilter const& filter = {});

/// What unpack_tar() has done.
struct UnpackedTar {
    Status status = Ok{};
    int error_number = 0;          // errno of a write that has failed, for example ENOSPC
    std::uint64_t size_bytes = 0;  // of all files
};

/// Unpacks a tar archive, plain or compressed by gzip or zstd, into an existing directory. Hard links may
/// name members of the archive. Members whose path or hard link leaves the directory, also through a symbolic
/// link of the archive, are refused, as are devices and what needs more than `limit_bytes`. After an error
/// the directory is in an undefined state.
UnpackedTar unpack_tar(std::filesystem::path const& file, std::filesystem::path const& directory,
                       std::uint64_t limit_bytes);

}  // namespace det::launch::supervisor
