/* SPDX-License-Identifier: Apache-2.0 */
/* Writer's schema x binding -> plan. See plan.h.
 *
 * Fields are matched by name. Accepted besides equal types: int for long and long for int (the
 * value is checked against the member), string for bytes and bytes for string, a union for any of
 * its branches. */
#include "schemas/avro/plan.h"

#include "base/decimal.h"

#include <assert.h>

/* A growing list of ops; the final plan takes it over. */
struct op_list {
    struct op *ops;
    uint32_t count;
    uint32_t capacity;
};

/* A record that is skipped. */
struct skipped {
    const struct skipped *next;
    const struct avro_type *type;
    const struct plan *plan;
};

struct compiler {
    struct arena *arena;
    struct error *error;
    const char *record; /* that is being compiled, for messages */
    const struct skipped *skipped;
    uint32_t op_count;
};

static struct op *add(struct compiler *compiler, struct op_list *list, enum op_code code,
                      const char *name)
{
    compiler->op_count++;
    if (list->count == list->capacity) {
        uint32_t capacity = list->capacity == 0 ? 8 : list->capacity * 2;
        struct op *ops = ARENA_ARRAY(compiler->arena, struct op, capacity);
        if (list->count > 0)
            memcpy(ops, list->ops, list->count * sizeof(*ops));
        list->ops = ops;
        list->capacity = capacity;
    }
    struct op *op = &list->ops[list->count++];
    op->code = code;
    op->name = name;
    return op;
}

static const struct plan *plan_of(struct compiler *compiler, const struct op_list *list)
{
    struct plan *plan = ARENA_NEW(compiler->arena, struct plan);
    *plan = (struct plan){list->ops, list->count};
    return plan;
}

static bool mismatch(struct compiler *compiler, const struct field_binding *field,
                     const struct avro_type *type)
{
    error_set(compiler->error, CODE_UNMAPPABLE, "%s.%s: the writer's type %s does not fit",
              compiler->record, field->name,
              type->name != NULL ? type->name : avro_kind_name(type->kind));
    return false;
}

/* Skipping takes as many operations as the schema's text has items; fields that are known may be
 * repeated by each branch of a union. */
static bool has_room(struct compiler *compiler)
{
    if (compiler->op_count <= PLAN_OPS_MAX)
        return true;
    error_set(compiler->error, CODE_BAD_SCHEMA, "%s: more than %d items", compiler->record,
              PLAN_OPS_MAX);
    return false;
}

/* ---- items that are unknown here ---- */

static const struct plan *skip_plan(struct compiler *compiler, const struct avro_type *type);
static const struct plan *skipped_plan(struct compiler *compiler, const struct avro_type *record);

static void compile_skip(struct compiler *compiler, const struct avro_type *type, const char *name,
                         struct op_list *list)
{
    static const enum op_code codes[AVRO_KIND_COUNT] = {
        [AVRO_KIND_BOOLEAN] = OP_SKIP_FIXED, [AVRO_KIND_INT] = OP_SKIP_VARINT,
        [AVRO_KIND_LONG] = OP_SKIP_VARINT,   [AVRO_KIND_FLOAT] = OP_SKIP_FIXED,
        [AVRO_KIND_DOUBLE] = OP_SKIP_FIXED,  [AVRO_KIND_BYTES] = OP_SKIP_SIZED,
        [AVRO_KIND_STRING] = OP_SKIP_SIZED,  [AVRO_KIND_ENUM] = OP_SKIP_INDEX,
        [AVRO_KIND_FIXED] = OP_SKIP_FIXED,   [AVRO_KIND_ARRAY] = OP_SKIP_ARRAY,
        [AVRO_KIND_MAP] = OP_SKIP_MAP,       [AVRO_KIND_UNION] = OP_SKIP_UNION,
    };
    if (type->kind == AVRO_KIND_NULL)
        return;
    if (type->kind == AVRO_KIND_RECORD) {
        add(compiler, list, OP_SKIP_RECORD, name)->sub = skipped_plan(compiler, type);
        return;
    }
    struct op *op = add(compiler, list, codes[type->kind], name);
    op->size = type->bytes_min; /* of boolean, float, double, fixed */
    if (type->kind == AVRO_KIND_ENUM)
        op->limit = type->count - 1;
    if (type->kind == AVRO_KIND_ARRAY || type->kind == AVRO_KIND_MAP) {
        op->sub = skip_plan(compiler, type->members[0]);
        op->bytes_min = type->members[0]->bytes_min + (type->kind == AVRO_KIND_MAP ? 1 : 0);
    }
    if (type->kind == AVRO_KIND_UNION) {
        struct branch *branches = ARENA_ARRAY(compiler->arena, struct branch, type->count);
        for (uint32_t i = 0; i < type->count; i++)
            branches[i].plan = skip_plan(compiler, type->members[i]);
        struct branches *all = ARENA_NEW(compiler->arena, struct branches);
        all->count = type->count;
        all->list = branches;
        op->branches = all;
    }
}

static const struct plan *skip_plan(struct compiler *compiler, const struct avro_type *type)
{
    struct op_list list = {0};
    compile_skip(compiler, type, "(unknown)", &list);
    return plan_of(compiler, &list);
}

/* The only one for this type. */
static const struct plan *skipped_plan(struct compiler *compiler, const struct avro_type *record)
{
    assert(record->kind == AVRO_KIND_RECORD);
    for (const struct skipped *at = compiler->skipped; at != NULL; at = at->next)
        if (at->type == record)
            return at->plan;
    struct op_list list = {0};
    for (uint32_t i = 0; i < record->count; i++)
        compile_skip(compiler, record->fields[i].type, "(unknown)", &list);
    struct skipped *skipped = ARENA_NEW(compiler->arena, struct skipped);
    *skipped = (struct skipped){compiler->skipped, record, plan_of(compiler, &list)};
    compiler->skipped = skipped;
    return skipped->plan;
}

/* ---- members ---- */

static bool compile_record(struct compiler *compiler, const struct avro_type *writer,
                           const struct record_binding *binding, uint32_t base,
                           struct op_list *list);
static bool compile_field(struct compiler *compiler, const struct avro_type *type,
                          const struct field_binding *field, uint32_t base, struct op_list *list);

/* The member stays zero or gets its fallback. */
static void compile_default(struct compiler *compiler, const struct field_binding *field,
                            uint32_t base, struct op_list *list)
{
    if (field->fallback == 0)
        return;
    assert(field->kind == FIELD_ENUM || field->kind == FIELD_I64);
    struct op *op =
        add(compiler, list, field->kind == FIELD_I64 ? OP_SET64 : OP_SET32, field->name);
    op->offset = base + field->offset;
    op->value = field->fallback;
}

static void compile_enum(struct compiler *compiler, const struct avro_type *type,
                         const struct enum_names *symbols, struct op *op)
{
    assert(symbols->count < ENUM_UNKNOWN);
    uint8_t *values = arena_bytes(compiler->arena, type->count);
    for (uint32_t i = 0; i < type->count; i++) {
        values[i] = ENUM_UNKNOWN;
        for (uint32_t value = 0; value < symbols->count; value++)
            if (strcmp(type->symbols[i], symbols->names[value]) == 0)
                values[i] = (uint8_t)value;
    }
    op->values = values;
    op->limit = type->count - 1;
}

/* A field of another struct than the record's own. */
static bool compile_part(struct compiler *compiler, const struct avro_type *type,
                         const struct field_binding *field, uint32_t base, struct op_list *list)
{
    struct field_binding inner = *field;
    struct op_list sub = {0};
    assert(field->fallback == 0);
    inner.part = NULL;
    if (!compile_field(compiler, type, &inner, 0, &sub))
        return false;
    struct op *op = add(compiler, list, OP_PART, field->name);
    op->offset = base + field->part->offset;
    op->size = field->part->size;
    op->sub = plan_of(compiler, &sub);
    return true;
}

/* Any union in place of a plain field, and the union of null and a record of an optional one. */
static bool compile_union(struct compiler *compiler, const struct avro_type *type,
                          const struct field_binding *field, uint32_t base, struct op_list *list)
{
    struct branch *branches = ARENA_ARRAY(compiler->arena, struct branch, type->count);
    for (uint32_t i = 0; i < type->count; i++) {
        struct op_list branch = {0};
        if (type->members[i]->kind != AVRO_KIND_NULL) {
            if (!compile_field(compiler, type->members[i], field, base, &branch))
                return false;
        } else if (field->required) {
            add(compiler, &branch, OP_REFUSE, field->name);
        } else {
            compile_default(compiler, field, base, &branch);
        }
        branches[i].plan = plan_of(compiler, &branch);
        branches[i].name = avro_kind_name(type->members[i]->kind);
    }
    enum op_code code = field->kind == FIELD_OPTIONAL  ? OP_OPTIONAL
                        : field->kind == FIELD_HASH    ? OP_OPTIONAL_FIXED
                        : field->kind == FIELD_POINTER ? OP_OPTIONAL_POINTER
                                                       : OP_UNION;
    struct op *op = add(compiler, list, code, field->name);
    op->size = field->size;
    op->offset = base + field->offset;
    op->count = base + field->count;
    struct branches *all = ARENA_NEW(compiler->arena, struct branches);
    all->count = type->count;
    all->list = branches;
    op->branches = all;
    return true;
}

/* The items of Decision.events: a branch is known by its record's name. */
static bool compile_events(struct compiler *compiler, const struct avro_type *items, struct op *op)
{
    struct branches *all = ARENA_NEW(compiler->arena, struct branches);
    struct branch *list = ARENA_ARRAY(compiler->arena, struct branch, items->count);
    memset(all->index_of, UINT8_MAX, sizeof(all->index_of));
    const char *record = compiler->record;
    for (uint32_t i = 0; i < items->count; i++) {
        const struct avro_type *type = items->members[i];
        list[i].name =
            type->name != NULL ? avro_short_name(type->name) : avro_kind_name(type->kind);
        enum event_kind kind = event_kind_of(list[i].name);
        if (type->kind != AVRO_KIND_RECORD || kind == 0)
            continue; /* a newer writer's: an error only where it occurs */
        struct op_list ops = {0};
        compiler->record = list[i].name;
        if (!compile_record(compiler, type, event_binding(kind),
                            offsetof(struct event, order_accepted), &ops))
            return false;
        list[i].plan = plan_of(compiler, &ops);
        list[i].event = kind;
        if (i < UINT8_MAX)
            all->index_of[kind] = (uint8_t)i;
    }
    compiler->record = record;
    all->count = items->count;
    all->list = list;
    op->branches = all;
    return true;
}

/* Arrays and maps, whose elements have a plan of their own. */
static bool compile_elements(struct compiler *compiler, const struct avro_type *type,
                             const struct field_binding *field, struct op *op)
{
    const struct avro_type *items = type->members[0];
    op->bytes_min = items->bytes_min;
    if (field->kind == FIELD_EVENTS) {
        op->size = sizeof(struct event);
        return items->kind == AVRO_KIND_UNION ? compile_events(compiler, items, op)
                                              : mismatch(compiler, field, type);
    }
    if (field->kind == FIELD_COUNTERS)
        return items->kind == AVRO_KIND_INT || items->kind == AVRO_KIND_LONG
                   ? true
                   : mismatch(compiler, field, type);
    struct op_list list = {0};
    if (field->kind == FIELD_ATTRIBUTES) {
        static const struct field_binding value = {
            FIELD_AS("attributes", FIELD_TEXT, REQUIRED, struct attribute, value),
            LIMITS(ATTRIBUTE_VALUE_BYTES)};
        if (!compile_field(compiler, items, &value, 0, &list))
            return false;
        op->size = sizeof(struct attribute);
        op->bytes_min = items->bytes_min + 1;
    } else if (field->kind == FIELD_TEXTS) {
        static const struct field_binding item = {.name = "items",
                                                  .kind = FIELD_TEXT,
                                                  .required = true,
                                                  .size = sizeof(struct text),
                                                  LIMITS(TEXT_ITEM_BYTES)};
        if (!compile_field(compiler, items, &item, 0, &list))
            return false;
        op->size = sizeof(struct text);
    } else {
        assert(field->kind == FIELD_ARRAY);
        if (items->kind != AVRO_KIND_RECORD)
            return mismatch(compiler, field, type);
        if (!compile_record(compiler, items, field->sub, 0, &list))
            return false;
        op->size = field->sub->size;
    }
    op->sub = plan_of(compiler, &list);
    return true;
}

/* The op for a field of this kind written as this type; OP_CODE_COUNT: they do not fit. */
static enum op_code code_of(const struct avro_type *type, const struct field_binding *field)
{
    bool integer = type->kind == AVRO_KIND_INT || type->kind == AVRO_KIND_LONG;
    bool bytes = type->kind == AVRO_KIND_BYTES;
    bool sized = bytes || type->kind == AVRO_KIND_STRING;
    bool fits = false;
    enum op_code code = OP_CODE_COUNT;
    switch (field->kind) {
    case FIELD_TEXT:
    case FIELD_JSON:
    case FIELD_BYTES:
        code = OP_TEXT, fits = sized;
        break;
    case FIELD_BOOL:
        code = OP_BOOL, fits = type->kind == AVRO_KIND_BOOLEAN;
        break;
    case FIELD_I32:
        code = OP_I32, fits = integer;
        break;
    case FIELD_U32:
        code = OP_U32, fits = integer;
        break;
    case FIELD_I64:
        code = OP_I64, fits = integer;
        break;
    case FIELD_U64:
        code = OP_U64, fits = integer;
        break;
    case FIELD_ENUM:
        code = OP_ENUM, fits = type->kind == AVRO_KIND_ENUM;
        break;
    case FIELD_UUID:
    case FIELD_HASH:
        code = OP_FIXED, fits = type->kind == AVRO_KIND_FIXED && type->size == field->size;
        break;
    case FIELD_DECIMAL:
        /* A bytes without a scale has ours: the canonical form, and so the fingerprint, knows none.
         */
        code = OP_DECIMAL, fits = bytes && (type->scale == -1 || type->scale == DECIMAL_SCALE);
        break;
    case FIELD_POINTER:
        code = OP_POINTER, fits = type->kind == AVRO_KIND_RECORD;
        break;
    case FIELD_ARRAY:
    case FIELD_TEXTS:
        code = OP_ARRAY, fits = type->kind == AVRO_KIND_ARRAY;
        break;
    case FIELD_COUNTERS:
        code = OP_COUNTERS, fits = type->kind == AVRO_KIND_ARRAY;
        break;
    case FIELD_ATTRIBUTES:
        code = OP_ATTRIBUTES, fits = type->kind == AVRO_KIND_MAP;
        break;
    case FIELD_EVENTS:
        code = OP_EVENTS, fits = type->kind == AVRO_KIND_ARRAY;
        break;
    case FIELD_RECORD:
    case FIELD_OPTIONAL:
    case FIELD_KIND_COUNT:
        break;
    }
    return fits ? code : OP_CODE_COUNT;
}

static bool compile_field(struct compiler *compiler, const struct avro_type *type,
                          const struct field_binding *field, uint32_t base, struct op_list *list)
{
    if (field->part != NULL)
        return compile_part(compiler, type, field, base, list);
    if (type->kind == AVRO_KIND_UNION)
        return compile_union(compiler, type, field, base, list);
    if (field->kind == FIELD_RECORD || field->kind == FIELD_OPTIONAL) {
        if (type->kind != AVRO_KIND_RECORD)
            return mismatch(compiler, field, type);
        if (field->kind == FIELD_OPTIONAL)
            add(compiler, list, OP_SET_TRUE, field->name)->offset = base + field->count;
        return compile_record(compiler, type, field->sub, base + field->offset, list);
    }
    enum op_code code = code_of(type, field);
    if (code == OP_CODE_COUNT)
        return mismatch(compiler, field, type);
    struct op *op = add(compiler, list, code, field->name);
    op->utf8 = field->kind == FIELD_TEXT || field->kind == FIELD_JSON;
    op->offset = base + field->offset;
    op->count = base + field->count;
    op->limit = field->read_limit;
    op->size = field->size;
    if (code == OP_ENUM)
        compile_enum(compiler, type, field->symbols, op);
    if (code == OP_POINTER) {
        struct op_list sub = {0};
        if (!compile_record(compiler, type, field->sub, 0, &sub))
            return false;
        op->size = field->sub->size;
        op->sub = plan_of(compiler, &sub);
    }
    /* `list` does not change meanwhile: elements have lists of their own. */
    return code < OP_ARRAY || code > OP_EVENTS || compile_elements(compiler, type, field, op);
}

static bool compile_record(struct compiler *compiler, const struct avro_type *writer,
                           const struct record_binding *binding, uint32_t base,
                           struct op_list *list)
{
    assert(binding->count <= 64);
    if (!has_room(compiler))
        return false;
    uint64_t seen = 0;
    for (uint32_t i = 0; i < writer->count; i++) {
        uint32_t at = 0;
        while (at < binding->count && strcmp(binding->fields[at].name, writer->fields[i].name) != 0)
            at++;
        if (at == binding->count) {
            compile_skip(compiler, writer->fields[i].type, writer->fields[i].name, list);
            continue;
        }
        seen |= UINT64_C(1) << at;
        if (!compile_field(compiler, writer->fields[i].type, &binding->fields[at], base, list))
            return false;
    }
    for (uint32_t at = 0; at < binding->count; at++) {
        const struct field_binding *field = &binding->fields[at];
        if ((seen & UINT64_C(1) << at) != 0)
            continue;
        if (field->required) {
            error_set(compiler->error, CODE_UNMAPPABLE, "%s: the writer has no field %s",
                      avro_short_name(writer->name), field->name);
            return false;
        }
        compile_default(compiler, field, base, list);
    }
    return true;
}

enum error_class avro_plan_compile(const struct avro_type *writer,
                                   const struct record_binding *binding, uint32_t base,
                                   struct arena *arena, const struct plan **ret_plan,
                                   struct error *ret_error)
{
    struct compiler compiler = {
        .arena = arena, .error = ret_error, .record = avro_short_name(writer->name)};
    struct op_list list = {0};
    assert(writer->kind == AVRO_KIND_RECORD);
    if (!compile_record(&compiler, writer, binding, base, &list) || !has_room(&compiler))
        return ERROR_REJECT;
    *ret_plan = plan_of(&compiler, &list);
    return ERROR_OK;
}
