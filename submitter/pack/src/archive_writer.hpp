#pragma once
#include <span>
#include <string>
#include <string_view>

#include "compressor.hpp"
#include "hash_thread.hpp"

namespace det::pack {

/// Compresses and hashes the written bytes in parallel.
class ArchiveWriter {
public:
    /// Writes about `size_bytes` to the file `fd`, which the caller owns.
    ArchiveWriter(int fd, std::string path, std::uint64_t size_bytes);

    Status write(std::string_view bytes);
    /// \return A buffer of at least one byte. The caller writes the next bytes into it and passes their
    /// number to advance().
    std::span<char> free_space();
    Status advance(std::size_t size_bytes);

    struct Finished {
        std::string sha256;  // of the written bytes
        std::uint64_t file_size_bytes = 0;
    };
    Result<Finished> finish();

private:
    Compressor compressor_;
    HashThread hash_;
    std::vector<char> block_;
    std::size_t used_ = 0;  // bytes of block_
};

}  // namespace det::pack
