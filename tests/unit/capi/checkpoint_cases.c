/* Checkpoints from C: directories of the chief, files of all ranks, tensors. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "check.h"

static int write_text(const char* directory, const char* name, const char* text) {
    char path[1024];
    FILE* file;
    int is_written;
    snprintf(path, sizeof path, "%s/%s", directory, name);
    file = fopen(path, "w");
    if (file == NULL) return 0;
    is_written = fputs(text, file) >= 0;
    return fclose(file) == 0 && is_written;
}

static int has_text(const char* directory, const char* name, const char* text) {
    char path[1024], read[64] = "";
    FILE* file;
    snprintf(path, sizeof path, "%s/%s", directory, name);
    file = fopen(path, "r");
    if (file == NULL) return 0;
    read[fread(read, 1, sizeof read - 1, file)] = '\0';
    fclose(file);
    return strcmp(read, text) == 0;
}

const char* case_stored_directory(void) {
    det_context* context = NULL;
    det_checkpoint_draft* draft = NULL;
    det_strings *path = NULL, *manifest = NULL;
    char uuid[DET_UUID_SIZE], discarded[DET_UUID_SIZE];
    CHECK_OK(det_context_open(NULL, &context));
    CHECK(det_checkpoint_draft_open(context, 5, "3", &draft) == DET_COULD_NOT &&
          failed_with("misuse", "metadata"));
    CHECK(det_checkpoint_draft_open(context, UINT64_MAX, NULL, &draft) == DET_COULD_NOT &&
          failed_with("misuse", "(-1 as a signed number)"));
    CHECK_OK(det_checkpoint_draft_open(context, 5, "{\"epoch\": 2}", &draft));
    strcpy(uuid, det_checkpoint_draft_uuid(draft));
    CHECK(strlen(uuid) == DET_UUID_SIZE - 1);
    CHECK(write_text(det_checkpoint_draft_directory(draft), "weights", "1 2 3"));
    CHECK(det_checkpoint_restore_path(context, uuid, &path) == DET_ABSENT);
    CHECK(failed_with("no-such-checkpoint", uuid) && path == NULL);
    CHECK(det_checkpoint_find_directory(context, uuid, &path) == DET_ABSENT && path == NULL);
    CHECK_OK(det_checkpoint_draft_commit(draft));
    CHECK(det_checkpoint_draft_commit(draft) == DET_COULD_NOT && failed_with("misuse", "already"));
    det_checkpoint_draft_destroy(draft);

    CHECK_OK(det_checkpoint_find_directory(context, uuid, &path));
    CHECK(has_text(det_strings_get(path, 0, NULL), "weights", "1 2 3"));
    det_strings_destroy(path);
    CHECK_OK(det_checkpoint_restore_path(context, uuid, &path));
    CHECK(has_text(det_strings_get(path, 0, NULL), "weights", "1 2 3"));
    CHECK_OK(det_checkpoint_load_manifest(context, uuid, &manifest));
    CHECK(strstr(det_strings_get(manifest, 0, NULL), "\"epoch\"") != NULL);
    det_strings_destroy(manifest);

    CHECK(write_text(det_strings_get(path, 0, NULL), "weights", "1 2 4"));
    det_strings_destroy(path);
    CHECK(det_checkpoint_restore_path(context, uuid, &path) == DET_CHECKPOINT_DAMAGED);
    CHECK(failed_with("checkpoint-damaged", "weights"));

    CHECK_OK(det_checkpoint_draft_open(context, 6, NULL, &draft));
    strcpy(discarded, det_checkpoint_draft_uuid(draft));
    CHECK(write_text(det_checkpoint_draft_directory(draft), "weights", "half"));
    det_checkpoint_draft_destroy(draft);
    CHECK(det_checkpoint_load_manifest(context, discarded, &manifest) == DET_ABSENT);
    CHECK_OK(det_context_close(context));
    det_context_destroy(context);
    return NULL;
}

const char* case_uploaded_files(void) {
    det_context* context = NULL;
    det_checkpoint_draft* scratch = NULL;
    det_strings* path = NULL;
    char uuid[DET_UUID_SIZE] = "";
    int32_t rank;
    CHECK_OK(det_context_open(NULL, &context));
    rank = det_distributed_rank(context);
    if (rank == 0) {
        CHECK_OK(det_checkpoint_draft_open(context, 1, NULL, &scratch)); /* a directory to bring files from */
        CHECK(write_text(det_checkpoint_draft_directory(scratch), "a", "of rank 0"));
    }
    CHECK(det_checkpoint_upload(context, 8, rank == 1 ? "{" : "{}",
                                rank == 0 ? det_checkpoint_draft_directory(scratch) : NULL,
                                uuid) == DET_COULD_NOT);
    CHECK(failed_with("misuse", "metadata"));
    CHECK(det_checkpoint_upload(context, UINT64_MAX, NULL,
                                rank == 0 ? det_checkpoint_draft_directory(scratch) : NULL,
                                uuid) == DET_COULD_NOT);
    CHECK(failed_with("misuse", "(-1 as a signed number)"));
    CHECK(det_checkpoint_upload(context, 8, NULL, NULL, uuid) == DET_COULD_NOT);
    CHECK_OK(det_checkpoint_upload(context, 8, rank == 1 ? "{\"from\": 1}" : NULL,
                                   rank == 0 ? det_checkpoint_draft_directory(scratch) : NULL, uuid));
    CHECK_OK(det_checkpoint_restore_path(context, uuid, &path));
    CHECK(has_text(det_strings_get(path, 0, NULL), "a", "of rank 0"));
    det_strings_destroy(path);
    det_checkpoint_draft_destroy(scratch);
    CHECK_OK(det_context_close(context));
    det_context_destroy(context);
    return NULL;
}

static det_status write_one(const char* directory, void* user) {
    return write_text(directory, (const char*)user, "text") ? DET_OK : DET_COULD_NOT;
}
static det_status write_nothing(const char* directory, void* user) {
    (void)directory;
    ++*(int*)user;
    return DET_ABSENT;
}

const char* case_stored_by_all(void) {
    static char names[2][8] = {"first", "second"};
    det_context* context = NULL;
    det_strings* path = NULL;
    char uuid[DET_UUID_SIZE] = "";
    int32_t rank;
    int calls = 0;
    CHECK_OK(det_context_open(NULL, &context));
    rank = det_distributed_rank(context);
    CHECK(det_checkpoint_store_sharded(context, 9, NULL, rank == 1 ? NULL : write_one, names[rank], uuid) ==
          DET_COULD_NOT);
    CHECK(failed_with("misuse", "write is NULL") && uuid[0] == '\0');
    CHECK(det_checkpoint_store_sharded(context, 9, NULL, rank == 1 ? write_nothing : write_one,
                                       rank == 1 ? (void*)&calls : (void*)names[rank],
                                       uuid) == DET_COULD_NOT);
    CHECK(failed_with("file-system", "returned 4") && calls == rank);
    CHECK_OK(det_checkpoint_store_sharded(context, 9, rank == 1 ? "{\"from\": 1}" : NULL, write_one,
                                          names[rank], uuid));
    CHECK_OK(det_checkpoint_restore_path(context, uuid, &path));
    CHECK(has_text(det_strings_get(path, 0, NULL), "first", "text"));
    CHECK(has_text(det_strings_get(path, 0, NULL), "second", "text"));
    det_strings_destroy(path);
    CHECK_OK(det_context_close(context));
    det_context_destroy(context);
    return NULL;
}

const char* case_draft_of_all_ranks(void) {
    det_context* context = NULL;
    det_checkpoint_draft* draft = NULL;
    det_strings* path = NULL;
    char uuid[DET_UUID_SIZE];
    int32_t rank;
    CHECK_OK(det_context_open(NULL, &context));
    rank = det_distributed_rank(context);
    CHECK_OK(det_checkpoint_draft_open_sharded(context, 9, NULL, &draft));
    if (rank == 1) {
        CHECK(det_checkpoint_draft_give_up(draft, "out of ideas") == DET_COULD_NOT);
    } else {
        CHECK(det_checkpoint_draft_commit(draft) == DET_COULD_NOT);
    }
    CHECK(failed_with("file-system", "out of ideas"));
    CHECK(det_checkpoint_draft_commit(draft) == DET_COULD_NOT && failed_with("misuse", "already"));
    det_checkpoint_draft_destroy(draft);

    CHECK_OK(det_checkpoint_draft_open_sharded(context, 9, rank == 1 ? "{\"from\": 1}" : NULL, &draft));
    CHECK(write_text(det_checkpoint_draft_directory(draft), rank == 0 ? "first" : "second", "text"));
    strcpy(uuid, det_checkpoint_draft_uuid(draft));
    CHECK_OK(det_checkpoint_draft_commit(draft));
    det_checkpoint_draft_destroy(draft);
    CHECK_OK(det_checkpoint_restore_path(context, uuid, &path));
    CHECK(has_text(det_strings_get(path, 0, NULL), "first", "text"));
    CHECK(has_text(det_strings_get(path, 0, NULL), "second", "text"));
    det_strings_destroy(path);
    CHECK_OK(det_context_close(context));
    det_context_destroy(context);
    return NULL;
}

static int32_t select_name(const char* path, void* user) { return strcmp(path, (const char*)user) == 0; }

const char* case_downloaded_files(void) {
    det_context* context = NULL;
    det_context_options options = DET_CONTEXT_OPTIONS_INIT;
    det_checkpoint_draft* draft = NULL;
    char uuid[DET_UUID_SIZE], directory[] = "/tmp/det-capi-XXXXXX", storage[256], path[64];
    CHECK(mkdtemp(directory) != NULL);
    snprintf(storage, sizeof storage, "{\"type\": \"directory\", \"container_path\": \"%s/own\"}", directory);
    options.checkpoint_storage = storage;
    CHECK_OK(det_context_open(&options, &context));
    CHECK_OK(det_checkpoint_draft_open(context, 5, NULL, &draft));
    CHECK(write_text(det_checkpoint_draft_directory(draft), "a", "1"));
    CHECK(write_text(det_checkpoint_draft_directory(draft), "b", "2"));
    CHECK(strncmp(det_checkpoint_draft_directory(draft), directory, strlen(directory)) == 0);
    strcpy(uuid, det_checkpoint_draft_uuid(draft));
    CHECK_OK(det_checkpoint_draft_commit(draft));
    snprintf(path, sizeof path, "%s/copy", directory);
    CHECK_OK(det_checkpoint_download(context, uuid, path, select_name, "b"));
    CHECK(has_text(path, "b", "2") && !has_text(path, "a", "1"));
    CHECK_OK(det_checkpoint_download(context, uuid, path, NULL, NULL));
    CHECK(has_text(path, "b", "2") && has_text(path, "a", "1"));
    CHECK_OK(det_checkpoint_upload_selected(context, 6, NULL, path, select_name, "a", uuid));
    CHECK_OK(det_checkpoint_delete(context, uuid));
    CHECK_OK(det_checkpoint_delete(context, uuid));
    CHECK(det_checkpoint_download(context, uuid, path, NULL, NULL) == DET_ABSENT);
    CHECK_OK(det_context_close(context));
    det_context_destroy(context);
    snprintf(storage, sizeof storage, "rm -r %s", directory);
    CHECK(system(storage) == 0);
    return NULL;
}

const char* case_last_store(void) {
    det_context* context = NULL;
    int32_t is_stored = 0;
    int calls = 0;
    CHECK_OK(det_context_open(NULL, &context));
    CHECK_OK(det_checkpoint_store_before_preemption(context, 5, NULL, write_one, "weights", &is_stored));
    CHECK(is_stored == 1);
    CHECK(det_checkpoint_store_before_preemption(context, 5, NULL, write_one, "weights", NULL) ==
          DET_COULD_NOT);
    CHECK(failed_with("misuse", "is_stored is NULL"));
    CHECK(det_checkpoint_store_before_preemption(context, 6, NULL, write_nothing, &calls, &is_stored) ==
          DET_COULD_NOT);
    CHECK(failed_with("file-system", "returned 4"));
    CHECK(calls == (det_distributed_rank(context) == 0 ? 1 : 0));
    CHECK_OK(det_context_close(context));
    det_context_destroy(context);
    return NULL;
}

const char* case_no_time_for_a_last_store(void) {
    det_context* context = NULL;
    int32_t is_stored = 0;
    int calls = 0;
    CHECK_OK(det_context_open(NULL, &context));
    CHECK_OK(det_checkpoint_store_before_preemption(context, 4, NULL, write_one, "weights", &is_stored));
    CHECK(is_stored == 1); /* how long one takes was not known */
    CHECK_OK(det_checkpoint_store_before_preemption(context, 5, NULL, write_nothing, &calls, &is_stored));
    CHECK(is_stored == 0 && calls == 0);
    CHECK_OK(det_context_close(context));
    det_context_destroy(context);
    return NULL;
}

const char* case_tensors_are_saved_and_loaded(void) {
    enum { OWN = 1000 };
    det_context* context = NULL;
    det_state* state = NULL;
    det_outcomes* outcomes = NULL;
    det_outcome outcome = DET_OUTCOME_INIT;
    det_save_started saved = DET_SAVE_STARTED_INIT;
    det_loaded loaded = DET_LOADED_INIT;
    det_tensor weights = DET_TENSOR_INIT, step = DET_TENSOR_INIT;
    det_checkpoint_draft* scratch = NULL;
    det_strings* uuids = NULL;
    float values[OWN];
    int64_t steps = 0;
    uint64_t shape[1], begin[1];
    const uint64_t own[1] = {OWN};
    int32_t rank, i;
    CHECK_OK(det_context_open(NULL, &context));
    rank = det_distributed_rank(context);
    shape[0] = (uint64_t)det_distributed_size(context) * OWN;
    begin[0] = (uint64_t)rank * OWN;
    weights.name = "weights";
    weights.data = values;
    weights.dtype = DET_F32;
    weights.dimensions = 1;
    weights.shape = shape;
    weights.begin = begin;
    weights.part_shape = own;
    step.name = "step";
    step.data = &steps;
    step.dtype = DET_I64;
    weights.copy_later = step.copy_later = 1;
    CHECK_OK(det_state_create(&state));
    CHECK_OK(det_state_add(state, &weights));
    CHECK_OK(det_state_add(state, &step));
    CHECK_OK(det_checkpoint_wait_snapshot(context)); /* there is none */
    CHECK(det_checkpoint_wait_snapshot(NULL) == DET_COULD_NOT && failed_with("misuse", "context"));

    CHECK_OK(det_checkpoint_load(context, state, DET_ON_DAMAGE_FAIL, &loaded));
    CHECK(loaded.uuid[0] == '\0' && loaded.steps_completed == 0);
    CHECK_OK(det_checkpoint_prepare(context, state));
    CHECK(det_checkpoint_save(context, 1, rank == 1 ? "{" : NULL, state, &saved) == DET_COULD_NOT);
    CHECK(failed_with("misuse", "metadata"));
    for (steps = 1; steps <= 2; ++steps) {
        for (i = 0; i < OWN; ++i) values[i] = (float)(10 * steps + rank);
        CHECK_OK(det_checkpoint_save(context, (uint64_t)steps, "{\"note\": \"x\"}", state, &saved));
        CHECK(strlen(saved.uuid) == DET_UUID_SIZE - 1 && saved.copied_us >= 0);
        values[0] = -1; /* memory of the host is copied before the call returns, whatever copy_later is */
        CHECK_OK(det_checkpoint_wait_snapshot(context));
        CHECK_OK(det_checkpoint_poll(context, NULL));
    }
    CHECK_OK(det_checkpoint_finish(context, NULL));
    values[0] = values[1];
    CHECK_OK(det_checkpoint_save_before_preemption(context, 3, NULL, state, &outcomes));
    CHECK(det_outcomes_count(outcomes) >= 1);
    CHECK_OK(det_outcomes_get(outcomes, det_outcomes_count(outcomes) - 1, &outcome));
    CHECK(outcome.status == DET_OK && outcome.steps_completed == 3 && outcome.message == NULL);
    CHECK(det_outcomes_get(outcomes, 99, &outcome) == DET_COULD_NOT);
    det_outcomes_destroy(outcomes);

    memset(values, 0, sizeof values);
    steps = 0;
    CHECK_OK(det_checkpoint_load(context, state, DET_ON_DAMAGE_TAKE_OLDER, &loaded));
    CHECK(strcmp(loaded.uuid, outcome.uuid) == 0 && loaded.steps_completed == 3 && loaded.passed_over == 0);
    CHECK(values[0] == (float)(20 + rank) && values[OWN - 1] == values[0] && steps == 3);

    /* `saved` is the save of step 2. */
    CHECK_OK(det_checkpoint_load_from(context, saved.uuid, state, &loaded));
    CHECK(strcmp(loaded.uuid, saved.uuid) == 0 && loaded.steps_completed == 2 && loaded.is_own == 1);
    CHECK(values[0] == (float)(20 + rank) && steps == 2);
    CHECK(det_checkpoint_load_from(context, "00000000-0000-4000-8000-000000000009", state, &loaded) ==
          DET_ABSENT);
    CHECK_OK(det_checkpoint_list(context, &uuids));
    CHECK(det_strings_count(uuids) == 3 && strcmp(det_strings_get(uuids, 0, NULL), outcome.uuid) == 0 &&
          strcmp(det_strings_get(uuids, 1, NULL), saved.uuid) == 0);
    det_strings_destroy(uuids);

    /* Files of the chief in the same checkpoint. */
    if (rank == 0) {
        CHECK_OK(det_checkpoint_draft_open(context, 1, NULL, &scratch)); /* a directory to bring files from */
        CHECK(write_text(det_checkpoint_draft_directory(scratch), "note", "of the chief"));
        CHECK_OK(det_state_add_directory(state, det_checkpoint_draft_directory(scratch)));
        CHECK(det_state_add_directory(state, ".") == DET_COULD_NOT && failed_with("misuse", "already"));
    }
    CHECK_OK(det_checkpoint_save(context, 4, NULL, state, &saved));
    CHECK_OK(det_checkpoint_finish(context, NULL));
    CHECK_OK(det_checkpoint_restore_path(context, saved.uuid, &uuids));
    CHECK(has_text(det_strings_get(uuids, 0, NULL), "note", "of the chief"));
    det_strings_destroy(uuids);
    CHECK_OK(det_checkpoint_load_from(context, saved.uuid, state, &loaded));
    CHECK(loaded.steps_completed == 4 && steps == 2);
    /* Without slurm.memory_checkpoints nothing is kept in memory. */
    CHECK_OK(det_checkpoint_fetch_kept(context));
    CHECK(det_checkpoint_fetch_kept(NULL) == DET_COULD_NOT);
    CHECK_OK(det_checkpoint_is_kept_in_memory(context, 10, &rank));
    CHECK(rank == 0 && loaded.is_from_memory == 0);
    CHECK(det_checkpoint_is_kept_in_memory(context, 10, NULL) == DET_COULD_NOT &&
          failed_with("misuse", "is_kept"));
    det_state_destroy(state);
    CHECK_OK(det_state_create(&state));
    CHECK_OK(det_state_add(state, &step));
    rank = 1;
    CHECK_OK(det_checkpoint_keep_in_memory(context, 10, NULL, state, &rank));
    CHECK(rank == 0);
    CHECK_OK(det_checkpoint_keep_in_memory(context, 10, NULL, state, NULL));
    CHECK_OK(det_state_add_directory(state, "."));
    CHECK(det_checkpoint_keep_in_memory(context, 10, NULL, state, NULL) == DET_COULD_NOT);
    CHECK(failed_with("misuse", "directory"));
    det_checkpoint_draft_destroy(scratch);
    det_state_destroy(state);
    CHECK_OK(det_context_close(context));
    det_context_destroy(context);
    return NULL;
}

const char* case_tensors_on_devices(det_context* context, const struct device* device) {
    enum { OWN = 1000 };
    det_state* state = NULL;
    det_loaded loaded = DET_LOADED_INIT;
    det_tensor weights = DET_TENSOR_INIT, step = DET_TENSOR_INIT;
    float values[OWN];
    int64_t steps = 5;
    uint64_t shape[1], begin[1];
    const uint64_t own[1] = {OWN};
    const int32_t rank = det_distributed_rank(context);
    int32_t i;
    static int streams[2];
    CHECK_OK(det_distributed_use_stream(context, &streams[rank]));
    shape[0] = (uint64_t)det_distributed_size(context) * OWN;
    begin[0] = (uint64_t)rank * OWN;
    weights.name = "weights";
    weights.data = device->memory;
    weights.dtype = DET_F32;
    weights.dimensions = 1;
    weights.shape = shape;
    weights.begin = begin;
    weights.part_shape = own;
    step.name = "step";
    step.data = &steps;
    step.dtype = DET_I64;
    CHECK_OK(det_state_create(&state));
    CHECK_OK(det_state_add(state, &weights));
    CHECK_OK(det_state_add(state, &step));
    CHECK_OK(det_checkpoint_prepare(context, state));

    for (i = 0; i < OWN; ++i) values[i] = (float)(10 * i + rank);
    device->copy(device, device->memory, values, sizeof values);
    CHECK_OK(det_checkpoint_save(context, 5, NULL, state, NULL));
    memset(values, 0, sizeof values);
    device->copy(device, device->memory, values, sizeof values); /* it was copied */
    steps = 0;
    CHECK_OK(det_checkpoint_finish(context, NULL));
    CHECK_OK(det_checkpoint_load(context, state, DET_ON_DAMAGE_FAIL, &loaded));
    CHECK(loaded.steps_completed == 5 && steps == 5);
    device->copy(device, values, device->memory, sizeof values);
    for (i = 0; i < OWN; ++i) CHECK(values[i] == (float)(10 * i + rank));
    det_state_destroy(state);
    CHECK_OK(det_context_close(context));
    return NULL;
}

const char* case_states_that_are_refused(void) {
    const uint64_t shape[1] = {4};
    char data[64];
    det_context* context = NULL;
    det_state* state = NULL;
    det_save_started unsized = DET_SAVE_STARTED_INIT;
    det_tensor tensor = DET_TENSOR_INIT;
    CHECK_OK(det_context_open(NULL, &context));
    CHECK(det_state_create(NULL) == DET_COULD_NOT);
    CHECK_OK(det_state_create(&state));
    CHECK(det_state_add(state, NULL) == DET_COULD_NOT && det_state_add(NULL, &tensor) == DET_COULD_NOT);
    CHECK(det_state_add(state, &tensor) == DET_COULD_NOT && failed_with("misuse", "name is NULL"));
    tensor.name = "t";
    tensor.dtype = 15;
    CHECK(det_state_add(state, &tensor) == DET_COULD_NOT &&
          failed_with("misuse", "'t' has no type of elements: 15"));
    tensor.dtype = DET_BOOL;
    tensor.dimensions = 1;
    CHECK(det_state_add(state, &tensor) == DET_COULD_NOT && failed_with("misuse", "shape is NULL"));
    tensor.shape = shape;
    tensor.begin = shape;
    CHECK(det_state_add(state, &tensor) == DET_COULD_NOT && failed_with("misuse", "begin"));
    tensor.part_shape = shape;
    tensor.data = data;
    CHECK_OK(det_state_add(state, &tensor));
    CHECK(det_checkpoint_save(context, 1, NULL, state, NULL) == DET_COULD_NOT);
    CHECK(failed_with("misuse", "there is no part of it"));
    unsized.struct_size = 0;
    CHECK(det_checkpoint_save(context, 1, NULL, state, &unsized) == DET_COULD_NOT &&
          failed_with("misuse", "size"));
    CHECK(det_checkpoint_save(context, 1, NULL, NULL, NULL) == DET_COULD_NOT);
    CHECK(det_checkpoint_load(context, state, DET_ON_DAMAGE_FAIL, NULL) == DET_COULD_NOT);
    det_state_destroy(state);
    det_state_destroy(NULL);
    det_checkpoint_draft_destroy(NULL);
    det_outcomes_destroy(NULL);
    CHECK_OK(det_context_close(context));
    det_context_destroy(context);
    return NULL;
}

const char* case_newest_checkpoint(void) {
    det_context* context = NULL;
    det_loaded loaded = DET_LOADED_INIT;
    det_state* state = NULL;
    char uuid[DET_UUID_SIZE];
    CHECK_OK(det_context_open(NULL, &context));
    CHECK_OK(det_checkpoint_latest(context, uuid));
    CHECK(strcmp(uuid, "00000000-0000-4000-8000-000000000001") == 0);
    CHECK(det_checkpoint_latest(context, NULL) == DET_COULD_NOT);
    CHECK_OK(det_state_create(&state));
    CHECK(det_checkpoint_load(context, state, DET_ON_DAMAGE_FAIL, &loaded) == DET_ABSENT);
    CHECK(failed_with("no-such-checkpoint", uuid));
    det_state_destroy(state);
    CHECK_OK(det_context_close(context));
    det_context_destroy(context);
    return NULL;
}
