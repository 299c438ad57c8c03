// The functions of det.h for checkpoints that consist of tensors.
#include "conversions.hpp"
#include "handle_types.hpp"

using namespace det;
using capi::guarded, capi::require;
using tensor::Extents, tensor::NamedTensor;
using Outcomes = core::Checkpoint::Outcomes;

namespace {

Extents extents(std::uint64_t const* values, std::uint32_t dimensions) {
    return values == nullptr ? Extents(dimensions, 0) : Extents(values, values + dimensions);
}

Result<NamedTensor> to_tensor(det_tensor const& given) {
    DET_TRY(require(given.name, "det_tensor.name"));
    if (given.dimensions != 0) DET_TRY(require(given.shape, "det_tensor.shape"));
    if ((given.begin == nullptr) != (given.part_shape == nullptr)) {
        return Error{
            codes::misuse,
            fmt::format("tensor '{}' has one of begin and part_shape without the other", given.name)};
    }
    auto const type = capi::to_data_type(given.dtype);
    if (!is_known(type)) {
        return Error{codes::misuse,
                     fmt::format("tensor '{}' has no type of elements: {}", given.name, given.dtype)};
    }
    auto shape = extents(given.shape, given.dimensions);
    auto tensor = given.begin == nullptr ? NamedTensor::whole(given.name, type, std::move(shape), given.data)
                                         : NamedTensor::slice(given.name, type, std::move(shape),
                                                              {extents(given.begin, given.dimensions),
                                                               extents(given.part_shape, given.dimensions)},
                                                              given.data);
    tensor.copy_later = given.copy_later != 0;
    return tensor;
}

/// Returns through `outcomes` the finished saves that no earlier call has returned. If `outcomes` is NULL, a
/// failed save is an error.
Status tell(det_context& context, Outcomes fresh, det_outcomes** outcomes) {
    for (auto& outcome : fresh) context.ended.push_back(std::move(outcome));
    auto told = std::make_unique<det_outcomes>();
    told->values = std::exchange(context.ended, {});
    if (outcomes == nullptr) return capi::first_failure(told->values);
    *outcomes = told.release();
    return Ok{};
}

}  // namespace

det_status det_state_create(det_state** state) {
    return guarded([&]() -> Status {
        DET_TRY(require(state, "state"));
        *state = new det_state;
        return Ok{};
    });
}

det_status det_state_add(det_state* state, det_tensor const* tensor) {
    return guarded([&]() -> Status {
        DET_TRY(require(state, "state", tensor, "tensor"));
        DET_TRY_ASSIGN(auto const given, capi::read(tensor, "det_tensor"));
        DET_TRY_ASSIGN(auto added, to_tensor(given));
        state->tensors.push_back(std::move(added));
        return Ok{};
    });
}

det_status det_state_add_directory(det_state* state, char const* directory) {
    return guarded([&]() -> Status {
        DET_TRY(require(state, "state", directory, "directory"));
        if (!state->directory.empty()) return Error{codes::misuse, "the state has a directory already"};
        state->directory = directory;
        return Ok{};
    });
}

void det_state_destroy(det_state* state) { delete state; }

det_status det_checkpoint_prepare(det_context* context, det_state const* state) {
    return guarded([&]() -> Status {
        DET_TRY(require(context, "context", state, "state"));
        return context->core->checkpoint().prepare(state->tensors);
    });
}

det_status det_checkpoint_save(det_context* context, uint64_t steps_completed, char const* metadata,
                               det_state const* state, det_save_started* saved) {
    return guarded([&]() -> Status {
        DET_TRY(require(context, "context", state, "state"));
        if (saved != nullptr) DET_TRY(capi::check_size(saved->struct_size, "det_save_started"));
        DET_TRY_ASSIGN(auto begun,
                       context->core->checkpoint().save(steps_completed, capi::metadata_of(metadata),
                                                        state->tensors, state->directory));
        for (auto& outcome : begun.ended) context->ended.push_back(std::move(outcome));
        if (saved == nullptr) return Ok{};
        det_save_started told{};
        capi::write_uuid(told.uuid, begun.uuid);
        told.waited_us = begun.waited.count();
        told.copied_us = begun.copied.count();
        capi::write(saved, told);
        return Ok{};
    });
}

det_status det_checkpoint_wait_snapshot(det_context* context) {
    return guarded([&]() -> Status {
        DET_TRY(require(context, "context"));
        context->core->checkpoint().wait_snapshot();
        return Ok{};
    });
}

det_status det_checkpoint_poll(det_context* context, det_outcomes** outcomes) {
    return guarded([&]() -> Status {
        DET_TRY(require(context, "context"));
        DET_TRY_ASSIGN(auto ended, context->core->checkpoint().poll());
        return tell(*context, std::move(ended), outcomes);
    });
}

det_status det_checkpoint_finish(det_context* context, det_outcomes** outcomes) {
    return guarded([&]() -> Status {
        DET_TRY(require(context, "context"));
        DET_TRY_ASSIGN(auto ended, context->core->checkpoint().finish());
        return tell(*context, std::move(ended), outcomes);
    });
}

det_status det_checkpoint_save_before_preemption(det_context* context, uint64_t steps_completed,
                                                 char const* metadata, det_state const* state,
                                                 det_outcomes** outcomes) {
    return guarded([&]() -> Status {
        DET_TRY(require(context, "context", state, "state"));
        DET_TRY_ASSIGN(auto ended,
                       context->core->checkpoint().save_before_preemption(
                           steps_completed, capi::metadata_of(metadata), state->tensors, state->directory));
        return tell(*context, std::move(ended), outcomes);
    });
}

det_status det_checkpoint_is_kept_in_memory(det_context* context, uint64_t steps_completed,
                                            int32_t* is_kept) {
    return guarded([&]() -> Status {
        DET_TRY(require(context, "context", is_kept, "is_kept"));
        *is_kept = context->core->checkpoint().is_kept_in_memory(steps_completed) ? 1 : 0;
        return Ok{};
    });
}

det_status det_checkpoint_keep_in_memory(det_context* context, uint64_t steps_completed, char const* metadata,
                                         det_state const* state, int32_t* is_kept) {
    return guarded([&]() -> Status {
        DET_TRY(require(context, "context", state, "state"));
        if (!state->directory.empty())
            return Error{codes::misuse, "the state has a directory, and files are not kept in memory"};
        DET_TRY_ASSIGN(bool const kept, context->core->checkpoint().keep_in_memory(
                                            steps_completed, capi::metadata_of(metadata), state->tensors));
        if (is_kept != nullptr) *is_kept = kept ? 1 : 0;
        return Ok{};
    });
}

det_status det_checkpoint_fetch_kept(det_context* context) {
    return guarded([&]() -> Status {
        DET_TRY(require(context, "context"));
        return context->core->checkpoint().fetch_kept();
    });
}

det_status det_checkpoint_load(det_context* context, det_state const* state, det_on_damage on_damage,
                               det_loaded* loaded) {
    return guarded([&]() -> Status {
        DET_TRY(require(context, "context", state, "state", loaded, "loaded"));
        DET_TRY(capi::check_size(loaded->struct_size, "det_loaded"));
        auto const damage = on_damage == DET_ON_DAMAGE_TAKE_OLDER ? checkpoint::OnDamage::take_older
                                                                  : checkpoint::OnDamage::fail;
        DET_TRY_ASSIGN(auto const found, context->core->checkpoint().load(state->tensors, damage));
        det_loaded told{};
        if (found) {
            capi::write_uuid(told.uuid, found->manifest.uuid);
            told.steps_completed = found->manifest.steps_completed;
            told.passed_over = found->passed_over.size();
            told.is_from_memory = found->is_from_memory ? 1 : 0;
        }
        capi::write(loaded, told);
        return Ok{};
    });
}

det_status det_checkpoint_load_from(det_context* context, char const* uuid, det_state const* state,
                                    det_loaded* loaded) {
    return guarded([&]() -> Status {
        DET_TRY(require(context, "context", uuid, "uuid", state, "state", loaded, "loaded"));
        DET_TRY(capi::check_size(loaded->struct_size, "det_loaded"));
        DET_TRY_ASSIGN(auto const found, context->core->checkpoint().load_from(uuid, state->tensors));
        det_loaded told{};
        capi::write_uuid(told.uuid, found.manifest.uuid);
        told.steps_completed = found.manifest.steps_completed;
        told.is_own = found.is_own ? 1 : 0;
        capi::write(loaded, told);
        return Ok{};
    });
}

det_status det_checkpoint_list(det_context* context, det_strings** uuids) {
    return guarded([&]() -> Status {
        DET_TRY(require(context, "context", uuids, "uuids"));
        DET_TRY_ASSIGN(auto listed, context->core->checkpoint().loadable());
        *uuids = new det_strings{std::move(listed)};
        return Ok{};
    });
}

size_t det_outcomes_count(det_outcomes const* outcomes) {
    return outcomes == nullptr ? 0 : outcomes->values.size();
}

det_status det_outcomes_get(det_outcomes const* outcomes, size_t index, det_outcome* outcome) {
    return guarded([&]() -> Status {
        DET_TRY(require(outcomes, "outcomes", outcome, "outcome"));
        DET_TRY(capi::check_size(outcome->struct_size, "det_outcome"));
        if (index >= outcomes->values.size()) return Error{codes::misuse, "there are not so many outcomes"};
        auto const& ended = outcomes->values[index];
        det_outcome told{};
        capi::write_uuid(told.uuid, ended.uuid);
        told.steps_completed = ended.steps_completed;
        if (ended.error) {
            told.status = to_int(ended.error->code.exit);
            told.code = ended.error->code.name.data();
            told.message = ended.error->message.c_str();
        }
        capi::write(outcome, told);
        return Ok{};
    });
}

void det_outcomes_destroy(det_outcomes* outcomes) { delete outcomes; }
