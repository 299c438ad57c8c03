#include "library.hpp"

#include <fmt/format.h>

namespace det::gpu {
namespace {

det_context_options options_with_device(char const* checkpoint_path) {
    det_context_options options = DET_CONTEXT_OPTIONS_INIT;
    options.devices = DET_DEVICES_NCCL;
    options.checkpoint_path = checkpoint_path;
    return options;
}

}  // namespace

void must(det_status status) {
    if (status != DET_OK) throw Failure(det_error_text());
}

void must_fail(det_status status, std::string const& code, std::string const& text) {
    if (status == DET_OK) throw Failure(fmt::format("'{}' was expected, and the call succeeded", text));
    std::string const message = det_error_text();
    if (det_error_code() != code || message.find(text) == message.npos)
        throw Failure(
            fmt::format("'{}' ({}) was expected, not ({}) {}", text, code, det_error_code(), message));
}

std::uint64_t load(det_context* context, std::string const& uuid, det_state const* state) {
    det_loaded loaded = DET_LOADED_INIT;
    must(det_checkpoint_load_from(context, uuid.c_str(), state, &loaded));
    return loaded.steps_completed;
}

Context::Context(std::string const& checkpoint_path) {
    auto const options = options_with_device(checkpoint_path.c_str());
    must(det_context_open(&options, &context_));
}

Context::Context(int rank, int size, char const* group) {
    auto const options = options_with_device(nullptr);
    det_ranks ranks = DET_RANKS_INIT;
    ranks.rank = ranks.local_rank = rank;
    ranks.size = ranks.local_size = size;
    ranks.group = group;
    must(det_context_connect(&ranks, &options, &context_));
}

Context::~Context() { det_context_destroy(context_); }

void Context::close() { must(det_context_close(context_)); }

}  // namespace det::gpu
