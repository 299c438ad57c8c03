#include <det/experiment_pack/pack_file.hpp>
#include <det/foundation/bytes.hpp>
#include <det/foundation/sha256.hpp>

#include <algorithm>
#include <cerrno>
#include <fmt/format.h>
#include <sys/stat.h>

#include "block_stream.hpp"

namespace det::experiment_pack {
namespace {

constexpr std::string_view end_magic = "detpack$";
constexpr std::size_t sha256_digits = 64;
constexpr std::size_t pack_end_bytes = 3 * sizeof(std::uint64_t) + sha256_digits + end_magic.size();

std::string sha256_of(std::string_view text) {
    Sha256 hash;
    hash.update(text);
    return hash.finish();
}

/// The last bytes of a pack.
struct PackEnd {
    std::uint64_t index_at, index_stored_bytes, index_bytes;
    std::string sha256;
};

Error cut_short(std::filesystem::path const& path) {
    return {codes::damaged, fmt::format("the pack '{}' is cut short", path.string()),
            "its experiment can't be shown: look for a copy of the file"};
}

Result<PackEnd> read_end(journal::PackHead const& head) {
    struct stat info {};
    if (::fstat(head.file.get(), &info) != 0)
        return os_error(fmt::format("read '{}'", head.path.string()), errno);
    auto const size_bytes = static_cast<std::uint64_t>(info.st_size);
    if (size_bytes < head.size_bytes + pack_end_bytes) return cut_short(head.path);
    auto const end_at = size_bytes - pack_end_bytes;
    DET_TRY_ASSIGN(auto const bytes, read_range(head.file.get(), head.path.string(), end_at, pack_end_bytes));
    if (!bytes.ends_with(end_magic)) return cut_short(head.path);
    PackEnd end{read_value<std::uint64_t>(bytes, 0), read_value<std::uint64_t>(bytes, 8),
                read_value<std::uint64_t>(bytes, 16), bytes.substr(24, sha256_digits)};
    bool const is_between = end.index_at >= head.size_bytes && end.index_at <= end_at &&
                            end.index_stored_bytes == end_at - end.index_at;
    if (!is_between) return cut_short(head.path);
    if (std::max(end.index_bytes, end.index_stored_bytes) > index_limit_bytes)
        return Error{codes::damaged, fmt::format("the pack '{}' claims an index of {} bytes",
                                                 head.path.string(), end.index_bytes)};
    return end;
}

}  // namespace

std::string render_pack_end(std::uint64_t index_at, std::uint64_t index_stored_bytes,
                            std::string_view index) {
    std::string end;
    append_value(end, index_at);
    append_value(end, index_stored_bytes);
    append_value(end, static_cast<std::uint64_t>(index.size()));
    return end + sha256_of(index) + std::string(end_magic);
}

Result<PackFile> PackFile::load(journal::PackHead head) {
    auto const while_reading = [&](Error error) {
        return std::move(error).while_doing(fmt::format("reading '{}'", head.path.string()));
    };
    DET_TRY_ASSIGN(auto const end, read_end(head));
    DET_TRY_ASSIGN(auto const stored,
                   read_range(head.file.get(), head.path.string(), end.index_at, end.index_stored_bytes));
    auto const text = decompress_text(stored, end.index_bytes);
    if (!text) return while_reading(text.error());
    if (sha256_of(*text) != end.sha256)
        return Error{codes::damaged,
                     fmt::format("the index of the pack '{}' has another checksum", head.path.string())};
    auto index = parse_index(*text);
    if (!index) return while_reading(std::move(index).error());
    std::uint64_t blocks_end = head.size_bytes;
    for (auto const size : index->blocks) blocks_end += size;
    if (blocks_end != end.index_at) return cut_short(head.path);
    return PackFile{std::move(head), *std::move(index), end.sha256};
}

Result<PackFile> PackFile::open(std::filesystem::path const& directory) {
    DET_TRY_ASSIGN(auto head, journal::open_pack(directory));
    if (!head)
        return Error{codes::wrong_state,
                     fmt::format("experiment {} is not packed", directory.filename().string())};
    return load(*std::move(head));
}

Status PackFile::verify() const {
    BlockReader reader(head.file.get(), head.path.string(), head.size_bytes, index);
    for (auto const& entry : index.entries) {
        if (entry.kind != Entry::Kind::file) continue;
        Sha256 hash;
        for (std::uint64_t at = entry.contents_at, end = at + entry.data_bytes(); at < end;) {
            DET_TRY_ASSIGN(auto const bytes, reader.read(at, end - at));
            hash.update(bytes);
            at += bytes.size();
        }
        if (hash.finish() == entry.sha256) continue;
        return Error{codes::damaged, fmt::format("'{}' in the pack '{}' has another checksum",
                                                 escape_path(entry.path), head.path.string())};
    }
    return Ok{};
}

}  // namespace det::experiment_pack
