/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/engine_workflow.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

struct parser {
    struct arena *arena;
    struct workflow *workflow;
    struct workflow_step *steps;
    const char *after[WORKFLOW_STEPS_MAX]; /* where a step's list begins, with its '-'; or NULL */
    const char *at;
};

static struct text word(struct parser *parser, const char *until)
{
    struct text text = {parser->at, (uint32_t)strcspn(parser->at, until)};
    parser->at += text.size;
    return arena_text(parser->arena, text);
}

static int step_index(const struct parser *parser, struct text name)
{
    for (uint32_t i = 0; i < parser->workflow->step_count; i++) {
        if (text_equal(parser->steps[i].name, name))
            return (int)i;
    }
    return -1;
}

/* "2:Declined" after the letter */
static struct retrier retrier_of(struct parser *parser, char letter)
{
    char *end = NULL;
    struct retrier retrier = {.errors = {.names = {TEXT(ERROR_ALL)}, .count = 1},
                              .interval_ms = letter == 'z' || letter == 'v' ? 0 : 1000,
                              .backoff_rate_milli = 2000,
                              .jitter = letter == 'j' ? JITTER_FULL : JITTER_NONE};
    retrier.max_attempts = (uint32_t)strtoul(parser->at, &end, 10);
    parser->at = end;
    if (*parser->at == ':') {
        parser->at++;
        retrier.errors.names[0] = word(parser, ",}");
    }
    return retrier;
}

static void add_retrier(struct parser *parser, struct retry_policy *policy, char letter)
{
    struct retrier *retriers = ARENA_ARRAY(parser->arena, struct retrier, policy->count + 1);
    if (policy->count > 0)
        memcpy(retriers, policy->retriers, sizeof(*retriers) * policy->count);
    retriers[policy->count++] = retrier_of(parser, letter);
    policy->retriers = retriers;
}

static void add_catcher(struct parser *parser, struct workflow_step *step)
{
    struct catcher *catchers = ARENA_ARRAY(parser->arena, struct catcher, step->catcher_count + 1);
    if (step->catcher_count > 0)
        memcpy(catchers, step->catchers, sizeof(*catchers) * step->catcher_count);
    struct catcher *catcher = &catchers[step->catcher_count++];
    catcher->errors = (struct error_set){.names = {word(parser, ":")}, .count = 1};
    assert(parser->at[0] == ':' && strchr("ecg", parser->at[1]) != NULL);
    catcher->next = parser->at[1] == 'e'   ? OUTCOME_ERROR
                    : parser->at[1] == 'g' ? OUTCOME_CONTINUE
                                           : OUTCOME_COMPENSATE;
    parser->at += 2;
    step->catchers = catchers;
}

/* "x+y" after the letter */
static void set_agents(struct parser *parser, struct workflow_step *step)
{
    struct text *agents = ARENA_ARRAY(parser->arena, struct text, STEP_AGENTS_MAX);
    agents[0] = word(parser, "+,}");
    step->agent_count = 1;
    while (*parser->at == '+') {
        parser->at++;
        assert(step->agent_count < STEP_AGENTS_MAX);
        agents[step->agent_count++] = word(parser, "+,}");
    }
    step->agents = agents;
}

static int64_t number(struct parser *parser)
{
    char *end = NULL;
    int64_t value = strtoll(parser->at, &end, 10);
    parser->at = end;
    return value;
}

/* [0,1,2 ...] */
static const struct expression_template *list_of(struct parser *parser, int64_t count)
{
    struct expression_template *list = ARENA_NEW(parser->arena, struct expression_template);
    char *text = arena_bytes(parser->arena, (size_t)count * 5 + 3);
    size_t size = 0;
    for (int64_t i = 0; i < count; i++)
        size += (size_t)snprintf(text + size, 6, "%s%lld", i > 0 ? "," : "[", (long long)i);
    size += (size_t)snprintf(text + size, 3, "%s", count > 0 ? "]" : "[]");
    *list = (struct expression_template){.kind = TEMPLATE_DATA, .data = {text, (uint32_t)size}};
    return list;
}

static void set_suborders(struct parser *parser, struct workflow_step *step, char letter)
{
    struct workflow *body = ARENA_NEW(parser->arena, struct workflow);
    char *name = arena_bytes(parser->arena, step->name.size + 6);
    memcpy(name, "test/", 5);
    memcpy(name + 5, step->name.data, step->name.size);
    *body = (struct workflow){
        .name = {name, step->name.size + 5}, .version = 1, .pivot = -1, .is_body = true};
    step->kind = STEP_KIND_SUBORDERS;
    step->agents = NULL;
    step->agent_count = 0;
    step->timeout_ms = DURATION_MS_MAX;
    step->suborders.body = body;
    step->suborders.for_each = letter == 'f';
    if (letter == 'f')
        step->suborders.list = list_of(parser, number(parser));
}

static void set_option(struct parser *parser, struct workflow_step *step)
{
    char letter = *parser->at++;
    assert(strchr("cperjzuvkatmnsflo", letter) != NULL);
    if (letter == 'c' || letter == 'u' || letter == 'v')
        step->has_compensate = true;
    if (letter == 'p') {
        step->pivot = true;
        parser->workflow->pivot = (int)parser->workflow->step_count;
    }
    if (letter == 'e')
        step->on_exhausted = OUTCOME_ERROR;
    if (strchr("rjz", letter) != NULL)
        add_retrier(parser, &step->retry, letter);
    if (strchr("uv", letter) != NULL)
        add_retrier(parser, &step->compensate.retry, letter);
    if (letter == 'k')
        add_catcher(parser, step);
    if (letter == 'a')
        set_agents(parser, step);
    if (letter == 't')
        step->timeout_ms = number(parser);
    if (letter == 's' || letter == 'f')
        set_suborders(parser, step, letter);
    if (letter == 'l')
        step->suborders.max_concurrency = (uint32_t)number(parser);
    if (letter == 'o')
        step->suborders.tolerated_failures = (uint32_t)number(parser);
    if (letter == 'm')
        step->max_extension_ms = number(parser);
    if (letter == 'n')
        step->compensate.max_extension_ms = number(parser);
}

static void parse_step(struct parser *parser)
{
    assert(parser->workflow->step_count < WORKFLOW_STEPS_MAX);
    struct workflow_step *step = &parser->steps[parser->workflow->step_count];
    step->name = word(parser, "<{ ");
    struct text *agents = ARENA_ARRAY(parser->arena, struct text, STEP_AGENTS_MAX);
    agents[0] = TEXT("agent");
    step->agents = agents;
    step->agent_count = 1;
    step->timeout_ms = WORKFLOW_TIMEOUT_MS;
    if (*parser->at == '<') {
        parser->after[parser->workflow->step_count] = parser->at + 1; /* '-' follows */
        word(parser, "{ ");
    }
    if (*parser->at == '{') {
        do {
            parser->at++;
            set_option(parser, step);
        } while (*parser->at == ',');
        assert(*parser->at == '}');
        parser->at++;
    }
    char *action = arena_bytes(parser->arena, step->name.size + 4);
    memcpy(action, "Undo", 4);
    memcpy(action + 4, step->name.data, step->name.size);
    step->compensate.action = (struct text){action, step->name.size + 4};
    step->compensate.timeout_ms = WORKFLOW_UNDO_TIMEOUT_MS;
    parser->workflow->step_count++;
}

/* Of all steps, once their names are known: a step may stand before one that it waits for. */
static void resolve_after(struct parser *parser)
{
    for (uint32_t i = 0; i < parser->workflow->step_count; i++) {
        parser->at = parser->after[i];
        while (parser->at != NULL && (*parser->at == '-' || *parser->at == ',')) {
            parser->at++;
            int before = step_index(parser, word(parser, ",{ "));
            assert(before >= 0 && before != (int)i);
            parser->steps[i].after |= UINT64_C(1) << before;
        }
    }
}

struct workflow *workflow_of(struct arena *arena, const char *line)
{
    struct workflow *workflow = ARENA_NEW(arena, struct workflow);
    struct parser parser = {
        .arena = arena,
        .workflow = workflow,
        .steps = ARENA_ARRAY(arena, struct workflow_step, WORKFLOW_STEPS_MAX),
        .at = line,
    };
    *workflow =
        (struct workflow){.name = TEXT("test"), .version = 1, .steps = parser.steps, .pivot = -1};
    while (*parser.at != '\0') {
        if (*parser.at == ' ') {
            parser.at++;
        } else if (*parser.at == 'T' && parser.at[1] >= '0' && parser.at[1] <= '9') {
            char *end = NULL;
            workflow->timeout_ms = strtoll(parser.at + 1, &end, 10);
            parser.at = end;
        } else {
            parse_step(&parser);
        }
    }
    assert(workflow->step_count > 0);
    resolve_after(&parser);
    return workflow;
}
