#include <det/foundation/files.hpp>
#include <det/foundation/sha256.hpp>
#include <det/foundation/text.hpp>
#include <det/foundation/trusted_file.hpp>
#include <det/launch/supervisor/unpack_archive.hpp>

#include <archive.h>
#include <archive_entry.h>
#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <memory>
#include <unistd.h>
#include <vector>
#include <zstd.h>

namespace det::launch::supervisor {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t content_limit_bytes = std::size_t{1} << 30;  // a context has at most 95 MiB

/// Reads an archive piece by piece, decompresses it for libarchive, and hashes the decompressed bytes.
class Source {
public:
    explicit Source(UniqueFd file)
        : file_(std::move(file)), in_(ZSTD_DStreamInSize()), out_(ZSTD_DStreamOutSize()) {}

    /// Returns the next decompressed piece; empty at the end. Does not throw, because libarchive calls it:
    /// an error ends the stream, and finish() returns the error.
    std::string_view next() {
        while (!problem_) {
            if (input_.pos == input_.size && !refill()) return {};
            ZSTD_outBuffer output{out_.data(), out_.size(), 0};
            auto const left = ZSTD_decompressStream(stream_.get(), &output, &input_);
            if (ZSTD_isError(left) != 0U) {
                problem_ =
                    Error{codes::damaged, fmt::format("it does not decompress: {}", ZSTD_getErrorName(left))};
                return {};
            }
            frame_complete_ = left == 0;
            if (output.pos == 0) continue;
            std::string_view const piece(out_.data(), output.pos);
            hash_.update(piece);
            size_bytes_ += piece.size();
            if (size_bytes_ > content_limit_bytes)
                problem_ = Error{codes::damaged, "it holds more than a context may"};
            return piece;
        }
        return {};
    }

    /// Reads to the end. Returns the hash of the whole decompressed content.
    Result<std::string> finish() {
        while (!next().empty()) {
        }
        if (!problem_ && !frame_complete_) problem_ = Error{codes::damaged, "it was cut short"};
        if (problem_) return *problem_;
        return hash_.finish();
    }
    std::optional<Error> const& problem() const { return problem_; }

private:
    struct FreeStream {
        void operator()(ZSTD_DStream* stream) const { ZSTD_freeDStream(stream); }
    };

    bool refill() {
        ssize_t count = -1;
        do count = ::read(file_.get(), in_.data(), in_.size());
        while (count < 0 && errno == EINTR);
        if (count < 0) problem_ = os_error("read it", errno);
        input_ = {in_.data(), count > 0 ? static_cast<std::size_t>(count) : 0, 0};
        return count > 0;
    }

    UniqueFd file_;
    std::vector<char> in_, out_;
    std::unique_ptr<ZSTD_DStream, FreeStream> stream_{ZSTD_createDStream()};
    ZSTD_inBuffer input_{nullptr, 0, 0};
    Sha256 hash_;
    std::size_t size_bytes_ = 0;
    bool frame_complete_ = false;
    std::optional<Error> problem_;
};

la_ssize_t read_from_source(archive*, void* source, void const** bytes) {
    auto const piece = static_cast<Source*>(source)->next();
    *bytes = piece.data();
    return static_cast<la_ssize_t>(piece.size());
}

struct FreeReader {
    void operator()(archive* reader) const { archive_read_free(reader); }
};
struct FreeWriter {
    void operator()(archive* writer) const { archive_write_free(writer); }
};

/// The path to which an archive member is unpacked; empty if that path would leave the directory.
std::optional<fs::path> place(fs::path const& directory, char const* name) {
    if (name == nullptr) return std::nullopt;
    fs::path const relative(name);
    if (relative.empty() || relative.is_absolute()) return std::nullopt;
    for (auto const& part : relative) {
        if (part == "..") return std::nullopt;
    }
    return directory / relative;
}

/// What an archive may have.
struct MemberRules {
    MemberFilter filter = {};
    bool allows_hard_links = false;
    std::uint64_t limit_bytes = content_limit_bytes;
};

/// Gives the member the path to which it is unpacked, and a hard link the path to which it leads.
/// \return false if a path leaves the directory, or the member is none that code or an environment has
bool place_member(archive_entry* entry, fs::path const& directory, MemberRules const& rules) {
    auto const path = place(directory, archive_entry_pathname(entry));
    if (!path) return false;
    auto const* const hard_link = archive_entry_hardlink(entry);
    auto const type = archive_entry_filetype(entry);
    bool const is_usual = type == AE_IFREG || type == AE_IFDIR || type == AE_IFLNK;
    if (hard_link == nullptr && !is_usual) return false;
    if (hard_link != nullptr) {
        auto const target = place(directory, hard_link);
        if (!rules.allows_hard_links || !target) return false;
        // With SECURE_SYMLINKS libarchive refuses a target behind a symbolic link too.
        archive_entry_set_hardlink(entry, target->c_str());
    }
    archive_entry_set_pathname(entry, path->c_str());
    return true;
}

UnpackedTar failed_to_write(archive* writer) {
    return {Error{codes::file_system, archive_error_string(writer)}, archive_errno(writer), 0};
}

UnpackedTar extract(archive* reader, archive* writer, fs::path const& directory, MemberRules const& rules) {
    UnpackedTar done;
    archive_entry* entry = nullptr;
    for (;;) {
        int const status = archive_read_next_header(reader, &entry);
        if (status == ARCHIVE_EOF) return done;
        if (status < ARCHIVE_WARN) return {Error{codes::damaged, archive_error_string(reader)}};
        auto const* const name = archive_entry_pathname(entry);
        bool const is_wanted = !rules.filter || (name != nullptr && rules.filter(name));
        if (!place_member(entry, directory, rules))
            return {Error{codes::damaged, "it has a member that would leave its directory, or a device"}};
        if (!is_wanted) continue;
        if (archive_write_header(writer, entry) < ARCHIVE_WARN) return failed_to_write(writer);
        void const* bytes = nullptr;
        std::size_t size = 0;
        la_int64_t offset = 0;
        int block = ARCHIVE_OK;
        while ((block = archive_read_data_block(reader, &bytes, &size, &offset)) == ARCHIVE_OK) {
            done.size_bytes += size;
            if (done.size_bytes > rules.limit_bytes)
                return {Error{codes::file_system,
                              fmt::format("it holds more than {}", format_size(rules.limit_bytes))}};
            // libarchive calls a write that fails, for example because the disk is full, a warning.
            if (archive_write_data_block(writer, bytes, size, offset) < ARCHIVE_OK)
                return failed_to_write(writer);
        }
        if (block != ARCHIVE_EOF) return {Error{codes::damaged, archive_error_string(reader)}};
        if (archive_write_finish_entry(writer) < ARCHIVE_WARN) return failed_to_write(writer);
    }
}

/// Writes what archives have, below a directory whose path has no symbolic link.
std::unique_ptr<archive, FreeWriter> make_writer() {
    std::unique_ptr<archive, FreeWriter> writer(archive_write_disk_new());
    // SECURE_NOABSOLUTEPATHS would refuse every member, because place() makes all paths absolute.
    // SECURE_SYMLINKS refuses a member whose path leads through a symbolic link.
    archive_write_disk_set_options(
        writer.get(), ARCHIVE_EXTRACT_PERM | ARCHIVE_EXTRACT_TIME | ARCHIVE_EXTRACT_SECURE_SYMLINKS);
    return writer;
}

/// The error for an archive whose content is not the code that was submitted.
Error other_content(fs::path const& path, std::string const& found, std::string const& wanted) {
    return Error{
        codes::damaged,
        fmt::format("it was changed or damaged after it was stored: its content has SHA-256 {}, not {}",
                    found, wanted),
        fmt::format("remove '{}' and create an experiment with the same code: that stores it anew",
                    path.string())};
}

Status unpack(Source& source, fs::path const& directory, MemberFilter const& filter) {
    std::unique_ptr<archive, FreeReader> const reader(archive_read_new());
    auto const writer = make_writer();
    archive_read_support_format_tar(reader.get());
    if (archive_read_open(reader.get(), &source, nullptr, read_from_source, nullptr) != ARCHIVE_OK) {
        return Error{codes::damaged, archive_error_string(reader.get())};
    }
    return extract(reader.get(), writer.get(), directory, {filter}).status;
}

}  // namespace

Status unpack_archive(fs::path const& path, std::string const& sha256, fs::path const& directory,
                      MemberFilter const& filter) {
    auto opened = open_trusted_file(path);
    if (!opened) return std::move(opened).error().while_doing("opening the context");
    auto file = *std::move(opened);
    ::posix_fadvise(file.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
    std::error_code error;
    auto const target = fs::canonical(directory, error);  // SECURE_SYMLINKS would refuse a link in this path
    if (error) return os_error(fmt::format("look at '{}'", directory.string()), error.value());
    Source source(std::move(file));
    auto unpacked = unpack(source, target, filter);
    auto hash = source.finish();
    auto const doing = fmt::format("unpacking the context '{}'", path.string());
    if (!hash) return std::move(hash).error().while_doing(doing);
    if (!unpacked) return std::move(unpacked).error().while_doing(doing);
    if (*hash != sha256) return other_content(path, *hash, sha256).while_doing(doing);
    return Ok{};
}

UnpackedTar unpack_tar(fs::path const& file, fs::path const& directory, std::uint64_t limit_bytes) {
    std::error_code error;
    auto const target = fs::canonical(directory, error);
    if (error) return {os_error(fmt::format("look at '{}'", directory.string()), error.value())};
    std::unique_ptr<archive, FreeReader> const reader(archive_read_new());
    auto const writer = make_writer();
    archive_read_support_format_tar(reader.get());
    archive_read_support_filter_gzip(reader.get());
    archive_read_support_filter_zstd(reader.get());
    constexpr std::size_t block_bytes = std::size_t{1} << 20;
    if (archive_read_open_filename(reader.get(), file.c_str(), block_bytes) != ARCHIVE_OK)
        return {Error{codes::damaged, archive_error_string(reader.get())}};
    auto done = extract(reader.get(), writer.get(), target, {{}, true, limit_bytes});
    // The permissions of directories are set here.
    if (done.status && archive_write_close(writer.get()) < ARCHIVE_WARN) return failed_to_write(writer.get());
    return done;
}

}  // namespace det::launch::supervisor
