/* SPDX-License-Identifier: Apache-2.0 */
/* Decisions that decode and are admitted, but cannot follow the ones before them: the view refuses
 * them, and its state is as it was. */
#include "base/goods.h"
#include "replica/fold/view.h"
#include "tests/unit/replica/view_kit.h"
#include "tests/unit/statestore/kit.h"

#include <criterion/criterion.h>

TestSuite(view_hostile);

static const struct goods euros = {.currency = TEXT_CONST("EUR")};

struct reader {
    struct store_env *env;
    struct codec *codec;
    struct view *view;
    struct buffer value;
    int64_t offset;
};

static enum error_class fold(struct reader *reader, enum record_kind kind, const void *record,
                             struct error *ret_error)
{
    struct broker_record bytes = {.topic = "p.events", .offset = reader->offset};
    reader->value.size = 0;
    codec_encode(reader->codec, kind, record, &reader->value);
    bytes.value = (struct text){(const char *)reader->value.data, (uint32_t)reader->value.size};
    enum error_class class = view_fold(reader->view, &bytes, NULL, ret_error);
    reader->offset += class == ERROR_OK;
    return class;
}

static void begin(struct reader *reader)
{
    struct claim claim = {.instance = TEXT("s-1"), .claimed_at = 5, .partition_count = 1};
    struct error error = {0};
    *reader = (struct reader){.env = kit_env(), .codec = codec_new()};
    struct view_options options = {.env = reader->env,
                                   .codec = reader->codec,
                                   .path = kit_path(kit_folder(), "view"),
                                   .cache_bytes = 2 * 2048,
                                   .deadlines = true};
    reader->view = view_kit_open(&options);
    claim.claim_id.bytes[0] = 7;
    cr_assert(fold(reader, RECORD_CLAIM, &claim, &error) == ERROR_OK, "%s", error.message);
}

static void end(struct reader *reader)
{
    view_close(reader->view);
    buffer_deinit(&reader->value);
    codec_free(reader->codec);
    store_env_free(reader->env);
}

static struct decision decision_of(const struct reader *reader, struct event *events,
                                   uint32_t count, uint64_t version, enum order_state state)
{
    const struct checkpoint *checkpoint = view_checkpoint(reader->view);
    return (struct decision){.claim_id = checkpoint->claim_id,
                             .sequence = checkpoint->next_sequence,
                             .command_offset = checkpoint->next_sequence,
                             .command_time = 5,
                             .order_id = TEXT("o-1"),
                             .order_version = version,
                             .order_state = state,
                             .decided_at = 6,
                             .emitted_through = -1,
                             .events = events,
                             .event_count = count};
}

static void refuses(struct reader *reader, struct event *events, uint32_t count, uint64_t version,
                    enum order_state state, const char *problem)
{
    struct checkpoint before = *view_checkpoint(reader->view);
    struct decision decision = decision_of(reader, events, count, version, state);
    struct error error = {0};
    cr_assert(fold(reader, RECORD_DECISION, &decision, &error) == ERROR_FATAL, "%s", problem);
    cr_expect_eq(error.code, CODE_IMPOSSIBLE_DECISION);
    cr_expect(strstr(error.message, problem) != NULL, "%s", error.message);
    cr_expect(memcmp(&before, view_checkpoint(reader->view), sizeof(before)) == 0);
}

Test(view_hostile, refuses_decisions_that_cannot_follow)
{
    struct reader reader;
    struct step_plan plans[] = {{TEXT("A"), TEXT("agent"), {0}, false}};
    struct event accepted[] = {{.kind = EVENT_ORDER_ACCEPTED,
                                .order_accepted = {.details = {.order_id = TEXT("o-1"),
                                                               .goods = &euros,
                                                               .workflow = TEXT("w")},
                                                   .steps = plans,
                                                   .step_count = 1}},
                               {.kind = EVENT_ORDER_STARTED},
                               {.kind = EVENT_STEP_STARTED,
                                .step_started = {.ref = {TEXT("A"), DIRECTION_DO, 1},
                                                 .agent = TEXT("agent"),
                                                 .action = TEXT("A"),
                                                 .complete_by = 99}}};
    struct event succeeded = {.kind = EVENT_STEP_SUCCEEDED,
                              .step_succeeded.ref = {TEXT("A"), DIRECTION_DO, 1}};
    struct event other_step = {.kind = EVENT_STEP_SUCCEEDED,
                               .step_succeeded.ref = {TEXT("B"), DIRECTION_DO, 1}};
    struct event other_attempt = {.kind = EVENT_STEP_SUCCEEDED,
                                  .step_succeeded.ref = {TEXT("A"), DIRECTION_DO, 2}};
    struct error error = {0};
    begin(&reader);
    refuses(&reader, &succeeded, 1, 1, ORDER_PROCESSING, "no such step");
    refuses(&reader, &succeeded, 1, 7, ORDER_PROCESSING, "versions have a gap");
    refuses(&reader, accepted, 3, 1, ORDER_PROCESSED, "state is another one");
    struct decision decision = decision_of(&reader, accepted, 3, 1, ORDER_PROCESSING);
    cr_assert(fold(&reader, RECORD_DECISION, &decision, &error) == ERROR_OK, "%s", error.message);
    refuses(&reader, &other_step, 1, 2, ORDER_PROCESSING, "no such step");
    refuses(&reader, &other_attempt, 1, 2, ORDER_PROCESSING, "another attempt");
    refuses(&reader, accepted, 3, 2, ORDER_PROCESSING, "accepted twice");
    /* The log goes on where it was. */
    decision = decision_of(&reader, &succeeded, 1, 2, ORDER_PROCESSING);
    cr_assert(fold(&reader, RECORD_DECISION, &decision, &error) == ERROR_OK, "%s", error.message);
    end(&reader);
}

/* Its owner would begin to emit behind its own claim. */
Test(view_hostile, refuses_a_decision_that_says_later_effects_are_sent)
{
    struct reader reader;
    struct event rejected = {.kind = EVENT_COMMAND_REJECTED,
                             .command_rejected = {.command = COMMAND_CANCEL_ORDER,
                                                  .code = TEXT("UnknownOrder"),
                                                  .reason = TEXT("no such order")}};
    struct error error = {0};
    begin(&reader);
    struct decision decision = decision_of(&reader, &rejected, 1, 0, ORDER_PENDING);
    decision.emitted_through = reader.offset;
    cr_assert(fold(&reader, RECORD_DECISION, &decision, &error) == ERROR_FATAL);
    cr_expect_eq(error.code, CODE_IMPOSSIBLE_DECISION);
    cr_expect_eq(view_checkpoint(reader.view)->emitted_through, -1);
    decision.emitted_through = reader.offset - 1;
    cr_assert(fold(&reader, RECORD_DECISION, &decision, &error) == ERROR_OK, "%s", error.message);
    cr_expect_eq(view_checkpoint(reader.view)->emitted_through, 0);
    end(&reader);
}

/* An order that goes on is never taken out: no Expiry can name it. */
Test(view_hostile, refuses_an_expiry_that_cannot_be)
{
    struct reader reader;
    struct error error = {0};
    begin(&reader);
    struct checkpoint before = *view_checkpoint(reader.view);
    struct expiry expiry = {.claim_id = before.claim_id, .decided_at = 8, .ended_at = 9};
    expiry.order_id = TEXT("o-1");
    cr_assert(fold(&reader, RECORD_EXPIRY, &expiry, &error) == ERROR_FATAL);
    cr_expect_eq(error.code, CODE_IMPOSSIBLE_EXPIRY);
    expiry.ended_at = 8;
    expiry.order_id = (struct text){0};
    cr_assert(fold(&reader, RECORD_EXPIRY, &expiry, &error) == ERROR_FATAL);
    cr_expect(memcmp(&before, view_checkpoint(reader.view), sizeof(before)) == 0);
    expiry.order_id = TEXT("o-1");
    cr_assert(fold(&reader, RECORD_EXPIRY, &expiry, &error) == ERROR_OK, "%s", error.message);
    cr_expect_eq(view_checkpoint(reader.view)->newest_decided_at, 8);
    end(&reader);
}

static void fold_order_of(struct reader *reader, struct text order_id)
{
    struct step_plan plans[] = {{TEXT("A"), TEXT("agent"), {0}, false}};
    struct event events[] = {{.kind = EVENT_ORDER_ACCEPTED,
                              .order_accepted = {.details = {.order_id = order_id,
                                                             .goods = &euros,
                                                             .workflow = TEXT("w")},
                                                 .steps = plans,
                                                 .step_count = 1,
                                                 .complete_by = 99}},
                             {.kind = EVENT_ORDER_STARTED}};
    struct event rejected = {.kind = EVENT_COMMAND_REJECTED,
                             .command_rejected = {.command = COMMAND_CANCEL_ORDER,
                                                  .code = TEXT("PastPivot"),
                                                  .reason = TEXT("too late")}};
    struct error error = {0};
    struct decision decision = decision_of(reader, events, 2, 1, ORDER_PROCESSING);
    decision.order_id = order_id;
    cr_assert(fold(reader, RECORD_DECISION, &decision, &error) == ERROR_OK, "%s", error.message);
    decision = decision_of(reader, &rejected, 1, 1, ORDER_PROCESSING);
    decision.order_id = order_id;
    cr_assert(fold(reader, RECORD_DECISION, &decision, &error) == ERROR_OK, "%s", error.message);
}

/* Its seal is right: an older release has written it, or a bit flipped before it was written. */
Test(view_hostile, refuses_a_row_that_no_order_can_have)
{
    struct reader reader;
    struct error error = {0};
    const struct order *order = NULL;
    struct step step = {.name = TEXT("A"), .agent = TEXT("agent"), .complete_by = 9};
    struct order impossible = {
        .version = 3,
        .state = ORDER_PROCESSING,
        .details = {.order_id = TEXT("o-1"), .goods = &euros, .workflow = TEXT("w")},
        .steps = &step,
        .step_count = 1};
    begin(&reader);
    struct store_batch *batch = store_batch_new(view_store(reader.view));
    reader.value.size = 0;
    codec_encode(reader.codec, RECORD_ORDER_ROW, &impossible, &reader.value);
    struct text row = {(const char *)reader.value.data, (uint32_t)reader.value.size};
    store_batch_put_order(batch, TEXT("o-1"), row);
    row.size--;
    store_batch_put_order(batch, TEXT("o-2"), row);
    cr_assert(store_commit(view_store(reader.view), batch, view_checkpoint(reader.view), &error) ==
                  ERROR_OK,
              "%s", error.message);
    store_batch_free(batch);
    cr_assert(view_order(reader.view, TEXT("o-1"), &order, &error) == ERROR_FATAL);
    cr_assert_eq(error.code, CODE_STORE_CORRUPT);
    cr_assert(strstr(error.message, "without a complete-by time") != NULL, "%s", error.message);
    cr_assert(view_order(reader.view, TEXT("o-2"), &order, &error) == ERROR_FATAL);
    cr_assert(strstr(error.message, "it cannot be decoded") != NULL, "%s", error.message);
    end(&reader);
}

/* As older schedulers accepted them from any writer to commands. */
Test(view_hostile, leaves_out_orders_whose_ids_no_store_can_hold)
{
    struct reader reader;
    struct error error = {0};
    const struct order *order = NULL;
    begin(&reader);
    fold_order_of(&reader, (struct text){0});
    fold_order_of(&reader, (struct text){"a\0b", 3});
    fold_order_of(&reader, TEXT("good"));
    cr_assert(view_commit(reader.view, &error) == ERROR_OK, "%s", error.message);
    cr_assert_eq(view_checkpoint(reader.view)->next_sequence, 6);
    cr_assert_eq(view_checkpoint(reader.view)->skipped, 0);
    cr_assert(view_order(reader.view, TEXT("good"), &order, &error) == ERROR_OK);
    cr_assert_not_null(order);
    end(&reader);
}
