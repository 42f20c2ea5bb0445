/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/property/engine_signals.h"

#include "tests/property/engine_data.h"

#include <stdio.h>

enum { FLOOD = 1100, FLOODED_DECISIONS_MAX = DECISIONS_MAX / 3 };

static bool awaits(uint32_t index)
{
    return history.workflow->steps[index].kind == STEP_KIND_AWAIT;
}

static bool awaits_now(uint32_t index)
{
    return awaits(index) && index < history.order.step_count &&
           history.order.steps[index].state == STEP_WAITING;
}

bool signals_expected(bool now)
{
    bool expected = false;
    for (uint32_t i = 0; i < history.workflow->step_count && !expected; i++)
        expected = now ? awaits_now(i) : awaits(i);
    return expected;
}

/* Mostly of a step that waits, sometimes of one that awaits nothing. */
static uint32_t pick_step(void)
{
    uint32_t count = history.workflow->step_count;
    uint32_t index = dice_roll(&history.dice, count);
    bool now = dice_percent(&history.dice, 50) && signals_expected(true);
    if (dice_percent(&history.dice, 4))
        return index;
    for (uint32_t i = 0; i < count && !(now ? awaits_now(index) : awaits(index)); i++)
        index = (index + 1) % count;
    return index;
}

/* ---- what it says ---- */

static struct text choice_of(struct text choice, struct text rest)
{
    enum { FRAME_BYTES = 32 };
    uint32_t size = choice.size + rest.size + FRAME_BYTES;
    char *text = arena_bytes(&history.memory.arena, size);
    int made = snprintf(text, size, "{\"choice\":\"%.*s\"%.*s}", TEXT_ARG(choice), TEXT_ARG(rest));
    return (struct text){text, (uint32_t)made};
}

/* As long as it may be, until its sender is added. */
static struct text long_choice(struct text choice)
{
    enum { OTHERS_BYTES = 28, NAME_BYTES = 11 };
    struct arena *arena = &history.memory.arena;
    struct text comment = data_long_text(SIGNAL_BYTES_MAX - OTHERS_BYTES, arena);
    char *rest = arena_bytes(arena, comment.size + NAME_BYTES);
    memcpy(rest, ",\"comment\":", NAME_BYTES);
    memcpy(rest + NAME_BYTES, comment.data, comment.size);
    return choice_of(choice, (struct text){rest, comment.size + NAME_BYTES});
}

static struct text draw_choice(struct text_list options)
{
    uint32_t roll = dice_roll(&history.dice, 100);
    struct text choice = options.items[dice_roll(&history.dice, options.count)];
    if (roll < 10)
        choice = data_word(&history.dice); /* not always an option */
    if (roll < 60)
        return choice_of(choice, (struct text){0});
    if (roll < 80)
        return choice_of(choice, TEXT(",\"comment\":\"well\""));
    if (roll < 84)
        return choice_of(choice, TEXT(",\"comment\":1"));
    if (roll < 88)
        return choice_of(choice, TEXT(",\"more\":\"well\""));
    if (roll < 90)
        return TEXT("{\"choice\":1}");
    if (roll < 92)
        return TEXT("{\"comment\":\"well\"}");
    return roll < 94 ? long_choice(choice) : data_signal(&history.dice, &history.memory.arena);
}

static struct text draw_payload(uint32_t index)
{
    struct text_list options = history.workflow->steps[index].await.options;
    if (options.count > 0)
        return draw_choice(options);
    return data_signal(&history.dice, &history.memory.arena);
}

/* ---- who sends it ---- */

static struct text_list one_group(struct text group)
{
    struct text *groups = ARENA_NEW(&history.memory.arena, struct text);
    *groups = group;
    return (struct text_list){groups, 1};
}

static struct text_list draw_groups(uint32_t index)
{
    struct text from = history.workflow->steps[index].await.from;
    uint32_t roll = dice_roll(&history.dice, 100);
    if (roll < 15)
        return (struct text_list){0}; /* as by Kafka */
    bool member = roll < 85 && !text_empty(from);
    return one_group(member ? from : mappings_group(&history.dice));
}

/* Empty, a new one, or one that was used before: mostly that of the newest signal. */
static struct text draw_id(uint32_t index)
{
    static const char *const ids[] = {"mail-1", "mail-2", "mail-3", "mail-4", "mail-5", "mail-6"};
    uint32_t roll = dice_roll(&history.dice, 100);
    if (roll < 40)
        return (struct text){0};
    if (roll < 60)
        return history.rules.steps[index].signals.newest;
    return text_of(ids[dice_roll(&history.dice, sizeof(ids) / sizeof(ids[0]))]);
}

static struct text draw_sender(void)
{
    static const char *const senders[] = {"", "ann", "bob"};
    return text_of(senders[dice_roll(&history.dice, 3)]);
}

static void send(uint32_t index, struct signal_order signal)
{
    struct command cmd = {.kind = COMMAND_SIGNAL_ORDER, .order_id = TEXT("order-7")};
    signal.order_id = cmd.order_id;
    signal.step = history.workflow->steps[index].name;
    signal.reply_to = TEXT("orders.replies.signals");
    cmd.signal_order = signal;
    history_command(&cmd);
}

/* A sender that does not stop, of what the step does not take. */
static void flood(uint32_t index, struct signal_order signal)
{
    signal.id = (struct text){0};
    for (uint32_t i = 0; i < FLOOD && history.wrong == NULL; i++)
        send(index, signal);
}

void signals_send(void)
{
    uint32_t index = pick_step();
    struct signal_order signal = {
        .id = draw_id(index),
        .payload = draw_payload(index),
        .by = draw_sender(),
        .groups = draw_groups(index),
        .submitted_by = dice_percent(&history.dice, 3) ? TEXT("another shop") : (struct text){0}};
    send(index, signal);
    const struct event *event = &history.log[history.count - 1].events[0];
    bool not_yet = event->kind == EVENT_SIGNAL_RECEIVED && !event->signal_received.kept;
    if (not_yet && history.count < FLOODED_DECISIONS_MAX && dice_roll(&history.dice, 20) == 0)
        flood(index, signal);
}

void signals_answer(uint32_t index, uint32_t turn)
{
    const struct workflow_step *plan = &history.workflow->steps[index];
    struct text_list options = plan->await.options;
    struct signal_order signal = {.by = TEXT("ann")};
    if (options.count > 0)
        signal.payload = choice_of(options.items[turn % options.count], (struct text){0});
    else
        signal.payload =
            turn == 0 ? TEXT("{\"n\":1}") : data_signal(&history.dice, &history.memory.arena);
    if (!text_empty(plan->await.from))
        signal.groups = one_group(plan->await.from);
    send(index, signal);
}
