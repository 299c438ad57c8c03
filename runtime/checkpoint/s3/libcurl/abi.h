/* What lies between our programs, which never link libcurl, and det_libcurl.so, which does. Plain C, so that the two
 * need not be built alike. */
#ifndef DET_LIBCURL_ABI_H
#define DET_LIBCURL_ABI_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Raised whenever anything below changes: a module of another version is not used. */
#define DET_LIBCURL_ABI_VERSION 1u
#define DET_LIBCURL_ENTRY "det_libcurl_module_entry"

struct det_libcurl_request {
    char const* method;
    char const* url;
    char const* const* headers; /* "name: value" */
    size_t header_count;
    char const* body;
    size_t body_size;
    /* No connection, or a slower one than that for so long, is an end. */
    long connect_limit_s;
    long stall_limit_s;
    long stall_bytes_per_s;
};

/* Who takes the answer; what is given is gone after the call. */
struct det_libcurl_sink {
    void* context;
    void (*header)(void* context, char const* line, size_t size);
    /* 0: the rest is not wanted. */
    int (*body)(void* context, long status, char const* bytes, size_t size);
};

struct det_libcurl_module {
    uint32_t abi_version;
    /* The status of the answer; 0 where there was none, or its body was not wanted, with the reason, which stays, in
     * `why`. Any thread, several at once. */
    long (*exchange)(struct det_libcurl_request const* request, struct det_libcurl_sink const* sink, char const** why);
};

typedef struct det_libcurl_module const* (*det_libcurl_entry)(void);

#ifdef __cplusplus
}
#endif
#endif
