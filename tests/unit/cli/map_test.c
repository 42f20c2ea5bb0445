/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/import/csv_map.h"

#include "cli/import/import_run.h"
#include "cli/import/order_drafts.h"

#include <criterion/criterion.h>
#include <stdio.h>

static struct csv_map map;
static struct error error;
static struct text fields[16];

static void tear_down(void)
{
    csv_map_deinit(&map);
}

TestSuite(cli_map, .fini = tear_down);

/* Splits at '|'. */
static struct csv_row row_of(const char *text)
{
    struct csv_row row = {fields, 0, 1};
    for (bool more = true; more; row.count++) {
        size_t size = strcspn(text, "|");
        fields[row.count] = (struct text){text, (uint32_t)size};
        more = text[size] == '|';
        text += size + more;
    }
    return row;
}

static void bind(const char *specification, const char *header)
{
    struct csv_row row = row_of(header);
    cr_assert(csv_map_add(&map, specification, &error) == ERROR_OK, "%s", error.message);
    cr_assert(csv_map_bind(&map, &row, &error) == ERROR_OK, "%s", error.message);
}

static enum error_class map_row(const char *text, struct csv_order_row *ret_row)
{
    struct csv_row row = row_of(text);
    return csv_map_row(&map, &row, ret_row, &error);
}

Test(cli_map, finds_columns_in_any_order)
{
    struct csv_order_row row;
    bind("order_id=Invoice,sku=Code,quantity=Qty,unit_price=Price,customer=Who,priority=P",
         "Price|Ignored| Code |Qty|Invoice|Who|P");
    cr_assert(map_row("2.55|x| A1 |6|536365|17850|high", &row) == ERROR_OK, "%s", error.message);
    cr_assert(text_equal(row.texts[CSV_ORDER_ID], TEXT("536365")));
    cr_assert(text_equal(row.texts[CSV_CUSTOMER], TEXT("17850")));
    cr_assert(row.has_line && text_equal(row.line.sku, TEXT("A1")));
    cr_assert(row.line.quantity == 6 && row.line.unit_price.unscaled == 25500);
    cr_assert(row.priority == PRIORITY_HIGH);
}

Test(cli_map, maps_orders_without_lines_and_lines_without_quantity)
{
    struct csv_order_row row;
    bind("order_id=id", "id|x");
    cr_assert(map_row("1|", &row) == ERROR_OK && !row.has_line);
    csv_map_deinit(&map);
    bind("order_id=id,sku=s,unit_price=p", "id|s|p");
    cr_assert(map_row("1|a|2", &row) == ERROR_OK && row.line.quantity == 1);
}

Test(cli_map, names_mistakes_in_the_mapping)
{
    static const struct {
        const char *specification;
        const char *message;
    } cases[] = {
        {"order_id", "expected FIELD=COLUMN"},
        {"=x", "expected FIELD=COLUMN"},
        {"order_id=", "expected FIELD=COLUMN"},
        {"order=Invoice", "unknown field \"order\": did you mean order_id"},
        {"qantity=Q", "did you mean quantity"},
        {"attributes.=Q", "unknown field \"attributes.\""},
        {"sku=a,sku=b", "sku is given twice"},
        {"attributes.a=x,attributes.b=x,attributes.a=y", "attributes.a is given twice"},
        {"input.a=x,attributes.a=x,input.a:string=y", "input.a:string is given twice"},
        {"input.=Q", "unknown field \"input.\""},
        {"inputs.a=Q", "unknown field \"inputs.a\""},
        {"input.a.b=Q", "expected input.NAME or input.NAME:string"},
        {"input.a:number=Q", "expected input.NAME or input.NAME:string"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        cr_assert(csv_map_add(&map, cases[i].specification, &error) == ERROR_REJECT);
        cr_assert(strstr(error.message, cases[i].message) != NULL, "%s: %s", cases[i].specification,
                  error.message);
        csv_map_deinit(&map);
    }
}

Test(cli_map, lists_the_columns_when_one_is_missing)
{
    struct csv_row header = row_of("InvoiceNo|StockCode");
    cr_assert(csv_map_add(&map, "order_id=Invoice", &error) == ERROR_OK);
    cr_assert(csv_map_bind(&map, &header, &error) == ERROR_REJECT);
    cr_assert(strstr(error.message, "\"Invoice\"; its columns are InvoiceNo, StockCode") != NULL,
              "%s", error.message);
    csv_map_deinit(&map);
    cr_assert(csv_map_add(&map, "sku=StockCode", &error) == ERROR_OK);
    cr_assert(csv_map_bind(&map, &header, &error) == ERROR_REJECT);
    cr_assert(strstr(error.message, "no column is the order id") != NULL, "%s", error.message);
    csv_map_deinit(&map);
    cr_assert(csv_map_add(&map, "order_id=InvoiceNo,sku=StockCode", &error) == ERROR_OK);
    cr_assert(csv_map_bind(&map, &header, &error) == ERROR_REJECT);
    cr_assert(strstr(error.message, "unit_price") != NULL, "%s", error.message);
}

Test(cli_map, refuses_rows_that_are_not_part_of_an_order)
{
    static const struct {
        const char *row;
        const char *reason;
    } cases[] = {
        {"C536379|D|-1|27.50|", "quantity is -1: expected at least 1"},
        {"A563186|B|1|-11062.06|", "unit price -11062.06 is negative"},
        {"536589|21777|-10|0.0|", "quantity is -10: expected at least 1"},
        {"1|a|0|1|", "quantity is 0: expected at least 1"},
        {"1|a|1|-0.01|", "unit price -0.01 is negative"},
        {"1|a|1.5|1|", "quantity \"1.5\" is not a whole number"},
        {"1|a||1|", "quantity \"\" is not a whole number"},
        {"1|a|99999999999999999999|1|", "is not a whole number"},
        {"1|a|1|1,5|", "is not a number with at most 4 decimals"},
        {"1|a|1|0.00001|", "is not a number with at most 4 decimals"},
        {"|a|1|1|", "the order id is empty"},
        {"1|a|1|1", "4 fields, but the header has 5"},
        {"1|a\xff|1|1|", "not UTF-8"},
        {"1|a|1|1|urgent", "priority \"urgent\" is not high, normal or low"},
    };
    bind("order_id=i,sku=s,quantity=q,unit_price=p,priority=r", "i|s|q|p|r");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct csv_order_row row;
        cr_assert(map_row(cases[i].row, &row) == ERROR_REJECT, "%s", cases[i].row);
        cr_assert(strstr(error.message, cases[i].reason) != NULL, "%s: %s", cases[i].row,
                  error.message);
    }
}

Test(cli_map, counts_the_rows_of_each_order)
{
    struct order_rows counts = {0};
    char id[32];
    cr_assert(order_rows_of(&counts, TEXT("x")) == 0);
    for (int round = 0; round < 3; round++) {
        for (int i = round; i < 5000; i++) {
            snprintf(id, sizeof(id), "order-%d", i);
            order_rows_add(&counts, text_of(id));
        }
    }
    cr_assert(counts.orders == 5000 && counts.rows == 14997);
    cr_assert(order_rows_of(&counts, TEXT("order-0")) == 1);
    cr_assert(order_rows_of(&counts, TEXT("order-1")) == 2);
    cr_assert(order_rows_of(&counts, TEXT("order-4999")) == 3);
    cr_assert(order_rows_of(&counts, TEXT("order-5000")) == 0);
    order_rows_deinit(&counts);
}

Test(cli_map, parses_rates)
{
    static const struct {
        const char *text;
        double per_second; /* -1: refused */
    } cases[] = {{NULL, 0},     {"50", 50},    {"50/s", 50},   {"0.5/s", 0.5}, {"600/m", 10},
                 {"0", -1},     {"-1/s", -1},  {"50/h", -1},   {"", -1},       {"fast", -1},
                 {"nan/s", -1}, {"inf/s", -1}, {"1e99/s", -1}, {"50 /s", -1}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct pace pace;
        enum error_class class = pace_parse(cases[i].text, &pace, &error);
        cr_assert((class == ERROR_OK) == (cases[i].per_second >= 0), "%s", cases[i].text);
        cr_assert(class != ERROR_OK || pace.per_second == cases[i].per_second, "%s", cases[i].text);
    }
}

Test(cli_map, keeps_the_pace_without_bursts)
{
    struct pace pace;
    cr_assert(pace_parse("10/s", &pace, &error) == ERROR_OK);
    int64_t now = 5000000;
    for (int i = 0; i < 100; i++) {
        int64_t wait = pace_wait_us(&pace, now);
        now += wait;
        cr_assert(pace_wait_us(&pace, now) == 0);
        pace_pass(&pace);
    }
    cr_assert(now - 5000000 > 9800000 && now - 5000000 < 10000000, "%lld", (long long)now);
    /* An hour of silence allows a second's worth, not an hour's. */
    now += INT64_C(3600) * 1000000;
    int burst = 0;
    for (; burst < 1000 && pace_wait_us(&pace, now) == 0; burst++)
        pace_pass(&pace);
    cr_assert(burst >= 10 && burst <= 12, "%d", burst);
}
