#pragma once
#include <det/foundation/files.hpp>
#include <det/journal/record_decoder.hpp>
#include <det/protocol/record.hpp>

#include <cstdint>
#include <filesystem>
#include <vector>

namespace det::journal {

/// Reads a journal while another process writes it, and keeps the file open. Data written on this node is
/// seen at once. Data written on another node is surely seen only after close_file(), because an NFS client
/// looks for new data at open(2).
class JournalTail {
public:
    explicit JournalTail(std::filesystem::path path) : path_(std::move(path)) {}

    /// Reads the complete records that were appended since the last call, about 16 MiB of them at most; the
    /// next call reads the records after these. A file that does not exist counts as an empty journal.
    /// An incomplete or damaged frame at the end is read by a later call. Fails if the first new record can't
    /// be decoded; later calls continue after that record. Fails with codes::journal_damaged if the first new
    /// bytes are damaged and records follow them; later calls fail too until the user has accepted that
    /// (damage.hpp).
    Result<std::vector<Record>> read_new();

    /// Makes the next read_new() open the file again.
    void close_file() { file_ = UniqueFd(); }

private:
    Result<std::string> read_bytes();

    std::filesystem::path path_;
    UniqueFd file_;  // closed: the next reading opens it
    RecordDecoder decoder_;
    std::uint64_t offset_bytes_ = 0;  // of the next frame; 0: the header has not been read
};

}  // namespace det::journal
