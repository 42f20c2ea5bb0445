/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve broker`: the embedded broker in a process of its own, for trials without Kafka. */
#include "cli/cli.h"
#include "kafka/embedded.h"
#include "kafka/topics/topics.h"
#include "platform/files.h"
#include "platform/loop.h"

enum { NAMES_MAX = 64 };

static void on_signal(struct loop *loop, int signal, void *userdata)
{
    (void)signal;
    (void)userdata;
    loop_stop(loop);
}

static size_t take_names(const struct cli *cli, const char *flag, const char *names[NAMES_MAX])
{
    size_t count = 0;
    size_t index = 0;
    const char *name;
    while (count < NAMES_MAX && (name = cli_flag_next(cli, flag, &index)) != NULL)
        names[count++] = name;
    return count;
}

static enum error_class make_topics(struct cli *cli, struct embedded *embedded,
                                    struct error *ret_error)
{
    struct topics topics;
    const char *agents[NAMES_MAX];
    const char *apps[NAMES_MAX];
    struct topics_plan plan = {.topics = &topics,
                               .partitions = (int32_t)config_int(cli->config, "partitions"),
                               .replication_factor = 1,
                               .agents = agents,
                               .apps = apps};
    plan.agent_count = take_names(cli, "agent", agents);
    plan.app_count = take_names(cli, "app", apps);
    enum error_class class =
        topics_init(&topics, config_string(cli->config, "topics.prefix"), ret_error);
    return class != ERROR_OK ? class : topics_embed(&plan, embedded, ret_error);
}

static int run(struct cli *cli)
{
    struct error error;
    struct loop *loop = NULL;
    struct embedded *embedded = NULL;
    const char *file = cli_flag_value(cli, "bootstrap-file");
    enum error_class class = loop_new(clock_real(), &loop, &error);
    if (class == ERROR_OK)
        class = loop_on_signals(loop, on_signal, NULL, &error);
    if (class == ERROR_OK)
        class = embedded_new(&embedded, &error);
    if (class == ERROR_OK)
        class = make_topics(cli, embedded, &error);
    if (class == ERROR_OK && file != NULL)
        class = files_write_atomic(file, text_of(embedded_bootstrap(embedded)), &error);
    if (class == ERROR_OK) {
        fprintf(cli->out, "%s\n", embedded_bootstrap(embedded));
        fflush(cli->out);
        loop_run(loop);
    }
    embedded_free(embedded);
    loop_free(loop);
    return class == ERROR_OK ? EXIT_CODE_OK : cli_fail(cli, &error);
}

static const struct cli_flag flags[] = {
    {"agent", "NAME", "Creates the requests topic of this agent; may be repeated."},
    {"app", "NAME", "Creates the replies topic of this application; may be repeated."},
    {"bootstrap-file", "FILE", "Writes the address of the broker to FILE once it listens."},
    {NULL, NULL, NULL}};

static const struct cli_verb verbs[] = {
    {.summary = "Runs the embedded broker until SIGTERM: in memory, on 127.0.0.1, for trials only.",
     .examples = "reeve broker --agent stock --agent payment --agent carrier --app web\n"
                 "# its clients\n"
                 "reeve run scheduler --embedded --kafka-bootstrap-servers 127.0.0.1:PORT\n",
     .flags = flags,
     .plain = true,
     .run = run}};

const struct cli_noun cli_broker = {
    .name = "broker", .summary = "The embedded broker.", .verbs = verbs, .verb_count = 1};
