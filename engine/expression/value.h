/* SPDX-License-Identifier: Apache-2.0 */
/* Values while an expression is evaluated. Inside engine/expression/ and its tests only.
 *
 * A list or a map that came from data stays canonical JSON text and is read where it is needed; so
 * does a number, whose digits therefore survive unless arithmetic is done with it. Everything is
 * borrowed from the scope and the expression, or new in the run's arena; nothing is freed. */
#ifndef ENGINE_EXPRESSION_VALUE_H
#define ENGINE_EXPRESSION_VALUE_H

#include "base/json.h"
#include "engine/expression/expression.h"

struct value_entry;

enum value_form {
    VALUE_OWN,  /* the union's member of the kind */
    VALUE_JSON, /* json, of a number, a text, a list or a map. A number's kind is VALUE_REAL */
};

struct expression_value {
    uint8_t kind;   /* enum value_kind */
    uint8_t form;   /* enum value_form */
    uint32_t count; /* elements or entries, of a list or a map in VALUE_OWN */
    union {
        bool yes;
        int64_t whole;
        double real;
        struct text text;
        struct json_value json;
        const struct expression_value *items;
        const struct value_entry *entries; /* sorted by name */
    };
};

struct value_entry {
    struct text name;
    struct expression_value value;
};

#endif
