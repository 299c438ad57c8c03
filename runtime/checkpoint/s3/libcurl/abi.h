/* The interface between the programs, which never link libcurl, and det_libcurl.so, which does. It is plain
 * C, so that different compilers may build the two sides. */
#ifndef DET_LIBCURL_ABI_H
#define DET_LIBCURL_ABI_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Increased whenever the interface changes. A program does not use a module of another version. */
#define DET_LIBCURL_ABI_VERSION 1u
#define DET_LIBCURL_ENTRY "det_libcurl_module_entry"

struct det_libcurl_request {
    char const* method;
    char const* url;
    char const* const* headers; /* "name: value" */
    size_t header_count;
    char const* body;
    size_t body_size;
    /* The exchange fails if there is no connection within connect_limit_s, or if the transfer is slower
     * than stall_bytes_per_s for stall_limit_s. */
    long connect_limit_s;
    long stall_limit_s;
    long stall_bytes_per_s;
};

/* The functions that receive the response. The text and bytes are valid only during the call. */
struct det_libcurl_sink {
    void* context;
    void (*header)(void* context, char const* line, size_t size);
    /* Receives a piece of the body. Returns 0 to end the exchange. */
    int (*body)(void* context, long status, char const* bytes, size_t size);
};

struct det_libcurl_module {
    uint32_t abi_version;
    /* Makes one request. Returns the status of the response. Returns 0 if there is no response or the sink
     * ended the exchange; then `why` is set to the reason, which stays valid. Thread-safe. */
    long (*exchange)(struct det_libcurl_request const* request, struct det_libcurl_sink const* sink,
                     char const** why);
};

typedef struct det_libcurl_module const* (*det_libcurl_entry)(void);

#ifdef __cplusplus
}
#endif
#endif
