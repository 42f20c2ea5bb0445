/* SPDX-License-Identifier: Apache-2.0 */
/* Statements, and stores that begin inside a log that was trimmed: a reader that begins there
 * has the same orders as one that has folded all, or knows that it has not. */
#include "base/goods.h"
#include "replica/fold/view.h"
#include "tests/unit/replica/view_kit.h"
#include "tests/unit/statestore/kit.h"

#include <criterion/criterion.h>

TestSuite(view_statement);

enum { LOG_MAX = 32 };

static const struct goods euros = {.currency = TEXT_CONST("EUR")};

/* A log, one reader of all of it, and how often its index counts an order. */
struct partition {
    struct store_env *env;
    struct codec *codec;
    const char *folder;
    struct view *whole;
    struct buffer log[LOG_MAX];
    int64_t count;
    int counted;
};

/* ---- an index that counts orders ---- */

static void count_order(void *ctx, const struct order *order, int sign)
{
    (void)order;
    *(int *)ctx += sign;
}

static uint32_t no_rows(const struct order *order, struct view_index_row rows[WORKFLOW_STEPS_MAX])
{
    (void)order;
    (void)rows;
    return 0;
}

static void encode_count(const void *ctx, struct buffer *buffer)
{
    buffer_append(buffer, ctx, sizeof(int));
}

static bool decode_count(void *ctx, struct text tally)
{
    memcpy(ctx, tally.data, sizeof(int));
    return true;
}

static void clear_count(void *ctx)
{
    *(int *)ctx = 0;
}

static const struct view_index index_of_orders = {count_order, no_rows, encode_count, decode_count,
                                                  clear_count};

/* ---- the log ---- */

static struct view *open_view(struct partition *partition, const char *name, int *counted)
{
    struct view_options options = {.env = partition->env,
                                   .codec = partition->codec,
                                   .path = kit_path(partition->folder, name),
                                   .cache_bytes = 2048,
                                   .deadlines = true,
                                   .history = counted == NULL,
                                   .index = counted != NULL ? &index_of_orders : NULL,
                                   .index_ctx = counted};
    return view_kit_open(&options);
}

static enum error_class fold(struct partition *partition, struct view *view, int64_t offset,
                             struct view_folded *ret_folded, struct error *ret_error)
{
    const struct buffer *bytes = &partition->log[offset];
    struct broker_record record = {.topic = "p.events",
                                   .offset = offset,
                                   .value = {(const char *)bytes->data, (uint32_t)bytes->size}};
    return view_fold(view, &record, ret_folded, ret_error);
}

static void put(struct partition *partition, enum record_kind kind, const void *record)
{
    cr_assert_lt(partition->count, LOG_MAX);
    codec_encode(partition->codec, kind, record, &partition->log[partition->count++]);
}

/* To the end of the log; the reader of all folds it. */
static struct view_folded append(struct partition *partition, enum record_kind kind,
                                 const void *record)
{
    struct view_folded folded;
    struct error error = {0};
    put(partition, kind, record);
    cr_assert(fold(partition, partition->whole, partition->count - 1, &folded, &error) == ERROR_OK,
              "%s", error.message);
    cr_assert_eq(folded.admission, ADMITTED);
    return folded;
}

static void begin(struct partition *partition)
{
    struct claim claim = {.instance = TEXT("s-1"), .claimed_at = 5, .partition_count = 1};
    *partition = (struct partition){.env = kit_env(), .codec = codec_new()};
    partition->folder = kit_folder();
    partition->whole = open_view(partition, "whole", &partition->counted);
    claim.claim_id.bytes[0] = 7;
    append(partition, RECORD_CLAIM, &claim);
}

static void end(struct partition *partition)
{
    view_close(partition->whole);
    for (int64_t i = 0; i < partition->count; i++)
        buffer_deinit(&partition->log[i]);
    codec_free(partition->codec);
    store_env_free(partition->env);
}

static struct decision decision_of(const struct partition *partition, const char *id,
                                   struct event *events, uint32_t count, uint64_t version,
                                   enum order_state state)
{
    const struct checkpoint *checkpoint = view_checkpoint(partition->whole);
    return (struct decision){.claim_id = checkpoint->claim_id,
                             .sequence = checkpoint->next_sequence,
                             .command_offset = checkpoint->next_command_offset,
                             .command_time = 5,
                             .order_id = text_of(id),
                             .order_version = version,
                             .order_state = state,
                             .decided_at = 6,
                             .emitted_through = -1,
                             .events = events,
                             .event_count = count};
}

static void accept(struct partition *partition, const char *id)
{
    struct step_plan plans[] = {{TEXT("A"), TEXT("agent"), {0}, false}};
    struct event events[] = {{.kind = EVENT_ORDER_ACCEPTED,
                              .order_accepted = {.details = {.order_id = text_of(id),
                                                             .goods = &euros,
                                                             .workflow = TEXT("w")},
                                                 .steps = plans,
                                                 .step_count = 1,
                                                 .complete_by = 99}},
                             {.kind = EVENT_ORDER_STARTED}};
    struct decision decision = decision_of(partition, id, events, 2, 1, ORDER_PROCESSING);
    append(partition, RECORD_DECISION, &decision);
}

static void pause_order(struct partition *partition, const char *id, uint64_t version)
{
    struct event paused = {.kind = EVENT_ORDER_PAUSED,
                           .order_marked = {.by = TEXT("ann"), .reason = TEXT("to look at it")}};
    struct decision decision = decision_of(partition, id, &paused, 1, version, ORDER_PROCESSING);
    append(partition, RECORD_DECISION, &decision);
}

static struct statement statement_of(const struct partition *partition, const struct order *order)
{
    const struct checkpoint *checkpoint = view_checkpoint(partition->whole);
    return (struct statement){.claim_id = checkpoint->claim_id,
                              .sequence = checkpoint->next_sequence,
                              .format = STATE_FORMAT,
                              .order = *order};
}

static struct view_folded restate(struct partition *partition, const char *id)
{
    struct statement statement = statement_of(partition, view_kit_order(partition->whole, id));
    return append(partition, RECORD_STATEMENT, &statement);
}

/* Returns its offset. */
static int64_t go_on(struct partition *partition, int64_t trimmed)
{
    struct continuation continuation;
    admission_state(view_checkpoint(partition->whole), &continuation);
    continuation.trimmed = trimmed;
    append(partition, RECORD_CONTINUATION, &continuation);
    return partition->count - 1;
}

static struct content_hash digest_of(struct view *view)
{
    struct content_hash digest;
    struct error error = {0};
    uint64_t orders = 0;
    cr_assert(view_commit(view, &error) == ERROR_OK, "%s", error.message);
    view_tidy(view);
    cr_assert(store_digest(view_store(view), &digest, &orders, &error) == ERROR_OK);
    return digest;
}

static void fold_from(struct partition *partition, struct view *view, int64_t from)
{
    struct view_folded folded;
    struct error error = {0};
    for (int64_t offset = from; offset < partition->count; offset++)
        cr_assert(fold(partition, view, offset, &folded, &error) == ERROR_OK, "%s", error.message);
}

/* ---- statements ---- */

Test(view_statement, knows_where_an_order_was_last_stated_in_full)
{
    struct partition partition;
    begin(&partition);
    accept(&partition, "o-1");
    cr_assert_eq(view_kit_order(partition.whole, "o-1")->stated_offset, 1);
    pause_order(&partition, "o-1", 2);
    struct order before = *view_kit_order(partition.whole, "o-1");
    cr_assert_eq(before.stated_offset, 1, "a change is not a full statement");
    struct view_folded folded = restate(&partition, "o-1");
    cr_assert_not(folded.differs);
    cr_assert(folded.existed && folded.order == view_kit_order(partition.whole, "o-1"));
    cr_assert_eq(folded.order->stated_offset, 3);
    cr_assert_eq(folded.order->accepted_offset, 1);
    cr_assert_eq(folded.order->version, 2);
    cr_assert_eq(folded.order->paused_at, before.paused_at);
    cr_assert_eq(partition.counted, 1, "it is counted once");
    end(&partition);
}

Test(view_statement, takes_what_a_statement_says_and_notices_that_it_differs)
{
    struct partition partition;
    begin(&partition);
    accept(&partition, "o-1");
    struct order order = *view_kit_order(partition.whole, "o-1");
    order.complete_by = 77;
    struct statement statement = statement_of(&partition, &order);
    cr_assert(append(&partition, RECORD_STATEMENT, &statement).differs);
    cr_assert_eq(view_kit_order(partition.whole, "o-1")->complete_by, 77);
    /* A store of this release does not know what an owner of another one knows. */
    order.complete_by = 78;
    statement = statement_of(&partition, &order);
    statement.format++;
    cr_assert_not(append(&partition, RECORD_STATEMENT, &statement).differs);
    cr_assert_eq(view_kit_order(partition.whole, "o-1")->complete_by, 78);
    /* An order that is not here cannot be restated. */
    order.details.order_id = TEXT("o-2");
    statement = statement_of(&partition, &order);
    struct view_folded folded = append(&partition, RECORD_STATEMENT, &statement);
    cr_assert(folded.differs && !folded.existed);
    cr_assert_not_null(view_kit_order(partition.whole, "o-2"));
    cr_assert_eq(partition.counted, 2);
    end(&partition);
}

static void refuses(struct partition *partition, const struct statement *statement,
                    const char *problem)
{
    struct checkpoint before = *view_checkpoint(partition->whole);
    struct view_folded folded;
    struct error error = {0};
    put(partition, RECORD_STATEMENT, statement);
    cr_assert(fold(partition, partition->whole, --partition->count, &folded, &error) == ERROR_FATAL,
              "%s", problem);
    buffer_deinit(&partition->log[partition->count]);
    partition->log[partition->count] = (struct buffer){0};
    cr_expect_eq(error.code, CODE_IMPOSSIBLE_STATEMENT);
    cr_expect(strstr(error.message, problem) != NULL, "%s", error.message);
    cr_expect(memcmp(&before, view_checkpoint(partition->whole), sizeof(before)) == 0);
}

Test(view_statement, refuses_what_no_owner_can_state)
{
    struct partition partition;
    begin(&partition);
    accept(&partition, "o-1");
    struct order order = *view_kit_order(partition.whole, "o-1");
    struct statement statement = statement_of(&partition, &order);
    statement.order.details.order_id = TEXT("");
    refuses(&partition, &statement, "its id is not one");
    statement.order = order;
    statement.order.stated_offset = partition.count;
    refuses(&partition, &statement, "it was stated after this record");
    statement.order.stated_offset = 0;
    refuses(&partition, &statement, "stated before it was accepted");
    statement.order = order;
    statement.order.alert_open = true;
    refuses(&partition, &statement, "an alert is open");
    cr_assert_not(restate(&partition, "o-1").differs, "the log goes on where it was");
    end(&partition);
}

Test(view_statement, skips_what_a_former_owner_states)
{
    struct partition partition;
    struct view_folded folded;
    struct error error = {0};
    begin(&partition);
    accept(&partition, "o-1");
    struct order order = *view_kit_order(partition.whole, "o-1");
    order.complete_by = 77;
    struct statement statement = statement_of(&partition, &order);
    statement.sequence++;
    put(&partition, RECORD_STATEMENT, &statement);
    cr_assert(fold(&partition, partition.whole, 2, &folded, &error) == ERROR_OK);
    cr_assert_eq(folded.admission, SKIPPED_SEQUENCE);
    cr_assert_null(folded.order);
    cr_assert_eq(view_kit_order(partition.whole, "o-1")->complete_by, 99);
    end(&partition);
}

/* ---- a log that was trimmed ---- */

static bool see_history(void *ctx, int64_t offset, struct text decision)
{
    (void)decision;
    *(int64_t *)ctx = *(int64_t *)ctx * 100 + offset;
    return true;
}

Test(view_statement, begins_inside_the_log_and_has_all_orders_in_the_end)
{
    struct partition partition;
    begin(&partition);
    accept(&partition, "o-1");
    accept(&partition, "o-2");
    int64_t start = go_on(&partition, -1);
    accept(&partition, "o-3");
    pause_order(&partition, "o-1", 2); /* which no record since has stated */
    struct view *late = open_view(&partition, "late", NULL);
    view_begin_at(late, start);
    fold_from(&partition, late, start);
    cr_assert_not(view_checkpoint(late)->complete);
    cr_assert_null(view_kit_order(late, "o-1"), "a change of it only moves the position");
    cr_assert_not_null(view_kit_order(late, "o-3"));
    int64_t at = partition.count;
    int64_t restated = at;
    restate(&partition, "o-1");
    restate(&partition, "o-2");
    fold_from(&partition, late, at);
    cr_assert_eq(view_kit_order(late, "o-1")->version, 2);
    cr_assert_not(view_checkpoint(late)->complete);
    at = go_on(&partition, start);
    fold_from(&partition, late, at);
    cr_assert(view_checkpoint(late)->complete);
    accept(&partition, "o-4");
    fold_from(&partition, late, at + 1);
    struct content_hash digests[] = {digest_of(partition.whole), digest_of(late)};
    cr_assert_eq(memcmp(&digests[0], &digests[1], sizeof(digests[0])), 0);
    /* The history of an order begins where it was stated. */
    int64_t seen = 0;
    struct error error = {0};
    cr_assert(store_scan_history(view_store(late), TEXT("o-1"), 0, see_history, &seen, &error) ==
              ERROR_OK);
    cr_assert_eq(seen, restated, "what was decided before it is not kept");
    seen = 0;
    cr_assert(store_scan_history(view_store(late), TEXT("o-3"), 0, see_history, &seen, &error) ==
              ERROR_OK);
    cr_assert_eq(seen, 4);
    view_close(late);
    end(&partition);
}

Test(view_statement, stops_at_a_change_of_an_order_that_was_never_stated)
{
    struct partition partition;
    struct view_folded folded;
    struct error error = {0};
    begin(&partition);
    accept(&partition, "o-1");
    int64_t start = go_on(&partition, -1);
    go_on(&partition, start); /* but o-1 was not restated */
    pause_order(&partition, "o-1", 2);
    struct view *late = open_view(&partition, "late", NULL);
    view_begin_at(late, start);
    for (int64_t offset = start; offset < partition.count - 1; offset++)
        cr_assert(fold(&partition, late, offset, &folded, &error) == ERROR_OK);
    cr_assert(fold(&partition, late, partition.count - 1, &folded, &error) == ERROR_FATAL);
    cr_assert_eq(error.code, CODE_IMPOSSIBLE_DECISION);
    view_close(late);
    end(&partition);
}

Test(view_statement, begins_only_with_a_continuation)
{
    struct partition partition;
    struct view_folded folded;
    struct error error = {0};
    begin(&partition);
    accept(&partition, "o-1");
    restate(&partition, "o-1");
    buffer_append(&partition.log[partition.count++], "not ours", 8);
    for (int64_t start = 1; start < partition.count; start++) {
        struct view *late = open_view(&partition, "late", NULL);
        view_begin_at(late, start);
        cr_assert(fold(&partition, late, start, &folded, &error) == ERROR_FATAL);
        cr_assert_eq(error.code, CODE_LOG_TRUNCATED);
        cr_assert_eq(view_checkpoint(late)->next_event_offset, start);
        view_close(late);
    }
    end(&partition);
}
