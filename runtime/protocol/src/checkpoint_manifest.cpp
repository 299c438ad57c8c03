#include <det/foundation/bytes.hpp>
#include <det/protocol/checkpoint_manifest.hpp>

#include <charconv>

namespace det {
namespace {

std::uint32_t parse_hex32(std::string const& text) {
    std::uint32_t value = 0;
    auto const end = text.data() + text.size();
    if (std::from_chars(text.data(), end, value, 16).ptr != end || text.size() != 8) {
        throw Json::other_error::create(501, "'" + text + "' is no checksum", nullptr);
    }
    return value;
}

Json to_json(CheckpointFile const& file) {
    return {{"path", file.path}, {"size_bytes", file.size_bytes}, {"crc32c", format_hex32(file.crc32c)}};
}

CheckpointFile file_from(Json const& json) {
    return {json.at("path"), json.at("size_bytes"), parse_hex32(json.at("crc32c").get<std::string>())};
}

}  // namespace

std::string render_manifest(CheckpointManifest const& manifest) {
    auto files = Json::array();
    for (auto const& file : manifest.files) files.push_back(to_json(file));
    return render_document(documents::manifest, Json{{"uuid", manifest.uuid},
                                                     {"run", manifest.run},
                                                     {"steps_completed", manifest.steps_completed},
                                                     {"time", format_utc(manifest.time)},
                                                     {"world_size", manifest.world_size},
                                                     {"files", files},
                                                     {"directories", manifest.directories},
                                                     {"metadata", manifest.metadata}});
}

Result<CheckpointManifest> parse_manifest(std::string_view text) {
    DET_TRY_ASSIGN(auto const body, parse_document(documents::manifest, text));
    return decode_json(manifest_name, [&] {
        CheckpointManifest manifest;
        manifest.uuid = body.at("uuid");
        manifest.run = body.at("run");
        manifest.steps_completed = body.at("steps_completed");
        manifest.time = parse_utc(body.at("time").get<std::string>()).value_or(UtcTime{});
        manifest.world_size = body.at("world_size");
        for (auto const& file : body.at("files")) manifest.files.push_back(file_from(file));
        manifest.directories = body.at("directories").get<std::vector<std::string>>();
        manifest.metadata = body.at("metadata");
        return manifest;
    });
}

Json resources_of(CheckpointManifest const& manifest) {
    auto resources = Json::object();
    for (auto const& directory : manifest.directories) resources[directory + "/"] = 0;
    for (auto const& file : manifest.files) resources[file.path] = file.size_bytes;
    return resources;
}

}  // namespace det
