/* SPDX-License-Identifier: Apache-2.0 */
/* Names of workflows, steps, agents, actions, applications and errors: all may become part of a
 * topic's name, so all consist of [A-Za-z0-9._-]. */
#ifndef BASE_NAMES_H
#define BASE_NAMES_H

#include "base/text.h"

/* For messages: "agent must be " NAME_EXPECTED. */
#define NAME_EXPECTED "1 to 64 letters, digits, '.', '_' or '-'"
#define NAME_NEW_EXPECTED NAME_EXPECTED ", other than \".\" and \"..\""

/* 1 to NAME_BYTES_MAX of the characters of names: of a name that is read. */
bool name_valid(struct text name);
/* Of a name that is given now: also not "." or "..", with which a URL or a path would climb. Names
 * that were given before this rule stay valid. */
bool name_valid_new(struct text name);
/* "." or "..": a step of a path, not a name. */
bool name_is_path_step(struct text text);
/* Only characters of names; may be empty, and of any length. */
bool name_characters_valid(struct text text);

/* The whole names of workflows: NAME of a file's own, NAME/STEP and NAME/STEP/STEP of the bodies in
 * it. For messages: "workflow must be " WORKFLOW_NAME_EXPECTED. */
#define WORKFLOW_NAME_EXPECTED "names with '/' between them, each " NAME_EXPECTED

/* Names with '/' between them, however many. */
bool workflow_name_valid(struct text name);
/* Whether it is of a body, whose orders are sub-orders. */
bool workflow_name_is_body(struct text name);
/* What is before the first '/', or all of it: the name of the file that has the workflow. */
struct text workflow_name_file(struct text name);

#endif
