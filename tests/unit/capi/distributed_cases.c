#define _POSIX_C_SOURCE 200809L
/* Collectives from C, on ranks of one node. */
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "check.h"

enum { RANKS_MAX = 8, COUNT = 1000 };

const char* case_tensors(void) {
    det_context* context = NULL;
    float values[COUNT];
    int64_t parts[RANKS_MAX], own[1] = {0};
    int32_t rank, size, i;
    CHECK_OK(det_context_open(NULL, &context));
    rank = det_distributed_rank(context);
    size = det_distributed_size(context);
    CHECK(size > 1 && size <= RANKS_MAX);
    CHECK(det_distributed_local_rank(context) == rank && det_distributed_local_size(context) == size);
    CHECK(det_distributed_cross_rank(context) == 0 && det_distributed_cross_size(context) == 1);

    for (i = 0; i < COUNT; ++i) values[i] = (float)rank;
    CHECK_OK(det_distributed_allreduce(context, values, values, COUNT, DET_F32, DET_REDUCE_MEAN));
    for (i = 0; i < COUNT; ++i) CHECK(values[i] == (float)(size - 1) / 2);

    for (i = 0; i < size; ++i) parts[i] = 10 * rank + i;
    CHECK_OK(det_distributed_all_to_all(context, parts, parts, 1, DET_I64));
    for (i = 0; i < size; ++i) CHECK(parts[i] == 10 * i + rank);
    for (i = 0; i < size; ++i) parts[i] = i;
    CHECK_OK(det_distributed_reduce_scatter(context, parts, own, 1, DET_I64, DET_REDUCE_SUM));
    CHECK(own[0] == (int64_t)rank * size);
    CHECK_OK(det_distributed_allgather(context, own, parts, 1, DET_I64));
    for (i = 0; i < size; ++i) CHECK(parts[i] == (int64_t)i * size);

    own[0] = rank + 1;
    CHECK_OK(det_distributed_reduce(context, own, parts, 1, DET_I64, DET_REDUCE_MAX, size - 1));
    CHECK(rank != size - 1 || parts[0] == size);
    CHECK_OK(det_distributed_broadcast(context, own, 1, DET_I64, size - 1));
    CHECK(own[0] == size);
    CHECK_OK(det_distributed_barrier(context));
    CHECK_OK(det_context_close(context));
    det_context_destroy(context);
    return NULL;
}

const char* case_started_operations(void) {
    enum { LARGE = 300000 };
    det_context* context = NULL;
    det_operation *first = NULL, *second = NULL;
    det_buffer* buffer = NULL;
    double* shared;
    double few[3] = {1, 2, 3};
    int32_t size, is_over = 0;
    size_t i;
    CHECK_OK(det_context_open(NULL, &context));
    size = det_distributed_size(context);
    CHECK_OK(det_buffer_allocate(context, LARGE * sizeof *shared, &buffer));
    CHECK(det_buffer_size_bytes(buffer) >= LARGE * sizeof *shared);
    shared = det_buffer_data(buffer);
    for (i = 0; i < LARGE; ++i) CHECK(shared[i] == 0);
    for (i = 0; i < LARGE; ++i) shared[i] = (double)i;

    CHECK_OK(
        det_distributed_start_allreduce(context, shared, shared, LARGE, DET_F64, DET_REDUCE_SUM, &first));
    CHECK_OK(det_distributed_start_broadcast(context, few, 3, DET_F64, 0, &second));
    while (!is_over) CHECK_OK(det_operation_test(second, &is_over));
    CHECK_OK(det_operation_wait(first));
    CHECK_OK(det_operation_wait(first));
    for (i = 0; i < LARGE; ++i) CHECK(shared[i] == (double)i * size);
    det_operation_destroy(first);
    det_operation_destroy(second);

    CHECK_OK(det_distributed_start_allreduce(context, few, few, 3, 99, DET_REDUCE_SUM, &first));
    CHECK(det_operation_wait(first) == DET_COULD_NOT && failed_with("misuse", "type"));
    CHECK(det_operation_wait(first) == DET_COULD_NOT);
    det_operation_destroy(first);

    det_buffer_destroy(buffer);
    CHECK_OK(det_context_close(context));
    det_context_destroy(context);
    return NULL;
}

/* Whether the string is that of the rank: its letter, rank + 1 times. */
static int is_string_of(const det_strings* strings, size_t index, int32_t rank) {
    size_t size_bytes = 0;
    const char* bytes = det_strings_get(strings, index, &size_bytes);
    return bytes != NULL && size_bytes == (size_t)rank + 1 && bytes[rank] == 'a' + rank &&
           bytes[size_bytes] == 0;
}

const char* case_byte_strings(void) {
    typedef det_status (*gather)(det_context*, const void*, size_t, det_strings**);
    const gather gathers[] = {det_distributed_gather_bytes, det_distributed_gather_bytes_local};
    const gather allgathers[] = {det_distributed_allgather_bytes, det_distributed_allgather_bytes_local};
    det_context* context = NULL;
    det_strings* strings = NULL;
    char own[RANKS_MAX];
    size_t own_size, i, which;
    int32_t rank, size;
    CHECK_OK(det_context_open(NULL, &context));
    rank = det_distributed_rank(context);
    size = det_distributed_size(context);
    own_size = (size_t)rank + 1;
    memset(own, 'a' + rank, sizeof own);
    for (which = 0; which < 2; ++which) {
        CHECK_OK(allgathers[which](context, own, own_size, &strings));
        CHECK(det_strings_count(strings) == (size_t)size);
        for (i = 0; i < (size_t)size; ++i) CHECK(is_string_of(strings, i, (int32_t)i));
        CHECK(det_strings_get(strings, (size_t)size, NULL) == NULL);
        det_strings_destroy(strings);

        CHECK_OK(gathers[which](context, own, own_size, &strings));
        CHECK(det_strings_count(strings) == (rank == 0 ? (size_t)size : 0));
        det_strings_destroy(strings);
    }
    CHECK_OK(det_distributed_broadcast_bytes(context, own, own_size, size - 1, &strings));
    CHECK(det_strings_count(strings) == 1 && is_string_of(strings, 0, size - 1));
    det_strings_destroy(strings);
    CHECK_OK(det_distributed_broadcast_bytes_local(context, own, own_size, &strings));
    CHECK(det_strings_count(strings) == 1 && is_string_of(strings, 0, 0));
    det_strings_destroy(strings);
    CHECK_OK(det_distributed_allgather_bytes(context, NULL, 0, &strings));
    CHECK(*det_strings_get(strings, 0, NULL) == 0);
    det_strings_destroy(strings);
    CHECK_OK(det_context_close(context));
    det_context_destroy(context);
    return NULL;
}

const char* case_ranks_that_differ(void) {
    det_context* context = NULL;
    float values[8] = {0};
    det_status status;
    int32_t rank;
    CHECK_OK(det_context_open(NULL, &context));
    rank = det_distributed_rank(context);
    status = rank == 0 ? det_distributed_barrier(context)
                       : det_distributed_allreduce(context, values, values, 8, DET_F32, DET_REDUCE_SUM);
    CHECK(status == DET_COULD_NOT);
    CHECK(failed_with("misuse", "rank 0 called barrier() and rank 1 called allreduce(sum of 8 float32)"));
    CHECK(strstr(det_error_hint(), "the same calls in the same order") != NULL);
    status =
        det_distributed_allreduce(context, values, values, 8, rank == 0 ? DET_F32 : DET_I32, DET_REDUCE_SUM);
    CHECK(status == DET_COULD_NOT && failed_with("misuse", "int32"));
    status = det_distributed_allreduce(context, values, values, rank == 0 ? 7 : 8, DET_F32, DET_REDUCE_SUM);
    CHECK(status == DET_COULD_NOT && failed_with("misuse", "rank 0 called allreduce(sum of 7 float32)"));
    CHECK_OK(det_distributed_barrier(context));
    CHECK_OK(det_context_close(context));
    det_context_destroy(context);
    return NULL;
}

/* The other ranks get an error too and do not wait. */
const char* case_what_one_rank_refuses(void) {
    det_context* context = NULL;
    typedef det_status (*gather)(det_context*, const void*, size_t, det_strings**);
    const gather gathers[] = {det_distributed_gather_bytes, det_distributed_allgather_bytes,
                              det_distributed_gather_bytes_local, det_distributed_allgather_bytes_local};
    det_strings* strings = NULL;
    size_t i;
    int32_t values[2] = {1, 2};
    int32_t is_wrong;
    CHECK_OK(det_context_open(NULL, &context));
    is_wrong = det_distributed_rank(context) == 1;
    CHECK(det_distributed_allreduce(context, values, values, 2, is_wrong ? DET_U16 : DET_I32,
                                    DET_REDUCE_SUM) == DET_COULD_NOT);
    CHECK(failed_with("misuse", "rank 1") && failed_with("misuse", "elements of this type"));
    CHECK(det_distributed_allreduce(context, values, values, 2, is_wrong ? -7 : DET_I32, DET_REDUCE_SUM) ==
          DET_COULD_NOT);
    CHECK(det_distributed_allreduce(context, values, values, 2, DET_I32, is_wrong ? 5 : DET_REDUCE_SUM) ==
          DET_COULD_NOT);
    CHECK(failed_with("misuse", "no such reduction"));
    CHECK(det_distributed_allgather(context, values, is_wrong ? NULL : values, 1, DET_I32) == DET_COULD_NOT);
    CHECK(failed_with("misuse", "null pointer"));
    CHECK(det_distributed_broadcast(context, values, 2, DET_I32, is_wrong ? 99 : 0) == DET_COULD_NOT);
    CHECK(failed_with("misuse", "rank 99 cannot broadcast"));
    CHECK(det_distributed_reduce_scatter(context, values, values, SIZE_MAX, DET_I32, DET_REDUCE_SUM) ==
          DET_COULD_NOT);
    CHECK(failed_with("misuse", "do not fit into memory"));
    CHECK(values[0] == 1 && values[1] == 2);
    for (i = 0; i < sizeof gathers / sizeof *gathers; ++i) {
        CHECK(gathers[i](context, is_wrong ? NULL : "a", 1, &strings) == DET_COULD_NOT);
        CHECK(failed_with("misuse", "rank 1: data is NULL") && strings == NULL);
        CHECK(gathers[i](context, "a", 1, is_wrong ? NULL : &strings) == DET_COULD_NOT);
        CHECK(failed_with("misuse", "rank 1: values is NULL") && strings == NULL);
    }
    CHECK(det_distributed_broadcast_bytes(context, is_wrong ? NULL : "a", 1, 1, &strings) == DET_COULD_NOT);
    CHECK(failed_with("misuse", "rank 1: data is NULL") && strings == NULL);
    CHECK_OK(det_distributed_broadcast_bytes(context, is_wrong ? NULL : "a", 1, 0, &strings));
    det_strings_destroy(strings);
    CHECK_OK(det_distributed_broadcast_bytes_local(context, is_wrong ? NULL : "a", 1, &strings));
    det_strings_destroy(strings);
    CHECK_OK(det_context_close(context));
    det_context_destroy(context);
    return NULL;
}

const char* case_some_of_the_ranks(void) {
    det_context *context = NULL, *local = NULL, *cross = NULL;
    int32_t sum, rank;
    CHECK_OK(det_context_open(NULL, &context));
    rank = det_distributed_rank(context);
    CHECK(det_context_split(context, 2, &local) == DET_COULD_NOT && local == NULL);
    CHECK(failed_with("misuse", "no subset 2"));
    CHECK_OK(det_context_split(context, DET_SUBSET_LOCAL, &local));
    CHECK_OK(det_context_split(context, DET_SUBSET_CROSS, &cross));
    CHECK(det_distributed_size(local) == 2 && det_distributed_rank(local) == rank);
    CHECK(det_distributed_size(cross) == 1 && det_distributed_rank(cross) == 0);
    sum = rank + 1;
    CHECK_OK(det_distributed_allreduce(local, &sum, &sum, 1, DET_I32, DET_REDUCE_SUM));
    CHECK(sum == 3);
    CHECK_OK(det_distributed_allreduce(cross, &sum, &sum, 1, DET_I32, DET_REDUCE_SUM));
    CHECK(sum == 3);
    if (rank == 1) {
        CHECK(det_distributed_refuse(local, "its tensor is sparse") == DET_COULD_NOT);
    } else {
        CHECK(det_distributed_allreduce(local, &sum, &sum, 1, DET_I32, DET_REDUCE_SUM) == DET_COULD_NOT);
    }
    CHECK(failed_with("misuse", "rank 1: its tensor is sparse"));
    det_context_destroy(cross);
    CHECK_OK(det_distributed_barrier(context));
    CHECK_OK(det_context_add_devices(context, DET_DEVICES_NONE));
    CHECK(det_context_add_devices(context, 9) == DET_COULD_NOT && failed_with("misuse", "no devices 9"));
    CHECK_OK(det_context_close(context));
    det_context_destroy(context);
    sum = det_distributed_size(local);
    det_context_destroy(local);
    CHECK(sum == 2);
    return NULL;
}

const char* case_objects_outlive_their_context(void) {
    det_context* context = NULL;
    det_operation* operation = NULL;
    det_buffer* buffer = NULL;
    CHECK_OK(det_context_open(NULL, &context));
    CHECK_OK(det_buffer_allocate(context, 64, &buffer));
    CHECK_OK(det_distributed_start_allreduce(context, det_buffer_data(buffer), det_buffer_data(buffer), 16,
                                             DET_F32, DET_REDUCE_SUM, &operation));
    CHECK_OK(det_context_close(context));
    det_context_destroy(context);
    CHECK_OK(det_operation_wait(operation));
    det_operation_destroy(operation);
    CHECK(((float*)det_buffer_data(buffer))[15] == 0);
    det_buffer_destroy(buffer);
    return NULL;
}

const char* case_a_rank_that_leaves(void) {
    det_context* context = NULL;
    CHECK_OK(det_context_open(NULL, &context));
    if (det_distributed_rank(context) == 0) {
        CHECK(det_distributed_barrier(context) == DET_COULD_NOT);
        CHECK(failed_with("transport", "rank 1"));
        CHECK(det_context_close(context) == DET_COULD_NOT);
    }
    det_context_destroy(context);
    return NULL;
}

const char* case_device_memory(det_context* context) {
    enum { STREAM = 7 };
    static int streams[STREAM + 1];
    det_operation* operation = NULL;
    void* event = NULL;
    float values[COUNT];
    int64_t parts[RANKS_MAX];
    int32_t rank = det_distributed_rank(context), size = det_distributed_size(context), is_over = 0, i;
    for (i = 0; i < COUNT; ++i) values[i] = (float)rank;
    CHECK_OK(det_distributed_allreduce(context, values, values, COUNT, DET_F32, DET_REDUCE_SUM));
    for (i = 0; i < COUNT; ++i) CHECK(values[i] == (float)(size * (size - 1) / 2));

    CHECK_OK(det_distributed_use_stream(context, &streams[rank]));
    for (i = 0; i < size; ++i) parts[i] = 10 * rank + i;
    CHECK_OK(det_distributed_all_to_all(context, parts, parts, 1, DET_I64));
    for (i = 0; i < size; ++i) CHECK(parts[i] == 10 * i + rank);

    CHECK_OK(det_distributed_start_broadcast(context, values, COUNT, DET_F32, 1, &operation));
    CHECK_OK(det_operation_event(operation, &event));
    CHECK(event != NULL);
    CHECK_OK(det_operation_wait(operation));
    CHECK_OK(det_operation_test(operation, &is_over));
    CHECK(is_over == 1);
    det_operation_destroy(operation);
    CHECK_OK(det_context_close(context));
    return NULL;
}

const char* case_no_such_devices(void) {
    det_context_options options = DET_CONTEXT_OPTIONS_INIT;
    det_context* context = NULL;
    options.devices = 9;
    CHECK(det_context_open(&options, &context) == DET_COULD_NOT && context == NULL);
    CHECK(failed_with("misuse", "there are no devices 9"));
    options.devices = DET_DEVICES_NONE;
    CHECK_OK(det_context_open(&options, &context));
    CHECK(det_distributed_use_stream(context, NULL) == DET_COULD_NOT);
    CHECK(failed_with("misuse", "devices"));
    CHECK_OK(det_context_close(context));
    det_context_destroy(context);
    return NULL;
}

/* Rank numbers that differ from those of the environment: RANK in reverse order. */
static det_ranks reversed_ranks(void) {
    det_ranks ranks = DET_RANKS_INIT;
    ranks.size = ranks.local_size = atoi(getenv("WORLD_SIZE"));
    ranks.rank = ranks.local_rank = ranks.size - 1 - atoi(getenv("RANK"));
    return ranks;
}

const char* case_numbered_by_the_program(void) {
    det_context* context = NULL;
    det_ranks ranks = reversed_ranks();
    det_strings* values = NULL;
    double sum = 1;
    int round;
    --ranks.local_size;
    CHECK(det_context_connect(&ranks, NULL, &context) == DET_COULD_NOT && context == NULL);
    CHECK(failed_with("misuse", "of 2"));
    for (round = 0; round < 3; ++round) { /* one after the other under one name */
        ranks = reversed_ranks();
        CHECK_OK(det_context_connect(&ranks, NULL, &context));
        CHECK(det_distributed_rank(context) == ranks.rank && det_context_info(context) == NULL);
        CHECK_OK(det_distributed_allreduce(context, &sum, &sum, 1, DET_F64, DET_REDUCE_SUM));
        CHECK_OK(det_context_join_run(context, NULL));
        CHECK(det_context_info(context) != NULL &&
              strcmp(det_context_hyperparameters(context), "{\"lr\":0.1}") == 0);
        CHECK(det_context_join_run(context, NULL) == DET_COULD_NOT && failed_with("misuse", "already"));
        if (ranks.rank == 0) CHECK_OK(det_train_report_training_metrics(context, 1, "{}"));
        CHECK_OK(det_distributed_allgather_bytes(context, ranks.rank == 0 ? "chief" : "other", 5, &values));
        CHECK(memcmp(det_strings_get(values, 0, NULL), "chief", 5) == 0);
        det_strings_destroy(values);
        CHECK_OK(det_context_close(context));
        det_context_destroy(context);
        context = NULL;
    }
    CHECK(sum == 27);
    return NULL;
}

const char* case_numbers_outside_of_a_run(void) {
    det_context* context = NULL;
    det_context_options options = DET_CONTEXT_OPTIONS_INIT;
    det_ranks ranks = reversed_ranks();
    double sum = 1;
    int round;
    unsetenv("DET_RUN_DIR");
    ranks.group = "of the test";
    options.checkpoint_storage = "{\"type\": \"directory\"}";
    for (round = 0; round < 2; ++round) {
        CHECK_OK(det_context_connect(&ranks, NULL, &context));
        CHECK_OK(det_distributed_allreduce(context, &sum, &sum, 1, DET_F64, DET_REDUCE_SUM));
        CHECK(det_context_join_run(context, &options) == DET_COULD_NOT &&
              failed_with("misuse", "has no path"));
        CHECK_OK(det_context_join_run(context, NULL));
        CHECK(det_context_info(context) == NULL);
        CHECK_OK(det_context_close(context));
        det_context_destroy(context);
    }
    CHECK(sum == 9);
    return NULL;
}

const char* case_numbers_on_several_nodes(void) {
    det_context* context = NULL;
    det_ranks ranks = reversed_ranks();
    double sum = 1;
    unsetenv("DET_RUN_DIR");
    ranks.cross_rank = ranks.rank;
    ranks.cross_size = ranks.size;
    ranks.local_rank = 0;
    ranks.local_size = 1;
    ranks.chief_address = "127.0.0.1";
    CHECK_OK(det_context_connect(&ranks, NULL, &context));
    CHECK(det_distributed_cross_rank(context) == ranks.rank);
    CHECK_OK(det_distributed_allreduce(context, &sum, &sum, 1, DET_F64, DET_REDUCE_SUM));
    CHECK_OK(det_context_close(context));
    det_context_destroy(context);
    CHECK(sum == 3);
    return NULL;
}
