// The functions of det.h for checkpoints that consist of files.
#include "conversions.hpp"
#include "handle_types.hpp"

using namespace det;
using capi::guarded, capi::require;

namespace {

/// Adapts a C callback that writes the files of a checkpoint.
core::Checkpoint::Write writing(det_write write, void* user) {
    return [=](std::filesystem::path const& directory) -> Status {
        if (write == nullptr) return Error{codes::misuse, "write is NULL"};
        auto const status = write(directory.c_str(), user);
        if (status == DET_OK) return Ok{};
        return Error{codes::file_system,
                     fmt::format("what was to write a checkpoint's files returned {}", status)};
    };
}

/// Adapts a C callback that selects files.
checkpoint::Selector selecting(det_select select, void* user) {
    if (select == nullptr) return nullptr;
    return [=](std::string const& path) { return select(path.c_str(), user) != 0; };
}

Status require_open(det_checkpoint_draft const* draft) {
    DET_TRY(require(draft, "draft"));
    if (!draft->is_over) return Ok{};
    return Error{codes::misuse, "this draft is already committed"};
}

}  // namespace

det_status det_checkpoint_latest(det_context* context, char uuid[DET_UUID_SIZE]) {
    return guarded([&]() -> Status {
        DET_TRY(require(context, "context", uuid, "uuid"));
        capi::write_uuid(uuid, context->core->checkpoint().latest().value_or(""));
        return Ok{};
    });
}

det_status det_checkpoint_restore_path(det_context* context, char const* uuid, det_strings** path) {
    return guarded([&]() -> Status {
        DET_TRY(require(context, "context", uuid, "uuid", path, "path"));
        DET_TRY_ASSIGN(auto const directory, context->core->checkpoint().restore_path(uuid));
        *path = capi::list_of_one(directory.string());
        return Ok{};
    });
}

det_status det_checkpoint_find_directory(det_context* context, char const* uuid, det_strings** path) {
    return guarded([&]() -> Status {
        DET_TRY(require(context, "context", uuid, "uuid", path, "path"));
        DET_TRY_ASSIGN(auto const directory, context->core->checkpoint().find_directory(uuid));
        *path = directory ? capi::list_of_one(directory->string()) : new det_strings;
        return Ok{};
    });
}

det_status det_checkpoint_load_manifest(det_context* context, char const* uuid, det_strings** manifest) {
    return guarded([&]() -> Status {
        DET_TRY(require(context, "context", uuid, "uuid", manifest, "manifest"));
        DET_TRY_ASSIGN(auto const found, context->core->checkpoint().load_manifest(uuid));
        *manifest = capi::list_of_one(render_manifest(found));
        return Ok{};
    });
}

det_status det_checkpoint_download(det_context* context, char const* uuid, char const* directory,
                                   det_select select, void* user) {
    return guarded([&]() -> Status {
        DET_TRY(require(context, "context", uuid, "uuid", directory, "directory"));
        return context->core->checkpoint().download(uuid, directory, selecting(select, user));
    });
}

det_status det_checkpoint_delete(det_context* context, char const* uuid) {
    return guarded([&]() -> Status {
        DET_TRY(require(context, "context", uuid, "uuid"));
        return context->core->checkpoint().remove(uuid);
    });
}

det_status det_checkpoint_draft_open(det_context* context, uint64_t steps_completed, char const* metadata,
                                     det_checkpoint_draft** draft) {
    return guarded([&]() -> Status {
        DET_TRY(require(context, "context", draft, "draft"));
        auto opened = std::make_unique<det_checkpoint_draft>();
        opened->context = context->core;
        DET_TRY_ASSIGN(opened->draft,
                       context->core->checkpoint().begin(steps_completed, capi::metadata_of(metadata)));
        *draft = opened.release();
        return Ok{};
    });
}

det_status det_checkpoint_draft_open_sharded(det_context* context, uint64_t steps_completed,
                                             char const* metadata, det_checkpoint_draft** draft) {
    return guarded([&]() -> Status {
        DET_TRY(require(context, "context", draft, "draft"));
        auto opened = std::make_unique<det_checkpoint_draft>();
        opened->context = context->core;
        opened->is_sharded = true;
        DET_TRY_ASSIGN(opened->draft, context->core->checkpoint().begin_sharded(steps_completed,
                                                                                capi::metadata_of(metadata)));
        *draft = opened.release();
        return Ok{};
    });
}

char const* det_checkpoint_draft_uuid(det_checkpoint_draft const* draft) {
    return draft == nullptr ? nullptr : draft->draft.uuid.c_str();
}

char const* det_checkpoint_draft_directory(det_checkpoint_draft const* draft) {
    return draft == nullptr ? nullptr : draft->draft.directory.c_str();
}

det_status det_checkpoint_draft_commit(det_checkpoint_draft* draft) {
    return guarded([&]() -> Status {
        DET_TRY(require_open(draft));
        auto& checkpoint = draft->context->checkpoint();
        if (draft->is_sharded) {
            draft->is_over = true;  // commit_sharded() removes the files after an error
            return checkpoint.commit_sharded(draft->draft);
        }
        DET_TRY(checkpoint.commit(draft->draft));
        draft->is_over = true;
        return Ok{};
    });
}

det_status det_checkpoint_draft_give_up(det_checkpoint_draft* draft, char const* reason) {
    return guarded([&]() -> Status {
        DET_TRY(require_open(draft));
        if (!draft->is_sharded) return Error{codes::misuse, "only a sharded draft is given up by a call"};
        draft->is_over = true;
        return draft->context->checkpoint().give_up_sharded(
            draft->draft,
            Error{codes::file_system, reason != nullptr ? reason : "the files were not written"});
    });
}

void det_checkpoint_draft_destroy(det_checkpoint_draft* draft) {
    std::unique_ptr<det_checkpoint_draft> const owned(draft);
    // Other ranks may use the directory of a sharded draft.
    if (!owned || owned->is_over || owned->is_sharded) return;
    guarded([&] { return owned->context->checkpoint().discard(owned->draft); });
}

det_status det_checkpoint_upload_selected(det_context* context, uint64_t steps_completed,
                                          char const* metadata, char const* directory, det_select select,
                                          void* user, char uuid[DET_UUID_SIZE]) {
    return guarded([&]() -> Status {
        DET_TRY(require(context, "context", uuid, "uuid"));
        checkpoint::Upload upload;
        if (directory != nullptr) upload.directory = directory;
        upload.selector = selecting(select, user);
        upload.metadata = capi::metadata_of(metadata);
        DET_TRY_ASSIGN(auto const made,
                       context->core->checkpoint().upload(steps_completed, std::move(upload)));
        capi::write_uuid(uuid, made);
        return Ok{};
    });
}

det_status det_checkpoint_upload(det_context* context, uint64_t steps_completed, char const* metadata,
                                 char const* directory, char uuid[DET_UUID_SIZE]) {
    return det_checkpoint_upload_selected(context, steps_completed, metadata, directory, nullptr, nullptr,
                                          uuid);
}

det_status det_checkpoint_store_sharded(det_context* context, uint64_t steps_completed, char const* metadata,
                                        det_write write, void* user, char uuid[DET_UUID_SIZE]) {
    return guarded([&]() -> Status {
        DET_TRY(require(context, "context", uuid, "uuid"));
        DET_TRY_ASSIGN(auto const made,
                       context->core->checkpoint().store_sharded(steps_completed, capi::metadata_of(metadata),
                                                                 writing(write, user)));
        capi::write_uuid(uuid, made);
        return Ok{};
    });
}

det_status det_checkpoint_store_before_preemption(det_context* context, uint64_t steps_completed,
                                                  char const* metadata, det_write write, void* user,
                                                  int32_t* is_stored) {
    return guarded([&]() -> Status {
        DET_TRY(require(context, "context", is_stored, "is_stored"));
        DET_TRY_ASSIGN(bool const stores,
                       context->core->checkpoint().store_before_preemption(
                           steps_completed, capi::metadata_of(metadata), writing(write, user)));
        *is_stored = stores ? 1 : 0;
        return Ok{};
    });
}
