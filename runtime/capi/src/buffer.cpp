#include "handle_types.hpp"

using namespace det;

det_status det_buffer_allocate(det_context* context, size_t size_bytes, det_buffer** buffer) {
    return capi::guarded([&]() -> Status {
        DET_TRY(capi::require(context, "context", buffer, "buffer"));
        DET_TRY_ASSIGN(auto memory, context->core->distributed().allocate(size_bytes));
        *buffer = new det_buffer{context->core, std::move(memory)};
        return Ok{};
    });
}

void* det_buffer_data(det_buffer const* buffer) {
    return buffer == nullptr ? nullptr : buffer->buffer.bytes().data();
}

size_t det_buffer_size_bytes(det_buffer const* buffer) {
    return buffer == nullptr ? 0 : buffer->buffer.bytes().size();
}

void det_buffer_destroy(det_buffer* buffer) { delete buffer; }
