/* SPDX-License-Identifier: Apache-2.0 */
/* Errors in classes: what to do about it, a stable code for programs, one line for operators.
 * Every code is a row of base/errors.def. Foreign errors (librdkafka, RocksDB, avro-c) become one
 * of these where they appear. Libraries return them; only the loop and the mains log them. */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include "base/text.h"

#include <stdbool.h>

enum error_class {
    ERROR_OK = 0,
    ERROR_RETRY,  /* passes by itself: try again later */
    ERROR_FENCED, /* another process owns it now: give up the claim */
    ERROR_REJECT, /* the input is at fault: report it to its sender and go on */
    ERROR_FATAL,  /* this partition or process cannot continue: stop it and report what to do */
    ERROR_CLASS_COUNT
};

enum error_code {
    CODE_NONE,
    CODE_FOREIGN, /* a library's, which has its own name for it */
#define ERROR_CODE(constant, class, name, text) CODE_##constant,
#include "base/errors.def"
    ERROR_CODE_COUNT
};

enum { ERROR_CODE_SIZE = 40, ERROR_MESSAGE_SIZE = 640 };

struct error {
    enum error_class class;
    enum error_code code;
    char foreign_name[ERROR_CODE_SIZE]; /* of CODE_FOREIGN, else empty */
    char message[ERROR_MESSAGE_SIZE];   /* one line: what is wrong and what to do */
};

/* These fill *ret_error (may be NULL) and return its class, so that `return error_set(...)` reads
 * well. */
/* The class is that of the code's row. */
enum error_class error_set(struct error *ret_error, enum error_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Where one code is of this class here and of another one elsewhere. */
enum error_class error_set_as(struct error *ret_error, enum error_class class, enum error_code code,
                              const char *format, ...) __attribute__((format(printf, 4, 5)));
/* `name` is the library's. */
enum error_class error_set_foreign(struct error *ret_error, enum error_class class,
                                   const char *name, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* The class and the code of `why`, which is another struct, with another message. */
enum error_class error_wrap(struct error *ret_error, const struct error *why, const char *format,
                            ...) __attribute__((format(printf, 3, 4)));

/* The name that programs see: CamelCase, stable, at most ERROR_CODE_SIZE with its NUL. */
const char *error_code_name(enum error_code code);
/* The same, of any error; "" without one. Borrowed until the error changes. */
const char *error_name_of(const struct error *error);
bool error_has_code_of(const struct error *error, const struct error *other);
const char *error_class_name(enum error_class class);

static inline struct text error_code_text(enum error_code code)
{
    return text_of(error_code_name(code));
}

static inline bool error_is(const struct error *error)
{
    return error->class != ERROR_OK;
}

#endif
