/* SPDX-License-Identifier: Apache-2.0 */
/* An Expiry takes orders out of the store: their rows, and in the console also their history and
 * index rows. The owner and the folders agree, however the log is cut into commits. */
#include "base/goods.h"
#include "replica/fold/view.h"
#include "statestore/ended.h"
#include "tests/lib/engine_workflow.h"
#include "tests/lib/seed.h"
#include "tests/property/engine_random.h"
#include "tests/unit/replica/view_kit.h"
#include "tests/unit/statestore/kit.h"

#include <criterion/criterion.h>
#include <stdio.h>

TestSuite(view_expiry);

enum { LOG_MAX = 600, NOW = 1000000 };

/* A partition's log, its owner, and what the owner decides with. */
struct partition {
    struct store_env *env;
    struct codec *codec;
    struct heap_arena heap;
    const struct workflow *workflow;
    const char *folder;
    struct view *owner;
    struct buffer log[LOG_MAX];
    int64_t count;
    int64_t commands;
    int64_t now;
};

static struct view *open_view(const struct partition *partition, const char *name, bool history)
{
    struct view_options options = {.env = partition->env,
                                   .codec = partition->codec,
                                   .path = kit_path(partition->folder, name),
                                   .cache_bytes = 2 * 2048,
                                   .deadlines = true,
                                   .history = history};
    return view_kit_open(&options);
}

static struct text value_at(const struct partition *partition, int64_t offset)
{
    const struct buffer *buffer = &partition->log[offset];
    return (struct text){(const char *)buffer->data, (uint32_t)buffer->size};
}

static void fold(const struct partition *partition, struct view *view, int64_t offset)
{
    struct view_folded folded;
    view_kit_fold(view, offset, value_at(partition, offset), &folded);
    cr_assert_eq(folded.admission, ADMITTED);
}

static void commit(struct view *view)
{
    view_kit_commit(view);
    view_tidy(view);
}

static void begin(struct partition *partition)
{
    *partition = (struct partition){.env = kit_env(), .codec = codec_new(), .now = NOW};
    partition->folder = kit_folder();
    heap_arena_init(&partition->heap, 4096);
    partition->workflow = workflow_of(&partition->heap.arena, "A");
    partition->owner = open_view(partition, "owner", false);
    struct claim claim = {.instance = TEXT("s-1"), .claimed_at = NOW, .partition_count = 1};
    claim.claim_id.bytes[0] = 7;
    codec_encode(partition->codec, RECORD_CLAIM, &claim, &partition->log[partition->count++]);
    fold(partition, partition->owner, 0);
}

static void end(struct partition *partition)
{
    view_close(partition->owner);
    for (int64_t i = 0; i < partition->count; i++)
        buffer_deinit(&partition->log[i]);
    heap_arena_deinit(&partition->heap);
    codec_free(partition->codec);
    store_env_free(partition->env);
}

/* The owner decides the command. Returns the kind of the first event. */
static enum event_kind decided(struct partition *partition, const struct command *cmd)
{
    struct error error = {0};
    char id[64];
    snprintf(id, sizeof(id), "%.*s", TEXT_ARG(cmd->order_id));
    struct decide_input input = {.now = partition->now,
                                 .margin_ms = 1,
                                 .instance = TEXT("s-1"),
                                 .workflow = partition->workflow,
                                 .command_offset = partition->commands++,
                                 .command_time = partition->now};
    struct decision decision;
    engine_decide(view_kit_order(partition->owner, id), cmd, &input, &partition->heap.arena,
                  &decision);
    const struct checkpoint *checkpoint = view_checkpoint(partition->owner);
    decision.claim_id = checkpoint->claim_id;
    decision.sequence = checkpoint->next_sequence;
    cr_assert_lt(partition->count, LOG_MAX);
    decision.offset = partition->count++;
    codec_encode(partition->codec, RECORD_DECISION, &decision, &partition->log[decision.offset]);
    cr_assert(view_decided(partition->owner, &decision, value_at(partition, decision.offset),
                           &error) == ERROR_OK,
              "%s", error.message);
    return decision.events[0].kind;
}

static void submit(struct partition *partition, const char *id)
{
    struct command cmd = {.kind = COMMAND_SUBMIT_ORDER, .order_id = text_of(id)};
    struct attribute attributes[] = {{TEXT("country"), TEXT("FR")}};
    cmd.submit_order = (struct order_details){.order_id = text_of(id),
                                              .customer = TEXT("c-1"),
                                              .goods = &(struct goods){.currency = TEXT("EUR")},
                                              .attributes = attributes,
                                              .attribute_count = 1,
                                              .workflow = TEXT("test")};
    cr_assert_eq(decided(partition, &cmd), EVENT_ORDER_ACCEPTED);
    cr_assert_not_null(view_kit_order(partition->owner, id));
}

static void complete(struct partition *partition, const char *id)
{
    struct command cmd = {.kind = COMMAND_REPORT_STEP, .order_id = text_of(id)};
    cmd.report_step = (struct report_step){
        .order_id = text_of(id), .step = TEXT("A"), .attempt = 1, .succeeded = true};
    cr_assert_eq(decided(partition, &cmd), EVENT_STEP_SUCCEEDED);
}

/* Those that ended at that time or before, up to and with this id. Returns how many they are. */
static uint32_t expire_until(struct partition *partition, int64_t ended_at, const char *id)
{
    struct error error = {0};
    const struct checkpoint *checkpoint = view_checkpoint(partition->owner);
    struct expiry expiry = {.claim_id = checkpoint->claim_id,
                            .sequence = checkpoint->next_sequence,
                            .decided_at = ended_at + 1,
                            .ended_at = ended_at,
                            .order_id = text_of(id)};
    uint32_t count = 0;
    cr_assert_lt(partition->count, LOG_MAX);
    int64_t offset = partition->count++;
    codec_encode(partition->codec, RECORD_EXPIRY, &expiry, &partition->log[offset]);
    cr_assert(view_expired(partition->owner, &expiry, value_at(partition, offset), offset, &count,
                           &error) == ERROR_OK,
              "%s", error.message);
    return count;
}

static uint32_t expire(struct partition *partition, const char *id)
{
    return expire_until(partition, NOW, id);
}

/* ---- what a store holds ---- */

static struct content_hash digest_of(struct view *view, uint64_t *ret_orders)
{
    struct content_hash digest;
    struct error error = {0};
    cr_assert(store_digest(view_store(view), &digest, ret_orders, &error) == ERROR_OK, "%s",
              error.message);
    return digest;
}

static bool count_index(void *ctx, int64_t updated_at, struct text order_id)
{
    (void)updated_at;
    (void)order_id;
    ++*(int *)ctx;
    return true;
}

static bool count_history(void *ctx, int64_t offset, struct text decision)
{
    (void)offset;
    (void)decision;
    ++*(int *)ctx;
    return true;
}

static void expect_rows(struct view *view, const char *id, int index_rows, int history_rows)
{
    static const struct text values[STORE_INDEX_COUNT] = {[INDEX_STATE] = {"Processed", 9},
                                                          [INDEX_WORKFLOW] = {"test", 4},
                                                          [INDEX_CUSTOMER] = {"c-1", 3},
                                                          [INDEX_ATTRIBUTE] = {"country=FR", 10}};
    struct store *store = view_store(view);
    struct error error;
    int index = 0;
    int history = 0;
    for (int i = 0; i < STORE_INDEX_COUNT; i++)
        cr_assert(store_scan_index(store, (enum store_index)i, values[i], INT64_MAX, TEXT(""),
                                   count_index, &index, &error) == ERROR_OK);
    cr_assert(store_scan_history(store, text_of(id), 0, count_history, &history, &error) ==
              ERROR_OK);
    cr_expect_eq(index, index_rows, "%s: %d rows of the index, not %d", id, index, index_rows);
    cr_expect_eq(history, history_rows, "%s: %d Decisions, not %d", id, history, history_rows);
}

/* Folds the whole log into a store of its own, one commit for each `per_commit` records. */
static struct view *fold_all(struct partition *partition, const char *name, int64_t per_commit)
{
    struct view *view = open_view(partition, name, true);
    for (int64_t i = 0; i < partition->count; i++) {
        fold(partition, view, i);
        if ((i + 1) % per_commit == 0)
            commit(view);
    }
    commit(view);
    return view;
}

/* Owner and folders hold `orders` orders and agree; the last folder has this many rows. */
static void expect_agreement(struct partition *partition, uint64_t orders, const char *id,
                             int index_rows, int history_rows)
{
    static const int64_t cuts[] = {1, 2, 3, 17, LOG_MAX};
    static int folds;
    for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
        char name[32];
        uint64_t count = 0;
        snprintf(name, sizeof(name), "fold-%d", folds++);
        struct view *view = fold_all(partition, name, cuts[i]);
        struct content_hash digest = digest_of(view, &count);
        cr_expect_eq(count, orders);
        expect_rows(view, id, index_rows, history_rows);
        struct content_hash owners = digest_of(partition->owner, &count);
        cr_expect_eq(count, orders);
        cr_expect_arr_eq(digest.bytes, owners.bytes, sizeof(digest.bytes));
        view_close(view);
    }
}

/* ---- the tests ---- */

Test(view_expiry, removes_an_expired_order_from_the_store)
{
    struct partition partition;
    begin(&partition);
    submit(&partition, "o-1");
    submit(&partition, "o-2");
    complete(&partition, "o-1");
    complete(&partition, "o-2");
    commit(partition.owner);
    expect_agreement(&partition, 2, "o-1", 12, 2);
    cr_expect_eq(expire(&partition, "o-1"), 1);
    cr_expect_null(view_kit_order(partition.owner, "o-1"));
    commit(partition.owner);
    cr_expect_null(view_kit_order(partition.owner, "o-1"));
    expect_agreement(&partition, 1, "o-1", 6, 0);
    cr_expect_eq(expire(&partition, "o-2"), 1);
    commit(partition.owner);
    expect_agreement(&partition, 0, "o-2", 0, 0);
    end(&partition);
}

static enum event_kind cancel(struct partition *partition, const char *id)
{
    struct command cmd = {.kind = COMMAND_CANCEL_ORDER, .order_id = text_of(id)};
    cmd.cancel_order = (struct cancel_order){.order_id = text_of(id), .by = TEXT("ann")};
    return decided(partition, &cmd);
}

Test(view_expiry, finds_no_order_for_a_later_command)
{
    struct partition partition;
    begin(&partition);
    submit(&partition, "o-1");
    complete(&partition, "o-1");
    cr_expect_eq(expire(&partition, "o-1"), 1);
    cr_expect_eq(expire(&partition, "o-1"), 0);
    cr_expect_eq(cancel(&partition, "o-1"), EVENT_COMMAND_REJECTED); /* in the same batch */
    commit(partition.owner);
    cr_expect_eq(expire(&partition, "o-1"), 0);
    cr_expect_eq(cancel(&partition, "o-1"), EVENT_COMMAND_REJECTED);
    commit(partition.owner);
    cr_expect_null(view_kit_order(partition.owner, "o-1"));
    expect_agreement(&partition, 0, "o-1", 0, 2); /* what was refused since */
    end(&partition);
}

Test(view_expiry, takes_only_orders_that_have_ended_by_then)
{
    struct partition partition;
    begin(&partition);
    submit(&partition, "o-0"); /* goes on */
    for (int i = 1; i <= 4; i++) {
        char id[16];
        snprintf(id, sizeof(id), "o-%d", i);
        submit(&partition, id);
    }
    complete(&partition, "o-3");
    complete(&partition, "o-1");
    partition.now = NOW + 1;
    complete(&partition, "o-2");
    commit(partition.owner);
    complete(&partition, "o-4");
    cr_expect_eq(expire_until(&partition, NOW, "o-2"), 1);
    cr_expect_null(view_kit_order(partition.owner, "o-1"));
    cr_expect_not_null(view_kit_order(partition.owner, "o-3"), "of the same time, a later id");
    cr_expect_eq(expire_until(&partition, NOW + 1, "o-3"), 2);
    cr_expect_null(view_kit_order(partition.owner, "o-2"));
    cr_expect_null(view_kit_order(partition.owner, "o-3"));
    cr_expect_eq(expire_until(&partition, NOW + 1, "o-4"), 1, "what is not committed as well");
    commit(partition.owner);
    cr_expect_not_null(view_kit_order(partition.owner, "o-0"));
    expect_agreement(&partition, 1, "o-0", 5, 1);
    end(&partition);
}

Test(view_expiry, accepts_the_same_id_again_in_the_same_batch)
{
    struct partition partition;
    begin(&partition);
    submit(&partition, "o-1");
    complete(&partition, "o-1");
    expire(&partition, "o-1");
    submit(&partition, "o-1");
    cr_expect_eq(view_kit_order(partition.owner, "o-1")->version, 1);
    commit(partition.owner);
    complete(&partition, "o-1");
    cr_expect_eq(view_kit_order(partition.owner, "o-1")->state, ORDER_PROCESSED);
    commit(partition.owner);
    expect_agreement(&partition, 1, "o-1", 6, 2);
    expire(&partition, "o-1");
    submit(&partition, "o-1");
    complete(&partition, "o-1");
    expire(&partition, "o-1");
    commit(partition.owner);
    expect_agreement(&partition, 0, "o-1", 0, 0);
    end(&partition);
}

Test(view_expiry, restores_an_expired_order_on_rollback)
{
    struct partition partition;
    struct error error;
    begin(&partition);
    submit(&partition, "o-1");
    complete(&partition, "o-1");
    commit(partition.owner);
    expire_until(&partition, NOW + 5, "o-1");
    cr_assert(view_rollback(partition.owner, &error) == ERROR_OK);
    cr_expect_eq(view_kit_order(partition.owner, "o-1")->state, ORDER_PROCESSED);
    fold(&partition, partition.owner, partition.count - 1);
    view_hold(partition.owner, true);
    commit(partition.owner);
    cr_expect_null(view_kit_order(partition.owner, "o-1"));
    submit(&partition, "o-1"); /* while what expired still is in memory */
    view_hold(partition.owner, false);
    commit(partition.owner);
    cr_expect_eq(view_kit_order(partition.owner, "o-1")->version, 1);
    expect_agreement(&partition, 1, "o-1", 5, 1);
    end(&partition);
}

/* A Statement says that it ended then, which is not what was folded. */
static void restate(struct partition *partition, const char *id, int64_t ended_at)
{
    const struct checkpoint *checkpoint = view_checkpoint(partition->owner);
    struct statement statement = {.claim_id = checkpoint->claim_id,
                                  .sequence = checkpoint->next_sequence,
                                  .format = STATE_FORMAT,
                                  .order = *view_kit_order(partition->owner, id)};
    statement.order.ended_at = ended_at;
    codec_encode(partition->codec, RECORD_STATEMENT, &statement, &partition->log[partition->count]);
    fold(partition, partition->owner, partition->count++);
}

Test(view_expiry, takes_a_restated_order_when_the_statement_says)
{
    struct partition partition;
    begin(&partition);
    submit(&partition, "o-1");
    complete(&partition, "o-1");
    commit(partition.owner);
    restate(&partition, "o-1", NOW + 5);
    commit(partition.owner);
    cr_expect_eq(expire(&partition, "o-1"), 0, "it has no row of the time that was folded");
    commit(partition.owner);
    cr_expect_not_null(view_kit_order(partition.owner, "o-1"));
    cr_expect_eq(expire_until(&partition, NOW + 5, "o-1"), 1);
    commit(partition.owner);
    expect_agreement(&partition, 0, "o-1", 0, 0);
    end(&partition);
}

Test(view_expiry, keeps_no_history_of_what_was_rolled_back)
{
    struct partition partition;
    struct error error;
    int history = 0;
    begin(&partition);
    struct view *view = open_view(&partition, "history", true);
    fold(&partition, view, 0);
    commit(view);
    submit(&partition, "o-1");
    fold(&partition, view, partition.count - 1);
    cr_assert(view_rollback(view, &error) == ERROR_OK);
    commit(view);
    cr_assert(store_scan_history(view_store(view), TEXT("o-1"), 0, count_history, &history,
                                 &error) == ERROR_OK);
    cr_assert_eq(history, 0);
    view_close(view);
    end(&partition);
}

/* ---- any log ---- */

/* What was not committed is folded again. */
static void roll_back(struct partition *partition, struct dice *dice)
{
    struct view *owner = partition->owner;
    struct error error = {0};
    cr_assert(view_rollback(owner, &error) == ERROR_OK, "%s", error.message);
    view_set_cluster_id(owner, "kit"); /* perhaps nothing was committed yet */
    while (view_checkpoint(owner)->next_event_offset < partition->count) {
        if (dice_percent(dice, 20))
            commit(owner);
        fold(partition, owner, view_checkpoint(owner)->next_event_offset);
    }
}

/* Decides at random, and at times that may run backwards, as after a reset. Ids are used again. */
static void make_log(struct partition *partition, struct dice *dice)
{
    static const char *const ids[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    while (partition->count + 2 < LOG_MAX) {
        const char *id = ids[dice_roll(dice, sizeof(ids) / sizeof(ids[0]))];
        const struct order *order = view_kit_order(partition->owner, id);
        partition->now +=
            dice_percent(dice, 5) ? -(int64_t)dice_roll(dice, 10) : dice_roll(dice, 3);
        if (dice_percent(dice, 15))
            expire_until(partition, partition->now - dice_roll(dice, 12), id);
        else if (order == NULL)
            submit(partition, id);
        else if (!order_ended(order))
            complete(partition, id);
        else
            cancel(partition, id);
        if (dice_percent(dice, 10))
            commit(partition->owner);
        else if (dice_percent(dice, 3))
            roll_back(partition, dice);
    }
}

struct ended_rows {
    struct view *view;
    uint64_t count;
};

static bool check_ended_row(void *ctx, int64_t ended_at, struct text order_id)
{
    struct ended_rows *rows = ctx;
    char id[8];
    snprintf(id, sizeof(id), "%.*s", TEXT_ARG(order_id));
    const struct order *order = view_kit_order(rows->view, id);
    cr_assert(order != NULL && order_ended(order), "%s is not there, or has not ended", id);
    cr_assert_eq(order->ended_at, ended_at);
    rows->count++;
    return true;
}

static bool count_ended(void *ctx, struct text order_id, struct text row)
{
    struct ended_rows *rows = ctx;
    char id[8];
    (void)row;
    snprintf(id, sizeof(id), "%.*s", TEXT_ARG(order_id));
    rows->count += order_ended(view_kit_order(rows->view, id));
    return true;
}

/* The rows by which orders are found are those of the orders. */
static void expect_ended_rows(struct view *view)
{
    struct ended_rows orders = {.view = view};
    struct ended_rows rows = {.view = view};
    struct error error = {0};
    cr_assert(store_scan_orders(view_store(view), TEXT(""), count_ended, &orders, &error) ==
              ERROR_OK);
    cr_assert(store_scan_ended(view_store(view), INT64_MIN, INT64_MAX, TEXT(""), check_ended_row,
                               &rows, &error) == ERROR_OK);
    cr_assert_eq(rows.count, orders.count);
}

Test(view_expiry, depends_on_the_log_alone)
{
    uint64_t seed = seed_first();
    uint64_t cases = seed_cases(20);
    for (uint64_t i = 0; i < cases; i++) {
        static struct partition partition;
        seed_begin(seed + i);
        struct dice dice = dice_of(seed + i);
        uint64_t orders = 0;
        uint64_t count = 0;
        begin(&partition);
        make_log(&partition, &dice);
        commit(partition.owner);
        struct content_hash owners = digest_of(partition.owner, &orders);
        expect_ended_rows(partition.owner);
        for (int fold_number = 0; fold_number < 4; fold_number++) {
            char name[32];
            snprintf(name, sizeof(name), "fold-%d", fold_number);
            struct view *view = fold_all(&partition, name, 1 + dice_roll(&dice, 40));
            struct content_hash digest = digest_of(view, &count);
            cr_assert_eq(count, orders);
            cr_assert_arr_eq(digest.bytes, owners.bytes, sizeof(digest.bytes));
            expect_ended_rows(view);
            view_close(view);
        }
        end(&partition);
        seed_end();
    }
}

/* Its row is the same one: the range that took out the first has to leave it. */
Test(view_expiry, takes_a_later_order_that_ended_at_the_same_time)
{
    struct partition partition;
    begin(&partition);
    submit(&partition, "o-1");
    complete(&partition, "o-1");
    commit(partition.owner);
    cr_assert_eq(expire(&partition, "o-1"), 1);
    submit(&partition, "o-1");
    complete(&partition, "o-1");
    commit(partition.owner);
    cr_expect_eq(expire(&partition, "o-1"), 1);
    commit(partition.owner);
    cr_expect_null(view_kit_order(partition.owner, "o-1"));
    end(&partition);
}
