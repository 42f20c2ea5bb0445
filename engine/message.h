/* SPDX-License-Identifier: Apache-2.0 */
/* Sentences for people in events: reasons, alerts. */
#ifndef ENGINE_MESSAGE_H
#define ENGINE_MESSAGE_H

#include "base/arena.h"

#include <stdarg.h>

/* The first bytes of a text, at most `max`; no character (UTF-8) is cut in two. Borrowed. */
struct text text_cut(struct text text, uint32_t max);

/* As printf, new in the arena, at most MESSAGE_BYTES_MAX bytes. */
struct text message(struct arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
struct text message_of(struct arena *arena, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));

#endif
