/* Reports and preemption from C. */
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "check.h"

const char* case_info_of_the_run(void) {
    det_context* context = NULL;
    const char* info;
    CHECK_OK(det_context_open(NULL, &context));
    info = det_context_info(context);
    CHECK(info != NULL && strstr(info, "\"allocation_id\":\"7.3.2\"") != NULL);
    CHECK(strstr(info, "\"rendezvous\":{") != NULL && strstr(info, "\"trial\":{") != NULL);
    CHECK(strcmp(det_context_hyperparameters(context), "{\"lr\":0.1}") == 0);
    CHECK_OK(det_context_close(context));
    det_context_destroy(context);
    return NULL;
}

const char* case_reports(void) {
    const char* const names[] = {"loss", "accuracy"};
    const double values[] = {0.5, 0.875};
    const char* const no_name[] = {NULL};
    det_context* context = NULL;
    double means[] = {0, 0};
    CHECK_OK(det_context_open(NULL, &context));
    CHECK_OK(det_train_report_mean(context, "validation", 9, names, values, 2, means));
    CHECK(means[0] == 0.5 && means[1] == 0.875);
    CHECK_OK(det_train_report_mean(context, "validation", 9, names, values, 2, NULL));
    CHECK(det_train_report_mean(context, "a.b", 9, names, values, 2, means) == DET_COULD_NOT);
    CHECK(det_train_report_mean(context, "validation", det_distributed_rank(context) == 1 ? UINT64_MAX : 9,
                                names, values, 2, means) == DET_COULD_NOT);
    CHECK(failed_with("misuse", "(-1 as a signed number)"));
    CHECK_OK(det_train_flush(context));
    if (det_distributed_rank(context) != 0) {
        CHECK(det_train_report_progress(context, 0.5) == DET_COULD_NOT && failed_with("misuse", "chief"));
    } else {
        CHECK_OK(det_train_report_training_metrics(context, 10, "{\"loss\": 2}"));
        CHECK_OK(det_train_report_validation_metrics(context, 10, "{\"loss\": 3}"));
        CHECK_OK(det_train_report_metrics(context, "mine", 11, "{\"list\": [1, 2]}"));
        CHECK_OK(det_train_report_numbers(context, "training", 20, names, values, 2));
        CHECK_OK(det_train_report_progress(context, 0.25));
        det_timing* const load = det_timing_register("load");
        CHECK(load != NULL && load == det_timing_register("load") && det_timing_register(NULL) == NULL);
        det_span_end(load, det_span_begin());
        det_span_end(load, det_span_begin());
        det_span_end(NULL, det_span_begin());
        CHECK_OK(det_train_report_timings(context, 20));
        CHECK(det_train_report_training_metrics(context, 1, "{loss: 2}") == DET_COULD_NOT);
        CHECK(failed_with("misuse", "metrics is no JSON: {loss: 2}"));
        CHECK(det_train_report_training_metrics(context, 1, "[1]") == DET_COULD_NOT);
        CHECK(det_train_report_training_metrics(context, 1, NULL) == DET_COULD_NOT);
        CHECK(det_train_report_numbers(context, "training", 1, no_name, values, 1) == DET_COULD_NOT);
        CHECK(det_train_report_numbers(context, "training", 1, NULL, values, 1) == DET_COULD_NOT);
        CHECK(det_train_report_metrics(context, "a.b", 1, "{}") == DET_COULD_NOT);
        CHECK(det_train_report_training_metrics(context, UINT64_MAX, "{\"loss\": 2}") == DET_COULD_NOT);
        CHECK(failed_with("misuse", "steps_completed is 18446744073709551615 (-1 as a signed number)"));
        CHECK(det_train_report_validation_metrics(context, UINT64_MAX, "{\"loss\": 2}") == DET_COULD_NOT);
        CHECK(det_train_report_numbers(context, "training", UINT64_MAX, names, values, 2) == DET_COULD_NOT);
        CHECK(det_train_report_timings(context, UINT64_MAX) == DET_COULD_NOT);
        CHECK(det_train_report_progress(context, 2) == DET_COULD_NOT);
        const size_t size = ((size_t)16 << 20) + 20;
        char* const large = malloc(size);
        CHECK(large != NULL);
        memset(large, 'x', size);
        memcpy(large, "{\"text\":\"", 9);
        memcpy(large + size - 3, "\"}", 3);
        const int32_t status = det_train_report_training_metrics(context, 30, large);
        free(large);
        CHECK(status == DET_COULD_NOT && failed_with("report-too-large", "at most 16777216 (16 MiB)"));
    }
    CHECK_OK(det_context_close(context));
    det_context_destroy(context);
    return NULL;
}

const char* case_preempted(void) {
    det_context* context = NULL;
    int32_t should_stop = 0;
    CHECK_OK(det_context_open(NULL, &context));
    CHECK(det_preempt_should_preempt(context, NULL) == DET_COULD_NOT);
    CHECK_OK(det_preempt_should_preempt(context, &should_stop));
    CHECK_OK(det_preempt_should_preempt(context, &should_stop));
    CHECK(should_stop == 1);
    CHECK_OK(det_context_close(context));
    det_context_destroy(context);
    return NULL;
}

const char* case_not_preempted(void) {
    det_context* context = NULL;
    int32_t should_stop = 1, i;
    CHECK_OK(det_context_open(NULL, &context));
    for (i = 0; i < 3; ++i) {
        CHECK_OK(det_preempt_should_preempt(context, &should_stop));
        CHECK(should_stop == 0);
    }
    CHECK_OK(det_context_close(context));
    det_context_destroy(context);
    return NULL;
}

const char* case_acknowledged_later(void) {
    det_context_options options = DET_CONTEXT_OPTIONS_INIT;
    det_context* context = NULL;
    int32_t should_stop = 0;
    options.preempt_mode = 3;
    CHECK(det_context_open(&options, &context) == DET_COULD_NOT && failed_with("misuse", "preemption 3"));
    options.preempt_mode = DET_CHIEF_ONLY;
    CHECK_OK(det_context_open(&options, &context));
    if (det_distributed_rank(context) == 0) {
        CHECK_OK(det_preempt_peek(context, &should_stop));
        CHECK(should_stop == 1);
        CHECK_OK(det_preempt_acknowledge(context));
    }
    CHECK_OK(det_context_close(context));
    det_context_destroy(context);
    return NULL;
}

const char* case_told_of_the_trial(void) {
    det_context* context = NULL;
    det_strings *metadata = NULL, *path = NULL;
    int32_t is_found = 1;
    double best = 0;
    uint64_t last = 0;
    CHECK_OK(det_context_open(NULL, &context));
    CHECK_OK(det_train_find_experiment_best_validation(context, &is_found, &best));
    CHECK(is_found == 0);
    CHECK_OK(det_train_find_last_steps(context, &is_found, &last));
    CHECK(is_found == 0);
    CHECK_OK(det_train_report_validation_metrics(context, 1, "{\"loss\": 3}"));
    CHECK_OK(det_train_report_validation_metrics(context, 2, "{\"loss\": 2, \"other\": 1}"));
    CHECK_OK(det_train_report_validation_metrics(context, 3, "{\"loss\": null}"));
    CHECK_OK(det_train_find_experiment_best_validation(context, &is_found, &best));
    CHECK(is_found == 1 && best == 2);
    CHECK_OK(det_train_find_last_steps(context, &is_found, &last));
    CHECK(is_found == 1 && last == 3);
    CHECK_OK(det_train_set_status(context, "warming up"));
    CHECK_OK(det_train_report_alert(context, "loss", NULL, DET_ALERT_WARN));
    CHECK(det_train_report_alert(context, NULL, NULL, 4) == DET_COULD_NOT &&
          failed_with("misuse", "level 4"));
    CHECK_OK(det_train_set_metadata(context, "{\"first\": 1}"));
    CHECK_OK(det_train_set_metadata(context, "{\"data\": {\"version\": 2}}"));
    CHECK(det_train_set_metadata(context, "3") == DET_COULD_NOT && failed_with("misuse", "map"));
    CHECK_OK(det_train_load_metadata(context, &metadata));
    CHECK(strcmp(det_strings_get(metadata, 0, NULL), "{\"data\":{\"version\":2}}") == 0);
    det_strings_destroy(metadata);
    CHECK_OK(det_train_make_tensorboard_directory(context, &path));
    CHECK(det_strings_count(path) == 1);
    det_strings_destroy(path);
    CHECK_OK(det_train_report_early_exit(context, DET_INVALID_HP));
    CHECK_OK(det_train_report_early_exit(context, DET_USER_REQUESTED_STOP));
    CHECK(det_train_report_early_exit(context, -1) == DET_COULD_NOT && failed_with("misuse", "reason -1"));
    CHECK_OK(det_context_close(context));
    det_context_destroy(context);
    return NULL;
}
