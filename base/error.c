/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>

static const char *const class_names[] = {"ok", "retry", "fenced", "reject", "fatal"};
_Static_assert(sizeof(class_names) / sizeof(class_names[0]) == ERROR_CLASS_COUNT,
               "every error class has a name");

enum error_class error_set(struct error *ret_error, enum error_class class, const char *code,
                           const char *format, ...)
{
    if (ret_error == NULL)
        return class;
    ret_error->class = class;
    snprintf(ret_error->code, sizeof(ret_error->code), "%s", code);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(ret_error->message, sizeof(ret_error->message), format, arguments);
    va_end(arguments);
    return class;
}

const char *error_class_name(enum error_class class)
{
    return (unsigned)class < ERROR_CLASS_COUNT ? class_names[class] : "?";
}
