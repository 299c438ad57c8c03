/* Ends a case at the first thing that is not as it should be. */
#ifndef DET_TESTS_CAPI_CHECK_H
#define DET_TESTS_CAPI_CHECK_H

#include <det/det.h>

const char* complaint(const char* file, int line, const char* what);

#define CHECK(condition)                                                    \
    do {                                                                    \
        if (!(condition)) return complaint(__FILE__, __LINE__, #condition); \
    } while (0)
#define CHECK_OK(call) CHECK((call) == DET_OK)

/* Whether the last error is of this code and says this. */
int failed_with(const char* code, const char* part_of_message);

#endif
