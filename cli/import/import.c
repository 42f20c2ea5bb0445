/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve import`: orders from a CSV file (rows with the same order id are one order) or from JSON
 * lines, at a rate, with progress; refused orders go to FILE.rejects.csv. */
#include "base/heap_arena.h"
#include "cli/import/import_run.h"
#include "cli/import/order_drafts.h"
#include "cli/submit/orders_file.h"
#include "schemas/json/submission_json.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <sys/stat.h>

/* ---- CSV ---- */

struct csv_import {
    struct import_run *run;
    struct csv_map map;
    struct order_rows counts;
    struct order_defaults defaults;
    char delimiter;
};

static enum error_class read_header(struct csv_import *import, struct csv_reader *reader,
                                    struct error *ret_error)
{
    struct csv_row row;
    switch (csv_reader_next(reader, &row, ret_error)) {
    case CSV_ROW:
        return csv_map_bind(&import->map, &row, ret_error);
    case CSV_END:
        return error_set(ret_error, CODE_EMPTY, "the file is empty");
    case CSV_BAD_ROW:
    case CSV_UNREADABLE:
        break;
    }
    return ret_error->class;
}

/* First pass: how many rows each order has. */
static enum error_class count_rows(struct csv_import *import, FILE *in, struct error *ret_error)
{
    struct csv_reader *reader = csv_reader_new(in, import->delimiter);
    struct csv_row row;
    struct error error = {0};
    enum error_class class = read_header(import, reader, ret_error);
    enum csv_result result = CSV_ROW;
    while (class == ERROR_OK && result != CSV_END) {
        result = csv_reader_next(reader, &row, &error);
        struct text order_id =
            result == CSV_ROW ? csv_map_order_id(&import->map, &row) : (struct text){0};
        if (!text_empty(order_id))
            order_rows_add(&import->counts, order_id);
        if (result == CSV_UNREADABLE) {
            *ret_error = error;
            class = error.class;
        }
    }
    csv_reader_free(reader);
    return class;
}

static enum error_class finish_draft(struct csv_import *import, struct order_drafts *drafts,
                                     struct order_draft *draft, struct error *ret_error)
{
    enum error_class class = ERROR_OK;
    struct import_run *run = import->run;
    if (order_draft_is_refused(draft))
        import_run_count_refused(run);
    else
        class =
            import_run_order(run, order_draft_details(draft), order_draft_line(draft), ret_error);
    order_draft_free(drafts, draft);
    return class;
}

static enum error_class take_row(struct csv_import *import, struct order_drafts *drafts,
                                 const struct csv_row *row, struct error *ret_error)
{
    struct order_draft *complete = NULL;
    struct error error = {0};
    enum error_class class = order_drafts_add(drafts, row, &complete, &error);
    if (class == ERROR_REJECT)
        class = import_run_reject(import->run, row->line, csv_map_order_id(&import->map, row),
                                  error.message, ret_error);
    else if (class != ERROR_OK)
        *ret_error = error;
    if (complete == NULL)
        return class;
    if (class == ERROR_OK)
        return finish_draft(import, drafts, complete, ret_error);
    order_draft_free(drafts, complete);
    return class;
}

static enum error_class import_rows(struct csv_import *import, struct csv_reader *reader,
                                    struct order_drafts *drafts, struct error *ret_error)
{
    struct csv_row row;
    struct error error = {0};
    enum error_class class = read_header(import, reader, ret_error);
    while (class == ERROR_OK && !import_run_is_over(import->run)) {
        switch (csv_reader_next(reader, &row, &error)) {
        case CSV_ROW:
            class = take_row(import, drafts, &row, ret_error);
            break;
        case CSV_BAD_ROW:
            class = import_run_reject(import->run, row.line, (struct text){0}, error.message,
                                      ret_error);
            break;
        case CSV_UNREADABLE:
            *ret_error = error;
            return error.class;
        case CSV_END:
            for (struct order_draft *draft;
                 class == ERROR_OK && (draft = order_drafts_take(drafts)) != NULL;)
                class = finish_draft(import, drafts, draft, ret_error);
            return class;
        }
    }
    return class;
}

static enum error_class take_map(struct cli *cli, struct csv_import *import,
                                 struct error *ret_error)
{
    const char *delimiter = cli_flag_value(cli, "delimiter");
    const char *pairs;
    enum error_class class = ERROR_OK;
    for (size_t index = 0;
         class == ERROR_OK && (pairs = cli_flag_next(cli, "map", &index)) != NULL;)
        class = csv_map_add(&import->map, pairs, ret_error);
    if (class == ERROR_OK && import->map.count == 0)
        class = error_set(ret_error, CODE_USAGE,
                          "no column is mapped to a field: give --map order_id=COLUMN,...");
    if (class == ERROR_OK && delimiter != NULL &&
        (strlen(delimiter) != 1 || strchr("\"\r\n", delimiter[0]) != NULL))
        class = error_set(ret_error, CODE_USAGE, "--delimiter: expected one character");
    import->delimiter = delimiter != NULL ? delimiter[0] : ',';
    return class;
}

/* Otherwise every order of the file would be refused for the same reason. */
static enum error_class check_workflow(struct cli *cli, const struct csv_import *import,
                                       struct error *ret_error)
{
    bool has = cli_flag_given(cli, "workflow");
    for (size_t i = 0; i < import->map.count && !has; i++)
        has = import->map.columns[i].target == CSV_WORKFLOW;
    return has ? ERROR_OK
               : error_set(ret_error, CODE_USAGE,
                           "the orders name no workflow: give --workflow NAME");
}

static enum error_class import_csv(struct csv_import *import, FILE *in, struct error *ret_error)
{
    enum error_class class = count_rows(import, in, ret_error);
    if (class != ERROR_OK)
        return class;
    if (fseeko(in, 0, SEEK_SET) != 0)
        return error_set(ret_error, CODE_NOT_A_FILE,
                         "a CSV file is read twice, so it cannot be a pipe: give a file");
    clearerr(in);
    import_run_expect(import->run, import->counts.orders, 0);
    struct csv_reader *reader = csv_reader_new(in, import->delimiter);
    struct order_drafts *drafts =
        order_drafts_new(&import->map, &import->counts, &import->defaults);
    class = import_rows(import, reader, drafts, ret_error);
    order_drafts_free(drafts);
    csv_reader_free(reader);
    return class;
}

/* ---- JSON lines ---- */

static struct text prefixed(struct text prefix, struct text id, struct arena *arena)
{
    char *bytes = arena_bytes(arena, prefix.size + (size_t)id.size + 1);
    if (prefix.size > 0)
        memcpy(bytes, prefix.data, prefix.size);
    if (id.size > 0)
        memcpy(bytes + prefix.size, id.data, id.size);
    return (struct text){bytes, prefix.size + id.size};
}

static void apply_defaults(const struct order_defaults *defaults, struct arena *arena,
                           struct order_details *details)
{
    if (text_empty(details->workflow)) {
        details->workflow = defaults->workflow;
        details->workflow_version = defaults->workflow_version;
    }
    const struct goods *given = goods_or_none(details->goods);
    if (given->line_count > 0 && text_empty(given->currency)) {
        struct goods *goods = ARENA_NEW(arena, struct goods);
        *goods = *given;
        goods->currency = defaults->currency;
        details->goods = goods;
    }
    if (text_empty(details->reply_to))
        details->reply_to = defaults->reply_to;
    if (!text_empty(defaults->id_prefix))
        details->order_id = prefixed(defaults->id_prefix, details->order_id, arena);
}

static enum error_class import_value(struct import_run *run, struct text json, int64_t line,
                                     const struct order_defaults *defaults, struct heap_arena *heap,
                                     struct error *ret_error)
{
    struct order_details details;
    struct error error = {0};
    heap_arena_reset(heap);
    if (submission_json_read(json, &heap->arena, &details, &error) != ERROR_OK) {
        import_run_count_refused(run);
        return import_run_reject(run, line, (struct text){0}, error.message, ret_error);
    }
    apply_defaults(defaults, &heap->arena, &details);
    return import_run_order(run, &details, line, ret_error);
}

static enum error_class import_json(struct import_run *run, FILE *in,
                                    const struct order_defaults *defaults, int64_t size,
                                    struct error *ret_error)
{
    struct orders_file *file = orders_file_new(in, true);
    struct heap_arena heap;
    struct text value = {0};
    int64_t line = 0;
    enum error_class class = ERROR_OK;
    heap_arena_init(&heap, 64 * 1024);
    while (class == ERROR_OK && !import_run_is_over(run)) {
        struct error error = {0};
        enum orders_file_result result = orders_file_next(file, &value, &line, &error);
        if (result == ORDERS_FILE_END)
            break;
        if (size > 0)
            import_run_expect(run, 0, (double)orders_file_bytes(file) / (double)size);
        if (result == ORDERS_FILE_UNREADABLE) {
            *ret_error = error;
            class = error.class;
        } else if (result == ORDERS_FILE_BAD) {
            import_run_count_refused(run);
            class = import_run_reject(run, line, (struct text){0}, error.message, ret_error);
        } else {
            class = import_value(run, value, line, defaults, &heap, ret_error);
        }
    }
    heap_arena_deinit(&heap);
    orders_file_free(file);
    return class;
}

/* ---- the command ---- */

static bool ends_with(const char *text, const char *suffix)
{
    size_t size = strlen(text), suffix_size = strlen(suffix);
    return size >= suffix_size && strcasecmp(text + size - suffix_size, suffix) == 0;
}

static enum error_class take_defaults(struct cli *cli, struct order_defaults *defaults,
                                      struct error *ret_error)
{
    int64_t version = 0;
    const char *currency = cli_flag_value(cli, "currency");
    enum error_class class =
        cli_flag_int(cli, "workflow-version", 0, 0, INT32_MAX, &version, ret_error);
    *defaults = (struct order_defaults){
        .workflow = text_of(cli_flag_value(cli, "workflow")),
        .workflow_version = (uint32_t)version,
        .currency = text_of(currency != NULL ? currency : "GBP"),
        .reply_to = text_of(cli_flag_value(cli, "reply-to")),
        .id_prefix = text_of(cli_flag_value(cli, "prefix-id")),
    };
    return class;
}

/* Flags about columns say that the file is taken for CSV, which its name decides. */
static enum error_class refuse_columns(struct cli *cli, const char *path, struct error *ret_error)
{
    static const char *const names[] = {"map", "delimiter"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (cli_flag_given(cli, names[i]))
            return error_set(ret_error, CODE_USAGE,
                             "--%s is for CSV files, and %.200s is read as JSON lines: a CSV file "
                             "has another ending than .json and .jsonl",
                             names[i], path);
    }
    return ERROR_OK;
}

static int import_file(struct cli *cli, struct csv_import *import, bool json, FILE *in)
{
    struct error error = {0};
    struct import_run *run = NULL;
    struct stat status;
    int64_t size = fstat(fileno(in), &status) == 0 && S_ISREG(status.st_mode) ? status.st_size : 0;
    enum error_class class = import_run_new(cli, cli->arguments[0], &run, &error);
    if (class != ERROR_OK)
        return cli_fail(cli, &error);
    import->run = run;
    class = json ? import_json(run, in, &import->defaults, size, &error)
                 : import_csv(import, in, &error);
    return import_run_finish(run, class, &error);
}

static int run(struct cli *cli)
{
    struct error error = {0};
    struct csv_import import = {0};
    const char *path = cli->arguments[0];
    bool json = ends_with(path, ".jsonl") || ends_with(path, ".json");
    enum error_class class = take_defaults(cli, &import.defaults, &error);
    if (class == ERROR_OK && !json)
        class = take_map(cli, &import, &error);
    if (class == ERROR_OK && !json)
        class = check_workflow(cli, &import, &error);
    if (class == ERROR_OK && json)
        class = refuse_columns(cli, path, &error);
    FILE *in = class == ERROR_OK ? orders_file_open(path, &error) : NULL;
    if (class == ERROR_OK && in == NULL)
        class = error.class;
    int code = class == ERROR_OK ? import_file(cli, &import, json, in) : cli_fail(cli, &error);
    if (in != NULL)
        fclose(in);
    csv_map_deinit(&import.map);
    order_rows_deinit(&import.counts);
    return code;
}

static const struct cli_flag flags[] = {
    {"map", "FIELD=COLUMN,...",
     "Maps columns to fields: order_id, customer, currency, sku, "
     "description, quantity, unit_price, priority, workflow, reply_to, "
     "attributes.NAME, input.NAME. May be repeated. The cell of an input is JSON where it is a "
     "number, true, false, a list or an object, else a text; that of input.NAME:string is a "
     "text."},
    {"workflow", "NAME", "For orders that name none."},
    {"workflow-version", "N", "With --workflow; the newest by default."},
    {"currency", "CODE", "For orders with lines that name none; GBP by default."},
    {"reply-to", "TOPIC",
     "The reply topic of orders that name none: their StatusUpdates go there."},
    {"prefix-id", "TEXT", "Prefixes every order id, to import a file a second time."},
    {"rate", "N/s", "At most N orders a second, or a minute with N/m."},
    {"limit", "N", "Ends after N orders."},
    {"delimiter", "C", "Separates the columns; a comma by default."},
    {NULL, NULL, NULL},
};

static const struct cli_verb verbs[] = {
    {
        .arguments = "FILE.csv|FILE.jsonl",
        .summary = "Submits the orders of a file. Refused orders go to FILE.rejects.csv.",
        .examples =
            "reeve import examples/data/online-retail-2010-12-01.csv --rate 20/s \\\n"
            "    --map \"$(cat examples/data/online-retail.map)\" --workflow order-fulfilment\n"
            "# the columns in full\n"
            "reeve import retail.csv --workflow order-fulfilment --map order_id=InvoiceNo,\\\n"
            "customer=CustomerID,sku=StockCode,description=Description,quantity=Quantity,\\\n"
            "unit_price=UnitPrice,attributes.country=Country\n"
            "reeve import orders.jsonl --limit 1000 --prefix-id test-",
        .flags = flags,
        .run = run,
    },
};

const struct cli_noun cli_import = {"import", "Importing orders from files.", verbs,
                                    sizeof(verbs) / sizeof(verbs[0])};
