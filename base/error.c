/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const class_names[] = {"ok", "retry", "fenced", "reject", "fatal"};
_Static_assert(sizeof(class_names) / sizeof(class_names[0]) == ERROR_CLASS_COUNT,
               "every error class has a name");

static const struct {
    enum error_class class;
    char name[ERROR_CODE_SIZE];
} rows[ERROR_CODE_COUNT] = {
#define ERROR_CODE(constant, class, name, text) [CODE_##constant] = {ERROR_##class, name},
#include "base/errors.def"
};

static enum error_class class_of(enum error_code code)
{
    assert((unsigned)code < ERROR_CODE_COUNT);
    return rows[code].class;
}

static void fill(struct error *ret_error, enum error_class class, enum error_code code,
                 const char *foreign_name, const char *format, va_list arguments)
{
    assert(code != CODE_NONE && (code == CODE_FOREIGN) == (foreign_name[0] != '\0'));
    if (ret_error == NULL)
        return;
    ret_error->class = class;
    ret_error->code = code;
    snprintf(ret_error->foreign_name, sizeof(ret_error->foreign_name), "%s", foreign_name);
    vsnprintf(ret_error->message, sizeof(ret_error->message), format, arguments);
}

enum error_class error_set(struct error *ret_error, enum error_code code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fill(ret_error, class_of(code), code, "", format, arguments);
    va_end(arguments);
    return class_of(code);
}

enum error_class error_set_as(struct error *ret_error, enum error_class class, enum error_code code,
                              const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fill(ret_error, class, code, "", format, arguments);
    va_end(arguments);
    return class;
}

enum error_class error_set_foreign(struct error *ret_error, enum error_class class,
                                   const char *name, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fill(ret_error, class, CODE_FOREIGN, name, format, arguments);
    va_end(arguments);
    return class;
}

enum error_class error_wrap(struct error *ret_error, const struct error *why, const char *format,
                            ...)
{
    va_list arguments;
    assert(ret_error != why);
    va_start(arguments, format);
    fill(ret_error, why->class, why->code, why->foreign_name, format, arguments);
    va_end(arguments);
    return why->class;
}

const char *error_code_name(enum error_code code)
{
    assert((unsigned)code < ERROR_CODE_COUNT);
    return rows[code].name;
}

const char *error_name_of(const struct error *error)
{
    return error->code == CODE_FOREIGN ? error->foreign_name : error_code_name(error->code);
}

bool error_has_code_of(const struct error *error, const struct error *other)
{
    return error->code == other->code && strcmp(error->foreign_name, other->foreign_name) == 0;
}

const char *error_class_name(enum error_class class)
{
    return (unsigned)class < ERROR_CLASS_COUNT ? class_names[class] : "?";
}
