/* SPDX-License-Identifier: Apache-2.0 */
/* What the messages of one cause have in common. Messages often name the order or a number: those
 * that differ in nothing else have one cause. */
#ifndef SERVICES_CONSOLE_MODEL_CAUSE_PATTERN_H
#define SERVICES_CONSOLE_MODEL_CAUSE_PATTERN_H

#include "base/text.h"

/* The message with "#" for each word that holds the order's id, is a number, or has three digits or
 * more, and one space between words; cut after `size` bytes. In `buffer`. */
struct text cause_pattern(struct text message, struct text order_id, char *buffer, uint32_t size);

#endif
