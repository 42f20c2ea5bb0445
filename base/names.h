/* SPDX-License-Identifier: Apache-2.0 */
/* Names of workflows, steps, agents, actions, applications and errors: all may become part of a
 * topic's name, so all consist of [A-Za-z0-9._-]. */
#ifndef BASE_NAMES_H
#define BASE_NAMES_H

#include "base/text.h"

/* For messages: "agent must be " NAME_EXPECTED. */
#define NAME_EXPECTED "1 to 64 letters, digits, '.', '_' or '-'"

/* 1 to NAME_BYTES_MAX of the characters of names. */
bool name_valid(struct text name);
/* Only characters of names; may be empty, and of any length. */
bool name_characters_valid(struct text text);

#endif
