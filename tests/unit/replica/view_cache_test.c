/* SPDX-License-Identifier: Apache-2.0 */
/* The orders that a view keeps in memory: those used last, bounded in bytes. Those that are not
 * there are read from the store. */
#include "base/goods.h"
#include "platform/failpoint.h"
#include "replica/fold/view.h"
#include "tests/lib/engine_workflow.h"
#include "tests/lib/site.h"
#include "tests/unit/replica/view_kit.h"
#include "tests/unit/statestore/kit.h"

#include <criterion/criterion.h>
#include <stdio.h>

enum {
    NOW = 1000000,
    CACHE_BYTES = 320 * 1024,
    ORDERS = 240,
    ROOMY_BYTES = 2600, /* an order with room for Decisions takes at least this */
    KEPT = 174,
    COMMIT_ORDERS = 4,
    ATTRIBUTES = 16
};

struct folder {
    struct store_env *env;
    struct codec *codec;
    struct heap_arena heap;
    struct workflow *workflow;
    struct view *view;
    struct buffer value;
    uint32_t attributes; /* of the next order */
};

static struct folder folder;

static void fold(enum record_kind kind, const void *record)
{
    folder.value.size = 0;
    codec_encode(folder.codec, kind, record, &folder.value);
    view_kit_fold(folder.view, view_checkpoint(folder.view)->next_event_offset,
                  (struct text){(const char *)folder.value.data, (uint32_t)folder.value.size},
                  NULL);
}

static void set_up(void)
{
    struct claim claim = {.instance = TEXT("s-1"), .claimed_at = NOW, .partition_count = 1};
    folder = (struct folder){.env = kit_env(), .codec = codec_new()};
    heap_arena_init(&folder.heap, 4096);
    folder.workflow = workflow_of(&folder.heap.arena, "A B");
    struct view_options options = {.env = folder.env,
                                   .codec = folder.codec,
                                   .path = kit_path(kit_folder(), "view"),
                                   .cache_bytes = CACHE_BYTES};
    folder.view = view_kit_open(&options);
    claim.claim_id.bytes[0] = 7;
    fold(RECORD_CLAIM, &claim);
}

static void tear_down(void)
{
    view_close(folder.view);
    buffer_deinit(&folder.value);
    heap_arena_deinit(&folder.heap);
    codec_free(folder.codec);
    store_env_free(folder.env);
}

TestSuite(view_cache, .init = set_up, .fini = tear_down);

static const struct order *order_of(const char *id)
{
    return view_kit_order(folder.view, id);
}

static void decide(const struct command *cmd)
{
    char id[16];
    struct heap_arena heap;
    struct decision decision;
    snprintf(id, sizeof(id), "%.*s", TEXT_ARG(cmd->order_id));
    heap_arena_init(&heap, 4096);
    const struct checkpoint *checkpoint = view_checkpoint(folder.view);
    struct decide_input input = {.now = NOW,
                                 .margin_ms = 1,
                                 .instance = TEXT("s-1"),
                                 .workflow = folder.workflow,
                                 .command_offset = checkpoint->next_sequence,
                                 .command_time = NOW};
    engine_decide(order_of(id), cmd, &input, &heap.arena, &decision);
    decision.claim_id = checkpoint->claim_id;
    decision.sequence = checkpoint->next_sequence;
    fold(RECORD_DECISION, &decision);
    heap_arena_deinit(&heap);
}

static void submit(const char *id)
{
    static char text[ATTRIBUTE_VALUE_BYTES_MAX];
    char names[ATTRIBUTES][16];
    struct attribute attributes[ATTRIBUTES];
    struct order_line line = {TEXT("85123A"), TEXT(""), 1, {100}};
    struct command cmd = {.kind = COMMAND_SUBMIT_ORDER, .order_id = text_of(id)};
    memset(text, 'x', sizeof(text));
    for (uint32_t i = 0; i < folder.attributes; i++) {
        snprintf(names[i], sizeof(names[i]), "a%02u", i);
        attributes[i] = (struct attribute){text_of(names[i]), {text, sizeof(text)}};
    }
    cmd.submit_order = (struct order_details){.order_id = cmd.order_id,
                                              .customer = TEXT("17850"),
                                              .goods = &(struct goods){TEXT("GBP"), &line, 1},
                                              .attributes = attributes,
                                              .attribute_count = folder.attributes,
                                              .workflow = TEXT("test")};
    decide(&cmd);
}

static void complete(const char *id, struct text step)
{
    struct attempt_ref ref = {step, DIRECTION_DO, 1};
    struct command cmd = site_success(text_of(id), &ref, TEXT("agent"));
    decide(&cmd);
}

static void complete_first_step(const char *id)
{
    complete(id, TEXT("A"));
}

static void complete_second_step(const char *id)
{
    complete(id, TEXT("B"));
}

/* Returns the most bytes that were in the cache after a commit. */
static size_t change_all(void (*change)(const char *id))
{
    char id[16];
    size_t most = 0;
    struct error error = {0};
    for (int i = 0; i < ORDERS; i++) {
        snprintf(id, sizeof(id), "o-%d", i);
        change(id);
        if (i % COMMIT_ORDERS != COMMIT_ORDERS - 1)
            continue;
        cr_assert(view_commit(folder.view, &error) == ERROR_OK, "%s", error.message);
        view_tidy(folder.view);
        size_t bytes = view_cached_bytes(folder.view);
        most = bytes > most ? bytes : most;
    }
    return most;
}

static void expect_all(uint32_t attributes)
{
    char id[16];
    for (int i = 0; i < ORDERS; i++) {
        snprintf(id, sizeof(id), "o-%d", i);
        const struct order *order = order_of(id);
        cr_assert(order != NULL && order->version == 2, "%s", id);
        cr_assert_eq(order->details.attribute_count, attributes);
        cr_assert_eq(order->steps[0].state, STEP_PROCESSED);
        view_tidy(folder.view);
        cr_assert_leq(view_cached_bytes(folder.view), CACHE_BYTES);
    }
}

Test(view_cache, bounds_the_bytes_of_large_orders)
{
    folder.attributes = ATTRIBUTES; /* 64 KB an order */
    size_t most = change_all(submit);
    cr_expect_leq(most, CACHE_BYTES);
    cr_expect_geq(most, CACHE_BYTES / 2, "the cache is used");
    cr_expect_leq(change_all(complete_first_step), CACHE_BYTES);
    expect_all(ATTRIBUTES);
    cr_expect_geq(view_cached_bytes(folder.view), CACHE_BYTES / 2, "those read count as well");
}

Test(view_cache, counts_nothing_that_it_does_not_keep)
{
    change_all(submit);
    size_t most = change_all(complete_first_step);
    cr_expect_gt(most, 0);
    cr_expect_leq(most, CACHE_BYTES);
    expect_all(0);
    struct error error = {0};
    cr_assert(view_rollback(folder.view, &error) == ERROR_OK, "%s", error.message);
    cr_expect_eq(view_cached_bytes(folder.view), 0);
    submit("o-new"); /* dirty: not in the cache yet */
    complete_first_step("o-new");
    cr_expect_eq(view_cached_bytes(folder.view), 0);
}

/* How many orders are read from the store, of those from number `first` to `last`, one by one. */
static uint64_t reads_of(int first, int last)
{
    char id[16];
    cr_assert(failpoint_configure("view.read=error@1000000"));
    int step = first <= last ? 1 : -1;
    for (int i = first; i != last + step; i += step) {
        snprintf(id, sizeof(id), "o-%d", i);
        cr_assert(order_of(id) != NULL, "%s", id);
    }
    return failpoint_passes("view.read");
}

Test(view_cache, keeps_orders_at_rest_in_the_memory_that_they_need)
{
    size_t most = change_all(submit);
    cr_expect_gt(most, CACHE_BYTES - ROOMY_BYTES);
    most = change_all(complete_first_step);
    cr_expect_gt(most, CACHE_BYTES - ROOMY_BYTES);
    cr_assert_lt(CACHE_BYTES / ROOMY_BYTES, KEPT, "if all had room for Decisions to come");
    cr_expect_eq(reads_of(ORDERS - 1, ORDERS - KEPT), 0, "those that changed last");
    cr_expect_eq(reads_of(0, ORDERS / 10 - 1), ORDERS / 10, "not those before them");
    expect_all(0);
}

Test(view_cache, forgets_orders_that_have_ended)
{
    change_all(submit);
    change_all(complete_first_step);
    size_t before = view_cached_bytes(folder.view);
    change_all(complete_second_step);
    cr_expect_gt(before, 0);
    cr_expect_eq(view_cached_bytes(folder.view), 0);
}
