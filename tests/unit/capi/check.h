/* The macros end a case at the first check that does not hold. */
#ifndef DET_TESTS_CAPI_CHECK_H
#define DET_TESTS_CAPI_CHECK_H

#include <det/det.h>

const char* complaint(const char* file, int line, const char* what);

#define CHECK(condition)                                                    \
    do {                                                                    \
        if (!(condition)) return complaint(__FILE__, __LINE__, #condition); \
    } while (0)
#define CHECK_OK(call) CHECK((call) == DET_OK)

/* Whether the last error has this code and a message that contains this text. */
int failed_with(const char* code, const char* part_of_message);

#endif
