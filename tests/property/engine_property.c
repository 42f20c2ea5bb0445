/* SPDX-License-Identifier: Apache-2.0 */
/* Random histories: a random workflow, services that fail, supervisors that are early, late and
 * repeat themselves, customers and operators who change their minds. After each command the test
 * checks the Decision against rules written independently of the engine, and the fold against
 * the order that engine_decide() saw; in the end, the log against a fold from zero and the
 * services' ledger against the final state of the order.
 *
 * REEVE_SEED repeats a run: case n has the seed REEVE_SEED + n. REEVE_PROPERTY_CASES is the
 * number of cases. */
#include "engine/decide.h"
#include "tests/lib/engine_equal.h"
#include "tests/lib/engine_memory.h"
#include "tests/lib/engine_print.h"
#include "tests/property/engine_agents.h"
#include "tests/property/engine_rules.h"
#include "tests/property/engine_world.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { RETENTION_MS = 2000 };
enum { CASES_BY_DEFAULT = 10000, DECISIONS_MAX = 6000, REST_STEPS_MAX = 40000, OLD_COMMANDS = 16 };

struct history {
    struct dice dice;
    struct test_arena memory; /* of the workflow, commands and Decisions */
    struct test_arena live[2];
    int live_at; /* which of the two the order lives in */
    const struct workflow *workflow;
    struct order order;
    int64_t now;
    struct rules rules;
    struct services services;
    struct agents agents;
    struct command commands[DECISIONS_MAX];
    struct decision log[DECISIONS_MAX];
    uint32_t count;
    uint32_t since;    /* where the commands about this order begin: not before the last expiry */
    const char *wrong; /* NULL while nothing is wrong */
};

static struct history history;
static uint64_t rare[RARE_COUNT];
static uint64_t endings[ORDER_STATE_COUNT];
static uint64_t decisions;
static char seed_line[80];

static void say_seed(int signal_number)
{
    ssize_t written = write(STDERR_FILENO, seed_line, strlen(seed_line));
    (void)written;
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

static void expect(bool condition, const char *what)
{
    if (!condition && history.wrong == NULL)
        history.wrong = what;
}

/* ---- one command ---- */

/* The idempotency key is the same over all attempts of a generation. */
static void check_request(const struct step_request *request)
{
    char key[IDEMPOTENCY_KEY_BYTES_MAX + 1];
    int size =
        snprintf(key, sizeof(key), "order-7/%.*s/%s/%u", TEXT_ARG(request->ref.step),
                 request->ref.direction == DIRECTION_DO ? "do" : "undo", request->generation);
    expect(size > 0 && text_equal(request->idempotency_key, text_of(key)), "idempotency key");
    expect(request->complete_by > history.now, "a request without time");
}

static void emit_effects(const struct decision *decision)
{
    struct effects effects;
    effects_of(decision, 3, history.count, history.order.version > 0 ? &history.order : NULL,
               &history.memory.arena, &effects);
    uint32_t starts = 0;
    bool only_queued = true;
    for (uint32_t i = 0; i < decision->event_count; i++) {
        starts += decision->events[i].kind == EVENT_STEP_STARTED ||
                  decision->events[i].kind == EVENT_STEP_EXTENDED;
        only_queued = only_queued && decision->events[i].kind == EVENT_STEP_QUEUED;
    }
    expect(effects.request_count == starts, "not one request for each start");
    for (uint32_t i = 0; i < effects.request_count; i++) {
        const struct step_request *request = &effects.requests[i];
        check_request(request);
        services_request(&history.services,
                         (uint32_t)order_find_step(&history.order, request->ref.step), request);
    }
    bool silent = only_queued || !decision_changes_order(decision) ||
                  decision->events[0].kind == EVENT_ORDER_EXPIRED;
    expect(effects.has_status || silent, "a change without a status");
    expect(!only_queued || !effects.has_status, "a status of what is as before");
}

static bool any_queued(void)
{
    for (uint32_t i = 0; i < history.order.step_count; i++) {
        if (order_step_queued(&history.order, &history.order.steps[i]))
            return true;
    }
    return false;
}

/* Supervisors start steps that are queued until a time; only the owner starts the others. */
static void check_queue(const struct deadline *deadlines, uint32_t count)
{
    for (uint32_t i = 0; i < history.order.step_count; i++) {
        const struct step *step = &history.order.steps[i];
        bool found = false;
        if (!order_step_queued(&history.order, step))
            continue;
        for (uint32_t n = 0; n < count; n++)
            found = found || (deadlines[n].step == i && deadlines[n].kind == DEADLINE_START &&
                              deadlines[n].due_at == step->retry_at);
        expect(found == (step->retry_at != 0), "not the deadline of a queued step");
    }
}

/* L6: an order that has not ended has a deadline, a place in an agent's queue or an open alert. */
static void check_deadlines(void)
{
    struct deadline deadlines[DEADLINES_MAX];
    uint32_t count = deadlines_of(&history.order, deadlines);
    check_queue(deadlines, count);
    if (order_ended(&history.order))
        expect(count == 0, "a deadline after the end");
    else if (history.order.state == ORDER_ERROR)
        expect(history.order.alert_open, "Error without an alert");
    else
        expect(count > 0 || any_queued(), "stuck: nothing is due, ever");
}

/* Orders are kept longer than services remember keys and reports can be in flight. */
static void begin_anew(void)
{
    history.since = history.count;
    history.services.call_count = 0;
    memset(history.services.ledgers, 0, sizeof(history.services.ledgers));
}

static void command(const struct command *cmd)
{
    if (history.wrong != NULL)
        return;
    if (history.count == DECISIONS_MAX) {
        history.wrong = "the history never ends";
        return;
    }
    struct decide_input input = {.now = history.now,
                                 .margin_ms = 250,
                                 .instance = TEXT("scheduler-1"),
                                 .workflow = history.workflow,
                                 .routing = agents_routing(&history.agents),
                                 .retention_ms = RETENTION_MS,
                                 .command_offset = history.count,
                                 .command_time = history.now};
    history.commands[history.count] = *cmd;
    struct decision *decision = &history.log[history.count++];
    struct order before; /* lasting: the kept Decisions borrow from it */
    struct order seen;
    order_copy(&history.order, &history.memory.arena, &before);
    engine_decide_and_apply(before.version > 0 ? &before : NULL, cmd, &input, &history.memory.arena,
                            decision, &seen);
    order_apply_decision(&history.order, decision, &history.live[history.live_at].arena);
    const char *wrong =
        rules_follow(&history.rules, cmd, decision, input.routing, input.retention_ms);
    expect(wrong == NULL, wrong);
    expect(order_difference(&seen, &history.order) == NULL,
           "the fold is not what engine_decide() saw");
    emit_effects(decision);
    if (history.order.version > 0)
        check_deadlines();
    if (decision->events[0].kind == EVENT_ORDER_EXPIRED)
        begin_anew();
}

/* ---- the senders of commands ---- */

static struct order_details submission(void)
{
    struct order_details details = {.order_id = TEXT("order-7"),
                                    .customer = TEXT("17850"),
                                    .currency = TEXT("GBP"),
                                    .reply_to = TEXT("orders.replies.shop"),
                                    .workflow = TEXT("random")};
    details.content_hash.bytes[0] = dice_percent(&history.dice, 70) ? 1 : 2;
    return details;
}

static void customer(void)
{
    struct command cmd = {.order_id = TEXT("order-7")};
    if (dice_percent(&history.dice, 50)) {
        cmd.kind = COMMAND_SUBMIT_ORDER;
        cmd.submit_order = submission();
    } else {
        cmd.kind = COMMAND_CANCEL_ORDER;
        cmd.cancel_order =
            (struct cancel_order){cmd.order_id, TEXT("customer"), TEXT("changed my mind"), {0}};
    }
    command(&cmd);
}

static void resubmit(struct text step, bool anew)
{
    struct command cmd = {.kind = COMMAND_RESUBMIT_STEP, .order_id = TEXT("order-7")};
    cmd.resubmit_step =
        (struct resubmit_step){cmd.order_id, step, TEXT("anna"), TEXT("it is repaired"), anew};
    command(&cmd);
}

static void compensate(void)
{
    struct command cmd = {.kind = COMMAND_COMPENSATE_ORDER, .order_id = TEXT("order-7")};
    cmd.compensate_order = (struct compensate_order){cmd.order_id, TEXT("anna"), TEXT("no hope")};
    command(&cmd);
}

static void operator_acts(void)
{
    const struct workflow *workflow = history.workflow;
    uint32_t step = dice_roll(&history.dice, workflow->step_count + 1);
    bool all = step == workflow->step_count;
    if (dice_percent(&history.dice, 15))
        compensate();
    else if (!all && dice_percent(&history.dice, 50))
        resubmit(workflow->steps[step].name, services_nothing_applied(&history.services, step));
    else
        resubmit(all ? (struct text){0} : workflow->steps[step].name, false);
}

static void ask(const struct deadline *deadline)
{
    struct order lasting; /* the kept command borrows from it */
    struct command cmd;
    order_copy(&history.order, &history.memory.arena, &lasting);
    deadline_command(&lasting, deadline, TEXT("supervisor-1"), &cmd);
    command(&cmd);
}

static void supervisor(bool early)
{
    struct deadline deadlines[DEADLINES_MAX];
    uint32_t count = deadlines_of(&history.order, deadlines);
    if (count == 0)
        return;
    const struct deadline *deadline = &deadlines[dice_roll(&history.dice, count)];
    if (deadline->due_at <= history.now || early)
        ask(deadline);
}

/* The owner serves its queue. Only the owner starts steps that are queued without a time. */
static void owner(bool all)
{
    for (uint32_t i = 0; i < history.order.step_count && history.wrong == NULL; i++) {
        const struct step *step = &history.order.steps[i];
        if (!order_step_queued(&history.order, step) || (!all && dice_percent(&history.dice, 50)))
            continue;
        struct command cmd = {.kind = COMMAND_START_STEP, .order_id = TEXT("order-7")};
        cmd.start_step = (struct start_step){.order_id = cmd.order_id,
                                             .step = history.workflow->steps[i].name,
                                             .direction = step->direction,
                                             .attempt = step->attempt,
                                             .by = TEXT("scheduler-1")};
        command(&cmd);
    }
}

/* An agent requests more time, mostly for a running attempt. */
static void agent_asks(void)
{
    if (history.order.step_count == 0)
        return;
    uint32_t index = dice_roll(&history.dice, history.order.step_count);
    const struct step *step = &history.order.steps[index];
    if (step->state != STEP_PROCESSING && dice_percent(&history.dice, 90))
        return;
    struct command cmd = {.kind = COMMAND_EXTEND_STEP, .order_id = TEXT("order-7")};
    cmd.extend_step =
        (struct extend_step){.order_id = cmd.order_id,
                             .step = history.workflow->steps[index].name,
                             .direction = step->direction,
                             .attempt = step->attempt - dice_percent(&history.dice, 5),
                             .complete_by = history.now + dice_roll(&history.dice, 15000) - 500,
                             .progress = TEXT("some of it"),
                             .agent = TEXT("agent"),
                             .instance = TEXT("agent-1")};
    command(&cmd);
}

static void auditor(void)
{
    struct command cmd = {.kind = COMMAND_EXPIRE_ORDER, .order_id = TEXT("order-7")};
    cmd.expire_order = (struct expire_order){
        cmd.order_id, history.order.ended_at + dice_percent(&history.dice, 5), TEXT("auditor")};
    command(&cmd);
}

/* Repeats an old command: a duplicate, or a very late one. Its texts are those of the workflow. */
static void repeat_something(void)
{
    uint32_t back = history.count - history.since;
    if (back == 0)
        return;
    back = back < OLD_COMMANDS ? back : OLD_COMMANDS;
    struct command cmd = history.commands[history.count - 1 - dice_roll(&history.dice, back)];
    if (cmd.kind == COMMAND_RESUBMIT_STEP)
        cmd.resubmit_step.new_generation = false; /* nothing random confirms effect none */
    command(&cmd);
}

static void garbage(void)
{
    struct command cmd = {.kind = COMMAND_UNDECODABLE};
    cmd.undecodable = (struct undecodable){TEXT("\x01"), TEXT("order-7"), TEXT("not Avro"), false};
    command(&cmd);
}

/* Moves the order to another arena; it must not refer to the old one. */
static void compact(void)
{
    int to = 1 - history.live_at;
    struct order copy;
    order_copy(&history.order, &history.live[to].arena, &copy);
    test_arena_deinit(&history.live[history.live_at]);
    test_arena_init(&history.live[history.live_at]);
    history.order = copy;
    history.live_at = to;
}

static void services_act(void)
{
    struct command cmd = {.kind = COMMAND_REPORT_STEP, .order_id = TEXT("order-7")};
    if (services_step(&history.services, history.now, &cmd.report_step))
        command(&cmd);
}

static void something_happens(void)
{
    uint32_t roll = dice_roll(&history.dice, 1100);
    if (roll < 120)
        history.now += dice_roll(&history.dice, 1500);
    else if (roll < 130)
        history.now += dice_roll(&history.dice, 15000);
    else if (roll < 730)
        services_act();
    else if (roll < 920)
        supervisor(false);
    else if (roll < 935)
        supervisor(true);
    else if (roll < 965)
        repeat_something();
    else if (roll < 972)
        customer();
    else if (roll < 976)
        garbage();
    else if (roll < 980)
        compact();
    else if (roll < 982)
        compensate();
    else if (roll < 984 || (roll < 1000 && history.order.state == ORDER_ERROR))
        operator_acts();
    else if (roll < 1020)
        owner(false);
    else if (roll < 1050)
        agents_change(&history.agents, &history.dice);
    else if (roll < 1080)
        agent_asks();
    else if (order_ended(&history.order) || roll < 1082)
        auditor();
}

/* ---- coming to rest ---- */

/* Advances the clock to the next deadline; false if there is none. */
static bool next_deadline(void)
{
    struct deadline deadlines[DEADLINES_MAX];
    uint32_t count = deadlines_of(&history.order, deadlines);
    const struct deadline *next = NULL;
    for (uint32_t i = 0; i < count; i++) {
        if (next == NULL || deadlines[i].due_at < next->due_at)
            next = &deadlines[i];
    }
    if (next == NULL)
        return false;
    if (history.now < next->due_at)
        history.now = next->due_at;
    ask(next);
    return true;
}

/* Continues until no attempt runs and no deadline is left. */
static void come_to_rest(void)
{
    agents_mend(&history.agents);
    for (int i = 0; i < REST_STEPS_MAX && history.wrong == NULL; i++) {
        owner(true);
        bool busy = history.services.healthy && !services_idle(&history.services);
        if (busy || dice_percent(&history.dice, 80))
            services_act();
        else if (!next_deadline())
            return;
    }
    expect(false, "no rest: the order goes on for ever");
}

/* The order shows exactly the operations of the services. */
static void check_ledger(void)
{
    if (history.order.version == 0)
        return; /* it expired */
    services_drain(&history.services);
    for (uint32_t i = 0; i < history.workflow->step_count; i++) {
        uint32_t net = services_net(&history.services, i);
        if (history.order.state == ORDER_PROCESSED)
            expect(net == 1, "a step of a processed order was not done once");
        if (history.order.state == ORDER_COMPENSATED && history.workflow->steps[i].has_compensate)
            expect(net == 0, "a step of a compensated order was not undone");
    }
}

static void check_fold_from_zero(void)
{
    struct test_arena memory;
    test_arena_init(&memory);
    struct order again = {0};
    for (uint32_t i = 0; i < history.count; i++)
        order_apply_decision(&again, &history.log[i], &memory.arena);
    expect(order_difference(&again, &history.order) == NULL, "a fold from zero differs");
    test_arena_deinit(&memory);
}

/* With healthy services, an operator brings every order to its end. */
static void operator_mends(void)
{
    history.services.healthy = true;
    bool give_up = dice_percent(&history.dice, 20);
    for (int i = 0; i < 3 && history.order.state == ORDER_ERROR; i++) {
        if (give_up && i == 0)
            compensate(); /* if it still can be compensated */
        if (history.order.state == ORDER_ERROR)
            resubmit((struct text){0}, false);
        come_to_rest();
    }
    expect(order_ended(&history.order), "an operator and working services do not help");
}

static void run_case(uint64_t seed)
{
    history.dice = dice_of(seed);
    history.workflow = agents_of_workflow(&history.dice, &history.memory.arena,
                                          random_workflow(&history.dice, &history.memory.arena));
    agents_init(&history.agents, &history.dice);
    history.services.dice = &history.dice;
    history.services.workflow = history.workflow;
    history.now = 1000000;
    rules_init(&history.rules, history.workflow, rare);
    if (dice_percent(&history.dice, 5))
        operator_acts(); /* on an order that does not exist yet */
    struct command submit = {.kind = COMMAND_SUBMIT_ORDER, .order_id = TEXT("order-7")};
    submit.submit_order = submission();
    command(&submit);
    uint32_t steps = dice_roll(&history.dice, 300);
    for (uint32_t i = 0; i < steps && history.wrong == NULL; i++)
        something_happens();
    come_to_rest();
    endings[history.order.state]++;
    expect(history.order.version == 0 || order_ended(&history.order) ||
               (history.order.state == ORDER_ERROR && history.order.alert_open),
           "at rest, but neither ended nor in Error with an alert");
    if (history.order.state == ORDER_ERROR && dice_percent(&history.dice, 70))
        operator_mends();
    check_ledger();
    check_fold_from_zero();
    decisions += history.count;
}

static void begin_case(void)
{
    history.order = (struct order){0};
    history.count = history.since = 0;
    history.wrong = NULL;
    history.live_at = 0;
    history.services.call_count = 0;
    history.services.healthy = false;
    memset(history.services.ledgers, 0, sizeof(history.services.ledgers));
    test_arena_init(&history.memory);
    test_arena_init(&history.live[0]);
    test_arena_init(&history.live[1]);
}

static void end_case(void)
{
    test_arena_deinit(&history.memory);
    test_arena_deinit(&history.live[0]);
    test_arena_deinit(&history.live[1]);
}

/* Prints the whole log. */
static char *tell(void)
{
    struct line line = {0};
    for (uint32_t i = 0; i < history.count; i++) {
        line_add(&line, "%s => ", command_kind_name(history.commands[i].kind));
        line_add_decision(&line, &history.log[i]);
        line_add(&line, "\n");
    }
    line_add_order(&line, &history.order);
    return line.text;
}

/* ---- the test ---- */

static uint64_t number_of(const char *variable, uint64_t otherwise)
{
    const char *value = getenv(variable);
    return value != NULL && *value != '\0' ? strtoull(value, NULL, 10) : otherwise;
}

static uint64_t random_seed(void)
{
    uint64_t seed = 0;
    FILE *file = fopen("/dev/urandom", "rb");
    if (file == NULL || fread(&seed, sizeof(seed), 1, file) != 1)
        seed = (uint64_t)getpid();
    if (file != NULL)
        fclose(file);
    return seed % UINT64_C(1000000000);
}

static void check_rare(uint64_t cases)
{
    for (unsigned i = 0; i < RARE_COUNT; i++) {
        printf("  %8" PRIu64 " %s\n", rare[i], rare_name(i));
        cr_expect(rare[i] > 0 || cases < CASES_BY_DEFAULT, "never happened: %s", rare_name(i));
    }
}

Test(engine_property, keeps_the_rules_in_random_histories)
{
    uint64_t cases = number_of("REEVE_PROPERTY_CASES", CASES_BY_DEFAULT);
    uint64_t seed = number_of("REEVE_SEED", random_seed());
    printf("%" PRIu64 " cases from REEVE_SEED=%" PRIu64 "\n", cases, seed);
    signal(SIGABRT, say_seed);
    for (uint64_t i = 0; i < cases; i++) {
        snprintf(seed_line, sizeof(seed_line),
                 "failed: REEVE_SEED=%" PRIu64 " REEVE_PROPERTY_CASES=1\n", seed + i);
        begin_case();
        run_case(seed + i);
        if (history.wrong != NULL) {
            char *told = tell();
            fprintf(stderr, "%s\n", told);
            free(told);
            cr_assert_fail("%s\n%s", history.wrong, seed_line);
        }
        end_case();
    }
    printf("%" PRIu64 " decisions; at rest: %" PRIu64 " Processed, %" PRIu64
           " Compensated, %" PRIu64 " Error\n",
           decisions, endings[ORDER_PROCESSED], endings[ORDER_COMPENSATED], endings[ORDER_ERROR]);
    check_rare(cases);
}
