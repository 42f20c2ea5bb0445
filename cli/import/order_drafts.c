/* SPDX-License-Identifier: Apache-2.0 */
/* Orders from rows. See order_drafts.h. */
#include "cli/import/order_drafts.h"

#include "base/heap_arena.h"
#include "base/json.h"
#include "platform/hash_table.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <xxhash.h>

enum { DRAFT_BLOCK_SIZE = 4096, LINES_FIRST = 8, CAPACITY_MIN = 1024 };

/* ---- row counts: an open-addressed table that only grows ---- */

void order_rows_deinit(struct order_rows *counts)
{
    free(counts->slots);
    *counts = (struct order_rows){0};
}

static uint64_t hash_of(struct text order_id)
{
    uint64_t hash = XXH3_64bits(order_id.data, order_id.size);
    return hash != 0 ? hash : 1;
}

/* The slot of this hash, or the free one where it belongs. */
static struct order_row_count *slot_of(const struct order_rows *counts, uint64_t hash)
{
    size_t at = hash & (counts->capacity - 1);
    while (counts->slots[at].hash != 0 && counts->slots[at].hash != hash)
        at = (at + 1) & (counts->capacity - 1);
    return &counts->slots[at];
}

static void grow(struct order_rows *counts)
{
    struct order_rows old = *counts;
    counts->capacity = old.capacity > 0 ? 2 * old.capacity : CAPACITY_MIN;
    counts->slots = calloc(counts->capacity, sizeof(*counts->slots));
    assert(counts->slots != NULL);
    for (size_t i = 0; i < old.capacity; i++) {
        if (old.slots[i].hash != 0)
            *slot_of(counts, old.slots[i].hash) = old.slots[i];
    }
    free(old.slots);
}

void order_rows_add(struct order_rows *counts, struct text order_id)
{
    if (4 * (counts->orders + 1) > 3 * counts->capacity)
        grow(counts);
    struct order_row_count *slot = slot_of(counts, hash_of(order_id));
    counts->orders += slot->hash == 0;
    slot->hash = hash_of(order_id);
    slot->rows++;
    counts->rows++;
}

uint64_t order_rows_of(const struct order_rows *counts, struct text order_id)
{
    return counts->capacity > 0 ? slot_of(counts, hash_of(order_id))->rows : 0;
}

/* ---- drafts ---- */

struct order_draft {
    struct order_details details; /* in the arena */
    struct goods goods;           /* of `details`; line_count may be less than its capacity */
    uint32_t line_capacity;
    struct text *inputs; /* cells by the map's column; NULL: it has none */
    uint64_t rows;
    int64_t first_line;
    bool refused;
    bool complete; /* out of the table */
    struct heap_arena heap;
    UT_hash_handle hh;
    char id[]; /* as in the file */
};

struct order_drafts {
    const struct csv_map *map;
    const struct order_rows *counts;
    const struct order_defaults *defaults;
    struct order_draft *open; /* by id */
    uint64_t lines;           /* of all open ones */
};

struct order_drafts *order_drafts_new(const struct csv_map *map, const struct order_rows *counts,
                                      const struct order_defaults *defaults)
{
    struct order_drafts *drafts = calloc(1, sizeof(*drafts));
    assert(drafts != NULL);
    *drafts = (struct order_drafts){map, counts, defaults, NULL, 0};
    return drafts;
}

void order_drafts_free(struct order_drafts *drafts)
{
    if (drafts == NULL)
        return;
    for (struct order_draft *draft; (draft = order_drafts_take(drafts)) != NULL;)
        order_draft_free(drafts, draft);
    free(drafts);
}

static struct text prefixed(struct order_draft *draft, struct text prefix, struct text id)
{
    char *bytes = arena_bytes(&draft->heap.arena, prefix.size + id.size + 1);
    if (prefix.size > 0)
        memcpy(bytes, prefix.data, prefix.size);
    memcpy(bytes + prefix.size, id.data, id.size);
    return (struct text){bytes, prefix.size + id.size};
}

static struct order_draft *draft_of(struct order_drafts *drafts, struct text id, int64_t line)
{
    struct order_draft *draft = NULL;
    HASH_FIND(hh, drafts->open, id.data, id.size, draft);
    if (draft != NULL)
        return draft;
    draft = calloc(1, sizeof(*draft) + id.size);
    assert(draft != NULL);
    memcpy(draft->id, id.data, id.size);
    heap_arena_init(&draft->heap, DRAFT_BLOCK_SIZE);
    draft->first_line = line;
    draft->details = (struct order_details){
        .order_id = prefixed(draft, drafts->defaults->id_prefix, id),
        .goods = &draft->goods,
        .priority = PRIORITY_NORMAL,
        .reply_to = drafts->defaults->reply_to,
        .workflow = drafts->defaults->workflow,
        .workflow_version = drafts->defaults->workflow_version,
    };
    HASH_ADD(hh, drafts->open, id, id.size, draft);
    return draft;
}

/* The order's own fields: the first row that has one decides. */
static void take_text(struct order_draft *draft, struct text *to, struct text from)
{
    if (text_empty(*to) && !text_empty(from))
        *to = arena_text(&draft->heap.arena, from);
}

static void take_attributes(struct order_drafts *drafts, struct order_draft *draft,
                            const struct csv_row *row)
{
    struct order_details *details = &draft->details;
    if (details->attributes == NULL)
        details->attributes =
            ARENA_ARRAY(&draft->heap.arena, struct attribute, ORDER_ATTRIBUTES_MAX);
    for (size_t i = 0; i < drafts->map->count; i++) {
        const struct csv_map_column *column = &drafts->map->columns[i];
        if (column->target != CSV_ATTRIBUTE || text_empty(row->fields[column->index]))
            continue;
        struct text name = text_of(column->name);
        bool has = false;
        for (uint32_t a = 0; a < details->attribute_count && !has; a++)
            has = text_equal(details->attributes[a].name, name);
        if (!has)
            details->attributes[details->attribute_count++] = (struct attribute){
                name, arena_text(&draft->heap.arena, row->fields[column->index])};
    }
}

/* Likewise, the first row that has a cell decides. */
static void take_inputs(struct order_drafts *drafts, struct order_draft *draft,
                        const struct csv_row *row)
{
    for (size_t i = 0; i < drafts->map->count; i++) {
        const struct csv_map_column *column = &drafts->map->columns[i];
        if (column->target != CSV_INPUT)
            continue;
        if (draft->inputs == NULL)
            draft->inputs = ARENA_ARRAY(&draft->heap.arena, struct text, drafts->map->count);
        take_text(draft, &draft->inputs[i], row->fields[column->index]);
    }
}

static void take_line(struct order_drafts *drafts, struct order_draft *draft,
                      const struct order_line *line)
{
    struct goods *goods = &draft->goods;
    struct arena *arena = &draft->heap.arena;
    if (goods->line_count == draft->line_capacity) {
        uint32_t capacity = draft->line_capacity > 0 ? 2 * draft->line_capacity : LINES_FIRST;
        struct order_line *lines = ARENA_ARRAY(arena, struct order_line, capacity);
        if (goods->line_count > 0)
            memcpy(lines, goods->lines, goods->line_count * sizeof(*lines));
        goods->lines = lines;
        draft->line_capacity = capacity;
    }
    if (text_empty(goods->currency))
        goods->currency = drafts->defaults->currency;
    goods->lines[goods->line_count++] =
        (struct order_line){arena_text(arena, line->sku), arena_text(arena, line->description),
                            line->quantity, line->unit_price};
    drafts->lines++;
}

static void take_row(struct order_drafts *drafts, struct order_draft *draft,
                     const struct csv_row *row, const struct csv_order_row *order_row)
{
    struct order_details *details = &draft->details;
    const struct text *texts = order_row->texts;
    /* Columns are stronger than the defaults. */
    if (draft->rows == 1) {
        struct {
            struct text *to;
            struct text from;
        } columns[] = {{&draft->goods.currency, texts[CSV_CURRENCY]},
                       {&details->workflow, texts[CSV_WORKFLOW]},
                       {&details->reply_to, texts[CSV_REPLY_TO]}};
        for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
            if (!text_empty(columns[i].from))
                *columns[i].to = arena_text(&draft->heap.arena, columns[i].from);
        }
        details->priority = order_row->priority;
    }
    take_text(draft, &details->customer, texts[CSV_CUSTOMER]);
    take_attributes(drafts, draft, row);
    take_inputs(drafts, draft, row);
    if (order_row->has_line)
        take_line(drafts, draft, &order_row->line);
}

/* ---- the input ---- */

static void write_cell(struct json_writer *writer, const struct csv_map_column *column,
                       struct text cell, struct arena *arena)
{
    struct text json = {0};
    bool is_json = !column->as_text && json_canonical(cell, UINT32_MAX, arena, &json, NULL);
    enum json_kind kind = json_value_kind(json_value_of(json));
    json_write_name(writer, text_of(column->name));
    if (is_json && kind != JSON_KIND_TEXT && kind != JSON_KIND_NULL)
        json_write_canonical(writer, json);
    else
        json_write_text(writer, cell);
}

/* What cannot be written (a NUL, too deep) leaves an input that is refused with its reason. */
static struct text input_of(const struct order_drafts *drafts, struct order_draft *draft)
{
    struct json_writer writer;
    struct text input = TEXT("{");
    struct arena *arena = &draft->heap.arena;
    json_writer_init(&writer, UINT32_MAX, arena);
    json_write_map(&writer);
    for (size_t i = 0; i < drafts->map->count; i++)
        if (!text_empty(draft->inputs[i]))
            write_cell(&writer, &drafts->map->columns[i], draft->inputs[i], arena);
    json_write_close(&writer);
    json_writer_done(&writer, &input);
    return input;
}

/* All its rows are there. */
static void complete(const struct order_drafts *drafts, struct order_draft *draft)
{
    draft->complete = true;
    if (draft->inputs != NULL && !draft->refused)
        draft->details.input = input_of(drafts, draft);
}

/* A refused order keeps its place until its last row, but no lines. */
static void refuse(struct order_drafts *drafts, struct order_draft *draft)
{
    assert(!draft->refused && drafts->lines >= draft->goods.line_count);
    draft->refused = true;
    drafts->lines -= draft->goods.line_count;
    draft->goods.line_count = 0;
}

enum error_class order_drafts_add(struct order_drafts *drafts, const struct csv_row *row,
                                  struct order_draft **ret_complete, struct error *ret_error)
{
    struct csv_order_row order_row;
    struct text id = csv_map_order_id(drafts->map, row);
    enum error_class class = csv_map_row(drafts->map, row, &order_row, ret_error);
    *ret_complete = NULL;
    if (text_empty(id))
        return class;
    struct order_draft *draft = draft_of(drafts, id, row->line);
    draft->rows++;
    if (class == ERROR_OK && !draft->refused && draft->goods.line_count == ORDER_LINES_MAX)
        class =
            error_set(ret_error, CODE_BAD_ROW, "an order has at most %d lines", ORDER_LINES_MAX);
    if (class != ERROR_OK && !draft->refused)
        refuse(drafts, draft);
    if (!draft->refused)
        take_row(drafts, draft, row, &order_row);
    if (draft->rows == order_rows_of(drafts->counts, id)) {
        HASH_DELETE(hh, drafts->open, draft);
        complete(drafts, draft);
        *ret_complete = draft;
    }
    if (drafts->lines > DRAFT_LINES_MAX)
        return error_set(ret_error, CODE_TOO_MANY_OPEN,
                         "line %" PRId64 ": more than %d rows wait for the rest of their orders: "
                         "sort the file by order id",
                         row->line, DRAFT_LINES_MAX);
    return class;
}

struct order_draft *order_drafts_take(struct order_drafts *drafts)
{
    struct order_draft *draft = drafts->open;
    if (draft != NULL) {
        HASH_DELETE(hh, drafts->open, draft);
        complete(drafts, draft);
    }
    return draft;
}

bool order_draft_is_refused(const struct order_draft *draft)
{
    return draft->refused;
}

int64_t order_draft_line(const struct order_draft *draft)
{
    return draft->first_line;
}

uint64_t order_draft_rows(const struct order_draft *draft)
{
    return draft->rows;
}

struct order_details *order_draft_details(struct order_draft *draft)
{
    return &draft->details;
}

void order_draft_free(struct order_drafts *drafts, struct order_draft *draft)
{
    assert(draft->complete && drafts->lines >= draft->goods.line_count);
    drafts->lines -= draft->goods.line_count;
    heap_arena_deinit(&draft->heap);
    free(draft);
}
