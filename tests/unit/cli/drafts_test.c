/* SPDX-License-Identifier: Apache-2.0 */
/* Orders from the rows of a file: an order is complete with its last row, wherever that is. */
#include "cli/import/order_drafts.h"

#include "base/goods.h"
#include "schemas/details.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

static struct csv_map map;
static struct order_rows counts;
static struct order_defaults defaults;
static char story[8192];
static size_t told;

static void tear_down(void)
{
    csv_map_deinit(&map);
    order_rows_deinit(&counts);
}

TestSuite(cli_drafts, .fini = tear_down);

static void tell(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void tell(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    told += (size_t)vsnprintf(story + told, sizeof(story) - told, format, args);
    va_end(args);
}

static void tell_order(struct order_drafts *drafts, struct order_draft *draft)
{
    const struct order_details *details = order_draft_details(draft);
    tell("%s%.*s@%lld(%llu)", told > 0 ? " " : "", TEXT_ARG(details->order_id),
         (long long)order_draft_line(draft), (unsigned long long)order_draft_rows(draft));
    if (order_draft_is_refused(draft))
        tell(" refused");
    for (uint32_t i = 0; i < details->goods->line_count; i++)
        tell("%s%.*s", i == 0 ? ":" : ",", TEXT_ARG(details->goods->lines[i].sku));
    order_draft_free(drafts, draft);
}

static struct csv_reader *open_file(FILE *in)
{
    struct csv_row header;
    struct error error;
    rewind(in);
    struct csv_reader *reader = csv_reader_new(in, ',');
    cr_assert(csv_reader_next(reader, &header, &error) == CSV_ROW);
    cr_assert(csv_map_bind(&map, &header, &error) == ERROR_OK, "%s", error.message);
    return reader;
}

static void count(FILE *in)
{
    struct csv_row row;
    struct error error;
    struct csv_reader *reader = open_file(in);
    while (csv_reader_next(reader, &row, &error) == CSV_ROW)
        order_rows_add(&counts, csv_map_order_id(&map, &row));
    csv_reader_free(reader);
}

/* "id@line(rows):skus" of the orders in the order of their completion. */
static const char *put_together(const char *csv, void (*look)(const struct order_details *details))
{
    struct csv_row row;
    struct error error = {0};
    FILE *in = fmemopen((void *)(uintptr_t)csv, strlen(csv), "r");
    told = 0;
    story[0] = '\0';
    count(in);
    struct csv_reader *reader = open_file(in);
    struct order_drafts *drafts = order_drafts_new(&map, &counts, &defaults);
    struct order_draft *draft;
    while (csv_reader_next(reader, &row, &error) == CSV_ROW) {
        order_drafts_add(drafts, &row, &draft, &error);
        if (draft != NULL && look != NULL)
            look(order_draft_details(draft));
        if (draft != NULL)
            tell_order(drafts, draft);
    }
    cr_assert(order_drafts_take(drafts) == NULL);
    order_drafts_free(drafts);
    csv_reader_free(reader);
    fclose(in);
    return story;
}

static void use(const char *specification)
{
    struct error error;
    cr_assert(csv_map_add(&map, specification, &error) == ERROR_OK, "%s", error.message);
}

Test(cli_drafts, joins_neighbouring_rows)
{
    use("order_id=id,sku=s,unit_price=p");
    cr_assert_str_eq(put_together("id,s,p\n1,a,1\n1,b,1\n2,c,1\n3,d,1\n3,e,1\n", NULL),
                     "1@2(2):a,b 2@4(1):c 3@5(2):d,e");
}

static void look_at_input(const struct order_details *details)
{
    const char *expected =
        text_equal(details->order_id, TEXT("1"))
            ? "{\"exact\":12345678901234567890,\"list\":[1,\"a\"],\"name\":\"007\",\"ok\":true,"
              "\"total\":100.1,\"zip\":\"12\"}"
            : "{\"name\":\"null\"}";
    cr_expect(text_equal(details->input, text_of(expected)), "%.*s", TEXT_ARG(details->input));
}

Test(cli_drafts, makes_the_input_of_its_columns)
{
    use("order_id=id,input.total=t,input.ok=o,input.name=n,input.zip:string=z,input.list=l,"
        "input.exact=e");
    put_together("id,t,o,n,z,l,e\n1,100.10,true,007,,,\n1,7,,,12,\"[1, \"\"a\"\"]\",\n"
                 "1,,,,,,12345678901234567890\n2,,,null,,,\n",
                 look_at_input);
}

Test(cli_drafts, joins_rows_wherever_they_are)
{
    use("order_id=id,sku=s,unit_price=p");
    cr_assert_str_eq(put_together("id,s,p\n1,a,1\n2,b,1\n1,c,1\n3,d,1\n2,e,1\n1,f,1\n", NULL),
                     "3@5(1):d 2@3(2):b,e 1@2(3):a,c,f");
}

Test(cli_drafts, rejects_only_the_order_of_a_bad_row)
{
    use("order_id=id,sku=s,unit_price=p,quantity=q");
    cr_assert_str_eq(put_together("id,s,p,q\n1,a,1,1\n1,b,1,-5\n1,c,1,1\n2,d,1,1\n3,e,x,1\n", NULL),
                     "1@2(3) refused 2@5(1):d 3@6(1) refused");
}

static void look_at_defaults(const struct order_details *details)
{
    cr_assert(text_empty(details->goods->currency), "there are no prices");
    cr_assert(text_equal(details->workflow, TEXT("w")));
    cr_assert(details->workflow_version == 2);
    cr_assert(text_equal(details->reply_to, TEXT("p.replies.web")));
    cr_assert(text_equal(details->customer, TEXT("late")));
    cr_assert(details->attribute_count == 2);
    cr_assert(text_equal(details->attributes[0].name, TEXT("country")));
    cr_assert(text_equal(details->attributes[0].value, TEXT("UK")));
    cr_assert(text_equal(details->attributes[1].value, TEXT("x")));
}

Test(cli_drafts, applies_defaults_the_prefix_and_the_first_value_of_a_field)
{
    use("order_id=id,customer=c,attributes.country=land,attributes.late=l");
    defaults = (struct order_defaults){.workflow = TEXT("w"),
                                       .workflow_version = 2,
                                       .currency = TEXT("EUR"),
                                       .reply_to = TEXT("p.replies.web"),
                                       .id_prefix = TEXT("day1-")};
    cr_assert_str_eq(put_together("id,c,land,l\n1,,UK,\n1,late,FR,x\n", look_at_defaults),
                     "day1-1@2(2)");
}

static void look_at_euros(const struct order_details *details)
{
    cr_assert(text_equal(details->goods->currency, TEXT("EUR")));
}

Test(cli_drafts, gives_orders_with_lines_the_default_currency)
{
    use("order_id=id,sku=s,unit_price=p");
    defaults = (struct order_defaults){.workflow = TEXT("w"), .currency = TEXT("EUR")};
    cr_assert_str_eq(put_together("id,s,p\n1,a,1\n1,b,1\n", look_at_euros), "1@2(2):a,b");
}

static void look_at_columns(const struct order_details *details)
{
    cr_assert(text_equal(details->goods->currency, TEXT("USD")));
    cr_assert(text_equal(details->workflow, TEXT("other")));
    cr_assert(details->priority == PRIORITY_LOW);
}

Test(cli_drafts, prefers_columns_to_defaults)
{
    use("order_id=id,currency=c,workflow=w,priority=p");
    defaults = (struct order_defaults){.workflow = TEXT("w"), .currency = TEXT("EUR")};
    put_together("id,c,w,p\n1,USD,other,low\n", look_at_columns);
}

Test(cli_drafts, bounds_the_lines_of_an_order)
{
    char *csv = NULL;
    size_t size = 0;
    char found[64];
    use("order_id=id,sku=s,unit_price=p");
    FILE *out = open_memstream(&csv, &size);
    fputs("id,s,p\n", out);
    for (int i = 0; i < ORDER_LINES_MAX + 5; i++)
        fputs("big,a,1\n", out);
    fputs("small,a,1\n", out);
    fclose(out);
    snprintf(found, sizeof(found), "big@2(%d) refused small@%d(1):a", ORDER_LINES_MAX + 5,
             ORDER_LINES_MAX + 7);
    cr_assert_str_eq(put_together(csv, NULL), found);
    free(csv);
}

/* New: a file of examples/data, or NULL. */
static FILE *example(const char *name)
{
    char path[1024];
    const char *root = getenv("REEVE_SOURCE_DIR");
    snprintf(path, sizeof(path), "%s/examples/data/%s", root != NULL ? root : ".", name);
    return fopen(path, "r");
}

/* The repository's own day of orders, against the facts in examples/data/README.md. */
Test(cli_drafts, imports_a_real_day_of_orders)
{
    struct csv_row row;
    struct error error = {0};
    char columns[512];
    FILE *in = example("online-retail-2010-12-01.csv");
    FILE *text = example("online-retail.map");
    if (in == NULL || text == NULL)
        cr_skip_test("no example data");
    cr_assert_not_null(fgets(columns, sizeof(columns), text));
    fclose(text);
    columns[strcspn(columns, "\n")] = '\0';
    cr_assert(csv_map_add(&map, columns, &error) == ERROR_OK, "%s", error.message);
    defaults = (struct order_defaults){.workflow = TEXT("w"), .currency = TEXT("GBP")};
    count(in);
    cr_assert(counts.orders == 143 && counts.rows == 3108);
    struct csv_reader *reader = open_file(in);
    struct order_drafts *drafts = order_drafts_new(&map, &counts, &defaults);
    struct order_draft *draft;
    uint32_t orders = 0, refused = 0, largest = 0;
    int64_t value = 0;
    struct arena arena;
    arena_init(&arena, NULL, 0); /* there is no input */
    while (csv_reader_next(reader, &row, &error) == CSV_ROW) {
        order_drafts_add(drafts, &row, &draft, &error);
        if (draft == NULL)
            continue;
        struct order_details *details = order_draft_details(draft);
        orders += !order_draft_is_refused(draft);
        refused += order_draft_is_refused(draft);
        cr_assert(order_draft_is_refused(draft) ||
                      details_validate_new(details, &arena, &error) == ERROR_OK,
                  "%s", error.message);
        const struct goods *goods = details->goods;
        largest = goods->line_count > largest ? goods->line_count : largest;
        for (uint32_t i = 0; i < goods->line_count; i++)
            value += goods->lines[i].quantity * goods->lines[i].unit_price.unscaled;
        order_draft_free(drafts, draft);
    }
    cr_assert(orders == 136 && refused == 7, "%u %u", orders, refused);
    cr_assert(largest == 592);
    cr_assert(value == 589607900, "%lld", (long long)value); /* 58,960.79 GBP */
    order_drafts_free(drafts);
    csv_reader_free(reader);
    fclose(in);
}
