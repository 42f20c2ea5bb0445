/* SPDX-License-Identifier: Apache-2.0 */
/* The filters of orders as the API takes them: percent-encoded, repeated, hostile. */
#include "tests/unit/console/fixture.h"

#include "base/percent.h"
#include "base/rfc3339.h"
#include "services/console/model/search.h"

#include <criterion/criterion.h>
#include <stdio.h>

/* Customers and attributes with all that a query would trip over. */
static void set_up(void)
{
    static char longest[301];
    struct attribute french[] = {{TEXT("country"), TEXT("FR")}, {TEXT("a=b"), TEXT("c&d %")}};
    struct attribute long_one[] = {{TEXT("country"), TEXT("UK")}, {TEXT("note"), {longest, 300}}};
    memset(longest, 'x', 300);
    world = world_new(1, "A{c} B");
    world_submit_details(world, "web-1", "test", TEXT("\xc3\xa9 &=#%+"), french, 2);
    world_schedule(world);
    world_submit_details(world, "web-2", "test", TEXT("ann"), long_one, 2);
    world_schedule(world);
    world_submit_details(world, "count", "test", TEXT("ann"), french, 1);
    world_schedule(world);
    world_open(world);
    world_settle(world);
}

TestSuite(console_search_api, .init = set_up, .fini = close_world);

/* The ids that the query finds, in order, and as many are counted. */
static void expect(const char *query, const char *ids, const char *sorted_by)
{
    char path[4096];
    char found[128] = "";
    size_t i;
    const json_t *order;
    snprintf(path, sizeof(path), "/api/orders?%s", query);
    json_t *page = world_get(world, 200, path);
    json_array_foreach(json_object_get(page, "orders"), i, order) {
        size_t size = strlen(found);
        snprintf(found + size, sizeof(found) - size, "%s%s", i > 0 ? " " : "",
                 world_text(order, "order_id"));
    }
    cr_expect_str_eq(found, ids, "%s finds \"%s\", not \"%s\"", query, found, ids);
    cr_expect_str_eq(world_text(page, "sorted_by"), sorted_by, "%s", query);
    cr_expect(json_is_null(world_at(page, "next")));
    snprintf(path, sizeof(path), "/api/orders/count?%s", query);
    json_t *count = world_get(world, 200, path);
    cr_expect_eq((size_t)world_int(count, "orders"), json_array_size(world_at(page, "orders")),
                 "%s", path);
    cr_expect(json_is_true(world_at(count, "exact")));
    json_decref(count);
    json_decref(page);
}

Test(console_search_api, filters_by_customer_and_attributes)
{
    expect("customer=ann", "count web-2", "submitted");
    expect("customer=an", "", "submitted");
    expect("customer=%C3%A9%20%26%3D%23%25%2B", "web-1", "submitted");
    expect("attribute=country%3DFR", "count web-1", "submitted");
    expect("attribute=country=FR&attribute=a%3Db=c%26d%20%25", "web-1", "submitted");
    expect("attribute=country=FR&attribute=a%3Db=c%26d+%25", "web-1", "submitted");
    expect("attribute=country=FR&attribute=country=UK", "", "submitted");
    expect("attribute=&attribute=country=", "", "submitted");
    expect("customer=&attribute=&id_prefix=&since=&until=&paused=0", "count web-2 web-1",
           "changed");
}

Test(console_search_api, filters_by_version_of_a_workflow)
{
    expect("workflow=test&workflow_version=1&id_prefix=web-", "web-1 web-2", "id");
    expect("workflow=test&workflow_version=1&state=Processing&customer=ann", "count web-2",
           "submitted");
    expect("workflow=test&workflow_version=2", "", "changed");
    expect("workflow=other&workflow_version=1", "", "changed");
}

Test(console_search_api, filters_by_id_time_and_pause)
{
    char query[128];
    const struct order *order = world_order(world, "web-2");
    char at[RFC3339_TEXT_SIZE], after[RFC3339_TEXT_SIZE];
    rfc3339_format(order->accepted_at, at);
    rfc3339_format(order->accepted_at + 1, after);
    expect("id_prefix=web-", "web-1 web-2", "id");
    expect("id_prefix=web-2", "web-2", "id");
    expect("id_prefix=%FF", "", "id");
    snprintf(query, sizeof(query), "id_prefix=web-&since=%s&until=%s", at, after);
    expect(query, "web-2", "submitted");
    snprintf(query, sizeof(query), "attribute=country=UK&until=%s", at);
    expect(query, "", "submitted");
    expect("since=1970-01-01&until=1970-01-01T00:00:00.001Z", "", "submitted");
    expect("paused=1", "", "changed");
    struct command cmd = {.kind = COMMAND_PAUSE_ORDER, .order_id = TEXT("web-1")};
    cmd.pause_order = (struct pause_order){cmd.order_id, TEXT("ann"), TEXT("why not")};
    world_send(world, &cmd);
    world_schedule(world);
    world_settle(world);
    expect("paused=1", "web-1", "changed");
    expect("paused=1&customer=ann", "", "changed");
}

/* `prefix` and `size` times `x`. */
static json_t *get_long(int status, const char *prefix, size_t size)
{
    char path[SEARCH_ATTRIBUTE_BYTES_MAX + 64];
    size_t begin = (size_t)snprintf(path, sizeof(path), "%s", prefix);
    cr_assert_lt(begin + size, sizeof(path));
    memset(path + begin, 'x', size);
    path[begin + size] = '\0';
    return world_get(world, status, path);
}

Test(console_search_api, takes_long_values_up_to_their_limits)
{
    SHOWS(get_long(200, "/api/orders?attribute=note%3D", 300), {"orders.0.order_id", "web-2"});
    json_decref(get_long(200, "/api/orders?customer=", CUSTOMER_BYTES_MAX));
    json_decref(get_long(400, "/api/orders?customer=", CUSTOMER_BYTES_MAX + 1));
    json_decref(get_long(200, "/api/orders?id_prefix=", ORDER_ID_BYTES_MAX));
    json_decref(get_long(400, "/api/orders?id_prefix=", ORDER_ID_BYTES_MAX + 1));
    json_decref(get_long(200, "/api/orders/count?attribute=n=", SEARCH_ATTRIBUTE_BYTES_MAX - 2));
    json_decref(get_long(400, "/api/orders/count?attribute=n=", SEARCH_ATTRIBUTE_BYTES_MAX - 1));
}

/* "orders", and "exact" besides. */
static void expect_number(const json_t *count, const char *state, int64_t orders)
{
    const json_t *number =
        state == NULL ? count : json_object_get(world_at(count, "by_state"), state);
    cr_assert_eq(world_int(number, "orders"), orders, "%s", state != NULL ? state : "all");
    cr_assert(json_is_true(world_at(number, "exact")));
}

Test(console_search_api, counts_by_state_what_matches)
{
    world_report(world, "count", "A", true);
    world_schedule(world);
    world_report(world, "count", "B", true);
    world_schedule(world);
    world_settle(world);
    json_t *count = world_get(world, 200, "/api/orders/count?customer=ann&by=state");
    expect_number(count, NULL, 2);
    expect_number(count, "Processing", 1);
    expect_number(count, "Processed", 1);
    expect_number(count, "Error", 0);
    cr_assert_eq(json_object_size(world_at(count, "by_state")), ORDER_STATE_COUNT);
    json_decref(count);
    count = world_get(world, 200, "/api/orders/count?customer=ann&state=Processed&by=state");
    expect_number(count, NULL, 1);
    expect_number(count, "Processing", 0);
    expect_number(count, "Processed", 1);
    json_decref(count);
    SHOWS(world_get(world, 200, "/api/orders/count?customer=ann"), {"by_state", NULL});
    SHOWS(world_get(world, 400, "/api/orders/count?by=step"), {"detail", "by: expected \"state\""});
}

Test(console_search_api, rejects_invalid_filters)
{
    static const struct {
        const char *query;
        const char *message;
    } cases[] = {
        {"attribute=country", "attribute: expected NAME=VALUE"},
        {"attribute=%3DFR", "attribute: expected NAME=VALUE"},
        {"attribute=a=b&attribute=c", "attribute: expected NAME=VALUE"},
        {"attribute=a=%00", "the query is malformed"},
        {"customer=%2", "the query is malformed"},
        {"attribute=a=1&attribute=a=2&attribute=a=3&attribute=a=4&attribute=a=5&attribute=a=6"
         "&attribute=a=7&attribute=a=8&attribute=a=9",
         "attribute is given too often; the limit is 8"},
        {"since=1h", "since: expected a time from 1970 on, as 2010-12-01T08:26:00Z"},
        {"until=1969-12-31", "until: expected a time from 1970 on, as 2010-12-01T08:26:00Z"},
        {"since=2010-12-01&until=2010-12-01", "since: expected a time before until"},
        {"workflow=w&workflow_version=0",
         "workflow_version: expected an integer from 1 to 2147483647"},
        {"workflow=w&workflow_version=1x",
         "workflow_version: expected an integer from 1 to 2147483647"},
        {"workflow_version=1",
         "workflow_version: expected with the workflow, which has versions of its own"},
        {"paused=yes", "paused: expected an integer from 0 to 1"},
    };
    static const char *const routes[] = {"/api/orders", "/api/orders/count"};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (size_t r = 0; r < 2; r++) {
            char path[512];
            snprintf(path, sizeof(path), "%s?%s", routes[r], cases[i].query);
            SHOWS(world_get(world, 400, path), {"detail", cases[i].message});
        }
    }
}

/* The id of the order may be that of a route. */
Test(console_search_api, finds_an_order_that_is_called_count)
{
    SHOWS(world_get(world, 200, "/api/orders/%63ount"), {"order_id", "count"});
}
