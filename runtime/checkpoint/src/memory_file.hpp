#pragma once
#include <det/checkpoint/state.hpp>
#include <det/foundation/files.hpp>
#include <det/protocol/json_value.hpp>

#include <compare>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "write_plan.hpp"

// One rank's snapshot in memory: a file of a tmpfs.
//
//     page 0        "DETSNAP1", u64 size of the file, u64 size of the JSON, u32 CRC-32C of all that follows
//     page 0 4096          JSON: run, steps, rank, ranks, metadata, and the tensors with the offsets of their
//     data then          the data of each tensor, at multiples of 64
//
// The file is written under another name, and gets its own, RUN.STEPS.RANKofRANKS, when page 0 is complete.
namespace det::checkpoint {

struct MemoryFileName {
    std::uint32_t run = 0;
    std::uint64_t steps = 0;
    int rank = 0;
    int ranks = 1;
    friend auto operator<=>(MemoryFileName const&, MemoryFileName const&) = default;
};
std::string to_string(MemoryFileName const& name);
std::optional<MemoryFileName> parse_memory_file_name(std::string_view text);

/// The snapshot of all ranks: by the number of its run first, because a later run may have gone back.
struct SnapshotId {
    std::uint32_t run = 0;
    std::uint64_t steps = 0;
    int ranks = 1;
    friend auto operator<=>(SnapshotId const&, SnapshotId const&) = default;
};
inline SnapshotId id_of(MemoryFileName const& name) { return {name.run, name.steps, name.ranks}; }

/// Plans the image of a rank's state, but for the checksum. `state` must be valid (check_state).
ShardPlan plan_memory_file(MemoryFileName const& name, JsonValue const& metadata, State const& state);

/// Writes page 0 of an image whose data is complete.
void complete_memory_file(std::span<std::byte> image);

/// Whether an image has the size and the checksum of its page 0.
bool is_complete_memory_file(std::span<std::byte const> image);

/// A file that is mapped into memory. The destructor unmaps it.
class MappedFile {
public:
    MappedFile() = default;
    MappedFile(MappedFile&& other) noexcept
        : fd_(std::move(other.fd_)),
          data_(std::exchange(other.data_, nullptr)),
          size_bytes_(std::exchange(other.size_bytes_, 0)) {}
    MappedFile& operator=(MappedFile&& other) noexcept;
    ~MappedFile() { unmap(); }

    /// Maps a file of this user for reading. Follows no symbolic link.
    static Result<MappedFile> open(std::filesystem::path const& path);
    /// Makes a new file, with the mode 0600. The name must not exist.
    static Result<MappedFile> create(std::filesystem::path const& path);
    /// Opens a file of this user to write into it again. Follows no symbolic link.
    static Result<MappedFile> open_for_writing(std::filesystem::path const& path);

    /// Gives a file that is open for writing this size, with all its memory, and maps it.
    Status resize(std::size_t size_bytes);
    std::span<std::byte> bytes() const { return {data_, size_bytes_}; }
    /// The size of the file, mapped or not.
    std::uint64_t size_bytes() const;

private:
    Status map(std::size_t size_bytes, int protection);
    void unmap();

    UniqueFd fd_;
    std::byte* data_ = nullptr;
    std::size_t size_bytes_ = 0;
};

/// A snapshot that a rank reads.
struct MemoryFile {
    MemoryFileName name;
    MappedFile file;
    JsonValue metadata;
    struct Tensor {
        LocalTensorSlice slice;
        std::uint64_t offset_bytes = 0;
    };
    std::vector<Tensor> tensors = {};

    /// Reads page 0 and the JSON, and checks that all tensors are inside the file.
    /// \return codes::checkpoint_damaged
    static Result<MemoryFile> open(std::filesystem::path const& directory, MemoryFileName const& name);
    /// Compares the checksum. Reads the whole file.
    Status verify() const;
};

}  // namespace det::checkpoint
