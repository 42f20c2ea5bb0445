/* SPDX-License-Identifier: Apache-2.0 */
/* The mappings of a kind of file and their fields: one table that says what is known where.
 * workflow/fields.h has that of workflow files. */
#ifndef WORKFLOW_FIELD_TABLE_H
#define WORKFLOW_FIELD_TABLE_H

#include "base/enum_names.h"
#include "workflow/tree.h"

/* Sets of fields are a uint64_t, a bit for each. */
enum { FIELDS_MAX = 64 };
#define FIELD_BIT(field) (UINT64_C(1) << (field))

/* ---- fields ---- */

/* What the value of a field looks like, as far as JSON Schema can say it. Those who read the field
 * check it, and what else there is to check. */
enum field_form_kind {
    FORM_ANY,           /* data, and templates */
    FORM_TEXT,          /* of least .. most characters; most 0: any */
    FORM_NAME,          /* value_name() */
    FORM_ERROR,         /* one of `words`, or a name that does not begin with "States." */
    FORM_OWN_ERROR,     /* error_name_valid() */
    FORM_WHOLE,         /* least .. most */
    FORM_MILLI,         /* a number of least .. most thousandths */
    FORM_MILLI_OR_TEXT, /* such a number, or an expression for one */
    FORM_BOOLEAN,
    FORM_WORD,         /* one of `words` */
    FORM_TYPE,         /* of an InputShape */
    FORM_OBJECT,       /* a mapping that others know */
    FORM_PLACE,        /* the mapping at `place` */
    FORM_LIST,         /* of least .. most elements */
    FORM_ONE_OR_LIST,  /* an element, or such a list */
    FORM_LIST_OR_TEXT, /* a list of least .. most, of data, or an expression for one */
    FORM_WHOLE_OR_ALL, /* least .. most, or "all" */
    FORM_BY_NAME,      /* a mapping of elements */
};

struct field_form {
    enum field_form_kind kind;
    int64_t least;
    int64_t most;
    const struct enum_names *words;
    const struct field_form *element;
    uint32_t place;
};

/* The forms, as the rows of a table name them. */
#define FORM_IS_ANY      \
    {                    \
        .kind = FORM_ANY \
    }
#define FORM_IS_TEXT      \
    {                     \
        .kind = FORM_TEXT \
    }
#define FORM_IS_TEXT_OF(lo, hi)                        \
    {                                                  \
        .kind = FORM_TEXT, .least = (lo), .most = (hi) \
    }
#define FORM_IS_NAME      \
    {                     \
        .kind = FORM_NAME \
    }
#define FORM_IS_ERROR(names)                  \
    {                                         \
        .kind = FORM_ERROR, .words = &(names) \
    }
#define FORM_IS_OWN_ERROR      \
    {                          \
        .kind = FORM_OWN_ERROR \
    }
#define FORM_IS_WHOLE(lo, hi)                           \
    {                                                   \
        .kind = FORM_WHOLE, .least = (lo), .most = (hi) \
    }
#define FORM_IS_MILLI(lo, hi)                           \
    {                                                   \
        .kind = FORM_MILLI, .least = (lo), .most = (hi) \
    }
#define FORM_IS_MILLI_OR_TEXT(lo, hi)                           \
    {                                                           \
        .kind = FORM_MILLI_OR_TEXT, .least = (lo), .most = (hi) \
    }
#define FORM_IS_SECONDS FORM_IS_MILLI(1, DURATION_MS_MAX)
#define FORM_IS_SECONDS_OR_0 FORM_IS_MILLI(0, DURATION_MS_MAX)
#define FORM_IS_BOOLEAN      \
    {                        \
        .kind = FORM_BOOLEAN \
    }
#define FORM_IS_WORD(names)                  \
    {                                        \
        .kind = FORM_WORD, .words = &(names) \
    }
#define FORM_IS_TYPE      \
    {                     \
        .kind = FORM_TYPE \
    }
#define FORM_IS_OBJECT      \
    {                       \
        .kind = FORM_OBJECT \
    }
#define FORM_IS_PLACE(at)                 \
    {                                     \
        .kind = FORM_PLACE, .place = (at) \
    }
#define FORM_WITH(...) &(const struct field_form)__VA_ARGS__
#define FORM_IS_LIST(lo, hi, ...)                                                         \
    {                                                                                     \
        .kind = FORM_LIST, .least = (lo), .most = (hi), .element = FORM_WITH(__VA_ARGS__) \
    }
#define FORM_IS_ONE_OR_LIST(lo, hi, ...)                                                         \
    {                                                                                            \
        .kind = FORM_ONE_OR_LIST, .least = (lo), .most = (hi), .element = FORM_WITH(__VA_ARGS__) \
    }
#define FORM_IS_LIST_OR_TEXT(lo, hi)                           \
    {                                                          \
        .kind = FORM_LIST_OR_TEXT, .least = (lo), .most = (hi) \
    }
#define FORM_IS_WHOLE_OR_ALL(lo, hi)                           \
    {                                                          \
        .kind = FORM_WHOLE_OR_ALL, .least = (lo), .most = (hi) \
    }
#define FORM_IS_BY_NAME(...)                                    \
    {                                                           \
        .kind = FORM_BY_NAME, .element = FORM_WITH(__VA_ARGS__) \
    }

/* Editors show descriptions: a sentence, not a word. */
enum { FIELD_DESCRIPTION_MIN = 12 };

struct field_row {
    struct text name;
    struct field_form form;
    const char *description;
};

/* What a field is at one place only. */
struct field_row_at {
    uint32_t place;
    uint32_t field;
    struct field_form form;
    const char *description;
};

/* ---- places ---- */

/* One of several kinds of mappings at a place, each of which has fields of its own besides those
 * that are in no variant. Those who read the place check this. */
struct field_variant {
    uint64_t known;
    uint64_t required;
    uint64_t one_of;  /* exactly one of these */
    uint32_t chooser; /* where `word` is not NULL: the field that is this word in this variant */
    const char *word;
};

struct field_place {
    const char *phrase; /* "an unknown field of ..." */
    uint64_t known;
    uint64_t required;
    uint64_t one_of; /* at least one of these */
    const struct field_variant *variants;
    uint32_t variant_count;
};

/* A field that people try because others have it, and what there is instead. */
struct foreign_field {
    struct text name;
    const char *instead;
};

/* The same at one place only, before those of all places. */
struct foreign_field_at {
    uint32_t place;
    struct text name;
    const char *instead;
};

/* What is meant by a text where the mapping at `place` belongs. */
struct field_text_at {
    uint32_t place;
    uint32_t field;
};

struct field_table {
    const struct field_row *rows; /* by field */
    uint32_t count;
    const struct field_row_at *rows_at;
    uint32_t row_at_count;
    const struct field_place *places;
    uint32_t place_count;
    const struct foreign_field *foreign;
    uint32_t foreign_count;
    const struct foreign_field_at *foreign_at;
    uint32_t foreign_at_count;
    const struct field_text_at *texts_at;
    uint32_t text_at_count;
};

/* The values of a mapping by field; NULL: not given. */
struct field_values {
    struct mark mark; /* of the mapping */
    const struct yaml_node *of[FIELDS_MAX];
    uint64_t given; /* these and those that have no value */
};

/* Sorts out the fields of `node`, which stands at `place`, and tells what is unknown, missing or
 * empty. False: it is not a mapping. */
bool fields_take(const struct field_table *table, const struct yaml_node *node, uint32_t place,
                 struct workflow_problems *problems, struct field_values *ret_fields);

#endif
