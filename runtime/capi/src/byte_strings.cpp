#include "handle_types.hpp"

using namespace det;
using capi::guarded, capi::require;
using collectives::DistributedContext;
using Strings = std::vector<std::string>;

namespace {

/// Runs a collective on byte strings. `call` takes the context, this rank's string and the Status of this
/// rank's arguments (an error fails the call on all ranks), and returns Strings.
template <class Call>
det_status exchange(det_context* context, void const* data, size_t size_bytes, det_strings** values,
                    Call call) {
    return guarded([&]() -> Status {
        DET_TRY(require(context, "context"));
        auto const checked =
            size_bytes == 0 ? require(values, "values") : require(values, "values", data, "data");
        std::string own(static_cast<char const*>(data), checked ? size_bytes : 0);
        auto result = std::make_unique<det_strings>();
        DET_TRY_ASSIGN(result->values, call(context->core->distributed(), std::move(own), checked));
        *values = result.release();
        return Ok{};
    });
}

Result<Strings> in_a_list(Result<std::string> value) {
    DET_TRY_ASSIGN(auto one, std::move(value));
    return Strings{std::move(one)};
}

/// Returns size_bytes on the sender of a broadcast, and 0 on the other ranks, whose strings are not used.
size_t size_if_sent(bool is_sender, size_t size_bytes) { return is_sender ? size_bytes : 0; }

}  // namespace

size_t det_strings_count(det_strings const* strings) {
    return strings == nullptr ? 0 : strings->values.size();
}

char const* det_strings_get(det_strings const* strings, size_t index, size_t* size_bytes) {
    if (index >= det_strings_count(strings)) return nullptr;
    auto const& value = strings->values[index];
    if (size_bytes != nullptr) *size_bytes = value.size();
    return value.c_str();
}

void det_strings_destroy(det_strings* strings) { delete strings; }

det_status det_distributed_gather_bytes(det_context* context, void const* data, size_t size_bytes,
                                        det_strings** values) {
    return exchange(context, data, size_bytes, values, [](auto& ranks, auto own, auto& refused) {
        return ranks.gather(std::move(own), refused);
    });
}

det_status det_distributed_allgather_bytes(det_context* context, void const* data, size_t size_bytes,
                                           det_strings** values) {
    return exchange(context, data, size_bytes, values, [](auto& ranks, auto own, auto& refused) {
        return ranks.allgather(std::move(own), refused);
    });
}

det_status det_distributed_broadcast_bytes(det_context* context, void const* data, size_t size_bytes,
                                           int32_t from, det_strings** value) {
    auto const sent_bytes = size_if_sent(det_distributed_rank(context) == from, size_bytes);
    return exchange(context, data, sent_bytes, value, [from](auto& ranks, auto own, auto& refused) {
        return in_a_list(ranks.broadcast(std::move(own), {from}, refused));
    });
}

det_status det_distributed_gather_bytes_local(det_context* context, void const* data, size_t size_bytes,
                                              det_strings** values) {
    return exchange(context, data, size_bytes, values, [](auto& ranks, auto own, auto& refused) {
        return ranks.gather_local(std::move(own), refused);
    });
}

det_status det_distributed_allgather_bytes_local(det_context* context, void const* data, size_t size_bytes,
                                                 det_strings** values) {
    return exchange(context, data, size_bytes, values, [](auto& ranks, auto own, auto& refused) {
        return ranks.allgather_local(std::move(own), refused);
    });
}

det_status det_distributed_broadcast_bytes_local(det_context* context, void const* data, size_t size_bytes,
                                                 det_strings** value) {
    auto const sent_bytes = size_if_sent(det_distributed_local_rank(context) == 0, size_bytes);
    return exchange(context, data, sent_bytes, value, [](auto& ranks, auto own, auto& refused) {
        return in_a_list(ranks.broadcast_local(std::move(own), refused));
    });
}
