#include "write_plan.hpp"

#include <det/checkpoint/error_exchange.hpp>
#include <det/foundation/bytes.hpp>
#include <det/foundation/uuid.hpp>
#include <det/protocol/json.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <nlohmann/json.hpp>

namespace det::checkpoint {
namespace {

/// A part of a tensor, and the ranks that hold it and can write it.
struct Candidate {
    std::string_view name;
    Box const* part = nullptr;
    std::uint64_t size_bytes = 0;
    std::vector<std::pair<std::size_t, std::size_t>> holders;  // rank, index of its slice
};

using PartsOfTensor = std::map<Box, Candidate>;
using TensorParts = std::map<std::string_view, PartsOfTensor>;

Result<TensorParts> collect_parts(std::vector<std::vector<LocalTensorSlice>> const& ranks) {
    TensorParts tensors;
    std::map<std::string_view, std::pair<std::size_t, LocalTensorSlice const*>> first_seen;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
        for (std::size_t index = 0; index < ranks[rank].size(); ++index) {
            auto const& slice = ranks[rank][index];
            auto const [seen, is_new] = first_seen.try_emplace(slice.name, rank, &slice);
            auto const& [other_rank, other] = seen->second;
            if (!is_new && (other->type != slice.type || other->shape != slice.shape)) {
                return Error{codes::misuse,
                             fmt::format("tensor '{}' is {} {} on rank {} and {} {} on rank {}", slice.name,
                                         safetensors_name(other->type), other->shape, other_rank,
                                         safetensors_name(slice.type), slice.shape, rank)};
            }
            auto& candidate = tensors[slice.name][slice.part];
            candidate.name = slice.name;
            candidate.part = &slice.part;
            candidate.size_bytes = slice.size_bytes();
            candidate.holders.emplace_back(rank, index);
        }
    }
    return tensors;
}

/// Checks that the parts cover the tensor exactly once: their sizes add up to its size, and no two overlap.
Status check_cover(LocalTensorSlice const& tensor, PartsOfTensor const& parts) {
    std::uint64_t elements = 0;
    for (auto part = parts.begin(); part != parts.end(); ++part) {
        elements += count_elements(part->first.shape).value_or(0);
        for (auto other = std::next(part); other != parts.end(); ++other) {
            if (!intersect(part->first, other->first)) continue;
            return Error{
                codes::misuse,
                fmt::format("ranks {} and {} hold parts of tensor '{}' that overlap and are not the same",
                            part->second.holders[0].first, other->second.holders[0].first, tensor.name)};
        }
    }
    if (elements == count_elements(tensor.shape)) return Ok{};
    return Error{codes::misuse, fmt::format("no rank holds {} of the {} elements of tensor '{}'",
                                            count_elements(tensor.shape).value_or(0) - elements,
                                            count_elements(tensor.shape).value_or(0), tensor.name)};
}

/// The parts, largest first: the small parts at the end then even out the load.
std::vector<Candidate const*> by_size(TensorParts const& tensors) {
    std::vector<Candidate const*> candidates;
    for (auto const& [name, parts] : tensors) {
        for (auto const& [part, candidate] : parts) candidates.push_back(&candidate);
    }
    std::ranges::stable_sort(candidates, std::ranges::greater{}, &Candidate::size_bytes);
    return candidates;
}

void choose_writers(TensorParts const& tensors, std::vector<ShardPlan>& shards) {
    std::vector<std::uint64_t> load(shards.size(), 0);
    for (auto const* candidate : by_size(tensors)) {
        auto const writer = std::ranges::min_element(candidate->holders, {},
                                                     [&](auto const& holder) { return load[holder.first]; });
        load[writer->first] += candidate->size_bytes;
        shards[writer->first].slices.push_back(writer->second);
    }
    for (auto& shard : shards) std::ranges::sort(shard.slices);
}

/// A tensor in the header of a safetensors file.
struct ShardTensor {
    std::string name;
    DataType type = DataType::float32;
    Extents shape;
    std::uint64_t offset_bytes = 0;  // from the beginning of the file, not of its data section
    std::uint64_t size_bytes = 0;
    friend bool operator==(ShardTensor const&, ShardTensor const&) = default;
};

/// The data begins at a page boundary, for direct I/O and for readers that map the file.
inline constexpr std::size_t shard_alignment_bytes = 4096;

constexpr std::size_t prefix_bytes = sizeof(std::uint64_t);

/// The JSON header, in the order of the data.
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

/// The beginning of a safetensors file, up to its data, padded with spaces to whole pages. Sets the offset
/// and the size of each tensor: in the order given, without gaps.
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

void lay_out_shard(std::vector<LocalTensorSlice> const& slices, ShardPlan& shard) {
    if (shard.slices.empty()) return;
    std::vector<ShardTensor> tensors;
    for (auto const index : shard.slices)
        tensors.push_back({slices[index].name, slices[index].type, slices[index].part.shape});
    shard.header = render_shard_header(tensors);
    for (auto const& tensor : tensors) shard.offsets.push_back(tensor.offset_bytes);
    shard.size_bytes = tensors.back().offset_bytes + tensors.back().size_bytes;
}

std::vector<StoredTensor> list_tensors(std::vector<std::vector<LocalTensorSlice>> const& ranks,
                                       std::vector<ShardPlan> const& shards) {
    std::map<std::string, StoredTensor> tensors;
    for (std::size_t rank = 0; rank < shards.size(); ++rank) {
        auto const& shard = shards[rank];
        for (std::size_t i = 0; i < shard.slices.size(); ++i) {
            auto const& slice = ranks[rank][shard.slices[i]];
            auto& tensor = tensors[slice.name];
            tensor.name = slice.name;
            tensor.dtype = safetensors_name(slice.type);
            tensor.shape = slice.shape;
            tensor.slices.push_back({shard.file, shard.offsets[i], slice.part.begin, slice.part.shape});
        }
    }
    std::vector<StoredTensor> list;
    for (auto& [name, tensor] : tensors) list.push_back(std::move(tensor));
    return list;
}

}  // namespace

Result<WritePlan> plan_writes(std::vector<std::vector<LocalTensorSlice>> const& ranks) {
    DET_TRY_ASSIGN(auto const tensors, collect_parts(ranks));
    for (auto const& [name, parts] : tensors) {
        auto const [rank, index] = parts.begin()->second.holders[0];
        DET_TRY(check_cover(ranks[rank][index], parts));
    }
    WritePlan plan;
    plan.shards.resize(ranks.size());
    choose_writers(tensors, plan.shards);
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
        plan.shards[rank].file = shard_name(rank);
        lay_out_shard(ranks[rank], plan.shards[rank]);
    }
    plan.tensors = list_tensors(ranks, plan.shards);
    return plan;
}

namespace {

std::vector<LocalTensorSlice> slices_of(State const& state) {
    std::vector<LocalTensorSlice> slices;
    for (auto const& tensor : state) slices.push_back(tensor);
    return slices;
}

std::string render_slices(std::vector<LocalTensorSlice> const& slices) {
    auto list = Json::array();
    for (auto const& slice : slices)
        list.push_back(
            {slice.name, safetensors_name(slice.type), slice.shape, slice.part.begin, slice.part.shape});
    return to_line(list);
}

Result<std::vector<LocalTensorSlice>> parse_slices(std::string_view text) {
    return decode_json("the tensor slices of a rank", [&] {
        std::vector<LocalTensorSlice> slices;
        for (auto const& slice : parse_json(text)) {
            auto const type = tensor::parse_safetensors_name(slice.at(1).get_ref<std::string const&>());
            if (!type) throw Json::other_error::create(501, "an unknown dtype", nullptr);
            slices.push_back({slice.at(0), *type, slice.at(2), {slice.at(3), slice.at(4)}});
        }
        return slices;
    });
}

/// The message that each rank sends to the other ranks when a save begins.
struct SaveRequest {
    std::string uuid;
    std::uint64_t steps_completed = 0;
    bool is_planned = false;  // the plan of the last save still fits this rank's state
};

Status check_steps(std::vector<SaveRequest> const& all) {
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
        if (all[rank].steps_completed != all[0].steps_completed) {
            return Error{codes::misuse, fmt::format("rank 0 saves after {} steps, rank {} after {}",
                                                    all[0].steps_completed, rank, all[rank].steps_completed)};
        }
    }
    return Ok{};
}

}  // namespace

template <>
struct Codec<SaveRequest> {
    static std::string encode(SaveRequest const& request) {
        return to_line(Json{request.uuid, request.steps_completed, request.is_planned});
    }
    static Result<SaveRequest> decode(std::string const& text) {
        return decode_json("a rank's save request", [&] {
            auto const json = parse_json(text);
            return SaveRequest{json.at(0), json.at(1), json.at(2)};
        });
    }
};

Result<SaveAgreement::Agreed> SaveAgreement::agree(std::uint64_t steps_completed, State const& state,
                                                   Status const& own_status) {
    auto slices = slices_of(state);
    auto const checked = own_status ? check_state(state) : own_status;
    auto const own = checked ? Result(SaveRequest{peers_.is_chief() ? make_uuid() : "", steps_completed,
                                                  plan_ && slices == slices_})
                             : Result<SaveRequest>(checked.error());
    DET_TRY_ASSIGN(auto const all, allgather_values(peers_, own));
    DET_TRY(check_steps(all));
    if (std::ranges::all_of(all, &SaveRequest::is_planned)) return Agreed{all[0].uuid, plan_};
    DET_TRY_ASSIGN(auto plan, plan_anew(std::move(slices)));
    return Agreed{all[0].uuid, std::move(plan)};
}

Result<std::shared_ptr<WritePlan const>> SaveAgreement::plan_anew(std::vector<LocalTensorSlice> slices) {
    plan_.reset();
    DET_TRY_ASSIGN(auto const texts, peers_.allgather(render_slices(slices)));
    std::vector<std::vector<LocalTensorSlice>> ranks;
    for (auto const& text : texts) {
        DET_TRY_ASSIGN(auto parsed, parse_slices(text));
        ranks.push_back(std::move(parsed));
    }
    DET_TRY_ASSIGN(auto plan, plan_writes(ranks));
    plan_ = std::make_shared<WritePlan const>(std::move(plan));
    slices_ = std::move(slices);
    return plan_;
}

}  // namespace det::checkpoint
