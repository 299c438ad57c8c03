#include "safetensors.hpp"

#include <det/foundation/bytes.hpp>

#include <nlohmann/json.hpp>

namespace det::checkpoint {
namespace {

constexpr std::size_t prefix_bytes = sizeof(std::uint64_t);

/// In the order of the data.
nlohmann::ordered_json header_of(std::vector<ShardTensor> const& tensors) {
    auto header = nlohmann::ordered_json::object();
    for (auto const& tensor : tensors) {
        header[tensor.name] = {
            {"dtype", safetensors_name(tensor.type)},
            {"shape", tensor.shape},
            {"data_offsets", {tensor.offset_bytes, tensor.offset_bytes + tensor.size_bytes}}};
    }
    return header;
}

}  // namespace

std::string render_shard_header(std::vector<ShardTensor>& tensors) {
    std::uint64_t at = 0;
    for (auto& tensor : tensors) {
        tensor.size_bytes = count_elements(tensor.shape).value_or(0) * size_of(tensor.type);
        tensor.offset_bytes = at;
        at += tensor.size_bytes;
    }
    auto header = header_of(tensors).dump();
    auto const used = prefix_bytes + header.size();
    auto const whole = (used + shard_alignment_bytes - 1) / shard_alignment_bytes * shard_alignment_bytes;
    header.append(whole - used, ' ');
    for (auto& tensor : tensors) tensor.offset_bytes += whole;
    std::string start;
    append_value(start, std::uint64_t{header.size()});
    return start + header;
}

}  // namespace det::checkpoint
