#include <det/journal/frame.hpp>
#include <det/journal/writer.hpp>

#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace det::journal {

Result<JournalWriter> JournalWriter::create(std::filesystem::path const& path) {
    UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600));
    if (!file) return os_error(fmt::format("create the journal '{}'", path.string()), errno);
    JournalWriter writer(path, std::move(file));
    auto const header = render_header();
    DET_TRY(write_all(writer.file_.get(), header, path.string()));
    writer.size_bytes_ = static_cast<std::int64_t>(header.size());
    return writer;
}

Status JournalWriter::append(Record const& record, Durability durability) {
    auto const encoded = encode_record(record);
    if (encoded.payload.size() > payload_limit_bytes) {
        return Error{codes::bad_value,
                     fmt::format("a record of {} bytes is too large for a journal (limit: {})",
                                 encoded.payload.size(), payload_limit_bytes)};
    }
    auto const frame = render_frame(static_cast<std::uint16_t>(encoded.type), encoded.payload);
    if (auto const written = write_all(file_.get(), frame, path_.string()); !written) {
        // An incomplete frame in the middle would hide all later records.
        if (::ftruncate(file_.get(), size_bytes_) != 0) file_.reset();
        return written.error();
    }
    size_bytes_ += static_cast<std::int64_t>(frame.size());
    if (durability == Durability::power_loss && ::fdatasync(file_.get()) != 0) {
        return os_error(fmt::format("sync the journal '{}'", path_.string()), errno);
    }
    return Ok{};
}

}  // namespace det::journal
