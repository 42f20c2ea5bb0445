/* SPDX-License-Identifier: Apache-2.0 */
/* See stage.h. */
#include "tools/bench/stage.h"

#include "cli/session.h"
#include "cli/workflow/deployment.h"
#include "platform/files.h"
#include "replica/service/settings.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PUMP_MS = 20, READY_MS = 60000, OFFSETS_MS = 30000 };

/* examples/workflows/three-steps.yaml, with deadlines that no measurement reaches: open
 * orders stay open. */
static const char workflow_text[] = "Name: " BENCH_WORKFLOW "\n"
                                    "Version: 1\n"
                                    "TimeoutSeconds: 36000\n"
                                    "Defaults:\n"
                                    "  TimeoutSeconds: 7200\n"
                                    "  Retry:\n"
                                    "    - ErrorEquals: [States.ALL]\n"
                                    "      IntervalSeconds: 1\n"
                                    "      MaxAttempts: 3\n"
                                    "Steps:\n"
                                    "  - Name: First\n"
                                    "    Agent: " BENCH_AGENT "\n"
                                    "  - Name: Second\n"
                                    "    Agent: " BENCH_AGENT "\n"
                                    "  - Name: Third\n"
                                    "    Agent: " BENCH_AGENT "\n";

/* The agent is sent what each step needs of the input (load.c), and its answers are not read. */
static const char deciding_text[] =
    "Name: " BENCH_DECIDING "\n"
    "Version: 1\n"
    "TimeoutSeconds: 36000\n"
    "Defaults:\n"
    "  TimeoutSeconds: 7200\n"
    "  Retry:\n"
    "    - ErrorEquals: [States.ALL]\n"
    "      IntervalSeconds: 1\n"
    "      MaxAttempts: 3\n"
    "Steps:\n"
    "  - Name: First\n"
    "    When: input.total > 100 && input.items.exists(i, i.quantity > 30)\n"
    "    Agent: " BENCH_AGENT "\n"
    "    Input: {total: \"${input.total}\", customer: \"${order.customer}\"}\n"
    "  - Name: Second\n"
    "    When: has(output.First) && input.traveller.country != 'GB'\n"
    "    Agent: " BENCH_AGENT "\n"
    "    Input: {to: \"${input.traveller.email}\", text: \"${input.total} for ${order.id}\"}\n"
    "  - Name: Third\n"
    "    When: has(output.Second) && !input.gift\n"
    "    Agent: " BENCH_AGENT "\n"
    "    Input: {skus: \"${input.items.map(i, i.sku)}\", gift: \"${input.gift}\"}\n";

/* A workflow whose three steps begin after another one. */
#define AFTER(name, step)               \
    "Name: " name "\n"                  \
    "Version: 1\n"                      \
    "TimeoutSeconds: 36000\n"           \
    "Defaults:\n"                       \
    "  TimeoutSeconds: 7200\n"          \
    "Steps:\n" step "  - Name: First\n" \
    "    Agent: " BENCH_AGENT "\n"      \
    "  - Name: Second\n"                \
    "    Agent: " BENCH_AGENT "\n"      \
    "  - Name: Third\n"                 \
    "    Agent: " BENCH_AGENT "\n"

static const char waiting_text[] =
    AFTER(BENCH_WAITING, "  - {Name: Wait, Wait: {Seconds: 7200}}\n");

static const char awaiting_text[] =
    AFTER(BENCH_AWAITING, "  - Name: Approve\n"
                          "    Await:\n"
                          "      From: clerks\n"
                          "      Options: [approve, decline]\n"
                          "      Question: \"An order of ${order.customer}?\"\n"
                          "    TimeoutSeconds: 7200\n");

static const char fan_out_text[] = "Name: " BENCH_FAN_OUT "\n"
                                   "Version: 1\n"
                                   "TimeoutSeconds: 36000\n"
                                   "Defaults: {TimeoutSeconds: 7200}\n"
                                   "Steps:\n"
                                   "  - Name: Each\n"
                                   "    ForEach: {Items: input.items}\n"
                                   "    Steps:\n"
                                   "      - {Name: First, Agent: " BENCH_AGENT "}\n";

/* ---- failures ---- */

static void on_signal(struct loop *loop, int signal, void *userdata)
{
    struct bench_stage *stage = userdata;
    (void)loop;
    error_set(&stage->failure, CODE_INTERRUPTED, "interrupted by signal %d", signal);
}

static void on_child_ended(void *ctx, struct child *child, int exit_code)
{
    struct bench_stage *stage = ctx;
    (void)exit_code;
    error_set(&stage->failure, CODE_SERVICE_ENDED, "%s %s; see %s/log", child_name(child),
              child_reason(child), child_directory(child));
}

static bool has_failed(const struct bench_stage *stage)
{
    return stage->failure.class != ERROR_OK;
}

/* ---- waiting ---- */

static void on_pump(void *ctx)
{
    struct bench_stage *stage = ctx;
    loop_once(stage->loop, 0);
    loop_timer_after(stage->session.context.loop, &stage->pump, PUMP_MS);
}

struct waiting {
    struct bench_stage *stage;
    bool (*done)(void *ctx);
    void *ctx;
};

static bool is_over(void *ctx)
{
    const struct waiting *waiting = ctx;
    return has_failed(waiting->stage) || waiting->done(waiting->ctx);
}

enum error_class bench_stage_wait(struct bench_stage *stage, bool (*done)(void *ctx), void *ctx,
                                  int64_t timeout_ms, struct error *ret_error)
{
    struct waiting waiting = {stage, done, ctx};
    bool over = cli_session_wait(&stage->session, is_over, &waiting, timeout_ms);
    if (has_failed(stage)) {
        *ret_error = stage->failure;
        return ret_error->class;
    }
    return over ? ERROR_OK
                : error_set(ret_error, CODE_SILENT, "no answer for %lld s",
                            (long long)(timeout_ms / 1000));
}

/* ---- topics and workflow ---- */

/* The configuration of the command, with a prefix of its own. */
static enum error_class make_config(struct bench_stage *stage, int number, struct error *ret_error)
{
    struct cli *cli = &stage->cli;
    char prefix[64];
    snprintf(prefix, sizeof(prefix), "bench-%ld-%d", (long)getpid(), number);
    char statistics[16];
    snprintf(statistics, sizeof(statistics), "%d", BENCH_STATISTICS_MS);
    cli->config = config_new(&settings_schema);
    enum error_class class = config_load_environment(cli->config, cli->environment, ret_error);
    if (class == ERROR_OK)
        class = config_set(cli->config, "kafka.statistics.interval.ms", statistics, ret_error);
    bool taken = true;
    for (int i = 0; i < cli->config_flag_count && class == ERROR_OK && taken;)
        class = config_take_flag(cli->config, cli->config_flag_count, cli->config_flags, &i, &taken,
                                 ret_error);
    assert(class != ERROR_OK || taken);
    if (class == ERROR_OK)
        class = config_set(cli->config, "topics.prefix", prefix, ret_error);
    if (class == ERROR_OK)
        class = config_finish(cli->config, ret_error);
    return class == ERROR_OK ? topics_init(&stage->topics, prefix, ret_error) : class;
}

static enum error_class make_topics(struct bench_stage *stage, bool refuser,
                                    struct error *ret_error)
{
    static const char *const agents[] = {BENCH_AGENT, BENCH_REFUSER};
    static const char *const apps[] = {BENCH_APP};
    const struct config *config = stage->cli.config;
    struct cluster_kafka_options kafka;
    enum error_class class = cluster_kafka_options(config, 0, &kafka, ret_error);
    if (class != ERROR_OK)
        return class;
    struct topics_plan plan = {
        .kafka = &kafka.options,
        .topics = &stage->topics,
        .partitions = (int32_t)config_int(config, "partitions"),
        .replication_factor = (int32_t)config_int(config, "replication.factor"),
        .agents = agents,
        .agent_count = refuser ? 2 : 1,
        .apps = apps,
        .app_count = 1,
    };
    stage->topics_made = true;
    return topics_apply(&plan, NULL, NULL, ret_error);
}

enum error_class bench_stage_deploy(struct bench_stage *stage, const char *text,
                                    struct error *ret_error)
{
    struct workflow_file file = {.path = "", .size = strlen(text)};
    const char *result;
    file.text = strdup(text);
    assert(file.text != NULL);
    heap_arena_init(&file.heap, 16 * 1024);
    bool valid = workflow_parse(text_of(text), WORKFLOW_YAML, &file.heap.arena, &file.problems,
                                &file.workflow);
    assert(valid);
    enum error_class class = workflow_deploy(&stage->session, &file, true, &result, ret_error);
    workflow_file_deinit(&file);
    return class;
}

/* ---- services ---- */

struct argument_list {
    char *items[CHILD_ARGUMENTS_MAX + 1];
    size_t count;
};

static void add_argument(struct argument_list *arguments, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void add_argument(struct argument_list *arguments, const char *format, ...)
{
    va_list args;
    char *argument = NULL;
    va_start(args, format);
    int size = vasprintf(&argument, format, args);
    va_end(args);
    assert(size >= 0 && arguments->count < CHILD_ARGUMENTS_MAX);
    arguments->items[arguments->count++] = argument;
}

struct simulation {
    const char *agent;
    const char *share; /* all its calls are "silent", or "fail"; NULL: they succeed */
};

/* `simulation`: of an agent; NULL for the other services. */
static enum error_class start_service(struct bench_stage *stage, const char *service,
                                      const char *name, const struct simulation *simulation,
                                      struct error *ret_error)
{
    const struct cli *cli = &stage->cli;
    char directory[PATH_MAX + 64];
    struct argument_list arguments = {.count = 0};
    struct child *child;
    const struct child_options options = {
        .name = name, .directory = directory, .arguments = arguments.items};
    snprintf(directory, sizeof(directory), "%s/%s", stage->directory, name);
    add_argument(&arguments, "run");
    add_argument(&arguments, "%s", service);
    add_argument(&arguments, "--set");
    add_argument(&arguments, "kafka.statistics.interval.ms=%d", BENCH_STATISTICS_MS);
    for (int i = 0; i < cli->config_flag_count; i++)
        add_argument(&arguments, "%s", cli->config_flags[i]);
    add_argument(&arguments, "--topics-prefix=%s", stage->topics.prefix);
    add_argument(&arguments, "--data-dir=%s", directory);
    add_argument(&arguments, "--http-port=0");
    add_argument(&arguments, "--http-auth=none");
    add_argument(&arguments, "--instance-id=%s", name);
    if (simulation != NULL) {
        add_argument(&arguments, "--agent-name=%s", simulation->agent);
        add_argument(&arguments, "--agent-kind=sim");
        add_argument(&arguments, "--agent-sim-latency-ms=0");
        if (simulation->share != NULL)
            add_argument(&arguments, "--agent-sim-%s-share=1", simulation->share);
    }
    enum error_class class = files_make_dirs(directory, ret_error);
    if (class == ERROR_OK)
        class = children_start(stage->children, &options, &child, ret_error);
    for (size_t i = 0; i < arguments.count; i++)
        free(arguments.items[i]);
    return class;
}

static enum error_class start_several(struct bench_stage *stage, const char *service, int64_t count,
                                      struct error *ret_error)
{
    enum error_class class = ERROR_OK;
    for (int64_t i = 1; i <= count && class == ERROR_OK; i++) {
        char name[64];
        snprintf(name, sizeof(name), "%s-%lld", service, (long long)i);
        class = start_service(stage, service, name, NULL, ret_error);
    }
    return class;
}

static bool services_are_ready(void *ctx)
{
    const struct bench_stage *stage = ctx;
    return children_are_ready(stage->children);
}

static enum error_class start_services(struct bench_stage *stage,
                                       const struct bench_stage_options *options,
                                       struct error *ret_error)
{
    const struct simulation agent = {BENCH_AGENT, options->silent ? "silent" : NULL};
    const struct simulation refuser = {BENCH_REFUSER, "fail"};
    enum error_class class = start_service(stage, "submission", "submission", NULL, ret_error);
    if (class == ERROR_OK)
        class = start_several(stage, "scheduler", options->schedulers, ret_error);
    if (class == ERROR_OK)
        class = start_several(stage, "supervisor", options->supervisors, ret_error);
    if (class == ERROR_OK)
        class = start_service(stage, "agent", "agent", &agent, ret_error);
    if (class == ERROR_OK && options->refuser)
        class = start_service(stage, "agent", BENCH_REFUSER, &refuser, ret_error);
    if (class == ERROR_OK)
        class = children_watch(stage->children, NULL, ret_error);
    if (class == ERROR_OK)
        class = bench_stage_wait(stage, services_are_ready, stage, READY_MS, ret_error);
    return class;
}

/* ---- life ---- */

static enum error_class make_directory(struct bench_stage *stage, struct error *ret_error)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(stage->directory, sizeof(stage->directory), "%s/reeve-bench-XXXXXX",
             tmp != NULL && *tmp != '\0' ? tmp : "/tmp");
    if (mkdtemp(stage->directory) != NULL)
        return ERROR_OK;
    stage->directory[0] = '\0';
    return error_set(ret_error, CODE_NO_DIRECTORY, "cannot make a directory: %s", strerror(errno));
}

enum error_class bench_stage_open(struct cli *cli, const struct bench_stage_options *options,
                                  int number, struct bench_stage *stage, struct error *ret_error)
{
    *stage = (struct bench_stage){.cli = *cli};
    enum error_class class = make_config(stage, number, ret_error);
    if (class == ERROR_OK)
        class = make_directory(stage, ret_error);
    if (class == ERROR_OK && !options->bare)
        class = loop_new(clock_real(), &stage->loop, ret_error);
    /* Before any thread begins: signals are for this loop. */
    if (class == ERROR_OK && !options->bare)
        class = loop_on_signals(stage->loop, on_signal, stage, ret_error);
    if (class == ERROR_OK)
        class = make_topics(stage, options->refuser, ret_error);
    if (class == ERROR_OK)
        class =
            cli_session_open(&stage->cli, CLUSTER_FOLLOWS_WORKFLOWS, &stage->session, ret_error);
    if (class != ERROR_OK || options->bare)
        return class;
    stage->children = children_new(stage->loop, on_child_ended, stage);
    loop_timer_init(&stage->pump, on_pump, stage);
    loop_timer_after(stage->session.context.loop, &stage->pump, PUMP_MS);
    class = bench_stage_deploy(stage, workflow_text, ret_error);
    if (class == ERROR_OK)
        class = bench_stage_deploy(stage, deciding_text, ret_error);
    if (class == ERROR_OK)
        class = bench_stage_deploy(stage, waiting_text, ret_error);
    if (class == ERROR_OK)
        class = bench_stage_deploy(stage, awaiting_text, ret_error);
    if (class == ERROR_OK)
        class = bench_stage_deploy(stage, fan_out_text, ret_error);
    return class == ERROR_OK ? start_services(stage, options, ret_error) : class;
}

static void on_stopped(void *ctx)
{
    struct bench_stage *stage = ctx;
    loop_stop(stage->loop);
}

void bench_stage_stop_services(struct bench_stage *stage)
{
    if (stage->children == NULL)
        return;
    children_stop(stage->children, on_stopped);
    loop_run(stage->loop);
    children_free(stage->children);
    stage->children = NULL;
}

void bench_stage_close(struct bench_stage *stage)
{
    struct cluster_kafka_options kafka;
    bench_stage_stop_services(stage);
    if (stage->session.cluster != NULL) {
        loop_timer_cancel(stage->session.context.loop, &stage->pump);
        cli_session_close(&stage->session);
    }
    if (stage->topics_made && cluster_kafka_options(stage->cli.config, 0, &kafka, NULL) == ERROR_OK)
        topics_delete(&kafka.options, &stage->topics, NULL);
    config_free(stage->cli.config);
    loop_free(stage->loop);
    /* After a failure the logs stay. */
    if (stage->directory[0] != '\0' && stage->failure.class != ERROR_FATAL)
        files_remove_tree(stage->directory, NULL);
}

void bench_stage_processes(const struct bench_stage *stage, struct bench_processes *processes)
{
    for (const struct child *child = NULL; (child = children_next(stage->children, child)) != NULL;)
        bench_processes_add(processes, child_name(child), child_pid(child));
}

void bench_stage_stores(const struct bench_stage *stage, struct bench_processes *processes)
{
    for (const struct child *child = NULL; (child = children_next(stage->children, child)) != NULL;)
        for (uint32_t i = 0; i < processes->count; i++) {
            if (processes->items[i].pid == child_pid(child))
                processes->items[i].stored_bytes = files_tree_bytes(child_directory(child));
        }
}

/* ---- records in the topics ---- */

struct count {
    struct bench_topic *topic;
    uint32_t *waiting;
    struct error *error;
};

static void on_offsets(void *ctx, int64_t low, int64_t high, const struct error *error)
{
    struct count *count = ctx;
    if (error->class != ERROR_OK)
        *count->error = *error;
    else
        count->topic->records += high - low;
    --*count->waiting;
}

static bool all_counted(void *ctx)
{
    const uint32_t *waiting = ctx;
    return *waiting == 0;
}

enum error_class bench_stage_topics(struct bench_stage *stage, struct bench_topics *ret_topics,
                                    struct error *ret_error)
{
    struct cluster *cluster = stage->session.cluster;
    char requests[TOPIC_NAME_SIZE];
    char replies[TOPIC_NAME_SIZE];
    topics_requests(&stage->topics, TEXT(BENCH_AGENT), requests);
    topics_replies(&stage->topics, TEXT(BENCH_APP), replies);
    const char *const names[] = {stage->topics.submissions,
                                 stage->topics.commands,
                                 stage->topics.events,
                                 requests,
                                 replies,
                                 stage->topics.alerts,
                                 stage->topics.dead_letters};
    enum { NAMES = sizeof(names) / sizeof(names[0]) };
    struct count counts[NAMES];
    struct error error = {.class = ERROR_OK};
    uint32_t waiting = 0;
    *ret_topics = (struct bench_topics){.count = NAMES};
    for (uint32_t i = 0; i < NAMES; i++) {
        struct bench_topic *topic = &ret_topics->items[i];
        snprintf(topic->name, sizeof(topic->name), "%s",
                 names[i] + strlen(stage->topics.prefix) + 1);
        counts[i] = (struct count){topic, &waiting, &error};
        for (int32_t p = 0; p < cluster->partition_count; p++) {
            waiting++;
            broker_offsets(cluster->broker, names[i], p, on_offsets, &counts[i]);
        }
    }
    /* The broker answers each one, if only with a timeout. */
    while (!cli_session_wait(&stage->session, all_counted, &waiting, OFFSETS_MS))
        ;
    if (error.class != ERROR_OK)
        *ret_error = error;
    return error.class;
}
