#include <det/foundation/files.hpp>
#include <det/pack/pack.hpp>

#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <numeric>
#include <unistd.h>

#include "archive_writer.hpp"
#include "tar_header.hpp"

namespace det::pack {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t read_size_bytes = std::size_t{256} << 10;

Error changed(std::string const& path) {
    return Error{codes::file_system, fmt::format("'{}' changed while it was packed", path), "try again"};
}

Status write_content(fs::path const& directory, Member const& member, std::vector<char>& buffer,
                     ArchiveWriter& archive) {
    auto const path = directory / member.path;
    UniqueFd const file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (!file) return os_error(fmt::format("read '{}'", path.string()), errno);
    for (auto left = member.size_bytes;;) {
        auto const count = ::read(file.get(), buffer.data(), buffer.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return os_error(fmt::format("read '{}'", path.string()), errno);
        if (static_cast<std::uint64_t>(count) > left || (count == 0 && left != 0))
            return changed(member.path);
        if (count == 0) return archive.write(tar_padding(member.size_bytes));
        left -= static_cast<std::uint64_t>(count);
        DET_TRY(archive.write({buffer.data(), static_cast<std::size_t>(count)}));
    }
}

Result<std::string> write_archive(fs::path const& directory, std::vector<Member> const& members,
                                  ArchiveWriter& archive) {
    std::vector<char> buffer(read_size_bytes);
    for (auto const& member : members) {
        DET_TRY(archive.write(render_tar_header(member)));
        if (member.kind == Member::Kind::file) DET_TRY(write_content(directory, member, buffer, archive));
    }
    DET_TRY(archive.write(tar_end()));
    return archive.finish();
}

Result<PackedContext> store(fs::path const& directory, std::vector<Member> const& members,
                            fs::path const& contexts) {
    DET_TRY(make_directories(contexts));
    PackedContext packed;
    packed.size_bytes = std::accumulate(members.begin(), members.end(), std::uint64_t{0},
                                        [](auto sum, auto const& member) { return sum + member.size_bytes; });
    DET_TRY_ASSIGN(auto archive, ArchiveWriter::create(contexts, packed.size_bytes));
    DET_TRY_ASSIGN(packed.sha256, write_archive(directory, members, archive));
    auto const path = contexts / (packed.sha256 + ".tar.zst");
    packed.was_there = path_exists(path);
    if (!packed.was_there) DET_TRY(archive.keep_as(path));
    return packed;
}

}  // namespace

Result<PackedContext, Diagnostics> pack_context(fs::path const& directory, fs::path const& contexts) {
    auto const members = list_context(directory);
    if (!members) return members.error();
    auto packed = store(directory, *members, contexts);
    if (!packed) {
        return Diagnostics(std::move(packed).error().while_doing(
            fmt::format("packing the context '{}'", directory.string())));
    }
    return *std::move(packed);
}

}  // namespace det::pack
