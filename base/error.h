/* SPDX-License-Identifier: Apache-2.0 */
/* Errors in classes: what to do about it, a stable code for programs, one line for operators.
 * Foreign errors (librdkafka, RocksDB, avro-c) become one of these where they appear. Libraries
 * return them; only the loop and the mains log them. */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include <stdbool.h>

enum error_class {
    ERROR_OK = 0,
    ERROR_RETRY,  /* passes by itself: try again later */
    ERROR_FENCED, /* another process owns it now: give up the claim */
    ERROR_REJECT, /* the input is at fault: report it to its sender and go on */
    ERROR_FATAL,  /* this partition or process cannot go on: stop it and report what to do */
    ERROR_CLASS_COUNT
};

enum { ERROR_CODE_SIZE = 40, ERROR_MESSAGE_SIZE = 640 };

struct error {
    enum error_class class;
    char code[ERROR_CODE_SIZE];       /* CamelCase, stable: "UnknownWorkflow" */
    char message[ERROR_MESSAGE_SIZE]; /* one line: what is wrong and what to do */
};

/* Fills *ret_error (may be NULL) and returns its class, so that `return error_set(...)` reads
 * well. */
enum error_class error_set(struct error *ret_error, enum error_class class, const char *code,
                           const char *format, ...) __attribute__((format(printf, 4, 5)));
const char *error_class_name(enum error_class class);

static inline bool error_is(const struct error *error)
{
    return error->class != ERROR_OK;
}

#endif
