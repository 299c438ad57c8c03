#include <det/foundation/bytes.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/checkpoint_manifest.hpp>
#include <det/protocol/json.hpp>

#include <algorithm>
#include <charconv>
#include <fmt/format.h>

namespace det {
namespace {

constexpr std::string_view shard_prefix = "rank-", shard_suffix = ".safetensors";

[[noreturn]] void refuse(std::string const& what) { throw Json::other_error::create(501, what, nullptr); }

UtcTime parse_time(std::string const& text) {
    auto const time = parse_utc(text);
    if (!time) refuse("'" + text + "' is no time");
    return *time;
}

std::uint32_t parse_hex32(std::string_view text) {
    std::uint32_t value = 0;
    auto const end = text.data() + text.size();
    if (std::from_chars(text.data(), end, value, 16).ptr != end || text.size() != 8) {
        refuse("'" + std::string(text) + "' is no checksum");
    }
    return value;
}

/// Joins checksums to one string, because a checkpoint has many.
std::string join_hex32(std::vector<std::uint32_t> const& values) {
    std::string text;
    text.reserve(values.size() * 8);
    for (auto const value : values) text += format_hex32(value);
    return text;
}

std::vector<std::uint32_t> split_hex32(std::string_view text) {
    std::vector<std::uint32_t> values;
    values.reserve(text.size() / 8);
    for (; !text.empty(); text.remove_prefix(std::min<std::size_t>(text.size(), 8)))
        values.push_back(parse_hex32(text.substr(0, 8)));
    return values;
}

Json to_json(CheckpointFile const& file) {
    Json json{{"path", file.path}, {"size_bytes", file.size_bytes}, {"crc32c", format_hex32(file.crc32c)}};
    if (file.block_size_bytes != 0) {
        json["block_size_bytes"] = file.block_size_bytes;
        json["block_crc32c"] = join_hex32(file.block_crc32c);
    }
    if (!file.shared_with.empty()) json["shared_with"] = file.shared_with;
    if (file.sha256_part_size_bytes != 0) {
        json["sha256_part_size_bytes"] = file.sha256_part_size_bytes;
        json["part_sha256"] = file.part_sha256;
    }
    return json;
}

std::uint64_t count_parts(std::uint64_t size_bytes, std::uint64_t part_size_bytes) {
    return size_bytes / part_size_bytes + (size_bytes % part_size_bytes != 0 ? 1 : 0);
}

CheckpointFile file_from(Json const& json) {
    CheckpointFile file{json.at("path"), json.at("size_bytes"),
                        parse_hex32(json.at("crc32c").get_ref<std::string const&>())};
    file.block_size_bytes = json.value("block_size_bytes", std::uint64_t{0});
    if (file.block_size_bytes != 0) {
        file.block_crc32c = split_hex32(json.at("block_crc32c").get_ref<std::string const&>());
        if (file.block_crc32c.size() != count_parts(file.size_bytes, file.block_size_bytes))
            refuse("'" + file.path + "' has another number of blocks");
    }
    file.shared_with = json.value("shared_with", "");
    file.sha256_part_size_bytes = json.value("sha256_part_size_bytes", std::uint64_t{0});
    if (file.sha256_part_size_bytes != 0) {
        file.part_sha256 = json.at("part_sha256").get<std::vector<std::string>>();
        if (file.part_sha256.size() != count_parts(file.size_bytes, file.sha256_part_size_bytes))
            refuse("'" + file.path + "' has another number of parts");
    }
    return file;
}

Json to_json(StoredTensor const& tensor) {
    auto slices = Json::array();
    for (auto const& slice : tensor.slices) {
        slices.push_back({{"file", slice.file},
                          {"offset_bytes", slice.offset_bytes},
                          {"begin", slice.begin},
                          {"shape", slice.shape}});
    }
    return {{"name", tensor.name}, {"dtype", tensor.dtype}, {"shape", tensor.shape}, {"slices", slices}};
}

StoredTensor tensor_from(Json const& json) {
    StoredTensor tensor{json.at("name"), json.at("dtype"), json.at("shape"), {}};
    for (auto const& slice : json.at("slices")) {
        tensor.slices.push_back(
            {slice.at("file"), slice.at("offset_bytes"), slice.at("begin"), slice.at("shape")});
        auto const& last = tensor.slices.back();
        if (last.begin.size() != tensor.shape.size() || last.shape.size() != tensor.shape.size())
            refuse("a slice of '" + tensor.name + "' has other dimensions than the tensor");
    }
    return tensor;
}

template <class T>
Json list_to_json(std::vector<T> const& values) {
    auto list = Json::array();
    for (auto const& value : values) list.push_back(to_json(value));
    return list;
}

}  // namespace

std::string shard_name(std::uint64_t rank) {
    return fmt::format("{}{:05}{}", shard_prefix, rank, shard_suffix);
}

std::optional<std::uint32_t> rank_of_shard(std::string_view name) {
    if (!name.starts_with(shard_prefix) || !name.ends_with(shard_suffix)) return std::nullopt;
    name.remove_prefix(shard_prefix.size());
    name.remove_suffix(shard_suffix.size());
    return parse_integer<std::uint32_t>(name);
}

std::string render_manifest(CheckpointManifest const& manifest) {
    return render_document(documents::manifest, Json{{"uuid", manifest.uuid},
                                                     {"run", manifest.run},
                                                     {"steps_completed", manifest.steps_completed},
                                                     {"time", format_utc(manifest.time)},
                                                     {"world_size", manifest.world_size},
                                                     {"files", list_to_json(manifest.files)},
                                                     {"directories", manifest.directories},
                                                     {"metadata", manifest.metadata},
                                                     {"tensors", list_to_json(manifest.tensors)}});
}

Result<CheckpointManifest> parse_manifest(std::string_view text) {
    DET_TRY_ASSIGN(auto const body, parse_document(documents::manifest, text));
    return decode_json(manifest_name, [&] {
        CheckpointManifest manifest;
        manifest.uuid = body.at("uuid");
        manifest.run = body.at("run");
        manifest.steps_completed = body.at("steps_completed");
        manifest.time = parse_time(body.at("time").get_ref<std::string const&>());
        manifest.world_size = body.at("world_size");
        for (auto const& file : body.at("files")) manifest.files.push_back(file_from(file));
        manifest.directories = body.at("directories").get<std::vector<std::string>>();
        manifest.metadata = body.at("metadata");
        // Tensors exist since version 2.
        for (auto const& tensor : body.value("tensors", Json::array()))
            manifest.tensors.push_back(tensor_from(tensor));
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
