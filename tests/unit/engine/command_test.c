/* SPDX-License-Identifier: Apache-2.0 */
/* What the rows of commands.def say: who asks, for which attempt, and which values are valid. */
#include "engine/engine.h"

#include <criterion/criterion.h>

static const struct text odd = {"a\nb", 3}; /* neither a name nor printable */
static const struct text name = {"a b", 3}; /* printable, but not a name */

#define SHOP                 \
    {                        \
        "p.replies.shop", 14 \
    }
#define ANN      \
    {            \
        "ann", 3 \
    }
#define WORK .step = {"A", 1}, .direction = DIRECTION_UNDO, .attempt = 7

/* One for each word of the columns `from` and `about`. */
static const struct {
    struct command cmd;
    unsigned from;
    bool says_who;
    bool has_reply;
    bool has_attempt;
} kinds[] = {
    {{.kind = COMMAND_UNDECODABLE}, 0, false, false, false},
    {{.kind = COMMAND_SUBMIT_ORDER, .submit_order = {.reply_to = SHOP, .submitted_by = ANN}},
     COMMAND_FROM_APPLICATION,
     false,
     true,
     false},
    {{.kind = COMMAND_CANCEL_ORDER, .cancel_order = {.by = ANN, .reply_to = SHOP}},
     COMMAND_FROM_APPLICATION | COMMAND_FROM_OPERATOR,
     true,
     true,
     false},
    {{.kind = COMMAND_EXTEND_STEP, .extend_step = {WORK, .instance = ANN}},
     COMMAND_FROM_AGENT,
     true,
     false,
     true},
    {{.kind = COMMAND_START_STEP, .start_step = {WORK, .by = ANN}},
     COMMAND_FROM_SUPERVISOR,
     true,
     false,
     true},
    {{.kind = COMMAND_REPORT_SUBORDER, .report_suborder = {.step = {"A", 1}}},
     COMMAND_FROM_SCHEDULER,
     false,
     false,
     false},
    {{.kind = COMMAND_SETTLE_SUBORDER, .settle_suborder = {.by = ANN}},
     COMMAND_FROM_SCHEDULER | COMMAND_FROM_OPERATOR,
     true,
     false,
     false},
    {{.kind = COMMAND_SKIP_STEP, .skip_step = {.step = {"A", 1}, .by = ANN}},
     COMMAND_FROM_OPERATOR,
     true,
     false,
     false},
    {{.kind = COMMAND_RESUBMIT_STEP, .resubmit_step = {.step = {"A", 1}, .by = ANN}},
     COMMAND_FROM_OPERATOR,
     true,
     false,
     false},
};

Test(engine_command, tells_who_asks_and_for_which_attempt)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        const struct command *cmd = &kinds[i].cmd;
        const char *kind = command_kind_name(cmd->kind);
        bool attempt = kinds[i].has_attempt;
        struct attempt_ref ref = command_attempt(cmd);
        for (unsigned from = COMMAND_FROM_APPLICATION; from <= COMMAND_FROM_SCHEDULER; from *= 2)
            cr_assert_eq(command_kind_is_from(cmd->kind, from), (kinds[i].from & from) != 0, "%s",
                         kind);
        cr_assert(text_equal(command_asker(cmd), text_of(kinds[i].says_who ? "ann" : "")), "%s",
                  kind);
        cr_assert(
            text_equal(command_reply_to(cmd), text_of(kinds[i].has_reply ? "p.replies.shop" : "")),
            "%s", kind);
        cr_assert(text_equal(ref.step, text_of(attempt ? "A" : "")), "%s", kind);
        cr_assert_eq(ref.direction, attempt ? DIRECTION_UNDO : DIRECTION_DO, "%s", kind);
        cr_assert_eq(ref.attempt, attempt ? 7 : 0, "%s", kind);
    }
}

static void assert_refused(struct command cmd, const char *message)
{
    struct error error;
    cr_assert_eq(command_check(&cmd, &error), ERROR_REJECT, "%s", message);
    cr_assert_eq(error.code, CODE_INVALID_COMMAND);
    cr_assert_eq(strncmp(error.message, message, strlen(message)), 0, "%s", error.message);
}

static void assert_valid(struct command cmd)
{
    struct error error;
    cr_assert_eq(command_check(&cmd, &error), ERROR_OK, "%s: %s", command_kind_name(cmd.kind),
                 error.message);
}

Test(engine_command, refuses_invalid_names_of_steps)
{
    struct command cmd = {.kind = COMMAND_START_STEP, .start_step.step = name};
    assert_refused(cmd, "step must be");
    cmd.start_step.step = (struct text){0};
    assert_refused(cmd, "step must be");
    cmd = (struct command){.kind = COMMAND_SKIP_STEP};
    assert_refused(cmd, "step must be");
    cmd = (struct command){.kind = COMMAND_RESUBMIT_STEP, .resubmit_step.step = name};
    assert_refused(cmd, "step must be");
    cmd.resubmit_step.step = (struct text){0};
    assert_valid(cmd);
}

Test(engine_command, refuses_operators_with_unprintable_names)
{
    struct command cmd = {.kind = COMMAND_CANCEL_ORDER, .cancel_order.by = odd};
    assert_refused(cmd, "who asks");
    cmd = (struct command){.kind = COMMAND_PAUSE_ORDER, .pause_order.by = odd};
    assert_refused(cmd, "who asks");
    cmd.pause_order.by = TEXT("ann");
    assert_valid(cmd);
    cmd = (struct command){.kind = COMMAND_TIME_OUT_ORDER, .time_out_order.by = odd};
    assert_valid(cmd);
}

Test(engine_command, refuses_values_out_of_range)
{
    struct command cmd = {.kind = COMMAND_RESUBMIT_STEP, .resubmit_step.timeout_ms = -1};
    assert_refused(cmd, "timeout_ms must be");
    cmd.resubmit_step.timeout_ms = DURATION_MS_MAX + 1;
    assert_refused(cmd, "timeout_ms must be");
    cmd = (struct command){.kind = COMMAND_FAIL_STEP,
                           .fail_step = {.step = {"A", 1}, .error_name = name}};
    assert_refused(cmd, "error_name must be");
    cmd.fail_step.error_name = TEXT("Gone");
    cmd.fail_step.item = -1;
    assert_valid(cmd);
    cmd.fail_step.item = -2;
    assert_refused(cmd, "item must be");
    cmd.fail_step.item = SUBORDERS_MAX;
    assert_refused(cmd, "item must be");
    cmd = (struct command){.kind = COMMAND_MIGRATE_ORDER};
    assert_refused(cmd, "version must be");
    cmd.migrate_order = (struct migrate_order){.workflow = name, .version = 2};
    assert_refused(cmd, "workflow must be");
    cmd.migrate_order.workflow = (struct text){0};
    assert_valid(cmd);
    static const char *const bodies[] = {"import/Waves", "import/Waves/Update"};
    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
        cmd.migrate_order.workflow = text_of(bodies[i]);
        assert_valid(cmd);
    }
    static const char *const wrong[] = {"/", "/Waves", "import/", "import//Waves", "import/W w"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        cmd.migrate_order.workflow = text_of(wrong[i]);
        assert_refused(cmd, "workflow must be");
    }
    static char large[BODY_NAME_BYTES_MAX + 1];
    for (size_t i = 0; i < sizeof(large); i++)
        large[i] = i % 60 == 59 ? '/' : 'x';
    cmd.migrate_order.workflow = (struct text){large, BODY_NAME_BYTES_MAX};
    assert_valid(cmd);
    cmd.migrate_order.workflow.size++;
    assert_refused(cmd, "workflow must be");
}

Test(engine_command, refuses_what_no_order_tells_another_one)
{
    struct order_parent parent = {.order_id = TEXT("o-0"), .step = TEXT("W")};
    struct command cmd = {.kind = COMMAND_REPORT_SUBORDER,
                          .report_suborder = {.step = {"A", 1}, .item = -1}};
    assert_valid(cmd);
    cmd.report_suborder.item = -2;
    assert_refused(cmd, "item must be");
    cmd.report_suborder.item = SUBORDERS_MAX;
    assert_refused(cmd, "item must be");
    cmd.report_suborder.item = SUBORDERS_MAX - 1;
    cmd.report_suborder.accepted_offset = -1;
    assert_refused(cmd, "item must be");
    cmd.report_suborder.accepted_offset = 0;
    cmd.report_suborder.step = name;
    assert_refused(cmd, "step must be");
    cmd = (struct command){.kind = COMMAND_SETTLE_SUBORDER, .settle_suborder.parent = &parent};
    assert_refused(cmd, "how must be");
    cmd.settle_suborder.how = SETTLE_UNKNOWN;
    assert_valid(cmd);
    cmd.settle_suborder.parent = NULL;
    assert_refused(cmd, "without a parent");
    cmd.settle_suborder.how = SETTLE_KEEP;
    assert_refused(cmd, "without a parent");
    cmd.settle_suborder.by = TEXT("ann");
    assert_valid(cmd);
    cmd.settle_suborder.how = SETTLE_UNKNOWN;
    assert_refused(cmd, "without a parent");
}

/* Made canonical before it is checked: the log has one spelling of an input. */
Test(engine_command, takes_an_input_that_is_JSON_within_its_limits)
{
    static char memory[1024 * 1024];
    static char json[ORDER_INPUT_BYTES_MAX + 3];
    struct arena arena;
    struct command cmd = {.kind = COMMAND_AMEND_ORDER};
    arena_init(&arena, memory, sizeof(memory));
    command_make_canonical(&cmd, &arena);
    assert_valid(cmd); /* none */
    cmd.amend_order.input = TEXT("{\"b\": 1.0, \"a\": null}");
    command_make_canonical(&cmd, &arena);
    cr_assert(text_equal(cmd.amend_order.input, TEXT("{\"a\":null,\"b\":1}")));
    assert_valid(cmd);
    cmd.amend_order.input = TEXT("{\"a\":");
    command_make_canonical(&cmd, &arena);
    assert_refused(cmd, "input must be JSON of at most 262144 bytes");
    memset(json, 'x', sizeof(json));
    json[0] = json[sizeof(json) - 1] = '"';
    cmd.amend_order.input = (struct text){json, sizeof(json)};
    command_make_canonical(&cmd, &arena);
    assert_refused(cmd, "input must be JSON of at most 262144 bytes");
}

/* A parent's id is the key of the report to it, and its item a place in its step's list. */
Test(engine_command, refuses_parents_that_no_order_can_have)
{
    static char large[ORDER_ID_BYTES_MAX + 1];
    const struct order_parent valid = {
        .order_id = TEXT("o-0"), .step = TEXT("W"), .item = SUBORDERS_MAX - 1};
    struct order_parent wrong[] = {valid, valid, valid, valid, valid, valid, valid, valid, valid};
    struct order_parent parent = valid;
    struct command cmd = {.kind = COMMAND_SETTLE_SUBORDER,
                          .settle_suborder = {.parent = &parent, .how = SETTLE_UNDO, .held = true}};
    assert_valid(cmd);
    parent.item = -1;
    assert_valid(cmd);
    memset(large, 'x', sizeof(large));
    wrong[0].order_id = (struct text){0};
    wrong[1].order_id = TEXT("a/b");
    wrong[2].order_id = odd;
    wrong[3].order_id = (struct text){large, sizeof(large)};
    wrong[4].step = (struct text){0};
    wrong[5].step = name;
    wrong[6].item = -2;
    wrong[7].item = SUBORDERS_MAX;
    wrong[8].accepted_offset = -1;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        parent = wrong[i];
        assert_refused(cmd, "parent");
    }
}
