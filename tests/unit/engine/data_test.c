/* SPDX-License-Identifier: Apache-2.0 */
/* The data of orders: the shape of their input, the size of all their outputs. */
#include "engine/engine.h"
#include "engine/shape.h"
#include "tests/lib/engine_memory.h"
#include "tests/lib/engine_story.h"
#include "tests/lib/engine_workflow.h"

#include <criterion/criterion.h>

/* {total: number} */
static const struct shape member = {
    .kind = SHAPE_NUMBER, .name = TEXT_CONST("total"), .escaped = TEXT_CONST("total")};
static const struct shape shape = {
    .kind = SHAPE_MAP, .members = &member, .member_count = 1, .required_count = 1};

static struct test_arena memory;

static void begin(void)
{
    test_arena_init(&memory);
}

static void end(void)
{
    test_arena_deinit(&memory);
}

TestSuite(engine_data, .init = begin, .fini = end);

static struct decision submitted(struct text input)
{
    struct decision decision;
    struct workflow *workflow = workflow_of(&memory.arena, "A");
    workflow->input_shape = &shape;
    struct command cmd = {.kind = COMMAND_SUBMIT_ORDER,
                          .order_id = TEXT("o-1"),
                          .submit_order = {.order_id = TEXT("o-1"),
                                           .priority = PRIORITY_NORMAL,
                                           .workflow = TEXT("test"),
                                           .input = input}};
    struct decide_input given = {
        .now = 1000, .margin_ms = 1000, .instance = TEXT("s-1"), .workflow = workflow};
    engine_decide(NULL, &cmd, &given, &memory.arena, &decision);
    return decision;
}

Test(engine_data, refuses_an_input_of_another_shape)
{
    struct decision decision = submitted(TEXT("{\"total\":\"1\"}"));
    cr_assert_eq(decision.event_count, 1);
    cr_assert_eq(decision.events[0].kind, EVENT_COMMAND_REJECTED);
    const struct command_rejected *rejected = &decision.events[0].command_rejected;
    cr_expect(text_equal(rejected->code, TEXT("InvalidInput")));
    cr_expect(text_equal(rejected->reason, TEXT("input.total is a text; it must be a number")));
    decision = submitted(TEXT(""));
    cr_expect_eq(decision.events[0].kind, EVENT_COMMAND_REJECTED);
}

Test(engine_data, keeps_the_input_with_the_order)
{
    struct decision decision = submitted(TEXT("{\"total\":1.5}"));
    struct order order = {0};
    cr_assert_eq(decision.events[0].kind, EVENT_ORDER_ACCEPTED);
    order_apply_decision(&order, &decision, &memory.arena);
    cr_expect(text_equal(order.details.input, TEXT("{\"total\":1.5}")));
    cr_expect_null(order_problem(&order));
}

/* Sixteen of the longest outputs are a mebibyte. */
Test(engine_data, fails_a_step_whose_output_the_order_cannot_keep)
{
    TELL("A{c} B C D E F G H I J K L M N O P Q<-A,B,C,D,E,F,G,H,I,J,K,L,M,N,O,P{c}",
         "submit => OrderAccepted OrderStarted StepStarted(A do 1) StepStarted(B do 1)"
         " StepStarted(C do 1) StepStarted(D do 1)"
         " StepStarted(E do 1) StepStarted(F do 1)"
         " StepStarted(G do 1) StepStarted(H do 1)"
         " StepStarted(I do 1) StepStarted(J do 1)"
         " StepStarted(K do 1) StepStarted(L do 1)"
         " StepStarted(M do 1) StepStarted(N do 1)"
         " StepStarted(O do 1) StepStarted(P do 1)\n"
         "ok A 1 65536 bytes => StepSucceeded(A do 1)\n"
         "ok B 1 65536 bytes => StepSucceeded(B do 1)\n"
         "ok C 1 65536 bytes => StepSucceeded(C do 1)\n"
         "ok D 1 65536 bytes => StepSucceeded(D do 1)\n"
         "ok E 1 65536 bytes => StepSucceeded(E do 1)\n"
         "ok F 1 65536 bytes => StepSucceeded(F do 1)\n"
         "ok G 1 65536 bytes => StepSucceeded(G do 1)\n"
         "ok H 1 65536 bytes => StepSucceeded(H do 1)\n"
         "ok I 1 65536 bytes => StepSucceeded(I do 1)\n"
         "ok J 1 65536 bytes => StepSucceeded(J do 1)\n"
         "ok K 1 65536 bytes => StepSucceeded(K do 1)\n"
         "ok L 1 65536 bytes => StepSucceeded(L do 1)\n"
         "ok M 1 65536 bytes => StepSucceeded(M do 1)\n"
         "ok N 1 65536 bytes => StepSucceeded(N do 1)\n"
         "ok O 1 65536 bytes => StepSucceeded(O do 1)\n"
         "ok P 1 65536 bytes => StepSucceeded(P do 1) StepStarted(Q do 1)\n"
         "ok Q 1 2 bytes => StepFailed(Q do 1 States.DataLimitExceeded applied x1)"
         " StepExhausted(Q do 1) CompensationStarted(States.DataLimitExceeded)"
         " StepStarted(Q undo 1)\n"
         "ok Q 1 undo 65536 bytes => StepSucceeded(Q undo 1) StepCompensated(Q undo 1)"
         " StepStarted(A undo 1)\n");
}
