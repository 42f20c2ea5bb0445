/* SPDX-License-Identifier: Apache-2.0 */
/* What an InputShape says about the input of orders: types, members, which of them may be missing.
 *
 * workflow/ makes one from the file, in the workflow's arena; it never changes. The submission
 * service checks an input at the door, decide_submit() checks it again, both with shape_check(). */
#ifndef ENGINE_SHAPE_H
#define ENGINE_SHAPE_H

#include "base/error.h"
#include "base/json.h"

enum { SHAPE_DEPTH_MAX = 16 }; /* lists and maps of a shape within each other */

enum shape_kind {
    SHAPE_ANY, /* also null */
    SHAPE_STRING,
    SHAPE_NUMBER,
    SHAPE_INTEGER, /* a number that is whole, of any size */
    SHAPE_BOOLEAN,
    SHAPE_LIST,
    SHAPE_MAP,
    SHAPE_KIND_COUNT
};

struct shape {
    enum shape_kind kind;
    bool optional;               /* a member that may be missing */
    struct text name;            /* of a member, unescaped */
    struct text escaped;         /* the same as canonical text has it between quotes */
    const struct shape *element; /* of SHAPE_LIST: what its elements are */
    const struct shape *members; /* of SHAPE_MAP: sorted by the bytes of `escaped` */
    uint32_t member_count;
    uint32_t required_count; /* members that are not optional */
};

/* "string", "number" ... as an InputShape names it; of lists and maps, what they are. Static. */
const char *shape_kind_name(enum shape_kind kind);

/* Whether `input`, canonical text or empty (none), has the shape. REJECT "InvalidInput" with the
 * path of what has not: `input.items[2].quantity is a text; it must be an integer`.
 * Recurses no deeper than the shape; the work is linear in the size of the input, times its depth
 * and the logarithm of the members of a map in the shape. */
enum error_class shape_check(const struct shape *shape, struct text input, struct error *ret_error);

#endif
