/* SPDX-License-Identifier: Apache-2.0 */
/* The exec agent: programs as remote services. platform/program.c runs them. docs/use/agents.md
 * describes their environment and the meaning of their exit codes. */
#include "services/agent/kinds/kinds.h"

#include "base/heap_arena.h"
#include "engine/output.h"
#include "platform/logger.h"
#include "platform/program.h"
#include "services/agent/core/sanitize.h"
#include "services/agent/kinds/http_message.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <utlist.h>

enum {
    SCRATCH_BYTES = 64 * 1024,
    OUTPUT_BYTES_MAX = REPORT_BYTES_MAX,
    ARGUMENTS_MAX = 64,
    ENV_MAX = 64,
    ENV_BYTES_MAX = 8192,   /* of a variable with its name: ids and URLs are much shorter */
    CALL_LINES_MAX = 50,    /* of stderr, logged for one call ... */
    WINDOW_LINES_MAX = 200, /* ... and for all calls within the window */
    WINDOW_MS = 10000,
    CAPACITY = 16 /* programs at the same time, unless agent.in.flight.max is set */
};

/* Exit codes with a meaning (those of sysexits.h where it has one). Every other code, and an end by
 * a signal, is a failure of unknown effect that may be retried. */
enum exec_code {
    EXEC_DONE = 0,
    EXEC_REFUSED = 65,  /* a business error: nothing was applied, a retry will not help */
    EXEC_LATER = 75,    /* nothing was applied, a retry may help */
    EXEC_ACCEPTED = 79, /* the outcome is reported later, at $REEVE_CALLBACK */
};

struct exec_call {
    struct exec_call *prev, *next;
    struct exec_agent *agent;
    struct agent_call *call;
    struct program *program;
    struct loop_timer deadline;
    uint32_t lines;
    uint32_t lines_dropped;
    char last_line[PROGRAM_LINE_BYTES_MAX];
    uint32_t last_line_size;
};

struct exec_agent {
    struct service_context *service;
    char *command; /* split at blanks; argv points into it */
    char *argv[ARGUMENTS_MAX + 1];
    int64_t grace_ms;
    struct exec_call *calls;
    struct heap_arena scratch;
    int64_t window_began_ms;
    uint32_t window_lines;
};

/* ---- start and stop ---- */

static enum error_class read_command(struct exec_agent *agent, struct error *ret_error)
{
    const char *command = config_string(agent->service->config, "agent.exec.command");
    int count = 0;
    agent->command = strdup(command);
    assert(agent->command != NULL);
    char *rest = agent->command;
    for (char *word; (word = strsep(&rest, " ")) != NULL;) {
        if (*word == '\0')
            continue;
        if (count == ARGUMENTS_MAX)
            return error_set(ret_error, CODE_CONFIG,
                             "agent.exec.command has more than %d arguments", ARGUMENTS_MAX);
        agent->argv[count++] = word;
    }
    if (count == 0)
        return error_set(ret_error, CODE_CONFIG,
                         "agent.exec.command must be a program and its arguments, such as "
                         "/usr/local/bin/pack --fast");
    return ERROR_OK;
}

/* The environment stays as it is at the start. */
static enum error_class check_env(const struct config *config, struct error *ret_error)
{
    const char *const *names;
    size_t count = config_list(config, "agent.exec.env", &names);
    if (count > ENV_MAX / 2)
        return error_set(ret_error, CODE_CONFIG, "agent.exec.env has more than %d names",
                         ENV_MAX / 2);
    for (size_t i = 0; i < count; i++) {
        const char *value = getenv(names[i]);
        if (strlen(names[i]) > NAME_BYTES_MAX)
            return error_set(ret_error, CODE_CONFIG,
                             "agent.exec.env: the name %.32s... is longer than %d bytes", names[i],
                             NAME_BYTES_MAX);
        if (value != NULL && strlen(value) > AGENT_EXEC_ENV_VALUE_MAX)
            return error_set(ret_error, CODE_CONFIG,
                             "agent.exec.env: %s is %zu bytes long; the limit is %d", names[i],
                             strlen(value), AGENT_EXEC_ENV_VALUE_MAX);
    }
    return ERROR_OK;
}

static void free_call(struct exec_call *run)
{
    struct exec_agent *agent = run->agent;
    loop_timer_cancel(agent->service->loop, &run->deadline);
    DL_DELETE(agent->calls, run);
    free(run);
}

static void stop(void *ctx)
{
    struct exec_agent *agent = ctx;
    while (agent->calls != NULL) {
        program_free(agent->calls->program);
        free_call(agent->calls);
    }
    heap_arena_deinit(&agent->scratch);
    free(agent->command);
    free(agent);
}

static enum error_class start(struct service_context *service, void **ret_ctx,
                              struct error *ret_error)
{
    struct exec_agent *agent = calloc(1, sizeof(*agent));
    assert(agent != NULL);
    agent->service = service;
    agent->grace_ms = config_ms(service->config, "agent.exec.grace.ms");
    heap_arena_init(&agent->scratch, SCRATCH_BYTES);
    enum error_class class = read_command(agent, ret_error);
    if (class == ERROR_OK)
        class = check_env(service->config, ret_error);
    if (class != ERROR_OK) {
        stop(agent);
        return class;
    }
    *ret_ctx = agent;
    return ERROR_OK;
}

/* ---- the environment ---- */

static __attribute__((format(printf, 4, 5))) void add_variable(char **env, uint32_t *count,
                                                               struct arena *arena,
                                                               const char *format, ...)
{
    char text[ENV_BYTES_MAX];
    va_list args;
    va_start(args, format);
    int size = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    assert(*count < ENV_MAX && size > 0 && (size_t)size < sizeof(text));
    env[(*count)++] =
        (char *)(uintptr_t)arena_text(arena, (struct text){text, (uint32_t)size + 1}).data;
}

static void make_env(const struct exec_agent *agent, const struct agent_call *call,
                     struct arena *arena, char *ret_env[ENV_MAX + 1])
{
    const struct step_request *request = call->request;
    const char *const *names;
    uint32_t count = 0;
    size_t name_count = config_list(agent->service->config, "agent.exec.env", &names);
    struct text callback = agent_call_callback(call, arena);
    add_variable(ret_env, &count, arena, "PATH=/usr/local/bin:/usr/bin:/bin");
    add_variable(ret_env, &count, arena, "LANG=C.UTF-8");
    add_variable(ret_env, &count, arena, "REEVE_ORDER_ID=%.*s", TEXT_ARG(request->order_id));
    add_variable(ret_env, &count, arena, "REEVE_STEP=%.*s", TEXT_ARG(request->ref.step));
    add_variable(ret_env, &count, arena, "REEVE_DIRECTION=%s",
                 direction_name(request->ref.direction));
    add_variable(ret_env, &count, arena, "REEVE_ACTION=%.*s", TEXT_ARG(request->action));
    add_variable(ret_env, &count, arena, "REEVE_ATTEMPT=%" PRIu32, request->ref.attempt);
    add_variable(ret_env, &count, arena, "REEVE_TRY=%" PRIu32, call->try_number);
    add_variable(ret_env, &count, arena, "REEVE_IDEMPOTENCY_KEY=%.*s",
                 TEXT_ARG(agent_header_text(request->idempotency_key, arena)));
    add_variable(ret_env, &count, arena, "REEVE_DO_KEY=%.*s",
                 TEXT_ARG(agent_header_text(request->do_key, arena)));
    add_variable(ret_env, &count, arena, "REEVE_COMPLETE_BY=%" PRId64, request->complete_by);
    if (callback.size > 0)
        add_variable(ret_env, &count, arena, "REEVE_CALLBACK=%.*s", TEXT_ARG(callback));
    for (size_t i = 0; i < name_count; i++) {
        const char *value = getenv(names[i]);
        if (value != NULL)
            add_variable(ret_env, &count, arena, "%s=%s", names[i], value);
    }
    ret_env[count] = NULL;
}

/* ---- output ---- */

static bool may_log(struct exec_call *run)
{
    struct exec_agent *agent = run->agent;
    int64_t now = loop_now_ms(agent->service->loop);
    if (now - agent->window_began_ms >= WINDOW_MS) {
        agent->window_began_ms = now;
        agent->window_lines = 0;
    }
    if (run->lines >= CALL_LINES_MAX || agent->window_lines >= WINDOW_LINES_MAX)
        return false;
    run->lines++;
    agent->window_lines++;
    return true;
}

static void on_line(void *ctx, struct text line)
{
    struct exec_call *run = ctx;
    const struct step_request *request = run->call->request;
    memcpy(run->last_line, line.data, line.size);
    run->last_line_size = line.size;
    if (!may_log(run)) {
        run->lines_dropped++;
        return;
    }
    heap_arena_reset(&run->agent->scratch);
    log_info("program", LOG_TEXT("order", request->order_id), LOG_TEXT("step", request->ref.step),
             LOG_I64("pid", program_pid(run->program)),
             LOG_TEXT("line", agent_message(line, &run->agent->scratch.arena)));
}

static struct text numbered(const char *format, int number, struct arena *arena)
{
    char text[32];
    int size = snprintf(text, sizeof(text), format, number);
    assert(size > 0 && (size_t)size < sizeof(text));
    return arena_text(arena, (struct text){text, (uint32_t)size});
}

static void read_failure(const struct exec_call *run, const struct program_result *result,
                         struct arena *arena, struct agent_failure *ret_failure)
{
    struct agent_failure failure = {.effect = EFFECT_UNKNOWN, .retriable = true};
    failure.name = result->stopped          ? TEXT("Exec.Timeout")
                   : result->exit_code >= 0 ? numbered("Exec.%d", result->exit_code, arena)
                   : result->signal > 0     ? numbered("Exec.Signal%d", result->signal, arena)
                                            : TEXT("Exec.Unknown");
    failure.service_unhealthy = result->stopped || result->signal > 0;
    failure.message =
        run->last_line_size > 0 ? (struct text){run->last_line, run->last_line_size} : failure.name;
    struct text name = failure.name;
    if (!result->output_cut)
        http_message_error(result->output, arena, &failure);
    if (!result->stopped && result->exit_code == EXEC_REFUSED) {
        failure.effect = EFFECT_NONE;
        failure.retriable = false;
    } else {
        failure.name = name;
        if (!result->stopped && result->exit_code == EXEC_LATER)
            failure.effect = EFFECT_NONE;
    }
    *ret_failure = failure;
}

static void on_ended(void *ctx, const struct program_result *result)
{
    struct exec_call *run = ctx;
    struct exec_agent *agent = run->agent;
    struct agent_call *call = run->call;
    struct arena *arena = &agent->scratch.arena;
    struct agent_failure failure;
    char last_line[PROGRAM_LINE_BYTES_MAX];
    heap_arena_reset(&agent->scratch);
    if (run->lines_dropped > 0)
        log_info_limited(
            "lines of a program were not logged", LOG_TEXT("order", call->request->order_id),
            LOG_TEXT("step", call->request->ref.step), LOG_U64("lines", run->lines_dropped));
    read_failure(run, result, arena, &failure);
    if (failure.message.data == run->last_line) {
        memcpy(last_line, run->last_line, run->last_line_size);
        failure.message.data = last_line;
    }
    free_call(run);
    if (result->exit_code == EXEC_DONE)
        agent_call_succeed(call, result->output_cut ? output_truncated(result->output.size, arena)
                                                    : result->output);
    else if (result->exit_code == EXEC_ACCEPTED && agent_call_callback(call, arena).size > 0)
        agent_call_accept(call);
    else
        agent_call_fail(call, &failure);
}

static const struct program_ops program_ops = {on_ended, on_line};

/* ---- calls ---- */

static void on_deadline(void *ctx)
{
    struct exec_call *run = ctx;
    program_stop(run->program);
}

/* Also an undo: environment and input contain the direction. */
static void execute(void *ctx, struct agent_call *call)
{
    struct exec_agent *agent = ctx;
    struct arena *arena = &agent->scratch.arena;
    char *env[ENV_MAX + 1];
    struct error error;
    heap_arena_reset(&agent->scratch);
    struct exec_call *run = calloc(1, sizeof(*run));
    assert(run != NULL);
    run->agent = agent;
    run->call = call;
    loop_timer_init(&run->deadline, on_deadline, run);
    DL_APPEND(agent->calls, run);
    call->userdata = run;
    make_env(agent, call, arena, env);
    struct program_options options = {
        .argv = agent->argv,
        .envp = env,
        .input = http_message_body(call->request, arena),
        .output_max = OUTPUT_BYTES_MAX,
        .grace_ms = agent->grace_ms,
    };
    enum error_class class =
        program_start(agent->service->loop, &options, &program_ops, run, &run->program, &error);
    if (class == ERROR_OK) {
        loop_timer_after(agent->service->loop, &run->deadline, call->time_left_ms);
        return;
    }
    free_call(run);
    struct agent_failure failure = {.name = TEXT("Exec.NotStarted"),
                                    .message = text_of(error.message),
                                    .effect = class == ERROR_RETRY ? EFFECT_NONE : EFFECT_UNKNOWN,
                                    .service_unhealthy = true,
                                    .retriable = true};
    agent_call_fail(call, &failure);
}

/* A program that is being stopped stays so. */
static void extended(void *ctx, struct agent_call *call)
{
    struct exec_agent *agent = ctx;
    struct exec_call *run = call->userdata;
    int64_t left = call->request->complete_by - clock_wall_ms(agent->service->clock);
    if (loop_timer_armed(&run->deadline))
        loop_timer_after(agent->service->loop, &run->deadline, left > 0 ? left : 0);
}

const struct agent_ops exec_agent_ops = {
    .name = NULL,
    .capacity = CAPACITY,
    .start = start,
    .execute = execute,
    .compensate = execute,
    .extended = extended,
    .stop = stop,
};
