#pragma once
#include <cstdint>
#include <filesystem>
#include <string>

namespace det::launch::supervisor {

/// 0 for what is no file and can't be read again, such as a pipe.
std::uint64_t output_size_bytes(std::filesystem::path const& output);

/// The first error that a srun wrote there behind `begin_bytes`, without its "srun: error: "; empty: none.
std::string find_srun_error(std::filesystem::path const& output, std::uint64_t begin_bytes);

}  // namespace det::launch::supervisor
