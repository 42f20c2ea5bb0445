/* SPDX-License-Identifier: Apache-2.0 */
/* See items.h. */
#include "tools/bench/items.h"

#include <assert.h>
#include <jansson.h>
#include <stdlib.h>

enum { OTHERS_IN_FLIGHT = 20, OTHERS = 1000, OTHERS_SECONDS = 5, OTHERS_MAX = 200000 };

#define SEPARATE "one-step"
#define UNDONE "fan-out-undone"

static const char separate_text[] = "Name: " SEPARATE "\n"
                                    "Version: 1\n"
                                    "TimeoutSeconds: 36000\n"
                                    "Defaults: {TimeoutSeconds: 7200}\n"
                                    "Steps:\n"
                                    "  - {Name: First, Agent: " BENCH_AGENT "}\n";

/* Its items can be undone, so they wait for its end, which is after a question. */
static const char undone_text[] = "Name: " UNDONE "\n"
                                  "Version: 1\n"
                                  "TimeoutSeconds: 36000\n"
                                  "Defaults: {TimeoutSeconds: 7200}\n"
                                  "Steps:\n"
                                  "  - Name: Each\n"
                                  "    ForEach: {Items: input.items}\n"
                                  "    Steps:\n"
                                  "      - Name: First\n"
                                  "        Agent: " BENCH_AGENT "\n"
                                  "        Compensate: {Action: Undo}\n"
                                  "  - Name: Ask\n"
                                  "    Await: {Question: Go on?}\n"
                                  "    TimeoutSeconds: 7200\n";

static const char *workflow_of(void *ctx)
{
    return ctx;
}

char *bench_items_input(uint32_t items)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < items; i++)
        json_array_append_new(list, json_integer(i));
    json_t *input = json_pack("{s:o}", "items", list);
    char *text = json_dumps(input, JSON_COMPACT);
    assert(text != NULL);
    json_decref(input);
    return text;
}

struct fan_out {
    struct bench_load *load;
    uint32_t items;
    uint32_t others_per_second;
    struct text input;
};

static enum error_class measure_rates(const struct fan_out *fan_out, struct bench_items_turn *turn,
                                      struct error *ret_error)
{
    const struct bench_round separate = {.orders = fan_out->items,
                                         .in_flight = fan_out->items,
                                         .workflow = workflow_of,
                                         .ctx = SEPARATE};
    const struct bench_round alone = {.orders = 1,
                                      .in_flight = 1,
                                      .leader = BENCH_FAN_OUT,
                                      .leader_input = fan_out->input,
                                      .what = "order of many items"};
    struct bench_figures figures = {0};
    enum error_class class = bench_load_run(fan_out->load, &separate, &turn->separate, ret_error);
    if (class == ERROR_OK)
        class = bench_load_run(fan_out->load, &alone, &figures, ret_error);
    turn->alone_us = figures.leader_us;
    return class;
}

static enum error_class measure_others(const struct fan_out *fan_out, struct bench_items_turn *turn,
                                       struct error *ret_error)
{
    uint32_t per_second = fan_out->others_per_second;
    struct bench_round round = {.orders =
                                    per_second > 0 ? (uint64_t)OTHERS_SECONDS * per_second : OTHERS,
                                .in_flight = per_second > 0 ? OTHERS_MAX : OTHERS_IN_FLIGHT,
                                .per_second = per_second,
                                .what = "other orders"};
    enum error_class class = bench_load_run(fan_out->load, &round, &turn->before, ret_error);
    round.orders = OTHERS_MAX;
    round.leader = BENCH_FAN_OUT;
    round.leader_input = fan_out->input;
    if (class == ERROR_OK)
        class = bench_load_run(fan_out->load, &round, &turn->during, ret_error);
    uint64_t cancelled = bench_load_next(fan_out->load);
    const struct bench_round undone = {.orders = 1,
                                       .in_flight = 1,
                                       .goal = BENCH_ASKS,
                                       .workflow = workflow_of,
                                       .ctx = UNDONE,
                                       .input = fan_out->input,
                                       .what = "order whose items are done"};
    struct bench_figures ignored;
    if (class == ERROR_OK)
        class = bench_load_run(fan_out->load, &undone, &ignored, ret_error);
    round.leader = NULL;
    round.cancelled = &cancelled;
    return class == ERROR_OK ? bench_load_run(fan_out->load, &round, &turn->recall, ret_error)
                             : class;
}

enum error_class bench_items(struct bench_stage *stage, struct bench_load *load, uint32_t items,
                             uint32_t others_per_second,
                             struct bench_items_turn ret_turns[BENCH_ITEMS_TURNS],
                             struct error *ret_error)
{
    char *input = bench_items_input(items);
    const struct fan_out fan_out = {.load = load,
                                    .items = items,
                                    .others_per_second = others_per_second,
                                    .input = text_of(input)};
    struct bench_items_turn warm_up;
    enum error_class class = bench_stage_deploy(stage, separate_text, ret_error);
    if (class == ERROR_OK)
        class = bench_stage_deploy(stage, undone_text, ret_error);
    for (int i = -1; i < BENCH_ITEMS_TURNS && class == ERROR_OK; i++) {
        struct bench_items_turn *turn = i < 0 ? &warm_up : &ret_turns[i];
        class = measure_rates(&fan_out, turn, ret_error);
        if (class == ERROR_OK)
            class = measure_others(&fan_out, turn, ret_error);
    }
    free(input);
    return class;
}
