/* Each case does what a C program does with libdet, as one rank. It returns NULL if all checks hold, else a
 * description of the failed check, which is valid until the next call. */
#ifndef DET_TESTS_CAPI_CASES_H
#define DET_TESTS_CAPI_CASES_H

#include <det/det.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Runs as one of several ranks that are threads. All their memory counts as device memory. */
const char* case_device_memory(det_context* context);

/* For one of two ranks that are threads: device memory that only copy() can read and write. */
struct device {
    void* memory;
    void (*copy)(const struct device* device, void* to, const void* from, size_t size_bytes);
    void* own;
};
const char* case_tensors_on_devices(det_context* context, const struct device* device);

const char* case_tensors(void);
const char* case_started_operations(void);
const char* case_byte_strings(void);
const char* case_ranks_that_differ(void);
const char* case_what_one_rank_refuses(void);
const char* case_some_of_the_ranks(void);
const char* case_objects_outlive_their_context(void);
const char* case_a_rank_that_leaves(void);
const char* case_a_single_rank(void);
const char* case_no_such_devices(void);
const char* case_null_arguments(void);
const char* case_options_of_other_versions(void);
const char* case_layouts(void);

const char* case_info_of_the_run(void);
const char* case_reports(void);
const char* case_preempted(void);
const char* case_not_preempted(void);
const char* case_acknowledged_later(void);
const char* case_told_of_the_trial(void);
const char* case_batches_are_left(void);
const char* case_no_length(void);
const char* case_time_metric(void);
const char* case_operations(void);
const char* case_operations_ended_by_a_notice(void);
const char* case_numbered_by_the_program(void);
const char* case_numbers_outside_of_a_run(void);
const char* case_numbers_on_several_nodes(void);

const char* case_stored_directory(void);
const char* case_uploaded_files(void);
const char* case_stored_by_all(void);
const char* case_draft_of_all_ranks(void);
const char* case_downloaded_files(void);
const char* case_last_store(void);
const char* case_no_time_for_a_last_store(void);
const char* case_tensors_are_saved_and_loaded(void);
const char* case_states_that_are_refused(void);
const char* case_newest_checkpoint(void);

#ifdef __cplusplus
}
#endif
#endif
