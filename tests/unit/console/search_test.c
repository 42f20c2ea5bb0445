/* SPDX-License-Identifier: Apache-2.0 */
/* Lists: every filter over random histories, page by page, against the orders that the test's own
 * scheduler knows. */
#include "services/console/model/search.h"
#include "tests/lib/seed.h"
#include "tests/unit/console/world.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

TestSuite(console_search);

enum { ORDERS = 120, ROUNDS = 12 };

static uint64_t choose(struct world *world, uint64_t bound)
{
    return broker_memory_random(world->kafka, bound);
}

/* Steps that wait for a moment, for a signal of a group, and for one of anyone. */
static const char waits[] =
    "Name: test\nVersion: 1\nTimeoutSeconds: 86400\nSteps:\n"
    "  - {Name: A, Agent: agent, Compensate: {Action: UndoA}}\n"
    "  - {Name: B, After: [A], Await: {From: managers}}\n"
    "  - {Name: C, After: [A], Await: {From: auditors}, When: order.id < 'o5'}\n"
    "  - {Name: D, After: [], Await: {}}\n"
    "  - {Name: E, After: [B, C], Agent: agent, OnExhausted: error}\n"
    "  - {Name: F, After: [D], Wait: {Seconds: 3600}}\n";

static void signal_step(struct world *world, const char *id, const struct step *step)
{
    static const struct text groups[] = {{"auditors", 8}, {"managers", 8}};
    struct command cmd = {.kind = COMMAND_SIGNAL_ORDER, .order_id = text_of(id)};
    cmd.signal_order = (struct signal_order){.order_id = cmd.order_id,
                                             .step = step->name,
                                             .payload = TEXT("1"),
                                             .by = TEXT("ann"),
                                             .groups = {groups, 2}};
    world_send(world, &cmd);
}

static void end_steps(struct world *world, const char *id, const struct order *order)
{
    for (uint32_t i = 0; i < order->step_count; i++) {
        char name[16];
        const struct step *step = &order->steps[i];
        snprintf(name, sizeof(name), "%.*s", TEXT_ARG(step->name));
        if (step->state == STEP_PROCESSING && choose(world, 3) > 0)
            world_report(world, id, name, choose(world, 10) < 7);
        else if (step->state == STEP_WAITING && choose(world, 4) == 0)
            signal_step(world, id, step);
    }
}

static void act(struct world *world, const char *id)
{
    const struct order *order = world_order(world, id);
    struct command cmd = {.order_id = text_of(id)};
    if (order == NULL)
        return;
    end_steps(world, id, order);
    if (order_ended(order) && choose(world, 12) == 0) {
        world_expire(world, id);
    } else if (choose(world, 10) == 0) {
        bool pause = order->paused_at == 0;
        cmd.kind = pause ? COMMAND_PAUSE_ORDER : COMMAND_RESUME_ORDER;
        if (pause)
            cmd.pause_order = (struct pause_order){
                .order_id = cmd.order_id, .by = TEXT("ann"), .reason = TEXT("why not")};
        else
            cmd.resume_order = (struct resume_order){
                .order_id = cmd.order_id, .by = TEXT("ann"), .reason = TEXT("why not")};
        world_send(world, &cmd);
    } else if (choose(world, 20) == 0) {
        cmd.kind = COMMAND_CANCEL_ORDER;
        cmd.cancel_order = (struct cancel_order){
            .order_id = cmd.order_id, .by = TEXT("ann"), .reason = TEXT("why not")};
        world_send(world, &cmd);
    } else if (order->state == ORDER_ERROR && choose(world, 4) == 0) {
        cmd.kind = COMMAND_RESUBMIT_STEP;
        cmd.resubmit_step = (struct resubmit_step){
            .order_id = cmd.order_id, .by = TEXT("ann"), .reason = TEXT("again")};
        world_send(world, &cmd);
    }
}

/* Values that are alike: their first bytes, or where the name ends; some are longer than what the
 * index holds. */
static char long_values[2][301];
static const struct text customers[] = {{"", 0},
                                        {"17850", 5},
                                        {"1785", 4},
                                        {"\xc3\xa9 &=%", 6},
                                        {long_values[0], 256},
                                        {long_values[1], 256},
                                        {"none", 4}};
static const struct attribute values[] = {
    {{"country", 7}, {"FR", 2}},
    {{"country", 7}, {"", 0}},
    {{"country", 7}, {"FR=", 3}},
    {{"a", 1}, {"b=c", 3}},
    {{"a=b", 3}, {"c", 1}},
    {{"note", 4}, {long_values[0], 300}},
    {{"note", 4}, {long_values[1], 300}},
    {{"note", 4}, {long_values[0], 250}},
    {{"note", 4}, {long_values[0], 251}},
    {{"line\n%00", 8}, {"\x7f\t", 2}},
    {{"nowhere", 7}, {"x", 1}},
};
enum {
    CUSTOMERS = sizeof(customers) / sizeof(customers[0]),
    VALUES = sizeof(values) / sizeof(values[0])
};

static void submit(struct world *world, const char *id)
{
    struct attribute attributes[3];
    uint32_t count = 0;
    for (uint64_t at = choose(world, 4); at < VALUES - 1 && count < 3; at += 1 + choose(world, 4))
        attributes[count++] = values[at];
    world_submit_details(world, id, "test", customers[choose(world, CUSTOMERS - 1)], attributes,
                         count);
}

static void make_history(struct world *world)
{
    char id[16];
    memset(long_values, 'x', sizeof(long_values));
    long_values[1][255] = long_values[1][299] = 'y';
    for (int i = 0; i < ORDERS; i++) {
        snprintf(id, sizeof(id), "o%d", i);
        submit(world, id);
    }
    world_schedule(world);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < ORDERS; i++) {
            snprintf(id, sizeof(id), "o%llu", (unsigned long long)choose(world, ORDERS));
            act(world, id);
        }
        world_schedule(world);
    }
}

static int compare(const void *a, const void *b)
{
    return search_cursor_compare(a, b);
}

/* What the search must find, in order. */
static uint32_t expect(struct world *world, const struct search *search, enum search_sort sort,
                       struct search_cursor ret_found[WORLD_ORDERS_MAX])
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < world->order_count; i++) {
        const struct order *order = &world->orders[i].order;
        int64_t at = sort == SEARCH_BY_CHANGE ? order->updated_at : order->accepted_at;
        if (order->version > 0 && search_matches(search, order))
            search_cursor_set(&ret_found[count++], sort, sort == SEARCH_BY_ID ? 0 : at,
                              order->details.order_id);
    }
    qsort(ret_found, count, sizeof(ret_found[0]), compare);
    return count;
}

static void check_count(struct world *world, const struct search *asked, uint32_t count)
{
    bool exact = false;
    struct search search = *asked;
    uint64_t most = search_count(world->console->api.partitions, WORLD_PARTITIONS, &search, &exact);
    cr_assert(exact ? most == count : most <= count, "%u, not %u", (unsigned)most, count);
    search.examined_max = 0;
    cr_assert_eq(search_count(world->console->api.partitions, WORLD_PARTITIONS, &search, &exact),
                 count);
    cr_assert(exact);
}

static void check_number(struct search_number number, uint64_t orders, bool whole)
{
    cr_assert(number.exact ? number.orders == orders : number.orders <= orders && !whole,
              "%llu, not %llu", (unsigned long long)number.orders, (unsigned long long)orders);
}

/* `whole`: nothing bounds the count. */
static void check_states(struct world *world, const struct search *asked, bool whole)
{
    struct search search = *asked;
    struct search_numbers numbers;
    uint64_t orders[ORDER_STATE_COUNT] = {0};
    uint64_t all = 0;
    for (uint32_t i = 0; i < world->order_count; i++) {
        const struct order *order = &world->orders[i].order;
        if (order->version > 0 && search_matches(asked, order))
            orders[order->state]++, all++;
    }
    search.examined_max = whole ? 0 : asked->examined_max;
    whole = search.examined_max == 0;
    search_count_states(world->console->api.partitions, WORLD_PARTITIONS, &search, &numbers);
    check_number(numbers.all, all, whole);
    for (int state = 0; state < ORDER_STATE_COUNT; state++)
        check_number(numbers.by_state[state], orders[state], whole);
}

static uint32_t check_search(struct world *world, const struct search *asked)
{
    static struct search_cursor expected[WORLD_ORDERS_MAX];
    struct search search = *asked;
    struct search_page page;
    uint32_t found = 0;
    uint32_t count = 0;
    bool more = true;
    while (more) {
        search_run(world->console->api.partitions, WORLD_PARTITIONS, &search, &page);
        if (!search.has_after)
            count = expect(world, asked, page.sort, expected);
        cr_assert_leq(page.count, search.limit);
        cr_assert(page.count > 0 || !page.has_next || search.examined_max > 0,
                  "every page but the last has orders");
        for (uint32_t i = 0; i < page.count; i++, found++) {
            cr_assert_lt(found, count);
            cr_assert_eq(search_cursor_compare(&page.hits[i].at, &expected[found]), 0, "%u", found);
            cr_assert_eq(console_partition_number(page.hits[i].partition),
                         broker_partition_of(search_cursor_id(&page.hits[i].at), WORLD_PARTITIONS));
        }
        more = page.has_next;
        search.has_after = true;
        search.after = page.next;
        search_page_deinit(&page);
    }
    cr_assert_eq(found, count, "%u of %u", found, count);
    check_count(world, asked, count);
    check_states(world, asked, false);
    check_states(world, asked, true);
    return found;
}

static const struct text steps[] = {{"", 0}, {"A", 1}, {"B", 1}, {"C", 1}, {"D", 1}, {"nope", 4}};
static const struct text groups[] = {{"managers", 8}, {"auditors", 8}, {"manager", 7}};
static const struct text errors[] = {{"", 0}, {"Declined", 8}, {"Cancelled", 9}, {"nope", 4}};
static const struct text workflows[] = {{"", 0}, {"test", 4}, {"nope", 4}};

static void check_all_filters(struct world *world, uint64_t *found)
{
    for (int state = -1; state < ORDER_STATE_COUNT; state++)
        for (size_t s = 0; s < sizeof(steps) / sizeof(steps[0]); s++)
            for (size_t e = 0; e < sizeof(errors) / sizeof(errors[0]); e++)
                for (size_t w = 0; w < sizeof(workflows) / sizeof(workflows[0]); w++)
                    for (int alert = 0; alert < 2; alert++) {
                        struct search search = {.has_state = state >= 0,
                                                .state = (enum order_state)state,
                                                .alert_open = alert != 0,
                                                .step = steps[s],
                                                .error = errors[e],
                                                .workflow = workflows[w],
                                                .limit = 1 + (uint32_t)choose(world, 50),
                                                .examined_max = (uint32_t)choose(world, 2) *
                                                                (uint32_t)choose(world, 60)};
                        uint32_t count = check_search(world, &search);
                        if (state >= 0)
                            found[state] += count;
                    }
}

Test(console_search, pages_through_every_order_once_and_in_order)
{
    uint64_t found[ORDER_STATE_COUNT] = {0};
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct world *world = world_new(seed, "A{c} B<-A{c,e} C<-A{c,z2} D<-B,C{p}");
        make_history(world);
        world_open(world);
        world_settle(world);
        check_all_filters(world, found);
        make_history(world); /* the same ids: repeats, then more commands, folded live */
        world_settle(world);
        check_all_filters(world, found);
        world_free(world);
    }
    for (int state = ORDER_PROCESSING; state <= ORDER_ERROR; state++) /* none is a sub-order */
        cr_assert_gt(found[state], 0, "no order was ever %s",
                     order_state_name((enum order_state)state));
}

static struct text attribute_text(const struct attribute *attribute, char ret_text[512])
{
    int size =
        snprintf(ret_text, 512, "%.*s=%.*s", TEXT_ARG(attribute->name), TEXT_ARG(attribute->value));
    return (struct text){ret_text, (uint32_t)size};
}

/* Each filter is there once in a while: mostly few at a time, so that something matches. */
static struct search random_search(struct world *world, char texts[2][512])
{
    static const struct text prefixes[] = {{"", 0}, {"o", 1}, {"o1", 2}, {"o11", 3}, {"p", 1}};
    struct search search = {.limit = 1 + (uint32_t)choose(world, 50),
                            .examined_max =
                                (uint32_t)choose(world, 2) * (uint32_t)choose(world, 60)};
    int64_t middle = (world->now + 1000000) / 2;
    if (choose(world, 4) == 0)
        search.state = (enum order_state)choose(world, ORDER_STATE_COUNT), search.has_state = true;
    search.paused = choose(world, 6) == 0;
    search.alert_open = choose(world, 8) == 0;
    search.step = choose(world, 6) == 0 ? steps[choose(world, 5)] : steps[0];
    search.waiting_for = choose(world, 6) == 0 ? steps[choose(world, 6)] : steps[0];
    if (choose(world, 6) == 0)
        search.group = groups[choose(world, 3)];
    search.error = choose(world, 8) == 0 ? errors[choose(world, 3)] : errors[0];
    search.workflow = workflows[choose(world, 12) % 4 == 1];
    search.workflow_version = choose(world, 8) == 0 ? 1 + (uint32_t)choose(world, 4) / 3 : 0;
    search.customer = choose(world, 3) == 0 ? customers[choose(world, CUSTOMERS)] : customers[0];
    search.id_prefix = choose(world, 3) == 0 ? prefixes[choose(world, 5)] : prefixes[0];
    search.has_since = choose(world, 3) == 0;
    search.since = middle - 200 + (int64_t)choose(world, 400);
    search.has_until = choose(world, 3) == 0;
    search.until = search.since + (int64_t)choose(world, 400) - 20;
    for (uint64_t count = choose(world, 5); count > 2; count--)
        search.attributes[search.attribute_count] =
            attribute_text(&values[choose(world, VALUES)], texts[search.attribute_count]),
        search.attribute_count++;
    return search;
}

static void check_random_searches(struct world *world, uint64_t found[SEARCH_BY_ID + 1])
{
    char texts[2][512];
    for (int i = 0; i < 300; i++) {
        struct search_page page;
        struct search search = random_search(world, texts);
        search_run(world->console->api.partitions, WORLD_PARTITIONS, &search, &page);
        enum search_sort sort = page.sort;
        search_page_deinit(&page);
        found[sort] += check_search(world, &search);
    }
}

Test(console_search, finds_by_indexes_what_a_scan_of_all_orders_finds)
{
    uint64_t seed = seed_first();
    uint64_t cases = seed_cases(3);
    uint64_t found[SEARCH_BY_ID + 1] = {0};
    for (uint64_t i = 0; i < cases; i++) {
        seed_begin(seed + i);
        struct world *world = world_new(seed + i, "A{c} B<-A{c,e} C<-A{c,z2} D<-B,C{p}");
        if (i % 2 == 1)
            world_use_workflow(world, waits);
        make_history(world);
        world_open(world);
        world_settle(world);
        check_random_searches(world, found);
        make_history(world); /* some had expired, and are submitted again with other details */
        world_settle(world);
        check_random_searches(world, found);
        world_free(world);
        seed_end();
    }
    for (enum search_sort sort = SEARCH_BY_CHANGE; sort <= SEARCH_BY_ID; sort++)
        cr_assert(cases < 3 || found[sort] > 0, "nothing was ever sorted by %s",
                  search_sort_name(sort));
}

static void collect_page(const json_t *page, json_t *seen)
{
    size_t i;
    const json_t *order;
    json_array_foreach(json_object_get(page, "orders"), i, order) {
        const char *id = json_string_value(json_object_get(order, "order_id"));
        cr_assert_null(json_object_get(seen, id), "%s comes twice", id);
        json_object_set_new(seen, id, json_true());
    }
}

/* Pages by HTTP while orders change: those that do not change are all there. */
Test(console_search, keeps_pages_consistent_while_orders_change)
{
    struct world *world = world_new(9, "A{c} B");
    json_t *seen = json_object();
    char path[256] = "/api/orders?limit=7";
    char id[16];
    for (int i = 0; i < 60; i++) {
        snprintf(id, sizeof(id), "o%d", i);
        world_submit(world, id, "test");
    }
    world_schedule(world);
    world_open(world);
    for (int round = 0;; round++) {
        json_t *page = world_get(world, 200, path);
        collect_page(page, seen);
        if (json_is_null(world_at(page, "next"))) {
            json_decref(page);
            break;
        }
        snprintf(path, sizeof(path), "/api/orders?limit=7&cursor=%s", world_text(page, "next"));
        json_decref(page);
        /* One that was seen moves to the front. */
        snprintf(id, sizeof(id), "o%d", 59 - round);
        if (json_object_get(seen, id) != NULL) {
            world_report(world, id, "A", true);
            world_schedule(world);
            world_settle(world);
        }
    }
    cr_assert_eq(json_object_size(seen), 60);
    json_decref(seen);
    world_free(world);
}
