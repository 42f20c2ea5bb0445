/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve dev`: everything on one machine. The embedded broker in this process, or a real one, which
 * may be a child process; topics, workflows; every service as a child process. Ctrl-C stops all of
 * it. */
#include "cli/dev/dev_internal.h"
#include "platform/files.h"

#include <assert.h>
#include <stdlib.h>

enum { SHOW_MS = 100, PATIENCE_MS = 30000 };

/* ---- the end ---- */

static void on_stopped(void *ctx)
{
    struct dev *dev = ctx;
    loop_stop(dev->loop);
}

static void stop_all(struct dev *dev, int code)
{
    if (dev->stopping)
        return;
    dev->stopping = true;
    dev->code = code;
    loop_timer_cancel(dev->loop, &dev->timer);
    loop_timer_cancel(dev->loop, &dev->tick);
    children_stop(dev->children, on_stopped);
}

static void on_signal(struct loop *loop, int signal, void *userdata)
{
    struct dev *dev = userdata;
    (void)signal;
    if (dev->stopping) {
        loop_stop(loop); /* the second time: kill what still runs */
        return;
    }
    fprintf(dev->cli->err, "stopping\n");
    stop_all(dev, EXIT_CODE_OK);
}

/* After the announcement the others continue: a service that crashes is a test of them. */
static void go_on_without(struct dev *dev, struct child *child)
{
    if (cli_flag_given(dev->cli, "no-restart")) {
        cli_report(dev->cli, CODE_SERVICE_ENDED, "%s (pid %d) %s", child_name(child),
                   (int)child_pid(child), child_reason(child));
        return;
    }
    int pid = (int)child_pid(child);
    char reason[200];
    snprintf(reason, sizeof(reason), "%s", child_reason(child));
    int64_t delay_ms = child_start_again(child);
    cli_report(dev->cli, CODE_SERVICE_ENDED, "%s (pid %d) %s; it starts again in %lld s",
               child_name(child), pid, reason, (long long)(delay_ms / 1000));
}

static void on_ended(void *ctx, struct child *child, int exit_code)
{
    struct dev *dev = ctx;
    bool is_task = child_kind(child) == CHILD_TASK;
    if (dev->announced && child == dev->deploy)
        dev_deployed(dev); /* what is wrong is in what it printed */
    if (is_task && (dev->announced || exit_code == 0))
        return;
    if (dev->announced) {
        go_on_without(dev, child);
        return;
    }
    if (dev->services_began_ms == 0 && dev_kafka_moves(dev, child))
        return;
    cli_report(dev->cli, CODE_SERVICE_ENDED, "%s (pid %d) %s", child_name(child),
               (int)child_pid(child), child_reason(child));
    dev_show_log(dev, child);
    bool is_reeve = child_kind(child) == CHILD_SERVICE || child == dev->deploy;
    stop_all(dev, is_reeve && exit_code >= 0 ? exit_code : EXIT_CODE_INTERNAL);
}

/* ---- while it runs ---- */

static void on_tick(void *ctx)
{
    struct dev *dev = ctx;
    dev_check_workflows(dev);
    dev_check_agents(dev);
    loop_timer_after(dev->loop, &dev->tick, TICK_MS);
}

/* Once the broker answers. */
static enum error_class start_services(struct dev *dev, struct error *ret_error)
{
    bool answers = false;
    enum error_class class = dev_await_broker(dev, &answers, ret_error);
    if (class != ERROR_OK || !answers)
        return class;
    dev->services_began_ms = clock_mono_ms(clock_real());
    class = dev_make_topics(dev, ret_error);
    if (class == ERROR_OK)
        class = dev_follow_workflows(dev, ret_error);
    return class == ERROR_OK ? dev_start_services(dev, ret_error) : class;
}

static void on_timer(void *ctx)
{
    struct dev *dev = ctx;
    struct error error = {0};
    if (dev->services_began_ms == 0) {
        if (start_services(dev, &error) == ERROR_OK)
            loop_timer_after(dev->loop, &dev->timer, SHOW_MS);
        else
            stop_all(dev, cli_fail(dev->cli, &error));
        return;
    }
    if (children_are_ready(dev->children) && dev_deployed_workflows(dev) != NULL) {
        if (dev_write_client_config(dev, &error) != ERROR_OK)
            cli_fail(dev->cli, &error);
        dev_announce(dev);
        if (dev->trial != NULL && dev_start_trial(dev, &error) != ERROR_OK)
            cli_fail(dev->cli, &error);
        loop_timer_after(dev->loop, &dev->tick, TICK_MS);
        return;
    }
    if (clock_mono_ms(clock_real()) - dev->services_began_ms < PATIENCE_MS) {
        loop_timer_after(dev->loop, &dev->timer, SHOW_MS);
        return;
    }
    for (const struct child *child = NULL; (child = children_next(dev->children, child)) != NULL;) {
        if (!child_is_ready(child))
            fprintf(dev->cli->err, "reeve: %s is not ready: %s; see %s/log\n", child_name(child),
                    child_reason(child), child_directory(child));
    }
    if (dev_deployed_workflows(dev) == NULL)
        fprintf(dev->cli->err, "reeve: %s cannot be read to its end\n", dev->topics.workflows);
    stop_all(dev, EXIT_CODE_UNAVAILABLE);
}

static enum error_class begin(struct dev *dev, struct error *ret_error)
{
    enum error_class class = dev_take_flags(dev, ret_error);
    if (class == ERROR_OK)
        class = dev_take_kafka(dev, ret_error);
    if (class == ERROR_OK)
        class = dev_open_state(dev, ret_error);
    if (class != ERROR_OK)
        return class;
    dev_take_kept_agents(dev);
    class = dev_take_workflows(dev, ret_error);
    if (class == ERROR_OK)
        class = loop_new(clock_real(), &dev->loop, ret_error);
    /* Before any thread begins: signals are for this loop, and the environment changes. */
    if (class == ERROR_OK)
        class = loop_on_signals(dev->loop, on_signal, dev, ret_error);
    dev_clean_environment(dev->cli);
    if (class != ERROR_OK)
        return class;
    dev->children = children_new(dev->loop, on_ended, dev);
    loop_timer_init(&dev->timer, on_timer, dev);
    loop_timer_init(&dev->tick, on_tick, dev);
    loop_timer_after(dev->loop, &dev->timer, SHOW_MS);
    class = dev_start_broker(dev, ret_error);
    return class == ERROR_OK ? start_services(dev, ret_error) : class;
}

static int run(struct cli *cli)
{
    struct error error = {0};
    if (cli->argument_count > WORKFLOW_FILES_MAX)
        return cli_usage(cli, "unexpected argument \"%.80s\"", cli->arguments[WORKFLOW_FILES_MAX]);
    struct dev *dev = calloc(1, sizeof(*dev));
    assert(dev != NULL);
    dev->cli = cli;
    dev->lock = -1;
    dev->began_ms = clock_mono_ms(clock_real());
    enum error_class class = begin(dev, &error);
    if (class == ERROR_OK)
        loop_run(dev->loop);
    children_free(dev->children);
    dev_unfollow_workflows(dev);
    embedded_free(dev->embedded);
    dev_free_kafka(dev);
    loop_free(dev->loop);
    dev_close_state(dev);
    int code = class == ERROR_OK ? dev->code : cli_fail(cli, &error);
    free(dev->example);
    free(dev->trial);
    free(dev->signals);
    free(dev);
    return code;
}

static const struct cli_flag flags[] = {
    {"agent", "NAME[=URL]",
     "An agent that calls URL; without URL it is simulated, as are all other agents that the "
     "workflows name. NAME=kafka: your own program is the agent, and only its topic is made. May "
     "be repeated."},
    {"app", "NAME", "An application that gets a replies topic; web by default. May be repeated."},
    {"schedulers", "N", "The number of schedulers; 1 by default."},
    {"supervisors", "N", "The number of supervisors; 1 by default."},
    {"kafka", NULL,
     "Starts a real Kafka of one node instead of the embedded broker. It needs Java: that of "
     "JAVA_HOME, or the one in PATH."},
    {"kafka-home", "DIR",
     "The unpacked Kafka that --kafka starts; that of KAFKA_HOME by default. Nothing is written "
     "there."},
    {"try", NULL,
     "Once everything runs, submits an order that the first workflow takes, and shows each step "
     "that changes."},
    {"watch", NULL, "Deploys a workflow file as the next version whenever it changes."},
    {"fresh", NULL, "Deletes what earlier runs have left in the folder first."},
    {"in-memory", NULL, "Keeps nothing: everything is lost when it stops."},
    {"no-restart", NULL, "A service that ends is not started again."},
    {"logs", NULL, "Logs to stderr instead of files."},
    {NULL, NULL, NULL},
};

static const struct cli_verb verbs[] = {
    {
        .name = "env",
        .summary = "Prints what a shell evaluates so that commands reach the `reeve dev` that runs "
                   "on this folder. Exit code 69: none runs.",
        .examples = "eval \"$(reeve dev env)\"\n"
                    "eval \"$(reeve dev env --data-dir /tmp/trial)\"",
        .settings = CLI_SETTINGS_ALL,
        .plain = true,
        .load = dev_load_running,
        .run = dev_run_env,
    },
    {
        .name = "agent",
        .arguments = "NAME[=URL]",
        .summary = "Adds an agent to the `reeve dev` that runs on this folder, or changes it, also "
                   "for its next start: it calls URL, or is simulated. NAME=kafka: your own "
                   "program is the agent, and only its topic is made.",
        .examples = "reeve dev agent payment=http://127.0.0.1:8001\n"
                    "reeve dev agent payment\n"
                    "reeve dev agent warehouse=kafka",
        .settings = CLI_SETTINGS_ALL,
        .plain = true,
        .load = dev_load_running,
        .run = dev_run_agent,
    },
    {
        .name = "app",
        .arguments = "NAME",
        .summary = "Makes the replies topic of another application, in the `reeve dev` that runs "
                   "on this folder.",
        .examples = "reeve dev app shop",
        .settings = CLI_SETTINGS_ALL,
        .plain = true,
        .load = dev_load_running,
        .run = dev_run_app,
    },
    {
        .arguments = "[WORKFLOW.yaml...]",
        .summary = "Runs all services on this machine, with an embedded broker, until Ctrl-C. What "
                   "it does is kept in the folder reeve-dev, or in that of --data-dir, for the "
                   "next start. A workflow file that has changed since is deployed as the next "
                   "version.",
        .examples = "reeve dev examples/workflows/three-steps.yaml --try\n"
                    "reeve dev examples/workflows/three-steps.yaml --watch\n"
                    "# a real Kafka, which it starts and stops\n"
                    "reeve dev examples/workflows/three-steps.yaml --kafka --kafka-home "
                    "~/kafka_2.13-4.3.1\n"
                    "# another broker, and real services behind the agents\n"
                    "reeve dev examples/workflows/order-fulfilment.yaml \\\n"
                    "    --kafka-bootstrap-servers 127.0.0.1:9092 --schedulers 2 \\\n"
                    "    --agent stock=http://127.0.0.1:8001 --http-port 8080",
        .flags = flags,
        .settings = CLI_SETTINGS_ALL,
        .plain = true,
        .load = dev_load,
        .run = run,
    },
};

const struct cli_noun cli_dev = {"dev", "Everything on one machine.", verbs,
                                 sizeof(verbs) / sizeof(verbs[0])};
