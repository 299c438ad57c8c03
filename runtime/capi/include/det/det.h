/* det.h: what training code has of the run it is part of, for C and whatever can call C.
 *
 *     det_context *context = NULL;
 *     if (det_context_open(NULL, &context) != DET_OK) { fputs(det_error_text(), stderr); return 1; }
 *     det_distributed_allreduce(context, gradient, gradient, count, DET_F32, DET_REDUCE_MEAN);
 *     det_context_close(context);
 *     det_context_destroy(context);
 *
 * On a cluster a context finds its experiment, its peers and its journal by the environment; started by hand
 * it is a single rank, and reports go nowhere.
 *
 * Errors. A call that can fail returns a det_status; what went wrong is kept for the thread:
 * det_error_message() and its neighbours. Outputs are set only where it is DET_OK. Nothing is thrown, and
 * nothing printed but warnings. NULL where a pointer is needed is an error with the code "misuse".
 *
 * Ownership. Who gets an object by a `det_x **` frees it by det_x_destroy(), which takes NULL. Objects made
 * of a context keep what they need of it: the order in which all of them are freed does not matter. Text that
 * a call returns belongs to the object that it was asked of. Arguments are not kept beyond the call, unless
 * it is said.
 *
 * Threads. One at a time with a context and with what was made of it, in the same order on all ranks.
 * Different contexts are independent.
 *
 * Collective calls are made by all ranks, in the same order. Where ranks differ in what they call, each of
 * them gets the same error, which names two that differ; the next call can be tried.
 *
 * Units. Sizes end in _bytes, times in _us; counts are elements.
 *
 * Growth. Structures begin with their size; initialise them by the macro that stands below each. Members and
 * functions are only ever added, and a new member that is zero changes nothing. */
#ifndef DET_DET_H
#define DET_DET_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DET_API __attribute__((visibility("default")))

/* "0.1.0" */
DET_API const char* det_version(void);

/* ------------------------------------------------------------------------------------------------ errors */

/* The exit codes of all our programs, so that main may return one. There may be more in time. */
typedef int32_t det_status;
enum {
    DET_OK = 0,
    DET_COULD_NOT = 1,
    DET_BAD_FILE = 3, /* what a file says */
    DET_ABSENT = 4,   /* a named thing is not there: a checkpoint, a file */
    DET_TIMED_OUT = 7,
    DET_CHECKPOINT_DAMAGED = 8,
    DET_INTERNAL = 70 /* our fault: please report */
};

/* Of the thread's last call that failed, until its next one that does; never NULL, empty before the first.
 * code: a stable word, "misuse" or "no-such-checkpoint". hint: what to do about it, or empty.
 * text: all of it in lines, as our programs print it. */
DET_API const char* det_error_code(void);
DET_API const char* det_error_message(void);
DET_API const char* det_error_hint(void);
DET_API const char* det_error_text(void);

/* ----------------------------------------------------------------------------------------------- context */

typedef struct det_context det_context;

/* Who asks for a notice, and who is told. */
typedef int32_t det_preempt_mode;
enum {
    DET_WORKERS_ASK_CHIEF = 0, /* every rank, at the same steps; all get the same answer */
    DET_CHIEF_ONLY = 1,        /* the chief alone, for what is on its own node */
    DET_WORKERS_ASK_MASTER = 2 /* each rank when it likes, for what is on its own node; answers differ */
};

/* What buffers of collectives and tensors of checkpoints may be. */
typedef int32_t det_devices;
enum {
    DET_DEVICES_NONE = 0, /* memory of this process */
    DET_DEVICES_NCCL = 1  /* memory of its CUDA device too */
};

typedef struct det_context_options {
    size_t struct_size;
    /* Where checkpoints go outside of an experiment. NULL: "checkpoints". */
    const char* checkpoint_path;
    /* Told, inside a call, when this rank has waited for another for a minute, and for which; and where
     * copies of device tensors are slower than they could be. NULL: stderr is. */
    void (*on_warning)(const char* warning, void* user);
    void* user;
    det_preempt_mode preempt_mode;
    /* The same on all ranks. With NCCL each rank has made its own device the current one before it opens the
     * context, and keeps it so in calls with device memory. */
    det_devices devices;
} det_context_options;
#define DET_CONTEXT_OPTIONS_INIT \
    { sizeof(det_context_options), NULL, NULL, NULL, DET_WORKERS_ASK_CHIEF, DET_DEVICES_NONE }

/* Collective. options: NULL for none. */
DET_API det_status det_context_open(const det_context_options* options, det_context** context);
/* Collective, the last call: saves that are under way end first, and nobody returns before everybody's work
 * is done. The context is still to be destroyed. */
DET_API det_status det_context_close(det_context* context);
/* One that was not closed leaves its peers without a word: a rank that fails alone ends then, and what waits
 * for it gets an error. */
DET_API void det_context_destroy(det_context* context);

/* JSON: {"run_dir", "cluster", "rendezvous", "trial"}, the files of DET_RUN_DIR/info; "trial" only in an
 * experiment. NULL outside of a run. */
DET_API const char* det_context_info(const det_context* context);
/* JSON: the trial's; {} outside of an experiment. */
DET_API const char* det_context_hyperparameters(const det_context* context);

/* --------------------------------------------------------------------------------------------- distributed
 */

/* Who this rank is, from 0; rank 0 is the chief. local: among the ranks of its node; cross: its node among
 * the nodes. -1 where context is NULL. */
DET_API int32_t det_distributed_rank(const det_context* context);
DET_API int32_t det_distributed_size(const det_context* context);
DET_API int32_t det_distributed_local_rank(const det_context* context);
DET_API int32_t det_distributed_local_size(const det_context* context);
DET_API int32_t det_distributed_cross_rank(const det_context* context);
DET_API int32_t det_distributed_cross_size(const det_context* context);

/* Types of elements. Tensors of checkpoints may have any; collectives know U8, I32, I64, F32, F64, F16 and
 * BF16. */
typedef int32_t det_dtype;
enum {
    DET_BOOL = 0,
    DET_U8 = 1,
    DET_I8 = 2,
    DET_F8_E4M3 = 3,
    DET_F8_E5M2 = 4,
    DET_U16 = 5,
    DET_I16 = 6,
    DET_F16 = 7,
    DET_BF16 = 8,
    DET_U32 = 9,
    DET_I32 = 10,
    DET_F32 = 11,
    DET_U64 = 12,
    DET_I64 = 13,
    DET_F64 = 14
};

/* The mean is of floating point. Sums and products of integers wrap; a NaN on any rank is one in the result.
 * F16 and BF16 are combined as F32 and rounded once. Results have the same bits on all ranks, and from run to
 * run. */
typedef int32_t det_reduce_op;
enum { DET_REDUCE_SUM = 0, DET_REDUCE_MEAN = 1, DET_REDUCE_MIN = 2, DET_REDUCE_MAX = 3, DET_REDUCE_PROD = 4 };

/* Collective. in == out, or they do not overlap. part_count elements belong to each rank, in rank order;
 * `part` may lie where this rank's part of `all` is. reduce: out is looked at on `to` alone. */
DET_API det_status det_distributed_allreduce(det_context* context, const void* in, void* out, size_t count,
                                             det_dtype dtype, det_reduce_op op);
DET_API det_status det_distributed_reduce(det_context* context, const void* in, void* out, size_t count,
                                          det_dtype dtype, det_reduce_op op, int32_t to);
DET_API det_status det_distributed_reduce_scatter(det_context* context, const void* all, void* part,
                                                  size_t part_count, det_dtype dtype, det_reduce_op op);
DET_API det_status det_distributed_allgather(det_context* context, const void* part, void* all,
                                             size_t part_count, det_dtype dtype);
DET_API det_status det_distributed_all_to_all(det_context* context, const void* in, void* out,
                                              size_t part_count, det_dtype dtype);
DET_API det_status det_distributed_broadcast(det_context* context, void* data, size_t count, det_dtype dtype,
                                             int32_t from);
/* On devices (det_context_options.devices): buffers of a call lie all in device memory or all in the host's.
 * Work in device memory, copies for checkpoints too, is put on the stream, a cudaStream_t, that was named
 * last; NULL, as at the beginning: the default one. Ranks may use different ones. Not collective. "misuse"
 * where the context has no devices. */
DET_API det_status det_distributed_use_stream(det_context* context, void* stream);
/* Nobody returns before everybody has come. */
DET_API det_status det_distributed_barrier(det_context* context);

/* The same, started now. What was started goes on, in the order in which it was started, inside test and wait
 * of any operation and inside any other call of the context; buffers are not to be touched before it is over.
 */
typedef struct det_operation det_operation;

DET_API det_status det_distributed_start_allreduce(det_context* context, const void* in, void* out,
                                                   size_t count, det_dtype dtype, det_reduce_op op,
                                                   det_operation** operation);
DET_API det_status det_distributed_start_reduce(det_context* context, const void* in, void* out, size_t count,
                                                det_dtype dtype, det_reduce_op op, int32_t to,
                                                det_operation** operation);
DET_API det_status det_distributed_start_reduce_scatter(det_context* context, const void* all, void* part,
                                                        size_t part_count, det_dtype dtype, det_reduce_op op,
                                                        det_operation** operation);
DET_API det_status det_distributed_start_allgather(det_context* context, const void* part, void* all,
                                                   size_t part_count, det_dtype dtype,
                                                   det_operation** operation);
DET_API det_status det_distributed_start_all_to_all(det_context* context, const void* in, void* out,
                                                    size_t part_count, det_dtype dtype,
                                                    det_operation** operation);
DET_API det_status det_distributed_start_broadcast(det_context* context, void* data, size_t count,
                                                   det_dtype dtype, int32_t from, det_operation** operation);

/* is_over: 1 where det_operation_wait() would return at once, else 0. */
DET_API det_status det_operation_test(det_operation* operation, int32_t* is_over);
/* The result of the operation; may be asked for again. */
DET_API det_status det_operation_wait(det_operation* operation);
/* In device memory an operation goes on by itself. event: a cudaEvent_t of the operation, for which other
 * streams may wait in place of det_operation_wait(); NULL where there is none. It is the operation's. */
DET_API det_status det_operation_event(det_operation* operation, void** event);
/* Waits first. */
DET_API void det_operation_destroy(det_operation* operation);

/* Byte strings of any size. A string has a 0 behind its last byte, which is not counted, so that text can be
 * read as text. */
typedef struct det_strings det_strings;

DET_API size_t det_strings_count(const det_strings* strings);
/* size_bytes may be NULL. NULL where there is no such string. */
DET_API const char* det_strings_get(const det_strings* strings, size_t index, size_t* size_bytes);
DET_API void det_strings_destroy(det_strings* strings);

/* Collective, with sizes that may differ between ranks. gather: the list is empty on all but the chief.
 * broadcast: a list of one, what `from` has; what the others pass is not looked at. _local: among the ranks
 * of this node, in the order of their local ranks; what local rank 0 has. */
DET_API det_status det_distributed_gather_bytes(det_context* context, const void* data, size_t size_bytes,
                                                det_strings** values);
DET_API det_status det_distributed_allgather_bytes(det_context* context, const void* data, size_t size_bytes,
                                                   det_strings** values);
DET_API det_status det_distributed_broadcast_bytes(det_context* context, const void* data, size_t size_bytes,
                                                   int32_t from, det_strings** value);
DET_API det_status det_distributed_gather_bytes_local(det_context* context, const void* data,
                                                      size_t size_bytes, det_strings** values);
DET_API det_status det_distributed_allgather_bytes_local(det_context* context, const void* data,
                                                         size_t size_bytes, det_strings** values);
DET_API det_status det_distributed_broadcast_bytes_local(det_context* context, const void* data,
                                                         size_t size_bytes, det_strings** value);

/* Memory on which collectives need no copies where that can be had: for gradients and other large data. Zeros
 * at first, aligned to 4096 bytes. Not collective. To destroy one waits for the operations that were started
 * with it. */
typedef struct det_buffer det_buffer;

DET_API det_status det_buffer_allocate(det_context* context, size_t size_bytes, det_buffer** buffer);
DET_API void* det_buffer_data(const det_buffer* buffer);
DET_API size_t det_buffer_size_bytes(const det_buffer* buffer);
DET_API void det_buffer_destroy(det_buffer* buffer);

/* ----------------------------------------------------------------------------------------------- preempt */

/* Collective, at the same steps on all ranks, which all get the same answer: should_stop of the k-th call is
 * 1 once any of them had been given notice before its call k-1, or all of them before their call k, else 0.
 * Cheap enough for every step. At the first 1 the chief acknowledges in its journal: from then on
 * the end of the program is a pause to be resumed. Save, close, and return from main with 0. */
DET_API det_status det_preempt_should_preempt(det_context* context, int32_t* should_stop);
/* The same without the acknowledgement, which is then a call of its own; on other ranks than the chief it
 * does nothing. */
DET_API det_status det_preempt_peek(det_context* context, int32_t* should_stop);
DET_API det_status det_preempt_acknowledge(det_context* context);

/* ------------------------------------------------------------------------------------------------- train */

/* The chief's alone: "misuse" on other ranks. Nothing waits for a disk. steps_completed: batches since the
 * trial's beginning. metrics: a JSON object, names to values. group: a name without a dot. */
DET_API det_status det_train_report_training_metrics(det_context* context, uint64_t steps_completed,
                                                     const char* metrics);
DET_API det_status det_train_report_validation_metrics(det_context* context, uint64_t steps_completed,
                                                       const char* metrics);
DET_API det_status det_train_report_metrics(det_context* context, const char* group, uint64_t steps_completed,
                                            const char* metrics);
/* The same from numbers: names[i] is values[i], for i < count. */
DET_API det_status det_train_report_numbers(det_context* context, const char* group, uint64_t steps_completed,
                                            const char* const* names, const double* values, size_t count);
/* From 0 to 1. */
DET_API det_status det_train_report_progress(det_context* context, double progress);

/* -------------------------------------------------------------------------------------------- checkpoint */

/* The text of a UUID and its end. */
#define DET_UUID_SIZE 37

/* metadata, where it is asked for: a JSON object, or NULL for none; "steps_completed" is added. */

/* The newest checkpoint of this trial, from which it is to go on: "" at its first start. */
DET_API det_status det_checkpoint_latest(det_context* context, char uuid[DET_UUID_SIZE]);
/* Its directory, a list of one, once every file was found as its manifest says. For reading only. */
DET_API det_status det_checkpoint_restore_path(det_context* context, const char* uuid, det_strings** path);
/* Its manifest, a list of one. */
DET_API det_status det_checkpoint_manifest(det_context* context, const char* uuid, det_strings** manifest);

/* Files of the chief's own: a directory to fill, which commit makes a checkpoint. Destroyed without, it is
 * removed. Strings live as long as the draft. */
typedef struct det_checkpoint_draft det_checkpoint_draft;

DET_API det_status det_checkpoint_draft_open(det_context* context, uint64_t steps_completed,
                                             const char* metadata, det_checkpoint_draft** draft);
DET_API const char* det_checkpoint_draft_uuid(const det_checkpoint_draft* draft);
DET_API const char* det_checkpoint_draft_directory(const det_checkpoint_draft* draft);
/* Returns when everything is on disk. */
DET_API det_status det_checkpoint_draft_commit(det_checkpoint_draft* draft);
DET_API void det_checkpoint_draft_destroy(det_checkpoint_draft* draft);

/* Collective: one checkpoint of the files that ranks bring, each from a directory of its own, or NULL for
 * nothing. The same file may come from several ranks; different ones of a name are refused. The metadata of
 * all ranks is merged. */
DET_API det_status det_checkpoint_upload(det_context* context, uint64_t steps_completed, const char* metadata,
                                         const char* directory, char uuid[DET_UUID_SIZE]);

/* Fills a directory with files. What is not DET_OK is why it could not; then there is no checkpoint. */
typedef det_status (*det_write)(const char* directory, void* user);

/* Collective: all ranks fill a directory, which is one for all where the storage is a file system, and their
 * own elsewhere. The rules are those of upload. Returns when everything is on disk; what went wrong on one
 * rank is an error on all. */
DET_API det_status det_checkpoint_store_sharded(det_context* context, uint64_t steps_completed,
                                                const char* metadata, det_write write, void* user,
                                                char uuid[DET_UUID_SIZE]);
/* Collective, after should_preempt: the chief fills a directory, if there is time for it as save_last counts
 * it. is_stored: 0, on all ranks, where there is not: the trial will go on from the checkpoint before. write
 * and metadata of other ranks are not looked at; what goes wrong on the chief is an error on all. */
DET_API det_status det_checkpoint_store_last(det_context* context, uint64_t steps_completed,
                                             const char* metadata, det_write write, void* user,
                                             int32_t* is_stored);

/* Tensors, and this rank's parts of them in memory: dense, row by row. Parts of a name on several ranks make
 * a whole; ranks that hold the same part hold the same values.
 * Where the context has devices (det_context_options.devices) the memory may be the device's, of some tensors
 * or of all. It is copied behind the work on the stream that det_distributed_use_stream named last: what
 * other streams do with it the program waits for itself. */
typedef struct det_state det_state;

typedef struct det_tensor {
    size_t struct_size;
    const char* name;
    void* data; /* saving reads it, loading writes it; must outlive the state */
    det_dtype dtype;
    uint32_t dimensions;   /* how long the arrays are; 0 is a scalar */
    const uint64_t* shape; /* of the whole */
    const uint64_t* begin; /* of this rank's part; NULL, with part_shape: it is the whole */
    const uint64_t* part_shape;
} det_tensor;
#define DET_TENSOR_INIT \
    { sizeof(det_tensor), NULL, NULL, 0, 0, NULL, NULL, NULL }

DET_API det_status det_state_create(det_state** state);
DET_API det_status det_state_add(det_state* state, const det_tensor* tensor);
DET_API void det_state_destroy(det_state* state);

/* A save that has come to its end. */
typedef struct det_outcome {
    size_t struct_size;
    char uuid[DET_UUID_SIZE];
    uint64_t steps_completed;
    det_status status; /* DET_OK: it is a checkpoint */
    const char* code;  /* of the error, or NULL; strings belong to the list */
    const char* message;
} det_outcome;
#define DET_OUTCOME_INIT \
    { sizeof(det_outcome), "", 0, 0, NULL, NULL }

typedef struct det_outcomes det_outcomes;

DET_API size_t det_outcomes_count(const det_outcomes* outcomes);
DET_API det_status det_outcomes_get(const det_outcomes* outcomes, size_t index, det_outcome* outcome);
DET_API void det_outcomes_destroy(det_outcomes* outcomes);

typedef struct det_saved {
    size_t struct_size;
    char uuid[DET_UUID_SIZE]; /* of the checkpoint that it becomes */
    int64_t waited_us;        /* for an earlier save to end: the disk is slower than the training */
    int64_t copied_us;
} det_saved;
#define DET_SAVED_INIT \
    { sizeof(det_saved), "", 0, 0 }

/* Collective, all four. save returns when the state has been copied and may change again: it is written while
 * training goes on, and becomes a checkpoint later. prepare makes memory ready (and pins it, where tensors
 * lie on a device), so that the first save is as quick as all. poll goes on with what can go on, without
 * waiting for a disk: for every step. finish waits until every save has ended. They tell which saves have
 * ended since they were asked last; where outcomes is NULL, one that failed is the call's error. saved may be
 * NULL. */
DET_API det_status det_checkpoint_prepare(det_context* context, const det_state* state);
DET_API det_status det_checkpoint_save(det_context* context, uint64_t steps_completed, const char* metadata,
                                       const det_state* state, det_saved* saved);
DET_API det_status det_checkpoint_poll(det_context* context, det_outcomes** outcomes);
DET_API det_status det_checkpoint_finish(det_context* context, det_outcomes** outcomes);

/* Collective: the last one, after should_preempt, and finish() in one. Where less time is left than one and a
 * half times what the last checkpoint took, the state is not saved any more: what was copied before is
 * committed, and training goes on from there. */
DET_API det_status det_checkpoint_save_last(det_context* context, uint64_t steps_completed,
                                            const char* metadata, const det_state* state,
                                            det_outcomes** outcomes);

/* What to do where the newest checkpoint is damaged. */
typedef int32_t det_on_damage;
enum { DET_FAIL = 0, DET_TAKE_OLDER = 1 };

typedef struct det_loaded {
    size_t struct_size;
    char uuid[DET_UUID_SIZE]; /* "": there was none to load, this is the trial's first start */
    uint64_t steps_completed;
    uint64_t passed_over; /* newer ones that are damaged */
} det_loaded;
#define DET_LOADED_INIT \
    { sizeof(det_loaded), "", 0, 0 }

/* Collective: fills each rank's parts from the newest checkpoint of this trial, however many ranks have saved
 * it and however they had cut it. After an error the state's data is not to be used. */
DET_API det_status det_checkpoint_load(det_context* context, const det_state* state, det_on_damage on_damage,
                                       det_loaded* loaded);

#ifdef __cplusplus
}
#endif
#endif
