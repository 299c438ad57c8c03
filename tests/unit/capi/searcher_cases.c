/* What C programs ask the searcher. */
#include "cases.h"
#include "check.h"

const char* case_batches_are_left(void) {
    det_context* context = NULL;
    uint64_t length = 1, left = 1;
    det_unit unit = DET_UNIT_STEPS;
    int32_t is_known = 0;
    CHECK_OK(det_context_open(NULL, &context));
    CHECK_OK(det_searcher_training_length(context, &length, &unit));
    CHECK(length == 9 && unit == DET_UNIT_EPOCHS);
    CHECK_OK(det_searcher_batches_left(context, 10, &is_known, &left));
    CHECK(is_known == 1 && left == 80);
    CHECK_OK(det_searcher_batches_left(context, 100, &is_known, &left));
    CHECK(is_known == 1 && left == 0);
    CHECK(det_searcher_batches_left(context, 100, NULL, &left) == DET_COULD_NOT);
    CHECK(det_searcher_batches_left(context, UINT64_MAX, &is_known, &left) == DET_COULD_NOT &&
          failed_with("misuse", "(-1 as a signed number)"));
    CHECK(det_searcher_training_length(NULL, &length, &unit) == DET_COULD_NOT);
    CHECK_OK(det_context_close(context));
    det_context_destroy(context);
    return NULL;
}

const char* case_no_length(void) {
    det_context* context = NULL;
    uint64_t length = 1, left = 7;
    det_unit unit = DET_UNIT_EPOCHS;
    int32_t is_known = 1;
    CHECK_OK(det_context_open(NULL, &context));
    CHECK_OK(det_searcher_training_length(context, &length, &unit));
    CHECK(length == 0 && unit == DET_UNIT_STEPS);
    CHECK_OK(det_searcher_batches_left(context, 0, &is_known, &left));
    CHECK(is_known == 0 && left == 7);
    CHECK(det_searcher_next_operation(context, DET_SEARCHER_CHIEF_ONLY, &length) == DET_COULD_NOT);
    CHECK(failed_with("misuse", "searcher.max_length is not configured"));
    CHECK_OK(det_context_close(context));
    det_context_destroy(context);
    return NULL;
}

const char* case_time_metric(void) {
    det_context* context = NULL;
    uint64_t length = 0, left = 7;
    det_unit unit = DET_UNIT_STEPS;
    int32_t is_known = 1;
    CHECK_OK(det_context_open(NULL, &context));
    CHECK_OK(det_searcher_training_length(context, &length, &unit));
    CHECK(length == 4 && unit == DET_UNIT_TIME_METRIC);
    CHECK_OK(det_searcher_batches_left(context, 0, &is_known, &left));
    CHECK(is_known == 0 && left == 7);
    CHECK_OK(det_context_close(context));
    det_context_destroy(context);
    return NULL;
}

const char* case_operations(void) {
    static const uint64_t lengths[] = {1, 3, 9, 0};
    det_context* context = NULL;
    uint64_t length = 0;
    int is_chief, i;
    CHECK_OK(det_context_open(NULL, &context));
    is_chief = det_distributed_rank(context) == 0;
    for (i = 0; i < 4; ++i) {
        CHECK_OK(det_searcher_next_operation(context, DET_SEARCHER_WORKERS_ASK_CHIEF, &length));
        CHECK(length == lengths[i]);
        if (length != 0 && is_chief) {
            CHECK_OK(det_searcher_report_progress(context, (double)length));
            CHECK_OK(det_searcher_report_completed(context, 0.5));
        }
    }
    if (is_chief) {
        CHECK(det_searcher_report_completed(context, 0.5) == DET_COULD_NOT);
        CHECK(failed_with("misuse", "without an operation"));
        CHECK(det_searcher_report_progress(context, 10) == DET_COULD_NOT);
        CHECK(failed_with("misuse", "between 0 and 9"));
    } else {
        CHECK(det_searcher_report_completed(context, 0.5) == DET_COULD_NOT && failed_with("misuse", "chief"));
        CHECK(det_searcher_next_operation(context, DET_SEARCHER_CHIEF_ONLY, &length) == DET_COULD_NOT);
    }
    CHECK(det_searcher_next_operation(context, 2, &length) == DET_COULD_NOT);
    CHECK(failed_with("misuse", "mode of the searcher 2"));
    CHECK_OK(det_context_close(context));
    det_context_destroy(context);
    return NULL;
}

const char* case_operations_ended_by_a_notice(void) {
    det_context* context = NULL;
    uint64_t length = 1;
    CHECK_OK(det_context_open(NULL, &context));
    CHECK_OK(det_searcher_peek_operation(context, DET_SEARCHER_WORKERS_ASK_CHIEF, &length));
    CHECK(length == 0);
    CHECK_OK(det_searcher_acknowledge_end(context));
    CHECK_OK(det_context_close(context));
    det_context_destroy(context);
    return NULL;
}
