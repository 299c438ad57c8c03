#include <det/foundation/bytes.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/checkpoint_manifest.hpp>
#include <det/protocol/json.hpp>

#include <algorithm>
#include <charconv>
#include <fmt/format.h>

#include "json_fields.hpp"

namespace det {
namespace {

constexpr std::string_view shard_prefix = "rank-", shard_suffix = ".safetensors";

std::uint32_t parse_hex32(std::string_view text) {
    std::uint32_t value = 0;
    auto const end = text.data() + text.size();
    if (std::from_chars(text.data(), end, value, 16).ptr != end || text.size() != 8) {
        refuse_json("'" + std::string(text) + "' is no checksum");
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

void read_crc32c(CheckpointFile& file, Json const& json) {
    file.crc32c = parse_hex32(json.get_ref<std::string const&>());
}
void write_crc32c(CheckpointFile const& file, Json& json) { json = format_hex32(file.crc32c); }

void read_blocks(CheckpointFile& file, Json const& json) {
    file.block_crc32c = split_hex32(json.get_ref<std::string const&>());
}
void write_blocks(CheckpointFile const& file, Json& json) { json = join_hex32(file.block_crc32c); }

}  // namespace

template <>
inline constexpr JsonField json_fields<CheckpointFile>[] = {
    field<&CheckpointFile::path>("path"),
    field<&CheckpointFile::size_bytes>("size_bytes"),
    computed_field<read_crc32c, write_crc32c>("crc32c"),
    optional_field<&CheckpointFile::block_size_bytes>("block_size_bytes"),
    written_if<&CheckpointFile::block_size_bytes>(computed_field<read_blocks, write_blocks>("block_crc32c")),
    optional_field<&CheckpointFile::shared_with>("shared_with"),
    optional_field<&CheckpointFile::sha256_part_size_bytes>("sha256_part_size_bytes"),
    written_if<&CheckpointFile::sha256_part_size_bytes>(field<&CheckpointFile::part_sha256>("part_sha256")),
};

template <>
inline constexpr JsonField json_fields<StoredSlice>[] = {
    field<&StoredSlice::file>("file"),
    field<&StoredSlice::offset_bytes>("offset_bytes"),
    field<&StoredSlice::begin>("begin"),
    field<&StoredSlice::shape>("shape"),
};

template <>
inline constexpr JsonField json_fields<StoredTensor>[] = {
    field<&StoredTensor::name>("name"),
    field<&StoredTensor::dtype>("dtype"),
    field<&StoredTensor::shape>("shape"),
    field<&StoredTensor::slices>("slices"),
};

template <>
inline constexpr JsonField json_fields<CheckpointManifest>[] = {
    field<&CheckpointManifest::uuid>("uuid"),
    field<&CheckpointManifest::run>("run"),
    field<&CheckpointManifest::steps_completed>("steps_completed"),
    field<&CheckpointManifest::time>("time"),
    field<&CheckpointManifest::world_size>("world_size"),
    field<&CheckpointManifest::files>("files"),
    field<&CheckpointManifest::directories>("directories"),
    field<&CheckpointManifest::metadata>("metadata"),
    absent_in_old(field<&CheckpointManifest::tensors>("tensors")),  // since version 2
};

namespace {

std::uint64_t count_parts(std::uint64_t size_bytes, std::uint64_t part_size_bytes) {
    if (part_size_bytes == 0) return 0;
    return size_bytes / part_size_bytes + (size_bytes % part_size_bytes != 0 ? 1 : 0);
}

/// Throws Json::exception if numbers of the manifest contradict one another.
void check(CheckpointManifest const& manifest) {
    for (auto const& file : manifest.files) {
        if (file.block_crc32c.size() != count_parts(file.size_bytes, file.block_size_bytes))
            refuse_json("'" + file.path + "' has another number of blocks");
        if (file.part_sha256.size() != count_parts(file.size_bytes, file.sha256_part_size_bytes))
            refuse_json("'" + file.path + "' has another number of parts");
    }
    for (auto const& tensor : manifest.tensors) {
        for (auto const& slice : tensor.slices) {
            if (slice.begin.size() != tensor.shape.size() || slice.shape.size() != tensor.shape.size())
                refuse_json("a slice of '" + tensor.name + "' has other dimensions than the tensor");
        }
    }
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
    return render_document(documents::manifest, fields_to_json(manifest));
}

Result<CheckpointManifest> parse_manifest(std::string_view text) {
    DET_TRY_ASSIGN(auto const body, parse_document(documents::manifest, text));
    return decode_json(manifest_name, [&] {
        CheckpointManifest manifest;
        read_value(body, manifest);
        check(manifest);
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
