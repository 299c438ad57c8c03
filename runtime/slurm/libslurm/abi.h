/* The interface between det-submit, which never links libslurm, and det_libslurm.so, which does. It is plain
 * C, so that the two may be built with different compilers and options. */
#ifndef DET_LIBSLURM_ABI_H
#define DET_LIBSLURM_ABI_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Must be raised when a declaration below changes: a module of another version is not used. */
#define DET_LIBSLURM_ABI_VERSION 5u
#define DET_LIBSLURM_ENTRY "det_libslurm_module_entry"
#define DET_LIBSLURM_NO_TASK UINT32_MAX

enum det_libslurm_reading {
    DET_LIBSLURM_JOBS = 1,
    DET_LIBSLURM_PARTITIONS, /* partitions, then their nodes */
    DET_LIBSLURM_NODES,
    DET_LIBSLURM_CONFIG, /* as text: lines "Name = value" */
};

struct det_libslurm_request {
    enum det_libslurm_reading reading;
    char const* user; /* NULL: all users */
    uint32_t const* jobs;
    size_t job_count; /* 0: all */
    int include_finished;
};

/* Texts may be NULL. Times are seconds since 1970, 0 if they are not known. */
struct det_libslurm_job {
    uint32_t job;
    uint32_t task;
    uint32_t restarts;
    uint32_t nodes;
    uint32_t cpus;
    uint32_t priority;
    int64_t nice;
    int64_t preempt_time;
    int64_t end_time;
    int64_t start_time;
    int64_t submit_time;
    char const* state;
    char const* reason;
    char const* batch_host;
    char const* user;
    char const* account;
    char const* qos;
    char const* node_list;
    char const* partition;
    char const* tres_per_node;
    char const* comment;
    char const* name;
};

struct det_libslurm_partition {
    char const* name;
    char const* preempt_mode;
    char const* oversubscribe; /* "EXCLUSIVE", "FORCE:4" */
    char const* qos;           /* whose limits it has; NULL or "": none */
    uint32_t grace_time_s;
    uint32_t nodes_max;    /* of one job; UINT32_MAX: no limit */
    uint32_t time_max_min; /* of one job; UINT32_MAX: no limit */
    uint32_t priority_tier;
    uint64_t memory_per_node_max_mib; /* of one job; 0: the partition sets no limit */
    uint64_t memory_per_cpu_max_mib;  /* of one job; 0: the partition sets no limit */
    int is_default;
    int is_up;
    int has_default_memory;
};

struct det_libslurm_node {
    char const* name;
    char const* partition;
    char const* state;      /* "idle+drain" */
    char const* main_state; /* "drained" */
    char const* gres;
    char const* gres_used;
    char const* features;
    char const* reason; /* why it is down or drained */
    uint32_t cpus;
    uint32_t cpus_used;
    uint64_t memory_mib;
};

/* The functions that receive the results. Their arguments are valid during the call only. */
struct det_libslurm_sink {
    void* context;
    void (*job)(void* context, struct det_libslurm_job const* job);
    void (*partition)(void* context, struct det_libslurm_partition const* partition);
    void (*node)(void* context, struct det_libslurm_node const* node);
    void (*text)(void* context, char const* text, size_t size);
};

struct det_libslurm_module {
    uint32_t abi_version;
    /* Returns NULL if the module can work with the libslurm that the loader found, otherwise the reason. */
    char const* (*why_not)(void);
    /* Returns NULL, or Slurm's error message. libslurm may block, print to stderr, and end the process. */
    char const* (*read)(struct det_libslurm_request const* request, struct det_libslurm_sink const* sink);
};

typedef struct det_libslurm_module const* (*det_libslurm_entry)(void);

#ifdef __cplusplus
}
#endif
#endif
