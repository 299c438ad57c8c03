#pragma once
#include <det/pack/tree.hpp>

#include <string>

namespace det::pack {

inline constexpr std::size_t tar_block_bytes = 512;

/// The blocks before a member's bytes: GNU's long name if the path is too long for ustar, then a ustar
/// header. Owner 0, the same time for all members. Pure.
std::string render_tar_header(Member const& member);

/// Zeros after a member's bytes up to a whole block.
std::string tar_padding(std::uint64_t size_bytes);

/// The two empty blocks at the end of an archive.
std::string tar_end();

}  // namespace det::pack
