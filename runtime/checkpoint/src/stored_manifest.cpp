#include <det/checkpoint/stored_manifest.hpp>
#include <det/foundation/uuid.hpp>

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>

namespace det::checkpoint {
namespace {

bool stays_inside(std::string const& relative) {
    std::filesystem::path const path(relative);
    return !relative.empty() && path.is_relative() &&
           std::none_of(path.begin(), path.end(), [](auto const& part) { return part == ".."; });
}

}  // namespace

Status check_uuid(std::string const& uuid) {
    if (is_uuid(uuid)) return Ok{};
    return Error{codes::no_such_checkpoint, fmt::format("'{}' is not the UUID of a checkpoint", uuid)};
}

Result<CheckpointManifest> read_manifest(std::string const& uuid, std::string_view text) {
    auto manifest = parse_manifest(text);
    if (!manifest && manifest.error().code == codes::damaged)
        return damaged_error(uuid, manifest.error().message);
    if (!manifest) return manifest;
    if (manifest->uuid != uuid)
        return damaged_error(uuid, fmt::format("its manifest is that of {}", manifest->uuid));
    for (auto const& file : manifest->files) {
        if (!stays_inside(file.path))
            return damaged_error(uuid, fmt::format("its manifest names '{}'", file.path));
    }
    return manifest;
}

Error manifest_name_taken() {
    return {codes::bad_value,
            fmt::format("a checkpoint can't hold a file '{}': the store writes it", manifest_name),
            "give the file another name"};
}

Error damaged_error(std::string const& uuid, std::string const& why) {
    return Error{codes::checkpoint_damaged, fmt::format("checkpoint {} is damaged: {}", uuid, why),
                 "go back to an older checkpoint of the trial"};
}

Error replaced_error(std::string const& uuid, std::string const& why) {
    return {codes::checkpoint_replaced,
            fmt::format("checkpoint {} is not the checkpoint that this run wrote: {}", uuid, why),
            "do not load it, and see who can write into the checkpoint storage"};
}

Error not_yours_error(std::string const& uuid, std::string const& why, std::string const& owner) {
    return {codes::checkpoint_not_yours, fmt::format("checkpoint {} is not yours: {}", uuid, why),
            owner.empty()
                ? "take the permission to write away from others, if the checkpoint is still what you saved"
                : fmt::format("loading a checkpoint may run code in it: name its owner with "
                              "--trust-owner {} if you trust him",
                              owner)};
}

}  // namespace det::checkpoint
