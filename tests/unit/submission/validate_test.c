/* SPDX-License-Identifier: Apache-2.0 */
/* Judging, as tables: what came in, what is known, the verdict. */
#include "services/submission/validate.h"

#include "base/heap_arena.h"
#include "tests/unit/submission/stage.h"

#include <criterion/criterion.h>

static struct heap_arena heap;
static struct judge judge;
static struct topics topics;
static struct codec *codec;
static struct workflow_registry *workflows;

/* "...web" exists, "...new" is being asked for, all others are missing. */
static enum reply_state reply_state(void *ctx, struct text topic)
{
    (void)ctx;
    if (text_equal(topic, TEXT("p.replies.web")))
        return REPLY_EXISTS;
    return text_equal(topic, TEXT("p.replies.new")) ? REPLY_ASKING : REPLY_MISSING;
}

static void set_up(void)
{
    struct error error;
    heap_arena_init(&heap, 4096);
    cr_assert(topics_init(&topics, "p", &error) == ERROR_OK);
    codec = codec_new();
    workflows = workflow_registry_new();
    stage_register(workflows, "w", 1);
    stage_register(workflows, "w", 2);
    judge = (struct judge){codec, &topics, workflows, reply_state, NULL};
}

static void tear_down(void)
{
    workflow_registry_free(workflows);
    codec_free(codec);
    heap_arena_deinit(&heap);
}

TestSuite(submission_judge, .init = set_up, .fini = tear_down);

static struct order_line line = {{"a", 1}, {"", 0}, 2, {25500}};

static struct order_details good_order(void)
{
    return (struct order_details){
        .order_id = TEXT("o1"),
        .currency = TEXT("EUR"),
        .workflow = TEXT("w"),
        .priority = PRIORITY_NORMAL,
        .lines = &line,
        .line_count = 1,
        .reply_to = TEXT("p.replies.web"),
    };
}

static struct judgement judge_details(struct order_details details, unsigned fresh)
{
    struct judgement judgement;
    judge_order(&judge, &details, fresh, &judgement);
    return judgement;
}

static struct text encode(enum record_kind kind, const void *record)
{
    struct buffer buffer = {0};
    codec_encode(codec, kind, record, &buffer);
    struct text bytes =
        arena_text(&heap.arena, (struct text){(const char *)buffer.data, (uint32_t)buffer.size});
    buffer_deinit(&buffer);
    return bytes;
}

static struct judgement judge_bytes(struct text key, struct text value, unsigned fresh)
{
    struct judgement judgement;
    judge_record(&judge, key, value, fresh, &heap.arena, &judgement);
    return judgement;
}

static struct text order_bytes(struct order_details details)
{
    struct command cmd = {
        .kind = COMMAND_SUBMIT_ORDER, .order_id = details.order_id, .submit_order = details};
    return encode(RECORD_SUBMIT_ORDER, &cmd);
}

static void expect_refused(const struct judgement *judgement, const char *code, const char *reply)
{
    cr_assert(judgement->verdict == VERDICT_REFUSE);
    cr_assert_str_eq(judgement->error.code, code, "%s: %s", judgement->error.code,
                     judgement->error.message);
    cr_assert(text_equal(judgement->reply_to, text_of(reply)), "%.*s",
              TEXT_ARG(judgement->reply_to));
}

Test(submission_judge, a_good_order_gets_the_newest_version_and_its_identity)
{
    struct order_details details = good_order();
    struct judgement judgement = judge_details(details, 0);
    cr_assert(judgement.verdict == VERDICT_ACCEPT);
    cr_assert(judgement.command.kind == COMMAND_SUBMIT_ORDER);
    cr_assert(text_equal(judgement.command.order_id, TEXT("o1")));
    cr_assert(judgement.command.submit_order.workflow_version == 2);
    struct content_hash hash = details_content_hash(&details);
    cr_assert(memcmp(&judgement.command.submit_order.content_hash, &hash, sizeof(hash)) == 0);
}

/* Submitting the same again after a new version was deployed is still the same order. */
Test(submission_judge, identity_is_of_the_content_before_pinning)
{
    struct judgement before = judge_details(good_order(), 0);
    stage_register(workflows, "w", 3);
    struct judgement after = judge_details(good_order(), 0);
    cr_assert(after.command.submit_order.workflow_version == 3);
    cr_assert(memcmp(&before.command.submit_order.content_hash,
                     &after.command.submit_order.content_hash, sizeof(struct content_hash)) == 0);
    struct order_details pinned = good_order();
    pinned.workflow_version = 2;
    struct judgement other = judge_details(pinned, 0);
    cr_assert(memcmp(&before.command.submit_order.content_hash,
                     &other.command.submit_order.content_hash, sizeof(struct content_hash)) != 0);
}

Test(submission_judge, a_senders_content_hash_counts_for_nothing)
{
    struct order_details details = good_order();
    struct content_hash hash = details_content_hash(&details);
    memset(&details.content_hash, 0x5a, sizeof(details.content_hash));
    struct judgement judgement = judge_bytes(TEXT("o1"), order_bytes(details), 0);
    cr_assert(judgement.verdict == VERDICT_ACCEPT);
    cr_assert(memcmp(&judgement.command.submit_order.content_hash, &hash, sizeof(hash)) == 0);
}

Test(submission_judge, an_unknown_workflow_is_looked_for_once)
{
    struct order_details details = good_order();
    details.workflow = TEXT("none");
    cr_assert(judge_details(details, 0).verdict == VERDICT_WAIT_WORKFLOWS);
    struct judgement judgement = judge_details(details, FRESH_WORKFLOWS);
    expect_refused(&judgement, "UnknownWorkflow", "p.replies.web");
    details = good_order();
    details.workflow_version = 7;
    cr_assert(judge_details(details, FRESH_SCHEMAS).verdict == VERDICT_WAIT_WORKFLOWS);
    judgement = judge_details(details, FRESH_WORKFLOWS);
    expect_refused(&judgement, "UnknownWorkflow", "p.replies.web");
    cr_assert(strstr(judgement.error.message, "version 7") != NULL);
}

Test(submission_judge, reply_topics)
{
    struct order_details details = good_order();
    details.reply_to = TEXT("");
    cr_assert(judge_details(details, 0).verdict == VERDICT_ACCEPT);
    details.reply_to = TEXT("p.replies.new");
    cr_assert(judge_details(details, 0).verdict == VERDICT_WAIT_REPLY);
    details.reply_to = TEXT("p.replies.none");
    struct judgement judgement = judge_details(details, 0);
    expect_refused(&judgement, "UnknownReplyTopic", "");
    /* Of another installation, or a topic of our own that replies must never reach. */
    static const char *const foreign[] = {"q.replies.web", "p.events", "p.replies.", "p.replies",
                                          "p.replies.a/b"};
    for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++) {
        details.reply_to = text_of(foreign[i]);
        judgement = judge_details(details, 0);
        expect_refused(&judgement, "BadReplyTopic", "");
    }
}

Test(submission_judge, a_refusal_is_told_only_where_the_reply_topic_is_good)
{
    struct order_details details = good_order();
    details.currency = TEXT("euro");
    struct judgement judgement = judge_details(details, 0);
    expect_refused(&judgement, "InvalidOrder", "p.replies.web");
    details.reply_to = TEXT("");
    judgement = judge_details(details, 0);
    expect_refused(&judgement, "InvalidOrder", "");
    /* Whether the topic exists decides where the refusal goes: so it is asked first. */
    details.reply_to = TEXT("p.replies.new");
    cr_assert(judge_details(details, 0).verdict == VERDICT_WAIT_REPLY);
}

Test(submission_judge, an_unusable_id_is_told_to_nobody)
{
    struct order_details details = good_order();
    details.order_id = TEXT("a/b");
    struct judgement judgement = judge_details(details, 0);
    expect_refused(&judgement, "InvalidOrder", "");
    cr_assert(text_empty(judgement.order_id));
}

Test(submission_judge, the_key_is_the_order_id_or_empty)
{
    struct text bytes = order_bytes(good_order());
    cr_assert(judge_bytes(TEXT("o1"), bytes, 0).verdict == VERDICT_ACCEPT);
    cr_assert(judge_bytes(TEXT(""), bytes, 0).verdict == VERDICT_ACCEPT);
    cr_assert(judge_bytes((struct text){0}, bytes, 0).verdict == VERDICT_ACCEPT);
    struct judgement judgement = judge_bytes(TEXT("o2"), bytes, 0);
    expect_refused(&judgement, "WrongKey", "p.replies.web");
}

Test(submission_judge, garbage_is_refused_with_its_reason)
{
    struct text bytes = order_bytes(good_order());
    struct judgement judgement = judge_bytes(TEXT("o1"), TEXT("hello"), 0);
    expect_refused(&judgement, "NotAvro", "");
    judgement = judge_bytes(TEXT("o1"), TEXT(""), 0);
    expect_refused(&judgement, "NotAvro", "");
    judgement = judge_bytes(TEXT("o1"), (struct text){0}, 0);
    expect_refused(&judgement, "Empty", "");
    /* Every prefix of a good record. */
    for (uint32_t size = 10; size < bytes.size; size++) {
        judgement = judge_bytes(TEXT("o1"), (struct text){bytes.data, size}, FRESH_SCHEMAS);
        cr_assert(judgement.verdict == VERDICT_REFUSE, "%u", size);
    }
    char *longer = arena_bytes(&heap.arena, bytes.size + 1);
    memcpy(longer, bytes.data, bytes.size);
    longer[bytes.size] = 0;
    judgement = judge_bytes(TEXT("o1"), (struct text){longer, bytes.size + 1}, 0);
    expect_refused(&judgement, "TrailingBytes", "");
    char *huge = arena_calloc(&heap.arena, 1, INPUT_BYTES_MAX + 1);
    judgement = judge_bytes(TEXT("o1"), (struct text){huge, INPUT_BYTES_MAX + 1}, 0);
    expect_refused(&judgement, "TooLong", "");
}

Test(submission_judge, an_unknown_schema_is_looked_for_once)
{
    struct text bytes = arena_text(&heap.arena, order_bytes(good_order()));
    char *unknown = arena_bytes(&heap.arena, bytes.size);
    memcpy(unknown, bytes.data, bytes.size);
    unknown[5] ^= 0x55;
    struct text value = {unknown, bytes.size};
    cr_assert(judge_bytes(TEXT("o1"), value, 0).verdict == VERDICT_WAIT_SCHEMAS);
    cr_assert(judge_bytes(TEXT("o1"), value, FRESH_WORKFLOWS).verdict == VERDICT_WAIT_SCHEMAS);
    struct judgement judgement = judge_bytes(TEXT("o1"), value, FRESH_SCHEMAS);
    expect_refused(&judgement, "UnknownSchema", "");
}

Test(submission_judge, trusted_commands_are_not_taken_from_strangers)
{
    struct command report = {
        .kind = COMMAND_REPORT_STEP,
        .order_id = TEXT("o1"),
        .report_step = {.order_id = TEXT("o1"), .step = TEXT("s"), .attempt = 1, .succeeded = true},
    };
    struct command compensate = {
        .kind = COMMAND_COMPENSATE_ORDER,
        .order_id = TEXT("o1"),
        .compensate_order = {.order_id = TEXT("o1"), .by = TEXT("me"), .reason = TEXT("because")},
    };
    struct judgement judgement =
        judge_bytes(TEXT("o1"), encode(RECORD_REPORT_STEP, &report), FRESH_SCHEMAS);
    expect_refused(&judgement, "NotAccepted", "");
    cr_assert(strstr(judgement.error.message, "ReportStep") != NULL);
    judgement = judge_bytes(TEXT("o1"), encode(RECORD_COMPENSATE_ORDER, &compensate), 0);
    expect_refused(&judgement, "NotAccepted", "");
}

static struct judgement cancel_by(const char *by)
{
    struct command cmd = {
        .kind = COMMAND_CANCEL_ORDER,
        .order_id = TEXT("o1"),
        .cancel_order = {.order_id = TEXT("o1"), .by = text_of(by), .reason = TEXT("twice")},
    };
    return judge_bytes(TEXT("o1"), encode(RECORD_CANCEL_ORDER, &cmd), 0);
}

/* The history must not say that an operator asked when a stranger did. */
Test(submission_judge, who_cancels_is_told_as_the_applications_word)
{
    struct judgement judgement = cancel_by("");
    cr_assert(judgement.verdict == VERDICT_ACCEPT);
    cr_assert(judgement.command.kind == COMMAND_CANCEL_ORDER);
    cr_assert(text_equal(judgement.command.cancel_order.by, TEXT("application")));
    cr_assert(text_equal(judgement.command.cancel_order.reason, TEXT("twice")));
    cr_assert(text_equal(cancel_by("application").command.cancel_order.by, TEXT("application")));
    cr_assert(text_equal(cancel_by("bob").command.cancel_order.by, TEXT("application:bob")));
    char longest[WHO_BYTES_MAX + 1];
    memset(longest, 'x', WHO_BYTES_MAX);
    longest[WHO_BYTES_MAX] = '\0';
    cr_assert(cancel_by(longest).command.cancel_order.by.size == WHO_BYTES_MAX);
}

Test(submission_judge, a_cancellation_has_limits_too)
{
    struct judgement judgement;
    char *reason = arena_calloc(&heap.arena, 1, MESSAGE_BYTES_MAX + 2);
    memset(reason, 'x', MESSAGE_BYTES_MAX + 1);
    struct cancel_order cancel = {.order_id = TEXT("o1"), .reason = text_of(reason)};
    judge_cancel(&judge, &cancel, &heap.arena, &judgement);
    expect_refused(&judgement, "InvalidOrder", "");
    cancel = (struct cancel_order){.order_id = TEXT("o1"), .reply_to = TEXT("elsewhere")};
    judge_cancel(&judge, &cancel, &heap.arena, &judgement);
    expect_refused(&judgement, "BadReplyTopic", "");
    cancel = (struct cancel_order){.order_id = TEXT("")};
    judge_cancel(&judge, &cancel, &heap.arena, &judgement);
    expect_refused(&judgement, "InvalidOrder", "");
}
