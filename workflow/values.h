/* SPDX-License-Identifier: Apache-2.0 */
/* The values of fields: names, numbers, durations, choices. Each reader leaves *ret_value as it is
 * and tells a problem when the node holds something else; `what` names the field in it. */
#ifndef WORKFLOW_VALUES_H
#define WORKFLOW_VALUES_H

#include "base/enum_names.h"
#include "workflow/tree.h"

/* The forms of plain scalars. */
bool value_looks_like_number(struct text text);
bool value_looks_like_boolean(struct text text); /* YAML 1.1 also has yes, no, on, off */

/* "5m", "5 min": a number with a unit, in seconds. */
bool value_looks_like_time(struct text text, int64_t *ret_seconds);

/* What was noted once, and is not again. */
struct workflow_notes {
    bool members;
};

struct values {
    struct arena *arena; /* where texts are copied to */
    struct workflow_problems *problems;
    bool deployed;                /* rules for new texts alone do not apply */
    struct workflow_notes *notes; /* NULL: none are wanted */
};

/* Workflows, steps, agents, actions: [A-Za-z0-9._-], 1 .. NAME_BYTES_MAX bytes; not "." or ".."
 * where it is new. */
bool value_name(const struct values *values, const struct yaml_node *node, const char *what,
                struct text *ret_value);
/* Any text, checked only. */
bool value_text(const struct values *values, const struct yaml_node *node, const char *what);
/* `least` .. `most`. */
bool value_whole(const struct values *values, const struct yaml_node *node, const char *what,
                 int64_t least, int64_t most, int64_t *ret_value);
/* The same, or "all", which is given as `all`. */
bool value_whole_or_all(const struct values *values, const struct yaml_node *node, const char *what,
                        int64_t least, int64_t most, int64_t all, int64_t *ret_value);
/* Seconds, as fine as a millisecond: more than 0, at most DURATION_MS_MAX. */
bool value_duration(const struct values *values, const struct yaml_node *node, const char *what,
                    int64_t *ret_ms);
/* The same, or 0. */
bool value_duration_or_0(const struct values *values, const struct yaml_node *node,
                         const char *what, int64_t *ret_ms);
/* A rate in thousandths: 1 .. BACKOFF_RATE_MAX. */
enum { BACKOFF_RATE_MAX = 1000 };
bool value_rate(const struct values *values, const struct yaml_node *node, const char *what,
                uint32_t *ret_milli);
bool value_boolean(const struct values *values, const struct yaml_node *node, const char *what,
                   bool *ret_value);
/* One of the words, at least 2 and at most VALUE_WORDS_MAX; its index. */
enum { VALUE_WORDS_MAX = 16 };
bool value_word(const struct values *values, const struct yaml_node *node, const char *what,
                const struct enum_names *words, uint32_t *ret_index);

#endif
