#pragma once
#include <det/pack/tree.hpp>

#include <string>

namespace det::pack {

inline constexpr std::size_t tar_block_bytes = 512;

/// The blocks before a member's bytes: a ustar header, before it GNU's long name where a path is too long for
/// that. Owner 0, one time for all. Pure.
std::string render_tar_header(Member const& member);

/// Zeros behind a member's bytes up to a whole block.
std::string tar_padding(std::uint64_t size_bytes);

/// Two empty blocks end an archive.
std::string tar_end();

}  // namespace det::pack
