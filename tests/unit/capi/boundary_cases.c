/* What the boundary itself does: single ranks, wrong arguments, other versions. */
#include <string.h>

#include "cases.h"
#include "check.h"

const char* case_a_single_rank(void) {
    det_context* context = NULL;
    double value = 3;
    CHECK_OK(det_context_open(NULL, &context));
    CHECK(det_distributed_rank(context) == 0 && det_distributed_size(context) == 1);
    CHECK(det_context_info(context) == NULL);
    CHECK(strcmp(det_context_hyperparameters(context), "{}") == 0);
    CHECK_OK(det_distributed_allreduce(context, &value, &value, 1, DET_F64, DET_REDUCE_MEAN));
    CHECK(value == 3);
    CHECK(det_distributed_allreduce(context, &value, &value, 1, 15, DET_REDUCE_SUM) == DET_COULD_NOT);
    CHECK_OK(det_context_close(context));
    det_context_destroy(context);
    return NULL;
}

const char* case_null_arguments(void) {
    det_context* context = NULL;
    det_strings* strings = NULL;
    det_operation* operation = NULL;
    float value = 0;
    int32_t is_over = 0;
    CHECK(strcmp(det_error_code(), "") == 0 && strcmp(det_error_message(), "") == 0);
    CHECK(det_context_open(NULL, NULL) == DET_COULD_NOT && failed_with("misuse", "context is NULL"));
    CHECK(strstr(det_error_text(), "error: context is NULL [misuse]") != NULL);
    CHECK(det_context_close(NULL) == DET_COULD_NOT);
    CHECK(det_context_info(NULL) == NULL && det_context_hyperparameters(NULL) == NULL);
    CHECK(det_distributed_rank(NULL) == -1 && det_distributed_cross_size(NULL) == -1);
    CHECK(det_distributed_barrier(NULL) == DET_COULD_NOT);
    CHECK(det_distributed_allreduce(NULL, &value, &value, 1, DET_F32, DET_REDUCE_SUM) == DET_COULD_NOT);
    CHECK(det_distributed_allgather_bytes(NULL, "a", 1, &strings) == DET_COULD_NOT && strings == NULL);
    CHECK(det_operation_wait(NULL) == DET_COULD_NOT && failed_with("misuse", "operation is NULL"));
    CHECK(det_operation_test(NULL, &is_over) == DET_COULD_NOT);
    CHECK(det_strings_count(NULL) == 0 && det_strings_get(NULL, 0, NULL) == NULL);
    CHECK(det_buffer_data(NULL) == NULL && det_buffer_size_bytes(NULL) == 0);

    CHECK_OK(det_context_open(NULL, &context));
    CHECK(det_distributed_start_broadcast(context, &value, 1, DET_F32, 0, NULL) == DET_COULD_NOT);
    CHECK(failed_with("misuse", "operation is NULL"));
    CHECK(det_distributed_allgather_bytes(context, "a", 1, NULL) == DET_COULD_NOT);
    CHECK(det_distributed_allgather_bytes(context, NULL, 1, &strings) == DET_COULD_NOT);
    CHECK(failed_with("misuse", "data is NULL") && strings == NULL);
    CHECK(det_buffer_allocate(context, 8, NULL) == DET_COULD_NOT);
    CHECK_OK(det_distributed_start_broadcast(context, &value, 1, DET_F32, 0, &operation));
    CHECK(det_operation_test(operation, NULL) == DET_COULD_NOT && failed_with("misuse", "is_over is NULL"));
    det_operation_destroy(operation);
    CHECK_OK(det_context_close(context));
    det_context_destroy(context);

    det_context_destroy(NULL);
    det_operation_destroy(NULL);
    det_strings_destroy(NULL);
    det_buffer_destroy(NULL);
    return NULL;
}

const char* case_options_of_other_versions(void) {
    struct {
        det_context_options known;
        const char* later;
    } newer = {DET_CONTEXT_OPTIONS_INIT, NULL};
    det_context_options older = DET_CONTEXT_OPTIONS_INIT;
    det_context* context = NULL;
    newer.known.struct_size = sizeof newer;
    CHECK_OK(det_context_open(&newer.known, &context));
    det_context_destroy(context);
    context = NULL;
    newer.later = "what this library has never heard of";
    CHECK(det_context_open(&newer.known, &context) == DET_COULD_NOT && context == NULL);
    CHECK(failed_with("misuse", "det_context_options") && strstr(det_error_message(), det_version()) != NULL);

    older.struct_size = offsetof(det_context_options, on_warning);
    CHECK_OK(det_context_open(&older, &context));
    det_context_destroy(context);
    older.struct_size = 0;
    CHECK(det_context_open(&older, &context) == DET_COULD_NOT && failed_with("misuse", "size is 0"));
    return NULL;
}

/* Programs that were compiled earlier rely on these offsets: new members are added at the end. */
const char* case_layouts(void) {
    CHECK(sizeof(void*) == 8);
    CHECK(offsetof(det_context_options, checkpoint_path) == 8);
    CHECK(offsetof(det_context_options, on_warning) == 16 && offsetof(det_context_options, user) == 24);
    CHECK(offsetof(det_context_options, preempt_mode) == 32 && offsetof(det_context_options, devices) == 36);
    CHECK(offsetof(det_context_options, checkpoint_storage) == 40);
    CHECK(offsetof(det_ranks, rank) == 8 && offsetof(det_ranks, cross_size) == 28);
    CHECK(offsetof(det_ranks, group) == 32 && offsetof(det_ranks, chief_address) == 40);
    CHECK(sizeof(det_ranks) == 48);
    CHECK(offsetof(det_tensor, name) == 8 && offsetof(det_tensor, data) == 16);
    CHECK(offsetof(det_tensor, dtype) == 24 && offsetof(det_tensor, dimensions) == 28);
    CHECK(offsetof(det_tensor, shape) == 32 && offsetof(det_tensor, begin) == 40);
    CHECK(offsetof(det_tensor, part_shape) == 48 && offsetof(det_tensor, copy_later) == 56);
    CHECK(offsetof(det_outcome, uuid) == 8 && offsetof(det_outcome, steps_completed) == 48);
    CHECK(offsetof(det_outcome, status) == 56 && offsetof(det_outcome, code) == 64);
    CHECK(offsetof(det_outcome, message) == 72);
    CHECK(offsetof(det_save_started, uuid) == 8 && offsetof(det_save_started, waited_us) == 48);
    CHECK(offsetof(det_save_started, copied_us) == 56);
    CHECK(offsetof(det_loaded, uuid) == 8 && offsetof(det_loaded, steps_completed) == 48);
    CHECK(offsetof(det_loaded, passed_over) == 56);
    return NULL;
}
