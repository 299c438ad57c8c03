/**
 * \file det.h
 * The Core API for training programs: information about the run, collectives, preemption, reports and
 * checkpoints. For C, and for any language that can call C.
 *
 *     det_context *context = NULL;
 *     if (det_context_open(NULL, &context) != DET_OK) { fputs(det_error_text(), stderr); return 1; }
 *     det_distributed_allreduce(context, gradient, gradient, count, DET_F32, DET_REDUCE_MEAN);
 *     det_context_close(context);
 *     det_context_destroy(context);
 *
 * On a cluster a context finds its experiment, its peers and its journal through the environment. A program
 * that is started by hand is a single rank, and its reports are discarded.
 *
 * Errors. A call that can fail returns a det_status. The error is kept for the calling thread:
 * det_error_message() and the functions beside it. Outputs are set only if the status is DET_OK, except that
 * buffers of collectives and tensors may be written in part. Nothing is thrown. Only warnings are printed,
 * and what DET_DEBUG asks for. In a call that returns a det_status, NULL where a pointer is required is an
 * error with the code "misuse".
 *
 * Ownership. The caller owns an object that it got through a `det_x **`, and frees it with det_x_destroy(),
 * which accepts NULL. An object made from a context keeps the parts of the context that it needs: objects and
 * context may be destroyed in any order. Text that a call returns belongs to the object that was passed. A
 * call does not keep its arguments after it returns, unless its comment says so.
 *
 * Thread safety. One thread at a time may use a context and the objects made from it, in the same order on
 * all ranks. Different contexts are independent. The calls of det_train_*, except det_train_report_mean(),
 * may be made by any thread at any time between the opening and the closing of the context, but not during
 * det_context_join_run().
 *
 * Collective calls are made by all ranks, in the same order. If ranks differ in the call or its arguments,
 * each rank gets the same error, which names two ranks that differ; the next call can succeed.
 *
 * Units. Sizes end in _bytes, times in _us. A count is a number of elements.
 *
 * Growth. Structures begin with struct_size; initialise them with the macro below each. Later versions only
 * add members and functions. A new member that is zero changes nothing.
 */
#ifndef DET_DET_H
#define DET_DET_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DET_API __attribute__((visibility("default")))

/** \return the version of the library: "0.1.0". Static. */
DET_API const char* det_version(void);

/* ------------------------------------------------------------------------------------------------ errors */

/** The result of a call. The values are the exit codes of all programs of det-submit, so main may return one.
 * Later versions may add values. */
typedef int32_t det_status;
enum {
    DET_OK = 0,
    DET_COULD_NOT = 1,          /**< any failure that has no status of its own */
    DET_BAD_FILE = 3,           /**< the contents of a file are wrong */
    DET_ABSENT = 4,             /**< a named thing does not exist: a checkpoint, a file */
    DET_TIMED_OUT = 7,          /**< a rank, a disk or a device took too long */
    DET_CHECKPOINT_DAMAGED = 8, /**< a checkpoint is not what its run wrote */
    DET_INTERNAL = 70           /**< a bug of det-submit: please report it */
};

/** The code of the error of this thread's last call that failed: a stable word such as "misuse" or
 * "no-such-checkpoint". Valid until the next call of this thread that fails; "" before the first. Never NULL.
 * The same holds for the three functions below. */
DET_API const char* det_error_code(void);
/** What happened, in one line. */
DET_API const char* det_error_message(void);
/** What to do about it, or "". */
DET_API const char* det_error_hint(void);
/** All of the error in lines, as the programs of det-submit print it. */
DET_API const char* det_error_text(void);

/* ----------------------------------------------------------------------------------------------- context */

/** A rank's connection to the other ranks and to its run. */
typedef struct det_context det_context;

/** Which ranks ask whether the run should stop (det_preempt_should_preempt()), and which get the answer. */
typedef int32_t det_preempt_mode;
enum {
    DET_WORKERS_ASK_CHIEF = 0, /**< every rank asks, at the same steps; all get the same answer */
    DET_CHIEF_ONLY = 1,        /**< only the chief asks, about its own node */
    DET_WORKERS_ASK_MASTER = 2 /**< any rank asks at any time, about its own node; answers may differ */
};

/** Where buffers of collectives and tensors of checkpoints may lie. */
typedef int32_t det_devices;
enum {
    DET_DEVICES_NONE = 0, /**< in memory of this process */
    /** also in memory of its CUDA device, which needs libcuda.so.1; collectives on it need libnccl.so.2 too
     */
    DET_DEVICES_NCCL = 1,
    /** also in memory of its AMD GPU, which needs HIP's library (libamdhip64.so); collectives on it need
     * librccl.so.1 too. Streams and events are those of HIP. */
    DET_DEVICES_RCCL = 2
};

typedef struct det_context_options {
    size_t struct_size; /**< set by DET_CONTEXT_OPTIONS_INIT */
    /** The directory for checkpoints outside of an experiment. NULL: "checkpoints". */
    const char* checkpoint_path;
    /** Called with a warning if this rank has waited a minute for another rank or its device, or if copies of
     * device tensors are slower than they could be; on the chief also if reports are dropped, or if reports
     * or metrics for TensorBoard can't be written. Called inside a call of this library, or, for reports, by
     * a thread of this library. NULL: the warning goes to stderr. */
    void (*on_warning)(const char* warning, void* user);
    void* user;                    /**< passed to on_warning; must outlive the context */
    det_preempt_mode preempt_mode; /**< must be the same on all ranks */
    /** Must be the same on all ranks. With other devices than none each rank makes its own device the
     * current one before it opens the context, and in every call with device memory. */
    det_devices devices;
    /** A section checkpoint_storage as in an experiment's configuration, as JSON. It replaces that of the
     * experiment: {"type": "directory", "container_path": PATH}, {"type": "shared_fs", "host_path": PATH} or
     * {"type": "s3", "bucket": NAME, "prefix": PATH, "endpoint_url": URL}. NULL: the storage of the
     * experiment; outside of an experiment, checkpoint_path. */
    const char* checkpoint_storage;
} det_context_options;
#define DET_CONTEXT_OPTIONS_INIT \
    { sizeof(det_context_options), NULL, NULL, NULL, DET_WORKERS_ASK_CHIEF, DET_DEVICES_NONE, NULL }

/** The numbers of a rank, from a program that numbers its ranks itself. */
typedef struct det_ranks {
    size_t struct_size; /**< set by DET_RANKS_INIT */
    int32_t rank;       /**< of this rank, from 0 */
    int32_t size;       /**< number of ranks */
    int32_t local_rank; /**< of this rank among the ranks of its node */
    int32_t local_size; /**< number of ranks on this node */
    int32_t cross_rank; /**< of this node */
    int32_t cross_size; /**< number of nodes */
    /** A name that is the same on all ranks, and differs from that of other programs of this user that run on
     * a node at the same time. NULL: "default". */
    const char* group;
    /** An address or a host name of the node of rank 0, the same on all ranks: with it ranks of several nodes
     * find each other outside of a run. NULL: they need a run or MPI. */
    const char* chief_address;
} det_ranks;
#define DET_RANKS_INIT \
    { sizeof(det_ranks), 0, 1, 0, 1, 0, 1, NULL, NULL }

/** Joins the run. Collective. Blocks until all ranks have joined.
 * \param options NULL for the defaults
 * \param context set to the new context, which the caller owns */
DET_API det_status det_context_open(const det_context_options* options, det_context** context);
/** Connects ranks that the program has numbered, in a run or outside. Collective. Blocks until all ranks have
 * connected. The context has collectives, and behaves as outside of a run until det_context_join_run(). Ranks
 * of one node connect through shared memory. Ranks of several nodes find each other through their run.
 * Outside of a run they use MPI if mpirun or 'srun --mpi=pmix' has started them; otherwise they need
 * chief_address, and a directory that the nodes share: the environment variable DET_RENDEZVOUS_DIR names it,
 * else it is ~/.cache/det-submit/ranks. The chief keeps a file there, with a secret, until all ranks have
 * connected.
 *
 *     det_ranks ranks = DET_RANKS_INIT;
 *     ranks.rank = ranks.local_rank = number;
 *     ranks.size = ranks.local_size = count;
 *     det_context_connect(&ranks, NULL, &context);
 * \param options NULL for the defaults. on_warning, user and devices hold for the life of the context,
 * preempt_mode and checkpoint_path until det_context_join_run(). checkpoint_storage is not used
 * \return "misuse" if the numbers contradict each other; DET_TIMED_OUT if not all ranks of a node have
 * connected within two minutes, or not all ranks of several nodes within five minutes (outside of a run
 * within DET_COLLECTIVE_TIMEOUT_S seconds, if that is set); "name-taken" if another program has the same
 * group and chief_address at the same time */
DET_API det_status det_context_connect(const det_ranks* ranks, const det_context_options* options,
                                       det_context** context);
/** Gives a context of det_context_connect() its run: information, journal, checkpoints and preemption.
 * Outside of a run it only sets the storage of checkpoints and the preemption mode. Collective: an error of
 * one rank is an error of all.
 * \param options NULL for the defaults; preempt_mode, checkpoint_path and checkpoint_storage are used
 * \return "misuse" if the context has joined its run already, as one of det_context_open() has */
DET_API det_status det_context_join_run(det_context* context, const det_context_options* options);
/** Makes the context accept device memory as det_context_options.devices does, for a program that does not
 * know before whether it needs that. Collective: an error of one rank is an error of all. Does nothing if the
 * context has such devices. No operation may be in progress, and contexts of det_context_split() that were
 * made before do not get the devices.
 * \param devices DET_DEVICES_NONE does nothing
 * \return "transport" if the driver's library can't be loaded */
DET_API det_status det_context_add_devices(det_context* context, det_devices devices);

/** Some of the ranks. */
typedef int32_t det_subset;
enum {
    DET_SUBSET_LOCAL = 0, /**< the ranks of this node, in the order of their local ranks; if there is one
                           * node, in the order of their ranks */
    DET_SUBSET_CROSS = 1  /**< the ranks that have this rank's local rank, one of each node that has one, in
                           * the order of the nodes */
};

/** Makes a context of some of the ranks, for collectives among them. det_distributed_rank() and
 * det_distributed_size() give their numbers in it; messages of errors name them by their numbers among all
 * ranks. It behaves as outside of a run, and shares the connections of `context`: the calls of both belong to
 * one order, which is the same on all ranks. If some ranks make a call of all ranks while others make one of
 * a subset, on several nodes the ranks can wait for each other without an error. Not collective.
 *
 *     det_context *node = NULL;
 *     det_context_split(context, DET_SUBSET_LOCAL, &node);
 *     det_distributed_allreduce(node, values, values, count, DET_F32, DET_REDUCE_SUM);
 *     det_context_destroy(node);
 * \param part set to the new context, which the caller owns, and destroys without closing it
 * \return "misuse" for ranks of several nodes that are connected by MPI */
DET_API det_status det_context_split(det_context* context, det_subset subset, det_context** part);
/** Leaves the run. Collective, and the last call: waits for the end of all saves, and returns when all ranks
 * have entered, or after an error. The caller then calls det_context_destroy().
 * \return the error of a save that failed and was not returned yet, of the journal, or of the connection */
DET_API det_status det_context_close(det_context* context);
/** Frees the context. Not collective. If the context was not closed, the rank leaves without telling its
 * peers; when the process ends, peers that wait for it get an error. */
DET_API void det_context_destroy(det_context* context);

/** \return JSON: {"run_dir", "cluster", "rendezvous", "trial"}, the files of DET_RUN_DIR/info; "trial" only
 * in an experiment. NULL outside of a run. Belongs to the context; valid until det_context_join_run() or
 * det_context_destroy(). */
DET_API const char* det_context_info(const det_context* context);
/** \return the hyperparameters of the trial as a JSON object; "{}" outside of an experiment. Belongs to the
 * context; valid as long as the text of det_context_info(). */
DET_API const char* det_context_hyperparameters(const det_context* context);

/* ------------------------------------------------------------------------------------------- distributed */

/** \return the number of this rank, from 0. Rank 0 is the chief. This function and the five below return -1
 * if context is NULL. */
DET_API int32_t det_distributed_rank(const det_context* context);
/** \return the number of ranks */
DET_API int32_t det_distributed_size(const det_context* context);
/** \return the number of this rank among the ranks of its node */
DET_API int32_t det_distributed_local_rank(const det_context* context);
/** \return the number of ranks of this node */
DET_API int32_t det_distributed_local_size(const det_context* context);
/** \return the number of this node among the nodes */
DET_API int32_t det_distributed_cross_rank(const det_context* context);
/** \return the number of nodes */
DET_API int32_t det_distributed_cross_size(const det_context* context);

/** Element types. Tensors of checkpoints may have any. Collectives accept U8, I32, I64, F32, F64, F16 and
 * BF16; any other is "misuse". */
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

/** Reductions. The mean is for floating point only. Sums and products of integers wrap. A NaN on any rank is
 * a NaN in the result. F16 and BF16 are combined as F32 and rounded once. Results have the same bits on all
 * ranks, and in every run with the same sizes and the same ranks on each node. In device memory the device
 * library reduces: it chooses the order, and how NaN, F16 and BF16 are combined. */
typedef int32_t det_reduce_op;
enum { DET_REDUCE_SUM = 0, DET_REDUCE_MEAN = 1, DET_REDUCE_MIN = 2, DET_REDUCE_MAX = 3, DET_REDUCE_PROD = 4 };

/** Reduces elements of all ranks; every rank gets the result. Collective. Blocks until this rank has its
 * result, as all calls of this group do.
 *
 * For all calls of this group: buffers are contiguous and aligned for their type. Those of one call are all
 * in host memory or, if the context has devices, all in device memory. Count, type and operation are the same
 * on all ranks. Errors: "misuse" on all ranks if ranks differ or the arguments are wrong; "transport" if a
 * rank is lost; DET_TIMED_OUT.
 * \param in count elements
 * \param out count elements; either the same memory as `in`, or memory that does not overlap it */
DET_API det_status det_distributed_allreduce(det_context* context, const void* in, void* out, size_t count,
                                             det_dtype dtype, det_reduce_op op);
/** Reduces elements of all ranks; only rank `to` gets the result. Collective.
 * \param out not used on the other ranks, where it may be NULL */
DET_API det_status det_distributed_reduce(det_context* context, const void* in, void* out, size_t count,
                                          det_dtype dtype, det_reduce_op op, int32_t to);
/** Reduces elements of all ranks; each rank gets its part of the result. Collective.
 * \param all size x part_count elements: the parts in rank order
 * \param part part_count elements; may lie where this rank's part of `all` is */
DET_API det_status det_distributed_reduce_scatter(det_context* context, const void* all, void* part,
                                                  size_t part_count, det_dtype dtype, det_reduce_op op);
/** Every rank gets the parts of all ranks. Collective.
 * \param part part_count elements; may lie where this rank's part of `all` is
 * \param all size x part_count elements: the parts in rank order */
DET_API det_status det_distributed_allgather(det_context* context, const void* part, void* all,
                                             size_t part_count, det_dtype dtype);
/** Part r of `in` goes to rank r; part r of `out` comes from rank r. Collective.
 * \param in,out size x part_count elements each */
DET_API det_status det_distributed_all_to_all(det_context* context, const void* in, void* out,
                                              size_t part_count, det_dtype dtype);
/** Every rank gets the elements of rank `from`. Collective.
 * \param data count elements: read on `from`, written on the other ranks */
DET_API det_status det_distributed_broadcast(det_context* context, void* data, size_t count, det_dtype dtype,
                                             int32_t from);
/** Chooses the stream for all later work in device memory, copies for checkpoints included. Not collective;
 * ranks may use different streams. While the stream is captured into a graph, calls that would put work on it
 * are "misuse".
 * \param stream a cudaStream_t, or a hipStream_t; NULL, as at the beginning, is the default stream
 * \return "misuse" if the context has no devices */
DET_API det_status det_distributed_use_stream(det_context* context, void* stream);
/** Returns when all ranks have entered. Collective. */
DET_API det_status det_distributed_barrier(det_context* context);
/** Takes part in a collective call that the other ranks make, and makes it fail on all ranks: for a rank that
 * finds, before the call, that its own arguments are wrong. Collective.
 * \param message what is wrong. The error is "rank R: " and this text
 * \return the error that all ranks get: "misuse" */
DET_API det_status det_distributed_refuse(det_context* context, const char* message);

/** An operation that has been started. If all ranks communicate through shared memory (on one node),
 * operations in host memory progress, in the order in which they were started, inside test and wait of any
 * operation and inside other collective calls of the context. Otherwise an operation in host memory is
 * complete when the call that starts it returns. Operations in device memory progress by themselves. The
 * program must not touch the buffers before the operation is complete. */
typedef struct det_operation det_operation;

/** Start the calls above without waiting for them. Collective; other calls of the context may follow, in the
 * same order on all ranks. Parameters are those of the call without `start_`. The buffers must outlive the
 * operation.
 * \param operation set to the operation, which the caller owns
 * \{ */
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
/** \} */

/** Makes progress without blocking. Not collective, like the three calls below.
 * \param is_over set to 1 if det_operation_wait() would return at once, else 0 */
DET_API det_status det_operation_test(det_operation* operation, int32_t* is_over);
/** Blocks until the operation is complete. May be called again.
 * \return the result of the operation */
DET_API det_status det_operation_wait(det_operation* operation);
/** Finds the event that other streams may wait for instead of det_operation_wait().
 * \param event set to a cudaEvent_t, or a hipEvent_t, that belongs to the operation; NULL for an operation in
 * host memory, after det_operation_wait(), and if the operation failed when it was started */
DET_API det_status det_operation_event(det_operation* operation, void** event);
/** Waits for the operation, then frees it. */
DET_API void det_operation_destroy(det_operation* operation);

/** A list of byte strings of any size. A 0 byte, which is not counted, follows the last byte of each, so that
 * text can be read as C text. */
typedef struct det_strings det_strings;

/** \return how many strings there are; 0 if strings is NULL */
DET_API size_t det_strings_count(const det_strings* strings);
/** \param size_bytes set to the size of the string; may be NULL
 * \return the string, which belongs to the list; NULL if index is too large */
DET_API const char* det_strings_get(const det_strings* strings, size_t index, size_t* size_bytes);
DET_API void det_strings_destroy(det_strings* strings);

/** The chief gets the byte strings of all ranks, in rank order; the list of any other rank is empty.
 * Collective.
 *
 * For all calls of this group: sizes may differ between ranks, and blocking and errors are those of
 * det_distributed_allreduce().
 * \param data size_bytes bytes; may be NULL if size_bytes is 0
 * \param values set to a list that the caller owns */
DET_API det_status det_distributed_gather_bytes(det_context* context, const void* data, size_t size_bytes,
                                                det_strings** values);
/** Every rank gets the byte strings of all ranks, in rank order. Collective. */
DET_API det_status det_distributed_allgather_bytes(det_context* context, const void* data, size_t size_bytes,
                                                   det_strings** values);
/** Every rank gets the string of rank `from`. Collective.
 * \param data,size_bytes used on `from` only; may be NULL and 0 on the other ranks
 * \param value set to a list of one string */
DET_API det_status det_distributed_broadcast_bytes(det_context* context, const void* data, size_t size_bytes,
                                                   int32_t from, det_strings** value);
/** The three calls above, among the ranks of each node, in the order of their local ranks. Local rank 0 gets
 * the strings of a gather, and sends the string of a broadcast. Collective over all ranks of all nodes.
 * \{ */
DET_API det_status det_distributed_gather_bytes_local(det_context* context, const void* data,
                                                      size_t size_bytes, det_strings** values);
DET_API det_status det_distributed_allgather_bytes_local(det_context* context, const void* data,
                                                         size_t size_bytes, det_strings** values);
DET_API det_status det_distributed_broadcast_bytes_local(det_context* context, const void* data,
                                                         size_t size_bytes, det_strings** value);
/** \} */

/** Host memory for gradients and other large data. If the ranks of a node communicate through shared memory,
 * they can all read it, so that collectives on it need no intermediate copy. */
typedef struct det_buffer det_buffer;

/** Not collective.
 * \param buffer set to size_bytes zero bytes, aligned to 4096, which the caller owns */
DET_API det_status det_buffer_allocate(det_context* context, size_t size_bytes, det_buffer** buffer);
/** \return the memory, which belongs to the buffer; NULL if buffer is NULL */
DET_API void* det_buffer_data(const det_buffer* buffer);
DET_API size_t det_buffer_size_bytes(const det_buffer* buffer);
/** Waits for operations that were started with the buffer, then frees it. */
DET_API void det_buffer_destroy(det_buffer* buffer);

/* ----------------------------------------------------------------------------------------------- preempt */

/** Asks whether the program should save and stop. In the default mode collective, at the same steps on all
 * ranks; all ranks get the same answer. Cheap enough to be called at every step. After the first 1 all later
 * answers are 1.
 *
 * In the default mode the answer of call k is 1 once the first rank of a node (on one node: any rank) had
 * received the notice before its call k-1, or all ranks before their call k. More than 64 ranks on several
 * nodes get the answer one call later. A call waits only for ranks that are more than one call behind; on a
 * rank with a notice it waits for all ranks that are behind. On several nodes the first call blocks until all
 * ranks have called it.
 *
 * At the first 1 the chief writes an acknowledgement into its journal: from then on the end of the program is
 * a preemption, and the trial is resumed. Save, close the context, and return 0 from main.
 * \param should_stop set to 1 or 0 */
DET_API det_status det_preempt_should_preempt(det_context* context, int32_t* should_stop);
/** det_preempt_should_preempt() without the acknowledgement. */
DET_API det_status det_preempt_peek(det_context* context, int32_t* should_stop);
/** Writes the acknowledgement, once. Not collective; does nothing on ranks other than the chief, and outside
 * of an experiment. */
DET_API det_status det_preempt_acknowledge(det_context* context);

/* Some clusters (proctrack/linuxproc) send the SIGTERM of a preemption to every process of a job. From
 * det_context_open() or det_context_join_run() to det_context_close(), Slurm's SIGTERM ends neither the rank
 * nor the children that it has forked; a SIGTERM of another process does, unless the rank has a notice. A
 * handler of the program stays. */

/** Lets a forked child of a rank ignore Slurm's SIGTERM although it has installed a handler of its own
 * (sigaction(2) with SA_SIGINFO). That handler gets every other SIGTERM. Does nothing in other processes. */
DET_API void det_preempt_wrap_handler_of_child(void);

/* A steps_completed above INT64_MAX, which a negative number becomes when it is converted to uint64_t, is
 * "misuse" in every call that takes one. */

/* ------------------------------------------------------------------------------------------------- train */

/** Reports metrics of training.
 *
 * For all calls of this group: any rank may report metrics, and has a journal of its own. Curves, best values
 * and checkpoints take the value of the lowest rank that has reported a metric for a step; a search is
 * decided by the chief's reports. The other reports are for the chief only ("misuse" on other ranks), unless
 * their comment says otherwise. Outside of an experiment reports are discarded. Reports of metrics, progress,
 * status and alerts are queued for a thread that writes them; the other reports wait for write(2). A report
 * that takes more than 16 MiB in the journal is refused: "report-too-large". While the shared file system
 * can't be written (disk full, quota, error, or no answer), reports wait in memory, 8 MiB of them and one
 * report more. Then further ones are dropped, which is a warning once, and their number is written to the
 * journal. Calls that write or flush repeat a write that fails for DET_STORAGE_TIMEOUT_S seconds (300).
 *
 * \param steps_completed batches since the beginning of the trial
 * \param metrics a JSON object: names to values */
DET_API det_status det_train_report_training_metrics(det_context* context, uint64_t steps_completed,
                                                     const char* metrics);
/** Reports metrics of validation. */
DET_API det_status det_train_report_validation_metrics(det_context* context, uint64_t steps_completed,
                                                       const char* metrics);
/** Reports metrics of any group.
 * \param group a name without a dot */
DET_API det_status det_train_report_metrics(det_context* context, const char* group, uint64_t steps_completed,
                                            const char* metrics);
/** Reports numbers: names[i] has the value values[i], for i < count. They are copied, without a system call,
 * into a queue that a thread writes to the journal. If the queue is full, the report is dropped and counted.
 */
DET_API det_status det_train_report_numbers(det_context* context, const char* group, uint64_t steps_completed,
                                            const char* const* names, const double* values, size_t count);
/** Reports the mean of each number over all ranks. Collective: every rank calls it, with the same names in
 * the same order; otherwise "misuse" on all ranks. Only the rank that passes NULL for a name or an array gets
 * the error "misuse" for it. One thread at a time.
 * \param means if not NULL: set to the means, count of them, on every rank */
DET_API det_status det_train_report_mean(det_context* context, const char* group, uint64_t steps_completed,
                                         const char* const* names, const double* values, size_t count,
                                         double* means);
/** Writes all queued reports of this rank to its journal. Otherwise a thread does so every 50 ms, and those
 * of the chief are written before the record of a checkpoint. */
DET_API det_status det_train_flush(det_context* context);
/** The totals of a named span: how often this process has passed through it, and for how long. Valid until
 * the process ends. */
typedef struct det_timing det_timing;
/** Finds or makes the span with this name. Keep the pointer: a lookup is slower than a pass.
 * \return NULL if name is NULL or there is no memory */
DET_API det_timing* det_timing_register(const char* name);
/** \return the time in ticks, for det_span_end() */
DET_API uint64_t det_span_begin(void);
/** Adds one pass through the span. Does nothing if timing is NULL. Thread-safe; takes some tens of
 * nanoseconds. */
DET_API void det_span_end(det_timing* timing, uint64_t begin);
/** Reports the totals of all spans since the last call, as metrics NAME.count, NAME.total_s and NAME.max_s of
 * the group "timing". det_context_close() reports the rest. On ranks other than the chief it reports nothing.
 */
DET_API det_status det_train_report_timings(det_context* context, uint64_t steps_completed);
/** \param progress from 0 to 1 */
DET_API det_status det_train_report_progress(det_context* context, double progress);
/** Reports a text for the user about what the program does now. */
DET_API det_status det_train_set_status(det_context* context, const char* status);
/** Replaces the metadata of the trial, which later runs of the trial read.
 * \param metadata a JSON object */
DET_API det_status det_train_set_metadata(det_context* context, const char* metadata);

/** Why a program ends its trial before the end of the training. */
typedef int32_t det_early_exit;
enum {
    DET_INVALID_HP = 0,         /**< it cannot train with these hyperparameters */
    DET_USER_REQUESTED_STOP = 1 /**< it has been told to stop */
};
/** Records why the program is about to end. Only the first call counts. */
DET_API det_status det_train_report_early_exit(det_context* context, det_early_exit reason);

/** How important an alert is. */
typedef int32_t det_alert_level;
enum { DET_ALERT_DEBUG = 0, DET_ALERT_INFO = 1, DET_ALERT_WARN = 2, DET_ALERT_ERROR = 3 };
/** Writes a message for the user to the run's journal. det-submit trial describe shows it.
 * \param title,description may be NULL */
DET_API det_status det_train_report_alert(det_context* context, const char* title, const char* description,
                                          det_alert_level level);

/** Reads the metadata of the trial. Any rank may call this and the functions below.
 * \param metadata set to a list of one JSON object, "{}" if none was set */
DET_API det_status det_train_load_metadata(det_context* context, det_strings** metadata);
/** Reads the best value of the searcher's metric among all validations of the experiment.
 * \param is_found set to 1, or to 0 if there is no such value yet
 * \param best set if is_found is 1 */
DET_API det_status det_train_find_experiment_best_validation(det_context* context, int32_t* is_found,
                                                             double* best);
/** Reads the largest steps_completed of the metrics of all runs of the trial.
 * \param is_found set to 1, or to 0 if no metrics were reported
 * \param steps_completed set if is_found is 1 */
DET_API det_status det_train_find_last_steps(det_context* context, int32_t* is_found,
                                             uint64_t* steps_completed);
/** Makes the trial's directory for files of TensorBoard, on the shared file system.
 * \param path set to a list of one; to an empty list outside of an experiment */
DET_API det_status det_train_make_tensorboard_directory(det_context* context, det_strings** path);

/* ---------------------------------------------------------------------------------------------- searcher
 *
 * How long the searcher wants the trial to train. A program asks either for the number of batches that are
 * left, or, as with Determined's older API, for operations:
 *
 *     uint64_t length = 0;
 *     for (;;) {
 *         TRY(det_searcher_next_operation(context, DET_SEARCHER_WORKERS_ASK_CHIEF, &length));
 *         if (length == 0) break;
 *         ... train up to `length`; return if det_preempt_should_preempt() answers 1 ...
 *         if (is_chief) TRY(det_searcher_report_completed(context, loss));
 *     }
 */

/** The unit of the length of a training. */
typedef int32_t det_unit;
enum {
    DET_UNIT_STEPS = 0, /**< whatever the program counts as steps_completed */
    DET_UNIT_BATCHES = 1,
    DET_UNIT_RECORDS = 2,
    DET_UNIT_EPOCHS = 3,
    DET_UNIT_TIME_METRIC = 4 /**< the validation metric that the searcher's time_metric names */
};
/** Reads how long the trial is to train, from its beginning: max_length of the searcher, or max_time.
 * \param length set to 0 if none is configured, and outside of an experiment
 * \param unit set to the unit of the length */
DET_API det_status det_searcher_training_length(det_context* context, uint64_t* length, det_unit* unit);
/** Computes how many batches the trial has yet to train. Records and epochs are converted by the
 * hyperparameter global_batch_size and by records_per_epoch of the configuration. If a value that the
 * conversion needs is not configured, the length is not converted: steps_completed must then count in its
 * unit.
 * \param steps_completed batches since the beginning of the trial
 * \param is_known set to 1; to 0 without a length, if a time_metric measures it, and outside of an experiment
 * \param batches set if is_known is 1; 0 when the trial has reached its length */
DET_API det_status det_searcher_batches_left(det_context* context, uint64_t steps_completed,
                                             int32_t* is_known, uint64_t* batches);

/** Which ranks ask for operations. */
typedef int32_t det_searcher_mode;
enum {
    DET_SEARCHER_WORKERS_ASK_CHIEF = 0, /**< every rank; all get the same answer */
    DET_SEARCHER_CHIEF_ONLY = 1         /**< only the chief; "misuse" on other ranks */
};
/** Begins the next operation: a length up to which the trial trains. There is one, the whole length; a trial
 * of adaptive_asha or async_halving has one for each rung of its bracket. The first call begins the first
 * operation that no earlier run of the trial has completed. After a preemption notice there are no more
 * operations; if some were left, the chief writes the acknowledgement into its journal. Outside of an
 * experiment there is one operation, of length 1. Collective with DET_SEARCHER_WORKERS_ASK_CHIEF; does not
 * wait for other trials.
 * \param length set to the length of the operation, from the beginning of the trial, in the unit of
 * det_searcher_training_length(); to 0 if there are no more operations
 * \return "misuse" if no length is configured, or if the previous operation was not reported as completed */
DET_API det_status det_searcher_next_operation(det_context* context, det_searcher_mode mode,
                                               uint64_t* length);
/** det_searcher_next_operation() without the acknowledgement. */
DET_API det_status det_searcher_peek_operation(det_context* context, det_searcher_mode mode,
                                               uint64_t* length);
/** Writes the acknowledgement if a notice has ended the operations; otherwise does nothing. Not collective;
 * does nothing on ranks other than the chief. */
DET_API det_status det_searcher_acknowledge_end(det_context* context);
/** Reports progress as the length that is completed. For the chief only.
 * \param length from 0 to the length of the training */
DET_API det_status det_searcher_report_progress(det_context* context, double length);
/** Records that the trial has trained up to the length of the operation. For the chief only, once for each
 * operation: "misuse" otherwise.
 * \param metric the value of the searcher's metric */
DET_API det_status det_searcher_report_completed(det_context* context, double metric);

/* -------------------------------------------------------------------------------------------- checkpoint
 *
 * For all calls of this section: `metadata` is a JSON object, or NULL for none; "steps_completed" is added to
 * it. An error of one rank in a collective call is an error of all ranks, with two exceptions: an error of
 * writing the journal may reach only the chief, and only the rank that passes NULL for an object or an output
 * gets the error "misuse". */

/** The size of a UUID as text, with the 0 byte at its end. */
#define DET_UUID_SIZE 37

/** Names the checkpoint from which this run continues, which may be one of another trial. Not collective; the
 * same on all ranks.
 * \param uuid set to "" if the trial starts from the beginning */
DET_API det_status det_checkpoint_latest(det_context* context, char uuid[DET_UUID_SIZE]);
/** Reads all files of a checkpoint and compares them with the manifest. Not collective.
 * \param path set to a list of one: the directory of the checkpoint, for reading only
 * \return DET_CHECKPOINT_DAMAGED, DET_ABSENT */
DET_API det_status det_checkpoint_restore_path(det_context* context, const char* uuid, det_strings** path);
/** Finds the directory of a checkpoint without verifying its files. Not collective. Another thread may verify
 * them by det_checkpoint_restore_path() at the same time.
 * \param path set to a list of one; to an empty list if the checkpoint is not kept in a directory
 * \return DET_ABSENT */
DET_API det_status det_checkpoint_find_directory(det_context* context, const char* uuid, det_strings** path);
/** Selects files and directories of a checkpoint.
 * \param path in the checkpoint; that of a directory ends with a slash
 * \return 1: taken, 0: not */
typedef int32_t (*det_select)(const char* path, void* user);
/** Copies a checkpoint into a directory, and compares the files with the manifest. Not collective.
 * \param directory made if it does not exist; files that are there are replaced
 * \param select NULL: everything
 * \param user passed to select
 * \return DET_CHECKPOINT_DAMAGED, DET_ABSENT */
DET_API det_status det_checkpoint_download(det_context* context, const char* uuid, const char* directory,
                                           det_select select, void* user);
/** Removes a checkpoint from the storage. Not collective. Succeeds if it does not exist. */
DET_API det_status det_checkpoint_delete(det_context* context, const char* uuid);
/** \param manifest set to a list of one: the manifest of the checkpoint, as text
 * \return DET_ABSENT */
DET_API det_status det_checkpoint_load_manifest(det_context* context, const char* uuid,
                                                det_strings** manifest);

/** A checkpoint that is being made, by the chief or (sharded) by all ranks: a directory to write files into,
 * until it is committed.
 *
 *     det_checkpoint_draft *draft = NULL;
 *     if (det_checkpoint_draft_open(context, steps, NULL, &draft) == DET_OK) {
 *         write_model(det_checkpoint_draft_directory(draft));
 *         det_checkpoint_draft_commit(draft);
 *         det_checkpoint_draft_destroy(draft);
 *     } */
typedef struct det_checkpoint_draft det_checkpoint_draft;

/** Begins a checkpoint with an empty directory. For the chief only: "misuse" on other ranks.
 * \param draft set to the draft, which the caller owns */
DET_API det_status det_checkpoint_draft_open(det_context* context, uint64_t steps_completed,
                                             const char* metadata, det_checkpoint_draft** draft);
/** Begins a checkpoint that all ranks fill. Collective, as is its commit. The rules for files and metadata
 * are those of det_checkpoint_upload(). The directory is the same for all ranks if the storage is a file
 * system, else each rank has its own. */
DET_API det_status det_checkpoint_draft_open_sharded(det_context* context, uint64_t steps_completed,
                                                     const char* metadata, det_checkpoint_draft** draft);
/** \return the UUID of the checkpoint. Belongs to the draft. */
DET_API const char* det_checkpoint_draft_uuid(const det_checkpoint_draft* draft);
/** \return the directory to write into. Belongs to the draft. */
DET_API const char* det_checkpoint_draft_directory(const det_checkpoint_draft* draft);
/** Makes the files in the directory a checkpoint. Blocks until it is committed. Collective for a sharded
 * draft.
 * \return "misuse" if the draft is already committed or given up */
DET_API det_status det_checkpoint_draft_commit(det_checkpoint_draft* draft);
/** Gives up a sharded draft. Collective with the commits of the other ranks, which get an error. "misuse" for
 * a draft that is not sharded.
 * \param reason the message of that error; may be NULL
 * \return the error that all ranks get */
DET_API det_status det_checkpoint_draft_give_up(det_checkpoint_draft* draft, const char* reason);
/** Frees the draft. Removes its files if they are no checkpoint, except those of a sharded draft, because
 * other ranks may use the same directory: det_checkpoint_draft_give_up() removes them. */
DET_API void det_checkpoint_draft_destroy(det_checkpoint_draft* draft);

/** Makes one checkpoint of files from all ranks. Collective. Blocks until it is committed. The metadata
 * of all ranks is merged.
 * \param directory the files of this rank, or NULL for none. Several ranks may pass the same file; files that
 * have the same name and different contents are "misuse"
 * \param uuid set to the UUID of the checkpoint */
DET_API det_status det_checkpoint_upload(det_context* context, uint64_t steps_completed, const char* metadata,
                                         const char* directory, char uuid[DET_UUID_SIZE]);

/** Makes one checkpoint like det_checkpoint_upload(), of the files that `select` selects.
 * \param select called on this rank; NULL: everything
 * \param user passed to select */
DET_API det_status det_checkpoint_upload_selected(det_context* context, uint64_t steps_completed,
                                                  const char* metadata, const char* directory,
                                                  det_select select, void* user, char uuid[DET_UUID_SIZE]);

/** A function of the program that writes files into a directory. If it returns anything but DET_OK there is
 * no checkpoint. */
typedef det_status (*det_write)(const char* directory, void* user);

/** Makes one checkpoint of files that all ranks write. Collective. Blocks until it is committed. The
 * rules for files are those of det_checkpoint_upload().
 * \param write called once on each rank. The directory is the same for all ranks if the storage is a file
 * system, else each rank has its own
 * \param user passed to write
 * \param uuid set to the UUID of the checkpoint */
DET_API det_status det_checkpoint_store_sharded(det_context* context, uint64_t steps_completed,
                                                const char* metadata, det_write write, void* user,
                                                char uuid[DET_UUID_SIZE]);
/** Makes the last checkpoint before a preemption, of files that the chief writes, if there is time for it as
 * det_checkpoint_save_before_preemption() counts it. Collective. Blocks until it is committed.
 * \param metadata,write,user used on the chief only
 * \param is_stored set to 1, or, on all ranks, to 0 if there is too little time: the trial continues from the
 * checkpoint before */
DET_API det_status det_checkpoint_store_before_preemption(det_context* context, uint64_t steps_completed,
                                                          const char* metadata, det_write write, void* user,
                                                          int32_t* is_stored);

/** This rank's parts of named tensors, in its memory. When a state is saved, the parts of all ranks together
 * make the whole tensors, and ranks that hold the same part hold the same values.
 *
 * If the context has devices (det_context_options.devices), the memory of any tensor may be device memory.
 * A save waits for the work on the stream that det_distributed_use_stream() named last, and then copies on a
 * stream of its own; a load puts its copies on the named stream. The program synchronises the named stream
 * with others that use the memory. */
typedef struct det_state det_state;

/** One tensor of a state: dense, row by row. */
typedef struct det_tensor {
    size_t struct_size; /**< set by DET_TENSOR_INIT */
    const char* name;   /**< UTF-8; copied by det_state_add(), as the arrays are */
    void* data;         /**< read when saving, written when loading; must outlive the state */
    det_dtype dtype;
    uint32_t dimensions;   /**< the length of the arrays below; 0 is a scalar */
    const uint64_t* shape; /**< of the whole tensor */
    const uint64_t*
        begin; /**< position of this rank's part. NULL, if part_shape is NULL too: the whole tensor */
    const uint64_t* part_shape; /**< shape of this rank's part */
    /** 1: if the tensor is in device memory, det_checkpoint_save() may return before it is copied. It must
     * not change, nor be freed, before det_checkpoint_wait_snapshot(). Not used for host memory, nor by
     * loads. */
    int32_t copy_later;
} det_tensor;
#define DET_TENSOR_INIT \
    { sizeof(det_tensor), NULL, NULL, 0, 0, NULL, NULL, NULL, 0 }

/** \param state set to an empty state, which the caller owns */
DET_API det_status det_state_create(det_state** state);
/** Adds a tensor. Errors in its shape are found when the state is saved or loaded.
 * \return "misuse" if the element type is unknown, if a required pointer is NULL, or if only one of begin and
 * part_shape is given */
DET_API det_status det_state_add(det_state* state, const det_tensor* tensor);
/** Makes the files of a directory files of the checkpoint too. For the chief; other ranks' directories are
 * ignored, and loading ignores it.
 * \param directory must stay until the save has ended; its files are copied by a thread of this library
 * \return "misuse" if the state has a directory already */
DET_API det_status det_state_add_directory(det_state* state, const char* directory);
DET_API void det_state_destroy(det_state* state);

/** How a save ended. */
typedef struct det_outcome {
    size_t struct_size; /**< set by DET_OUTCOME_INIT */
    char uuid[DET_UUID_SIZE];
    uint64_t steps_completed;
    det_status status;   /**< DET_OK: it is a checkpoint */
    const char* code;    /**< of the error, or NULL; belongs to the list */
    const char* message; /**< of the error, or NULL; belongs to the list */
} det_outcome;
#define DET_OUTCOME_INIT \
    { sizeof(det_outcome), "", 0, 0, NULL, NULL }

/** A list of saves that have ended. */
typedef struct det_outcomes det_outcomes;

DET_API size_t det_outcomes_count(const det_outcomes* outcomes);
/** \param outcome initialised by the caller with DET_OUTCOME_INIT */
DET_API det_status det_outcomes_get(const det_outcomes* outcomes, size_t index, det_outcome* outcome);
DET_API void det_outcomes_destroy(det_outcomes* outcomes);

/** A save that has begun. */
typedef struct det_save_started {
    size_t struct_size;       /**< set by DET_SAVE_STARTED_INIT */
    char uuid[DET_UUID_SIZE]; /**< of the checkpoint that it will be */
    int64_t waited_us; /**< time spent waiting for an earlier save: the disk is slower than the training */
    int64_t copied_us; /**< time spent copying the state */
} det_save_started;
#define DET_SAVE_STARTED_INIT \
    { sizeof(det_save_started), "", 0, 0 }

/** Allocates the memory for copies of such a state, and pins it if tensors lie on a device, so that the first
 * save is as fast as later ones. Collective. */
DET_API det_status det_checkpoint_prepare(det_context* context, const det_state* state);
/** Saves a state while training continues. Collective. Blocks until the state has been copied, after which it
 * may change; the copy is written in the background. Tensors in device memory with det_tensor.copy_later are
 * copied later: see det_checkpoint_wait_snapshot(). The first det_checkpoint_poll(), det_checkpoint_save(),
 * det_checkpoint_save_before_preemption(), det_checkpoint_finish() or det_context_close() after all ranks
 * have written begins its commit, which makes it a checkpoint.
 *
 *     det_save_started saved = DET_SAVE_STARTED_INIT;
 *     det_checkpoint_save(context, steps, "{\"epoch\": 2}", state, &saved);
 * \param saved initialised by the caller with DET_SAVE_STARTED_INIT; may be NULL */
DET_API det_status det_checkpoint_save(det_context* context, uint64_t steps_completed, const char* metadata,
                                       const det_state* state, det_save_started* saved);
/** Blocks until every tensor of the last det_checkpoint_save() has been copied. Then tensors with
 * det_tensor.copy_later may change and be freed. Parameters and the state of an optimizer do not change
 * between two of its steps, so that they are copied while the device computes the next gradients:
 *
 *     det_checkpoint_save(context, steps, NULL, state, NULL);  // copy_later is 1 for parameters
 *     compute_gradients();
 *     det_checkpoint_wait_snapshot(context);
 *     step_optimizer();
 *
 * What else changes in this time, such as running statistics, needs a copy_later of 0. The next
 * det_checkpoint_save(), det_checkpoint_save_before_preemption(), det_checkpoint_finish(), loads and
 * det_context_close() wait too. Not collective; called by the thread that calls the other functions of the
 * context. Returns at once if there is nothing to wait for.
 * \return an error of the device is not returned here: the save fails, which later calls report on all
 * ranks */
DET_API det_status det_checkpoint_wait_snapshot(det_context* context);
/** Begins to commit the saves that all ranks have written by now, and ends those that are committed.
 * Collective. Does not wait for data to be written, so that a program can call it in every step.
 * \param outcomes set to the saves that have ended since the last call that reported them; the caller owns
 * the list. NULL: a save that failed is the error of this call. */
DET_API det_status det_checkpoint_poll(det_context* context, det_outcomes** outcomes);
/** Blocks until every save has ended. Collective.
 * \param outcomes as in det_checkpoint_poll() */
DET_API det_status det_checkpoint_finish(det_context* context, det_outcomes** outcomes);

/** Makes the last save before a preemption, and then finishes as det_checkpoint_finish() does. Collective. If
 * the time left is less than one and a half times what the last checkpoint took, it does not save this state:
 * it commits the saves that have been copied, and the trial continues from the newest of them.
 * \param outcomes as in det_checkpoint_poll() */
DET_API det_status det_checkpoint_save_before_preemption(det_context* context, uint64_t steps_completed,
                                                         const char* metadata, const det_state* state,
                                                         det_outcomes** outcomes);

/** With slurm.memory_checkpoints: whether det_checkpoint_keep_in_memory() would copy the state of this step.
 * Cheap: a program can ask in every step, before it collects its state. Not collective; the same on all ranks
 * that pass the same steps.
 * \param is_kept set to 1 or 0; always 0 without that setting and outside of a run */
DET_API det_status det_checkpoint_is_kept_in_memory(det_context* context, uint64_t steps_completed,
                                                    int32_t* is_kept);
/** Copies the state into the memory of the nodes (/dev/shm) if det_checkpoint_is_kept_in_memory(), else does
 * nothing. Collective. Blocks until the state is copied, after which it may change; det_tensor.copy_later is
 * ignored. The newest two are kept, with several nodes also in the memory of one other node each: while they
 * are copied there, no further state is kept. A run that follows in the same job loads the newest one that
 * all ranks have on their nodes or other ones, by det_checkpoint_load(). It takes the place of no
 * det_checkpoint_save(): the job's end removes it. If a rank can't keep its state, all ranks keep none from
 * then on; that is a warning.
 *
 *     det_checkpoint_keep_in_memory(context, steps, NULL, state, NULL);  // in every step
 * \param metadata a JSON object, or NULL
 * \param state without a directory: files are not kept in memory
 * \param is_kept set to 1 if the state was copied, else to 0; may be NULL */
DET_API det_status det_checkpoint_keep_in_memory(det_context* context, uint64_t steps_completed,
                                                 const char* metadata, const det_state* state,
                                                 int32_t* is_kept);

/** With several nodes, before det_checkpoint_list() and det_checkpoint_load_from() of a state that was kept
 * in memory: gets what this node lacks of the newest one from other nodes. det_checkpoint_load() does not
 * need it. Collective. */
DET_API det_status det_checkpoint_fetch_kept(det_context* context);

/** What det_checkpoint_load() does if the newest checkpoint is damaged or absent. */
typedef int32_t det_on_damage;
enum {
    DET_ON_DAMAGE_FAIL = 0,      /**< returns DET_CHECKPOINT_DAMAGED or DET_ABSENT */
    DET_ON_DAMAGE_TAKE_OLDER = 1 /**< loads the newest checkpoint that all ranks can read */
};

typedef struct det_loaded {
    size_t struct_size;       /**< set by DET_LOADED_INIT */
    char uuid[DET_UUID_SIZE]; /**< "": there is no checkpoint, the trial starts from the beginning */
    uint64_t steps_completed;
    uint64_t passed_over; /**< number of newer checkpoints that are damaged or absent */
    /** 1: only programs of this user (or root, or the owner that --trust-owner names) can have written the
     * checkpoint, by the owners of its files or by the SHA-256 in a journal. 0: that is not known, for
     * example in a bucket outside of an experiment. Only det_checkpoint_load_from() sets it. */
    int32_t is_own;
    /** 1: a snapshot that the run before in this job had kept in memory (slurm.memory_checkpoints). The uuid
     * begins with "memory-", and no checkpoint has it. */
    int32_t is_from_memory;
} det_loaded;
#define DET_LOADED_INIT \
    { sizeof(det_loaded), "", 0, 0, 0, 0 }

/** Fills the parts of all ranks from the checkpoint of det_checkpoint_latest(); if there is none, from the
 * newest one that a run of this trial has committed. Outside of an experiment fills them from the newest
 * checkpoint that a program outside of an experiment has committed to the same storage. With
 * DET_ON_DAMAGE_TAKE_OLDER, if need be, from an older one of these. Collective. Blocks until they are filled.
 * The number of ranks, and how tensors are cut, may differ from the save. If the run before has kept a state
 * of more steps in memory (det_checkpoint_keep_in_memory()), since Slurm has started this job last, it is
 * loaded instead, also if there is no checkpoint yet, until this run saves or keeps a state itself. After an
 * error the data of the state is undefined.
 * \param loaded initialised by the caller with DET_LOADED_INIT
 * \return DET_CHECKPOINT_DAMAGED; DET_ABSENT; "misuse" if the checkpoint has no such tensor, or another type
 *     or shape of it */
DET_API det_status det_checkpoint_load(det_context* context, const det_state* state, det_on_damage on_damage,
                                       det_loaded* loaded);
/** Fills the parts of all ranks from a checkpoint that is named. Collective. Otherwise as
 * det_checkpoint_load() with DET_ON_DAMAGE_FAIL.
 * \param uuid the same on all ranks; that of rank 0 is taken */
DET_API det_status det_checkpoint_load_from(det_context* context, const char* uuid, const det_state* state,
                                            det_loaded* loaded);
/** Lists the checkpoints that det_checkpoint_load() tries. Not collective.
 * \param uuids set to a list of UUIDs, newest first */
DET_API det_status det_checkpoint_list(det_context* context, det_strings** uuids);

#ifdef __cplusplus
}
#endif
#endif
