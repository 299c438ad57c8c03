#include <limits>

#include "conversions.hpp"
#include "handle_types.hpp"

using namespace det;
using capi::guarded, capi::require, capi::to_data_type, capi::to_reduce_op;
using collectives::ConstTensor, collectives::DistributedContext, collectives::Handle, collectives::Tensor;

namespace {

/// Returns part_count times the number of ranks. Saturates on overflow; collectives then refuse the size.
std::size_t of_all_ranks(DistributedContext const& ranks, std::size_t part_count) {
    auto const size = static_cast<std::size_t>(ranks.size());
    constexpr auto most = std::numeric_limits<std::size_t>::max();
    return part_count > most / size ? most : part_count * size;
}

template <class Member>
int32_t ask(det_context const* context, Member member) {
    return context == nullptr ? -1 : member(context->core->distributed());
}

/// Runs a collective. `call` takes the context and returns a Status.
template <class Call>
det_status run(det_context* context, Call call) {
    return guarded([&]() -> Status {
        DET_TRY(require(context, "context"));
        return call(context->core->distributed());
    });
}

/// Starts a non-blocking collective. `call` takes the context and returns a Handle.
template <class Call>
det_status start(det_context* context, det_operation** operation, Call call) {
    return guarded([&]() -> Status {
        DET_TRY(require(context, "context", operation, "operation"));
        *operation = new det_operation{context->core, call(context->core->distributed())};
        return Ok{};
    });
}

}  // namespace

int32_t det_distributed_rank(det_context const* context) {
    return ask(context, [](auto& ranks) { return ranks.rank().value; });
}
int32_t det_distributed_size(det_context const* context) {
    return ask(context, [](auto& ranks) { return ranks.size(); });
}
int32_t det_distributed_local_rank(det_context const* context) {
    return ask(context, [](auto& ranks) { return ranks.local_rank(); });
}
int32_t det_distributed_local_size(det_context const* context) {
    return ask(context, [](auto& ranks) { return ranks.local_size(); });
}
int32_t det_distributed_cross_rank(det_context const* context) {
    return ask(context, [](auto& ranks) { return ranks.cross_rank(); });
}
int32_t det_distributed_cross_size(det_context const* context) {
    return ask(context, [](auto& ranks) { return ranks.cross_size(); });
}

det_status det_distributed_allreduce(det_context* context, void const* in, void* out, size_t count,
                                     det_dtype dtype, det_reduce_op op) {
    auto const type = to_data_type(dtype);
    return run(context, [&](auto& ranks) {
        return ranks.allreduce(ConstTensor(in, count, type), {out, count, type}, to_reduce_op(op));
    });
}

det_status det_distributed_reduce(det_context* context, void const* in, void* out, size_t count,
                                  det_dtype dtype, det_reduce_op op, int32_t to) {
    auto const type = to_data_type(dtype);
    return run(context, [&](auto& ranks) {
        return ranks.reduce(ConstTensor(in, count, type), {out, count, type}, to_reduce_op(op), {to});
    });
}

det_status det_distributed_reduce_scatter(det_context* context, void const* all, void* part,
                                          size_t part_count, det_dtype dtype, det_reduce_op op) {
    auto const type = to_data_type(dtype);
    return run(context, [&](auto& ranks) {
        return ranks.reduce_scatter(ConstTensor(all, of_all_ranks(ranks, part_count), type),
                                    {part, part_count, type}, to_reduce_op(op));
    });
}

det_status det_distributed_allgather(det_context* context, void const* part, void* all, size_t part_count,
                                     det_dtype dtype) {
    auto const type = to_data_type(dtype);
    return run(context, [&](auto& ranks) {
        return ranks.allgather(ConstTensor(part, part_count, type),
                               {all, of_all_ranks(ranks, part_count), type});
    });
}

det_status det_distributed_all_to_all(det_context* context, void const* in, void* out, size_t part_count,
                                      det_dtype dtype) {
    auto const type = to_data_type(dtype);
    return run(context, [&](auto& ranks) {
        auto const count = of_all_ranks(ranks, part_count);
        return ranks.all_to_all(ConstTensor(in, count, type), {out, count, type});
    });
}

det_status det_distributed_broadcast(det_context* context, void* data, size_t count, det_dtype dtype,
                                     int32_t from) {
    return run(context, [&](auto& ranks) {
        return ranks.broadcast(Tensor{data, count, to_data_type(dtype)}, {from});
    });
}

det_status det_distributed_use_stream(det_context* context, void* stream) {
    return run(context, [&](auto& ranks) { return ranks.use_stream(stream); });
}

det_status det_distributed_barrier(det_context* context) {
    return run(context, [](auto& ranks) { return ranks.barrier(); });
}

det_status det_distributed_refuse(det_context* context, char const* message) {
    return run(context, [&](auto& ranks) {
        return ranks.refuse(message != nullptr ? message : "its arguments are wrong");
    });
}

det_status det_distributed_start_allreduce(det_context* context, void const* in, void* out, size_t count,
                                           det_dtype dtype, det_reduce_op op, det_operation** operation) {
    auto const type = to_data_type(dtype);
    return start(context, operation, [&](auto& ranks) {
        return ranks.start_allreduce(ConstTensor(in, count, type), {out, count, type}, to_reduce_op(op));
    });
}

det_status det_distributed_start_reduce(det_context* context, void const* in, void* out, size_t count,
                                        det_dtype dtype, det_reduce_op op, int32_t to,
                                        det_operation** operation) {
    auto const type = to_data_type(dtype);
    return start(context, operation, [&](auto& ranks) {
        return ranks.start_reduce(ConstTensor(in, count, type), {out, count, type}, to_reduce_op(op), {to});
    });
}

det_status det_distributed_start_reduce_scatter(det_context* context, void const* all, void* part,
                                                size_t part_count, det_dtype dtype, det_reduce_op op,
                                                det_operation** operation) {
    auto const type = to_data_type(dtype);
    return start(context, operation, [&](auto& ranks) {
        return ranks.start_reduce_scatter(ConstTensor(all, of_all_ranks(ranks, part_count), type),
                                          {part, part_count, type}, to_reduce_op(op));
    });
}

det_status det_distributed_start_allgather(det_context* context, void const* part, void* all,
                                           size_t part_count, det_dtype dtype, det_operation** operation) {
    auto const type = to_data_type(dtype);
    return start(context, operation, [&](auto& ranks) {
        return ranks.start_allgather(ConstTensor(part, part_count, type),
                                     {all, of_all_ranks(ranks, part_count), type});
    });
}

det_status det_distributed_start_all_to_all(det_context* context, void const* in, void* out,
                                            size_t part_count, det_dtype dtype, det_operation** operation) {
    auto const type = to_data_type(dtype);
    return start(context, operation, [&](auto& ranks) {
        auto const count = of_all_ranks(ranks, part_count);
        return ranks.start_all_to_all(ConstTensor(in, count, type), {out, count, type});
    });
}

det_status det_distributed_start_broadcast(det_context* context, void* data, size_t count, det_dtype dtype,
                                           int32_t from, det_operation** operation) {
    return start(context, operation, [&](auto& ranks) {
        return ranks.start_broadcast(Tensor{data, count, to_data_type(dtype)}, {from});
    });
}

det_status det_operation_test(det_operation* operation, int32_t* is_over) {
    return guarded([&]() -> Status {
        DET_TRY(require(operation, "operation", is_over, "is_over"));
        DET_TRY_ASSIGN(bool const over, operation->handle.test());
        *is_over = over ? 1 : 0;
        return Ok{};
    });
}

det_status det_operation_wait(det_operation* operation) {
    return guarded([&]() -> Status {
        DET_TRY(require(operation, "operation"));
        return operation->handle.wait();
    });
}

det_status det_operation_event(det_operation* operation, void** event) {
    return guarded([&]() -> Status {
        DET_TRY(require(operation, "operation", event, "event"));
        *event = operation->handle.event();
        return Ok{};
    });
}

void det_operation_destroy(det_operation* operation) { delete operation; }
