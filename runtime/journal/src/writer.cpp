#include <det/foundation/descriptor_contents.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/shared_directory.hpp>
#include <det/journal/frame.hpp>
#include <det/journal/reader.hpp>
#include <det/journal/writer.hpp>

#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

namespace det::journal {

Result<JournalWriter> JournalWriter::create(std::filesystem::path const& path) {
    UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600));
    if (!file) return os_error(fmt::format("create the journal '{}'", path.string()), errno);
    share_new_file(file.get(), path);
    return begin(path, std::move(file));
}

Result<JournalWriter> JournalWriter::begin(std::filesystem::path const& path, UniqueFd file) {
    JournalWriter writer(path, std::move(file));
    auto const header = render_header();
    DET_TRY(write_all(writer.file_.get(), header, path.string()));
    writer.size_bytes_ = static_cast<std::int64_t>(header.size());
    return writer;
}

Result<JournalWriter> JournalWriter::open(std::filesystem::path const& path) {
    UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    if (!file) return os_error(fmt::format("open the journal '{}'", path.string()), errno);
    bool const is_locked = ::flock(file.get(), LOCK_EX | LOCK_NB) == 0;
    int const lock_error = errno;
    if (!is_locked && lock_error == EWOULDBLOCK) {
        return Error{codes::misuse, fmt::format("another process writes the journal '{}'", path.string()),
                     "a run has one chief: give each process its rank"};
    }
    DET_TRY_ASSIGN(auto const bytes, read_descriptor(file.get(), path, journal_limit_bytes));
    auto const parsed = parse_journal(bytes);
    if (!parsed) return Error(parsed.error()).while_doing(fmt::format("reading '{}'", path.string()));
    auto const& contents = *parsed;
    if (contents.good_size_bytes == 0) {
        share_new_file(file.get(), path);
        if (::ftruncate(file.get(), 0) != 0)
            return os_error(fmt::format("cut the journal '{}'", path.string()), errno);
        return begin(path, std::move(file));
    }
    if (!is_locked) return os_error(fmt::format("lock the journal '{}'", path.string()), lock_error);
    if (!contents.damage.empty()) {
        return Error{codes::damaged, fmt::format("the journal '{}' is damaged", path.string()),
                     "restart the trial: each run has a new journal"};
    }
    JournalWriter writer(path, std::move(file));
    writer.size_bytes_ = static_cast<std::int64_t>(contents.good_size_bytes);
    if (::ftruncate(writer.file_.get(), writer.size_bytes_) != 0)
        return os_error(fmt::format("cut the journal '{}'", path.string()), errno);
    return writer;
}

Status JournalWriter::append(Record const& record, Durability durability) {
    return append(encode_record(record), durability);
}

Status JournalWriter::append(EncodedRecord const& encoded, Durability durability) {
    if (encoded.payload.size() > payload_limit_bytes) return too_large("a record", encoded.payload.size());
    auto const frame = render_frame(static_cast<std::uint16_t>(encoded.type), encoded.payload);
    std::scoped_lock const lock(*mutex_);
    // An incomplete frame in the middle would hide all later records.
    DET_TRY(cut_incomplete_frame());
    if (auto const written = write_all(file_.get(), frame, path_.string()); !written) {
        may_be_incomplete_ = true;
        (void)cut_incomplete_frame();  // if it fails, the next call tries again
        return written.error();
    }
    size_bytes_ += static_cast<std::int64_t>(frame.size());
    return durability == Durability::power_loss ? sync_locked() : Ok{};
}

Status JournalWriter::cut_incomplete_frame() {
    if (!may_be_incomplete_) return Ok{};
    if (::ftruncate(file_.get(), size_bytes_) != 0)
        return os_error(fmt::format("cut the journal '{}'", path_.string()), errno);
    may_be_incomplete_ = false;
    return Ok{};
}

Status JournalWriter::sync() {
    std::scoped_lock const lock(*mutex_);
    return sync_locked();
}

Status JournalWriter::sync_locked() {
    if (::fdatasync(file_.get()) == 0) return Ok{};
    return os_error(fmt::format("sync the journal '{}'", path_.string()), errno);
}

}  // namespace det::journal
