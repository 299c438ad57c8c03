#pragma once
#include <span>
#include <string>
#include <string_view>

#include "compressor.hpp"
#include "hash_thread.hpp"

namespace det::pack {

/// Compresses and hashes what is written to it, side by side.
class ArchiveWriter {
public:
    /// For about `size_bytes`, into a file of the caller's.
    ArchiveWriter(int fd, std::string path, std::uint64_t size_bytes);

    Status write(std::string_view bytes);
    /// Where the next bytes may be put by the caller, at least one; advance() says how many he did put there.
    std::span<char> free_space();
    Status advance(std::size_t size_bytes);

    struct Finished {
        std::string sha256;  // of what was written
        std::uint64_t file_size_bytes = 0;
    };
    Result<Finished> finish();

private:
    Compressor compressor_;
    HashThread hash_;
    std::vector<char> block_;
    std::size_t used_ = 0;  // of it
};

}  // namespace det::pack
