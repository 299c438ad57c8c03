#include "pack_writer.hpp"

#include <det/experiment_pack/pack_file.hpp>
#include <det/foundation/sha256.hpp>

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "block_stream.hpp"
#include "scan_tree.hpp"

namespace det::experiment_pack {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t copied_bytes = std::size_t{1} << 20;  // by one read(2)

Error changed_error(fs::path const& path) {
    return {codes::wrong_state, fmt::format("'{}' changed while it was packed", path.string()),
            "nothing was packed; repeat the command when no program writes there"};
}

/// The ranges of an open file that are no holes.
Result<std::vector<Extent>> find_data(int file, fs::path const& path, std::uint64_t size_bytes) {
    std::vector<Extent> data;
    for (std::uint64_t at = 0; at < size_bytes;) {
        auto const begin = ::lseek(file, static_cast<off_t>(at), SEEK_DATA);
        if (begin < 0 && errno == ENXIO) break;  // only a hole is left
        if (begin < 0) return os_error(fmt::format("read '{}'", path.string()), errno);
        auto const end = ::lseek(file, begin, SEEK_HOLE);
        if (end < 0) return os_error(fmt::format("read '{}'", path.string()), errno);
        auto const limit = std::min(static_cast<std::uint64_t>(end), size_bytes);
        if (static_cast<std::uint64_t>(begin) >= limit) break;
        data.push_back({static_cast<std::uint64_t>(begin), limit - static_cast<std::uint64_t>(begin)});
        at = limit;
    }
    return data;
}

class PackWriter {
public:
    PackWriter(fs::path const& directory, int target, std::string const& name)
        : directory_(directory), target_(target), name_(name), blocks_(target, name) {}

    Status write(std::vector<Entry>& entries, journal::PackSummary const& summary) {
        auto const head = journal::render_pack_head(summary);
        DET_TRY(write_all(target_, head, name_));
        for (auto& entry : entries) {
            if (entry.kind == Entry::Kind::file) DET_TRY(add(entry));
        }
        DET_TRY(blocks_.finish());
        auto const index = render_index({blocks_.blocks(), entries});
        if (index.size() > index_limit_bytes)
            return Error{codes::document_too_large,
                         fmt::format("'{}' has too many files for a pack", directory_.string())};
        std::uint64_t index_at = head.size();
        for (auto const size : blocks_.blocks()) index_at += size;
        DET_TRY_ASSIGN(auto const stored, compress_text(index));
        DET_TRY(write_all(target_, stored, name_));
        DET_TRY(write_all(target_, render_pack_end(index_at, stored.size(), index), name_));
        if (::fsync(target_) != 0) return os_error(fmt::format("sync '{}'", name_), errno);
        return Ok{};
    }

private:
    Status add(Entry& entry) {
        auto const path = directory_ / entry.path;
        UniqueFd const file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
        struct stat before {};
        if (!file || ::fstat(file.get(), &before) != 0)
            return os_error(fmt::format("read '{}'", path.string()), errno);
        if (!is_unchanged(before, entry)) return changed_error(path);
        DET_TRY_ASSIGN(entry.data, find_data(file.get(), path, entry.size_bytes));
        entry.contents_at = blocks_.contents_bytes();
        Sha256 hash;
        for (auto const& extent : entry.data) DET_TRY(copy(file.get(), path, extent, hash));
        entry.sha256 = hash.finish();
        struct stat after {};
        if (::fstat(file.get(), &after) != 0 || !is_unchanged(after, entry)) return changed_error(path);
        return Ok{};
    }

    Status copy(int file, fs::path const& path, Extent const& extent, Sha256& hash) {
        buffer_.resize(copied_bytes);
        for (auto at = extent.at, end = at + extent.size_bytes; at < end;) {
            auto const wanted = std::min<std::uint64_t>(end - at, buffer_.size());
            auto const count = ::pread(file, buffer_.data(), wanted, static_cast<off_t>(at));
            if (count < 0 && errno == EINTR) continue;
            if (count < 0) return os_error(fmt::format("read '{}'", path.string()), errno);
            if (count == 0) return changed_error(path);
            std::string_view const bytes(buffer_.data(), static_cast<std::size_t>(count));
            hash.update(bytes);
            DET_TRY(blocks_.write(bytes));
            at += bytes.size();
        }
        return Ok{};
    }

    fs::path directory_;
    int target_;
    std::string name_;
    BlockWriter blocks_;
    std::string buffer_;
};

}  // namespace

Result<std::vector<Entry>> write_pack(fs::path const& directory, std::vector<Entry> entries,
                                      journal::PackSummary const& summary, fs::path const& target) {
    UniqueFd file(::open(target.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file) return os_error(fmt::format("create '{}'", target.string()), errno);
    auto written = PackWriter(directory, file.get(), target.string()).write(entries, summary);
    // NFS and quotas may report a full disk only at close.
    if (written && ::close(file.release()) != 0)
        written = os_error(fmt::format("write '{}'", target.string()), errno);
    if (written) return entries;
    (void)::unlink(target.c_str());
    return std::move(written).error();
}

}  // namespace det::experiment_pack
