#include "check.h"

#include <stdio.h>
#include <string.h>

const char* complaint(const char* file, int line, const char* what) {
    static char text[2048];
    snprintf(text, sizeof text, "%s:%d: %s; the last error: %s", file, line, what, det_error_text());
    return text;
}

int failed_with(const char* code, const char* part_of_message) {
    return strcmp(det_error_code(), code) == 0 && strstr(det_error_message(), part_of_message) != NULL;
}
