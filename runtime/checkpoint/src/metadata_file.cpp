#include "metadata_file.hpp"

#include <det/foundation/bytes.hpp>
#include <det/foundation/files.hpp>

namespace det::checkpoint {

Result<CheckpointFile> write_metadata(std::filesystem::path const& directory, Json const& metadata) {
    auto const text = metadata.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
    DET_TRY(write_file(directory / metadata_name, text, 0600, Durability::power_loss));
    return CheckpointFile{std::string(metadata_name), text.size(), crc32c(text)};
}

Status check_metadata(Json const& metadata) {
    if (metadata.is_object()) return Ok{};
    return Error{codes::misuse, "a checkpoint's metadata is a map"};
}

}  // namespace det::checkpoint
