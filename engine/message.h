/* SPDX-License-Identifier: Apache-2.0 */
/* Sentences for operators in events: reasons, alerts. */
#ifndef ENGINE_MESSAGE_H
#define ENGINE_MESSAGE_H

#include "base/arena.h"

#include <stdarg.h>

/* As printf, new in the arena, at most MESSAGE_BYTES_MAX bytes. */
struct text message_format(struct arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
struct text message_vformat(struct arena *arena, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));

#endif
