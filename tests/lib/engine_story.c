/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/engine_story.h"

#include "base/goods.h"
#include "engine/decide.h"
#include "tests/lib/engine_equal.h"
#include "tests/lib/engine_memory.h"
#include "tests/lib/engine_print.h"
#include "tests/lib/engine_workflow.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    STORY_DECISIONS_MAX = 200,
    VERSIONS_MAX = 4,
    WORDS_MAX = 12,
    RETRY_MS_MIN = 100,
    RETRY_MS_MAX = 5000,
    SUBMISSION_AGE_MS_MAX = 600000
};

struct story {
    struct test_arena memory;
    const struct workflow *workflow;             /* of the order; version 1 at first */
    struct workflow *versions[VERSIONS_MAX + 1]; /* NULL: there is none */
    struct order order;
    int64_t now;
    bool first_only; /* routing is switched off; the listed agents may have nothing free */
    bool routed;     /* by these: */
    struct agent_capacity agents[WORDS_MAX];
    uint32_t agent_count;
    struct decision log[STORY_DECISIONS_MAX];
    uint32_t decisions;
    bool spared;            /* the next command is decided without expressions */
    struct effects effects; /* of the last one */
    struct line told;       /* everything so far */
    bool failed;
};

struct words {
    const char *at[WORDS_MAX]; /* "" beyond the last one */
    char text[1024];
};

static void split(const char *line, size_t size, struct words *ret_words)
{
    assert(size < sizeof(ret_words->text));
    memcpy(ret_words->text, line, size);
    ret_words->text[size] = '\0';
    char *at = ret_words->text;
    for (int i = 0; i < WORDS_MAX; i++) {
        at += strspn(at, " ");
        ret_words->at[i] = at;
        at += strcspn(at, " ");
        if (*at != '\0')
            *at++ = '\0';
    }
}

static bool is(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

static bool has(const struct words *words, const char *word)
{
    for (int i = 1; i < WORDS_MAX; i++) {
        if (is(words->at[i], word))
            return true;
    }
    return false;
}

static struct text keep(struct story *story, const char *string)
{
    return arena_text(&story->memory.arena, text_of(string));
}

/* ---- commands ---- */

/* The token of "as TOKEN". */
static struct text submitter(struct story *story, const struct words *words)
{
    return is(words->at[1], "as") ? keep(story, words->at[2]) : TEXT("");
}

/* Of an order that is a sub-order. */
static const struct order_parent story_parent = {.order_id = TEXT_CONST("o-0"),
                                                 .accepted_offset = 7,
                                                 .step = TEXT_CONST("W"),
                                                 .item = 2,
                                                 .root = TEXT_CONST("o-0"),
                                                 .depth = 1,
                                                 .quota = 10};

static struct order_details details_of(struct story *story, const struct words *words)
{
    struct arena *arena = &story->memory.arena;
    static struct order_line lines[] = {{TEXT_CONST("85123A"), TEXT_CONST("LANTERN"), 6, {25500}},
                                        {TEXT_CONST("71053"), TEXT_CONST(""), -1, {33900}}};
    static const struct goods goods = {TEXT_CONST("GBP"), lines, 2};
    struct attribute *attributes = ARENA_ARRAY(arena, struct attribute, 1);
    attributes[0] = (struct attribute){TEXT("country"), TEXT("United Kingdom")};
    struct order_details details = {.order_id = TEXT("o-1"),
                                    .customer = TEXT("17850"),
                                    .goods = &goods,
                                    .attribute_count = 1,
                                    .attributes = attributes,
                                    .priority = PRIORITY_NORMAL,
                                    .reply_to = TEXT("orders.replies.shop"),
                                    .workflow = TEXT("test")};
    if (is(words->at[1], "with"))
        details.input = keep(story, words->at[2]);
    if (is(words->at[1], "under"))
        details.parent = &story_parent;
    if (has(words, "old"))
        details.submitted_at = story->now - SUBMISSION_AGE_MS_MAX - 1;
    if (has(words, "other"))
        details.content_hash.bytes[15] = 1;
    if (has(words, "elsewhere"))
        details.workflow = TEXT("elsewhere");
    details.submitted_by = submitter(story, words);
    if (has(words, "other") || has(words, "elsewhere"))
        details.reply_to = TEXT("orders.replies.other");
    return details;
}

static const struct step *named_step(const struct story *story, const char *name)
{
    int index = order_find_step(&story->order, text_of(name));
    return index >= 0 ? &story->order.steps[index] : NULL;
}

/* A JSON text of "BYTES bytes", the last words, or the one "with" which it comes. */
static struct text output_of(struct story *story, const struct words *words)
{
    int at = 3;
    while (at < WORDS_MAX - 1 && !is(words->at[at], "bytes") && !is(words->at[at], "with"))
        at++;
    if (is(words->at[at], "with"))
        return is(words->at[at + 1], "nothing") ? TEXT("") : keep(story, words->at[at + 1]);
    if (!is(words->at[at], "bytes"))
        return TEXT("{\"done\":true}");
    uint32_t size = (uint32_t)strtoul(words->at[at - 1], NULL, 10);
    char *text = arena_bytes(&story->memory.arena, size);
    assert(size >= 2);
    memset(text, 'x', size);
    text[0] = text[size - 1] = '"';
    return (struct text){text, size};
}

static struct report_step report_of(struct story *story, const struct words *words)
{
    struct report_step report = {.order_id = TEXT("o-1"),
                                 .step = keep(story, words->at[1]),
                                 .attempt = (uint32_t)strtoul(words->at[2], NULL, 10),
                                 .direction = has(words, "undo") ? DIRECTION_UNDO : DIRECTION_DO,
                                 .succeeded = is(words->at[0], "ok"),
                                 .agent = TEXT("agent"),
                                 .instance = TEXT("agent-1")};
    if (report.succeeded) {
        report.output = output_of(story, words);
        return report;
    }
    if (!is(words->at[3], "-"))
        report.error_name = keep(story, words->at[3]);
    report.error_message = TEXT("said the service");
    report.effect = has(words, "unknown")   ? EFFECT_UNKNOWN
                    : has(words, "applied") ? EFFECT_APPLIED
                                            : EFFECT_NONE;
    return report;
}

/* What a supervisor asks of a step: by default what it sees now. */
static void ask(struct story *story, const struct words *words, struct command *cmd)
{
    const struct step *step = named_step(story, words->at[1]);
    uint32_t attempt = step != NULL ? step->attempt : 1;
    enum direction direction = step != NULL ? step->direction : DIRECTION_DO;
    int64_t complete_by = step != NULL ? step->complete_by : 1;
    int64_t retry_at = step != NULL ? step_wait(step).until : 1;
    if (is(words->at[2], "attempt"))
        attempt = (uint32_t)strtoul(words->at[3], NULL, 10);
    if (has(words, "undo"))
        direction = DIRECTION_UNDO;
    if (has(words, "stale")) {
        complete_by++;
        retry_at++;
    }
    struct text name = keep(story, words->at[1]);
    struct text by = TEXT("supervisor-1");
    if (cmd->kind == COMMAND_RECOVER_STEP)
        cmd->recover_step =
            (struct recover_step){TEXT("o-1"), name, direction, attempt, complete_by, by};
    else
        cmd->start_step = (struct start_step){TEXT("o-1"), name, direction, attempt, retry_at, by};
}

/* What an agent asks of an attempt. */
static struct extend_step extension_of(struct story *story, const struct words *words)
{
    return (struct extend_step){.order_id = TEXT("o-1"),
                                .step = keep(story, words->at[1]),
                                .direction = has(words, "undo") ? DIRECTION_UNDO : DIRECTION_DO,
                                .attempt = (uint32_t)strtoul(words->at[2], NULL, 10),
                                .complete_by = story->now + strtoll(words->at[3], NULL, 10),
                                .progress = TEXT("half done"),
                                .agent = TEXT("agent"),
                                .instance = TEXT("agent-1")};
}

static struct migrate_order migration_of(struct story *story, const struct words *words)
{
    struct migrate_order asked = {.order_id = TEXT("o-1"),
                                  .version = (uint32_t)strtoul(words->at[1], NULL, 10),
                                  .by = TEXT("anna"),
                                  .reason = TEXT("because")};
    if (is(words->at[2], "from"))
        asked.from_version = (uint32_t)strtoul(words->at[3], NULL, 10);
    else if (is(words->at[2], "of"))
        asked.workflow = keep(story, words->at[3]);
    return asked;
}

/* The word behind this one, or empty. */
static struct text behind(struct story *story, const struct words *words, const char *word)
{
    for (int i = 2; i + 1 < WORDS_MAX; i++) {
        if (is(words->at[i], word))
            return keep(story, words->at[i + 1]);
    }
    return TEXT("");
}

/* signal STEP PAYLOAD [#ID] [by WHO] [of GROUP] [as TOKEN], or with BYTES bytes for the payload */
static struct signal_order signal_of(struct story *story, const struct words *words)
{
    struct text *groups = ARENA_ARRAY(&story->memory.arena, struct text, 2);
    groups[0] = TEXT("everyone");
    groups[1] = behind(story, words, "of");
    struct signal_order signal = {.order_id = TEXT("o-1"),
                                  .step = keep(story, words->at[1]),
                                  .payload = is(words->at[3], "bytes") ? output_of(story, words)
                                                                       : keep(story, words->at[2]),
                                  .by = behind(story, words, "by"),
                                  .groups = {groups, has(words, "of") ? 2 : 0},
                                  .reply_to = TEXT("orders.replies.signals"),
                                  .submitted_by = behind(story, words, "as")};
    for (int i = 3; i < WORDS_MAX; i++) {
        if (words->at[i][0] == '#')
            signal.id = keep(story, words->at[i] + 1);
    }
    return signal;
}

/* report STEP[.ITEM] OUTCOME [ERROR] [gN] [offset N] [with OUTPUT] */
static struct report_suborder suborder_report_of(struct story *story, const struct words *words)
{
    static const char *const outcomes[] = {"held", "final", "failed", "refused"};
    const char *dot = strchr(words->at[1], '.');
    size_t size = dot != NULL ? (size_t)(dot - words->at[1]) : strlen(words->at[1]);
    struct report_suborder report = {
        .order_id = TEXT("o-1"),
        .accepted_offset = story->order.accepted_offset,
        .step = arena_text(&story->memory.arena, (struct text){words->at[1], (uint32_t)size}),
        .item = dot != NULL ? strtoll(dot + 1, NULL, 10) : -1,
        .output = behind(story, words, "with"),
    };
    while (!is(outcomes[report.outcome], words->at[2]))
        report.outcome++;
    for (int i = 3; i < WORDS_MAX; i++) {
        const char *at = words->at[i];
        if (at[0] == 'g' && at[1] >= '0' && at[1] <= '9')
            report.generation = (uint32_t)strtoul(at + 1, NULL, 10);
        else if (is(at, "offset"))
            report.accepted_offset = strtoll(words->at[++i], NULL, 10);
        else if (is(at, "with"))
            i++;
        else if (*at != '\0')
            report.error_name = keep(story, at);
    }
    return report;
}

/* settle HOW [held] [of STEP] [by WHO] */
static struct settle_suborder settle_of(struct story *story, const struct words *words)
{
    static const char *const hows[] = {"none", "keep", "undo", "unknown"};
    struct order_parent *parent = ARENA_NEW(&story->memory.arena, struct order_parent);
    struct settle_suborder settle = {.order_id = TEXT("o-1"),
                                     .parent = parent,
                                     .held = has(words, "held"),
                                     .reason = TEXT("because"),
                                     .by = behind(story, words, "by")};
    *parent = story_parent;
    if (has(words, "of"))
        parent->step = behind(story, words, "of");
    if (has(words, "by"))
        settle.parent = NULL;
    while (!is(hows[settle.how], words->at[1]))
        settle.how++;
    return settle;
}

static enum command_kind kind_of(const char *word)
{
    static const struct {
        const char *word;
        enum command_kind kind;
    } kinds[] = {
        {"submit", COMMAND_SUBMIT_ORDER},    {"cancel", COMMAND_CANCEL_ORDER},
        {"ok", COMMAND_REPORT_STEP},         {"fail", COMMAND_REPORT_STEP},
        {"recover", COMMAND_RECOVER_STEP},   {"start", COMMAND_START_STEP},
        {"timeout", COMMAND_TIME_OUT_ORDER}, {"compensate", COMMAND_COMPENSATE_ORDER},
        {"resubmit", COMMAND_RESUBMIT_STEP}, {"garbage", COMMAND_UNDECODABLE},
        {"quarantine", COMMAND_UNDECODABLE}, {"extend", COMMAND_EXTEND_STEP},
        {"complete", COMMAND_COMPLETE_STEP}, {"skip", COMMAND_SKIP_STEP},
        {"fail-step", COMMAND_FAIL_STEP},    {"pause", COMMAND_PAUSE_ORDER},
        {"resume", COMMAND_RESUME_ORDER},    {"migrate", COMMAND_MIGRATE_ORDER},
        {"amend", COMMAND_AMEND_ORDER},      {"signal", COMMAND_SIGNAL_ORDER},
        {"report", COMMAND_REPORT_SUBORDER}, {"settle", COMMAND_SETTLE_SUBORDER},
    };
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (is(kinds[i].word, word))
            return kinds[i].kind;
    }
    assert(false && "a command of stories");
    return COMMAND_KIND_COUNT;
}

/* The step, or all. */
static struct text resubmitted(struct story *story, const struct words *words)
{
    bool all = is(words->at[1], "new-key") || is(words->at[1], "all");
    return keep(story, all ? "" : words->at[1]);
}

static struct undecodable garbage_of(const struct words *words)
{
    return (struct undecodable){.bytes = TEXT("\x01\x02"),
                                .key = TEXT("o-1"),
                                .reason = TEXT("not Avro"),
                                .quarantined = is(words->at[0], "quarantine")};
}

/* Of "fail-step STEP ERROR item N"; else -1. */
static int64_t item_of(const struct words *words)
{
    return is(words->at[3], "item") ? strtoll(words->at[4], NULL, 10) : -1;
}

static void end_by_hand(struct story *story, const struct words *words, struct command *cmd)
{
    struct text id = TEXT("o-1");
    struct text why = TEXT("because");
    struct text who = TEXT("anna");
    struct text step = keep(story, words->at[1]);
    struct text what = keep(story, words->at[2]);
    if (cmd->kind == COMMAND_COMPLETE_STEP)
        cmd->complete_step = (struct complete_step){id, step, what, who, why};
    else if (cmd->kind == COMMAND_SKIP_STEP)
        cmd->skip_step = (struct skip_step){id, step, has(words, "nothing-applied"), who, why};
    else
        cmd->fail_step = (struct fail_step){id, step, what, who, why, item_of(words)};
}

static struct command command_of(struct story *story, const struct words *words)
{
    struct text id = TEXT("o-1");
    struct text why = TEXT("because");
    struct command cmd = {.kind = kind_of(words->at[0]), .order_id = id};
    switch (cmd.kind) {
    case COMMAND_SUBMIT_ORDER:
        cmd.submit_order = details_of(story, words);
        if (has(words, "misplaced"))
            cmd.order_id = TEXT("o-2");
        break;
    case COMMAND_CANCEL_ORDER:
        cmd.cancel_order = (struct cancel_order){
            id, TEXT("customer"), why, TEXT("orders.replies.canceller"), submitter(story, words)};
        break;
    case COMMAND_REPORT_STEP:
        cmd.report_step = report_of(story, words);
        break;
    case COMMAND_RECOVER_STEP:
    case COMMAND_START_STEP:
        ask(story, words, &cmd);
        break;
    case COMMAND_TIME_OUT_ORDER:
        cmd.time_out_order = (struct time_out_order){
            id, story->order.complete_by + (has(words, "stale") ? 1 : 0), TEXT("supervisor-1")};
        break;
    case COMMAND_COMPENSATE_ORDER:
        cmd.compensate_order = (struct compensate_order){id, TEXT("anna"), why};
        break;
    case COMMAND_RESUBMIT_STEP:
        cmd.resubmit_step =
            (struct resubmit_step){id,  resubmitted(story, words), TEXT("anna"),
                                   why, has(words, "new-key"),     strtoll(words->at[2], NULL, 10)};
        break;
    case COMMAND_EXTEND_STEP:
        cmd.extend_step = extension_of(story, words);
        break;
    case COMMAND_COMPLETE_STEP:
    case COMMAND_SKIP_STEP:
    case COMMAND_FAIL_STEP:
        end_by_hand(story, words, &cmd);
        break;
    case COMMAND_REPORT_SUBORDER:
        cmd.report_suborder = suborder_report_of(story, words);
        break;
    case COMMAND_SETTLE_SUBORDER:
        cmd.settle_suborder = settle_of(story, words);
        break;
    case COMMAND_PAUSE_ORDER:
    case COMMAND_RESUME_ORDER: /* their fields are the same */
        cmd.pause_order = (struct pause_order){id, TEXT("anna"), why};
        break;
    case COMMAND_MIGRATE_ORDER:
        cmd.migrate_order = migration_of(story, words);
        break;
    case COMMAND_AMEND_ORDER:
        cmd.amend_order =
            (struct amend_order){id, keep(story, words->at[1]), TEXT("anna"), TEXT("typing error")};
        break;
    case COMMAND_SIGNAL_ORDER:
        cmd.signal_order = signal_of(story, words);
        break;
    case COMMAND_UNDECODABLE:
    case COMMAND_KIND_COUNT:
        cmd.undecodable = garbage_of(words);
        break;
    }
    return cmd;
}

/* ---- telling ---- */

static void fail(struct story *story, const char *what, const char *expected, const char *actual)
{
    line_add(&story->told, "  ^ %s\n    expected: %s\n    actual:   %s\n", what, expected, actual);
    story->failed = true;
}

static void check_folds(struct story *story, const struct order *seen)
{
    struct order again = {0};
    for (uint32_t i = 0; i < story->decisions; i++)
        order_apply_decision(&again, &story->log[i], &story->memory.arena);
    struct order copy = {0};
    order_copy(&story->order, &story->memory.arena, &copy);
    const char *difference = order_difference(&story->order, seen);
    if (difference != NULL)
        fail(story, "the fold is not what engine_decide() saw", "no difference", difference);
    difference = order_difference(&story->order, &again);
    if (difference != NULL)
        fail(story, "a fold from zero differs", "no difference", difference);
    difference = order_difference(&story->order, &copy);
    if (difference != NULL)
        fail(story, "a copy differs", "no difference", difference);
}

/* The workflow that the caller has for the next command. */
enum known_workflow { KNOWN, KNOWN_TO_DIFFER, UNKNOWN };

static const struct workflow *target_of(const struct story *story, const struct command *cmd)
{
    bool known = cmd->kind == COMMAND_MIGRATE_ORDER && cmd->migrate_order.version <= VERSIONS_MAX;
    return known ? story->versions[cmd->migrate_order.version] : NULL;
}

static void command(struct story *story, const struct words *words, enum known_workflow known)
{
    struct command cmd = command_of(story, words);
    struct workflow other = *story->workflow;
    struct workflow_step steps[WORKFLOW_STEPS_MAX];
    memcpy(steps, other.steps, sizeof(steps[0]) * other.step_count);
    steps[other.step_count - 1].name = TEXT("Other");
    other.steps = steps;
    const struct workflow *workflow = known == KNOWN_TO_DIFFER ? &other : story->workflow;
    if (known == UNKNOWN || has(words, "elsewhere"))
        workflow = NULL;
    struct routing routing = {story->agents, story->agent_count, RETRY_MS_MIN, RETRY_MS_MAX,
                              story->first_only};
    struct decide_input input = {.now = story->now,
                                 .margin_ms = 1000,
                                 .instance = TEXT("scheduler-1"),
                                 .workflow = workflow,
                                 .target = target_of(story, &cmd),
                                 .target_retired = has(words, "retired"),
                                 .routing = story->routed ? &routing : NULL,
                                 .submission_age_ms_max = SUBMISSION_AGE_MS_MAX,
                                 .no_expressions = story->spared,
                                 .command_offset = story->decisions,
                                 .command_time = story->now - 1};
    assert(story->decisions < STORY_DECISIONS_MAX);
    struct decision *decision = &story->log[story->decisions++];
    struct order seen;
    uint64_t version = story->order.version;
    engine_decide_and_apply(version > 0 ? &story->order : NULL, &cmd, &input, &story->memory.arena,
                            decision, &seen);
    decision->offset = story->decisions + 10;
    order_apply_decision(&story->order, decision, &story->memory.arena);
    if (story->order.version > 0)
        story->workflow = story->versions[story->order.details.workflow_version];
    if (decision->order_version != version + decision_changes_order(decision) ||
        story->order.version != decision->order_version)
        fail(story, "the version is not dense", "one more if anything changed", "not so");
    seen.accepted_offset = seen.stated_offset = story->order.accepted_offset; /* by then unknown */
    check_folds(story, &seen);
    effects_of(decision, 3, story->order.version > 0 ? &story->order : NULL, &story->memory.arena,
               &story->effects);
}

/* Part of what the last Decision says to people. */
static void check_said(struct story *story, const char *expected)
{
    const struct decision *last = &story->log[story->decisions - 1];
    struct line actual = {0};
    line_add(&actual, " ");
    for (uint32_t i = 0; i < last->event_count; i++) {
        const struct event *event = &last->events[i];
        if (event->kind == EVENT_COMMAND_REJECTED)
            line_add(&actual, "%.*s\n", TEXT_ARG(event->command_rejected.reason));
        else if (event->kind == EVENT_REPORT_IGNORED)
            line_add(&actual, "%.*s\n", TEXT_ARG(event->report_ignored.reason));
        else if (event->kind == EVENT_ALERT_RAISED)
            line_add(&actual, "%.*s\n", TEXT_ARG(event->order_marked.reason));
        else if (event->kind == EVENT_STEP_QUEUED)
            line_add(&actual, "%.*s\n", TEXT_ARG(event->step_queued.reason));
        else if (event->kind == EVENT_STEP_STARTED)
            line_add(&actual, "%.*s\n", TEXT_ARG(event->step_started.routing_reason));
        else if (event->kind == EVENT_STEP_SKIPPED || event->kind == EVENT_STEP_EXHAUSTED ||
                 event->kind == EVENT_STEP_CAUGHT)
            line_add(&actual, "%.*s\n", TEXT_ARG(event->step_marked.reason));
        else if (event->kind == EVENT_STEP_FAILED_UNSTARTED)
            line_add(&actual, "%.*s\n", TEXT_ARG(event->step_failed_unstarted.reason));
        else if (event->kind == EVENT_STEP_FAILED)
            line_add(&actual, "%.*s\n", TEXT_ARG(event->step_failed.error_message));
    }
    bool nothing = is(expected, "nothing");
    if (nothing ? strspn(actual.text, " \n") != strlen(actual.text)
                : strstr(actual.text, expected) == NULL)
        fail(story, "does not say", expected, actual.text);
    free(actual.text);
}

static void add_queued_steps(struct line *actual, const struct order *order)
{
    line_add(actual, " ");
    for (uint32_t i = 0; i < order->step_count; i++) {
        if (order_step_queued(order, &order->steps[i]))
            line_add(actual, "%.*s ", TEXT_ARG(order->steps[i].name));
    }
}

/* What the row of a step has; false: not a question about one. */
static bool add_of_step(struct story *story, const struct words *words, struct line *actual)
{
    const struct step *step = named_step(story, words->at[1]);
    const char *what = words->at[0];
    if (!is(what, "input") && !is(what, "output") && !is(what, "error"))
        return false;
    assert(step != NULL);
    line_add(actual, "%.*s ", TEXT_ARG(step->name));
    if (is(what, "error"))
        line_add(actual, "%.*s %.*s", TEXT_ARG(step->error_name), TEXT_ARG(step->error_message));
    else
        line_add(actual, "%.*s", TEXT_ARG(is(what, "input") ? step->input : step->output));
    return true;
}

static bool add_actual(struct story *story, const struct words *words, struct line *actual)
{
    const struct order *order = &story->order;
    const char *what = words->at[0];
    const struct decision *last = &story->log[story->decisions - 1];
    if (is(what, "order"))
        line_add_order(actual, order);
    else if (is(what, "deadlines"))
        line_add_deadlines(actual, order, story->now);
    else if (is(what, "messages"))
        line_add_messages(actual, &story->effects);
    else if (is(what, "requests"))
        line_add_requests(actual, &story->effects);
    else if (is(what, "status"))
        line_add_status(actual, &story->effects);
    else if (is(what, "alert"))
        line_add_alert(actual, &story->effects);
    else if (is(what, "reply"))
        line_add(actual, "%.*s", TEXT_ARG(last->reply_to));
    else if (is(what, "message"))
        line_add(actual, "%.*s", TEXT_ARG(story->effects.status.message));
    else if (is(what, "queued"))
        add_queued_steps(actual, order);
    else if (is(what, "result"))
        line_add(actual, "%.*s", TEXT_ARG(order->output));
    else if (is(what, "problem"))
        line_add(actual, "%.*s", TEXT_ARG(order->output_problem));
    else if (is(what, "reason"))
        line_add(actual, "%.*s %.*s", TEXT_ARG(order->reason_code), TEXT_ARG(order->reason));
    else
        return add_of_step(story, words, actual);
    return true;
}

/* Spaces count once. */
static bool same_words(const char *a, const char *b)
{
    for (;;) {
        a += strspn(a, " ");
        b += strspn(b, " ");
        size_t size = strcspn(a, " ");
        if (size != strcspn(b, " ") || strncmp(a, b, size) != 0)
            return false;
        if (size == 0)
            return true;
        a += size;
        b += size;
    }
}

/* "x=4 y=1@80 z=unhealthy": free capacity, p95, or not healthy; "first x=0": routing is switched
 * off. */
static void set_capacity(struct story *story, const struct words *words)
{
    story->routed = true;
    story->agent_count = 0;
    story->first_only = is(words->at[1], "first");
    for (int i = story->first_only ? 2 : 1; i < WORDS_MAX && *words->at[i] != '\0'; i++) {
        const char *word = words->at[i];
        size_t size = strcspn(word, "=");
        struct agent_capacity *agent = &story->agents[story->agent_count];
        *agent = (struct agent_capacity){
            .agent = arena_text(&story->memory.arena, (struct text){word, (uint32_t)size})};
        if (word[size] == '\0') { /* "none": every agent is healthy and has capacity */
            story->routed = false;
            return;
        }
        story->agent_count++;
        char *end = NULL;
        agent->healthy = !is(word + size, "=unhealthy");
        agent->free = strtoll(word + size + 1, &end, 10);
        agent->latency_p95_ms = *end == '@' ? strtoll(end + 1, NULL, 10) : 0;
        agent->why = !agent->healthy   ? TEXT("circuit open")
                     : agent->free > 0 ? TEXT("some are free")
                                       : TEXT("none is free");
    }
}

/* "2 A{c} B<-A": another version of the workflow. */
static void add_version(struct story *story, const char *rest)
{
    char *line = NULL;
    uint32_t version = (uint32_t)strtoul(rest, &line, 10);
    assert(version >= 2 && version <= VERSIONS_MAX && story->versions[version] == NULL);
    story->versions[version] = workflow_of(&story->memory.arena, line + 1);
    story->versions[version]->version = version;
}

static void tell_line(struct story *story, const char *line)
{
    struct line actual = {0};
    struct words words;
    const char *arrow = strstr(line, "=>");
    line_add(&story->told, "%s\n", line);
    if (arrow != NULL) {
        enum known_workflow known = strncmp(line, "blind ", 6) == 0      ? UNKNOWN
                                    : strncmp(line, "replaced ", 9) == 0 ? KNOWN_TO_DIFFER
                                                                         : KNOWN;
        story->spared = strncmp(line, "spared ", 7) == 0;
        const char *begin = known == KNOWN && !story->spared ? line : line + strcspn(line, " ") + 1;
        split(begin, (size_t)(arrow - begin), &words);
        command(story, &words, known);
        line_add_decision(&actual, &story->log[story->decisions - 1]);
        if (!same_words(arrow + 2, actual.text))
            fail(story, "other events followed", arrow + 2, actual.text);
        free(actual.text);
        return;
    }
    const char *rest = line + strcspn(line, " ");
    if (strncmp(line, "version ", 8) == 0) {
        add_version(story, rest);
        return;
    }
    split(line, strlen(line) < sizeof(words.text) ? strlen(line) : (size_t)(rest - line), &words);
    if (is(words.at[0], "emit")) {
        uint32_t number = (uint32_t)strtoul(rest, NULL, 10);
        assert(number >= 1 && number <= story->decisions);
        effects_of(&story->log[number - 1], 3, &story->order, &story->memory.arena,
                   &story->effects);
    } else if (is(words.at[0], "wait")) {
        story->now += strtoll(rest, NULL, 10);
    } else if (is(words.at[0], "capacity")) {
        set_capacity(story, &words);
    } else if (is(words.at[0], "said")) {
        check_said(story, rest + 1);
    } else if (!add_actual(story, &words, &actual)) {
        fail(story, "is not a line of a story", "", line);
    } else if (!same_words(rest, actual.text)) {
        fail(story, "is not so", rest, actual.text);
    }
    free(actual.text);
}

static struct story *story_new(void)
{
    struct story *story = calloc(1, sizeof(*story));
    assert(story != NULL);
    test_arena_init(&story->memory);
    story->now = 1000000;
    return story;
}

static char *tell(struct story *story, const char *lines)
{
    story->workflow = story->versions[1];
    while (*lines != '\0' && !story->failed) {
        char line[1024];
        size_t size = strcspn(lines, "\n");
        assert(size > 0 && size < sizeof(line) && lines[size] == '\n');
        memcpy(line, lines, size);
        line[size] = '\0';
        lines += size + 1;
        tell_line(story, line);
    }
    char *told = story->failed ? story->told.text : NULL;
    if (!story->failed)
        free(story->told.text);
    test_arena_deinit(&story->memory);
    free(story);
    return told;
}

char *story_tell(const char *workflow, const char *lines)
{
    struct story *story = story_new();
    story->versions[1] = workflow_of(&story->memory.arena, workflow);
    line_add(&story->told, "workflow %s\n", workflow);
    return tell(story, lines);
}

char *story_tell_versions(struct workflow *const *versions, int count, const char *lines)
{
    struct story *story = story_new();
    assert(count >= 1 && count <= VERSIONS_MAX);
    for (int i = 0; i < count; i++)
        story->versions[i + 1] = versions[i];
    return tell(story, lines);
}
