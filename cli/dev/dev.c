/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve dev`: everything on one machine. The embedded broker in this process, or a real one;
 * topics, workflows; every service as a child process. Ctrl-C stops all of it. */
#include "cli/dev/dev_internal.h"
#include "platform/files.h"

#include <assert.h>
#include <stdlib.h>
#include <unistd.h>

enum { SHOW_MS = 100, LOOK_MS = 500, PATIENCE_MS = 30000, NAME_SIZE = 256 };

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

static void on_ended(void *ctx, struct child *child, int exit_code)
{
    struct dev *dev = ctx;
    if (exit_code == 0 && child_is_ready(child)) { /* a task */
        if (dev->announced)
            dev_show_log(dev, child);
        return;
    }
    if (dev->announced && child_is_a_task(child)) {
        dev_show_log(dev, child);
        return;
    }
    if (dev->announced) {
        int seconds = child_restart(child);
        cli_warn(dev->cli, CODE_SERVICE_ENDED, "%s (pid %d) %s; it starts again in %d s",
                 child_name(child), (int)child_pid(child), child_reason(child), seconds);
        return;
    }
    cli_report(dev->cli, CODE_SERVICE_ENDED, "%s (pid %d) %s", child_name(child),
               (int)child_pid(child), child_reason(child));
    dev_show_log(dev, child);
    stop_all(dev, exit_code >= 0 ? exit_code : EXIT_CODE_INTERNAL);
}

static void on_timer(void *ctx)
{
    struct dev *dev = ctx;
    struct error error = {0};
    if (dev->announced) {
        dev_look(dev);
        loop_timer_after(dev->loop, &dev->timer, LOOK_MS);
        return;
    }
    if (children_are_ready(dev->children)) {
        if (dev_write_client_config(dev, &error) != ERROR_OK)
            cli_fail(dev->cli, &error);
        dev_announce(dev);
        loop_timer_after(dev->loop, &dev->timer, LOOK_MS);
        return;
    }
    if (clock_mono_ms(clock_real()) - dev->began_ms < PATIENCE_MS) {
        loop_timer_after(dev->loop, &dev->timer, SHOW_MS);
        return;
    }
    for (const struct child *child = NULL; (child = children_next(dev->children, child)) != NULL;) {
        if (!child_is_ready(child))
            fprintf(dev->cli->err, "reeve: %s is not ready: %s; see %s/log\n", child_name(child),
                    child_reason(child), child_directory(child));
    }
    stop_all(dev, EXIT_CODE_UNAVAILABLE);
}

/* Nor do the services read what this command leaves out. */
static void leave_out_client_settings(void)
{
    size_t i = 0;
    while (environ[i] != NULL) {
        char name[NAME_SIZE];
        bool whole = strcspn(environ[i], "=") < sizeof(name);
        if (!whole || !cli_is_client_setting(environ[i])) {
            i++;
            continue;
        }
        snprintf(name, sizeof(name), "%.*s", (int)strcspn(environ[i], "="), environ[i]);
        unsetenv(name); /* the next one takes its place */
    }
}

static enum error_class begin(struct dev *dev, struct error *ret_error)
{
    bool added;
    dev_watch_begin(dev);
    enum error_class class = dev_take_flags(dev, ret_error);
    if (class == ERROR_OK)
        class = dev_open_state(dev, ret_error);
    if (class == ERROR_OK)
        class = dev_take_kept(dev, &added, ret_error);
    if (class == ERROR_OK)
        class = loop_new(clock_real(), &dev->loop, ret_error);
    /* Before any thread begins: signals are for this loop. */
    if (class == ERROR_OK)
        class = loop_on_signals(dev->loop, on_signal, dev, ret_error);
    if (class == ERROR_OK)
        class = dev_start_broker(dev, ret_error);
    if (class != ERROR_OK)
        return class;
    dev->children = children_new(dev->loop, on_ended, dev);
    loop_timer_init(&dev->timer, on_timer, dev);
    loop_timer_after(dev->loop, &dev->timer, SHOW_MS);
    return dev_start_services(dev, ret_error);
}

static int run(struct cli *cli)
{
    struct error error = {0};
    if (cli->argument_count > FILES_MAX)
        return cli_usage(cli, "unexpected argument \"%.80s\"", cli->arguments[FILES_MAX]);
    struct dev *dev = calloc(1, sizeof(*dev));
    assert(dev != NULL);
    dev->cli = cli;
    dev->lock = -1;
    leave_out_client_settings();
    dev->began_ms = clock_mono_ms(clock_real());
    enum error_class class = begin(dev, &error);
    if (class == ERROR_OK)
        loop_run(dev->loop);
    children_free(dev->children);
    embedded_free(dev->embedded);
    loop_free(dev->loop);
    dev_close_state(dev);
    dev_watch_free(dev->watch);
    int code = class == ERROR_OK ? dev->code : cli_fail(cli, &error);
    free(dev->example);
    free(dev);
    return code;
}

static const struct cli_flag flags[] = {
    {"agent", "NAME[=URL]",
     "An agent that calls URL; without URL it is simulated, as are all other agents that the "
     "workflows name. NAME=kafka: only its topic is made, and you run it. May be repeated."},
    {"app", "NAME", "An application that gets a replies topic; web by default. May be repeated."},
    {"schedulers", "N", "The number of schedulers; 1 by default."},
    {"supervisors", "N", "The number of supervisors; 1 by default."},
    {"fresh", NULL, "Deletes what an earlier run has kept, first."},
    {"in-memory", NULL, "Keeps nothing: orders end with it."},
    {"watch", NULL, "Deploys a workflow file that changes, as the next version."},
    {"logs", NULL, "Logs to stderr instead of files."},
    {NULL, NULL, NULL},
};

static const struct cli_verb verbs[] = {
    {
        .name = "env",
        .summary =
            "Prints what lets commands in another terminal reach the `reeve dev` whose state "
            "is in this folder.",
        .examples = "eval \"$(reeve dev env)\"",
        .settings = CLI_SETTINGS_ALL,
        .plain = true,
        .run = dev_env,
    },
    {
        .name = "agent",
        .arguments = "NAME[=URL]",
        .summary = "Adds an agent to the `reeve dev` that runs, or gives it another URL. Without a "
                   "URL it is simulated; NAME=kafka makes its topic only, and you run it.",
        .examples = "reeve dev agent payment=http://127.0.0.1:8001",
        .settings = CLI_SETTINGS_ALL,
        .plain = true,
        .run = dev_add_agent,
    },
    {
        .name = "app",
        .arguments = "NAME",
        .summary = "Adds the replies topic of an application to the `reeve dev` that runs.",
        .examples = "reeve dev app shop",
        .settings = CLI_SETTINGS_ALL,
        .plain = true,
        .run = dev_add_app,
    },
    {
        .arguments = "[WORKFLOW.yaml...]",
        .summary = "Runs all services on this machine, with an embedded broker, until Ctrl-C. What "
                   "it keeps is in ./" DEV_FOLDER ", or in --data-dir. A workflow file that has "
                   "changed since is deployed as the next version.",
        .examples = "reeve dev examples/workflows/three-steps.yaml --watch\n"
                    "# a real broker, and real services behind the agents\n"
                    "reeve dev examples/workflows/order-fulfilment.yaml \\\n"
                    "    --kafka-bootstrap-servers 127.0.0.1:9092 --schedulers 2 \\\n"
                    "    --agent stock=http://127.0.0.1:8001 --http-port 8080",
        .flags = flags,
        .settings = CLI_SETTINGS_ALL,
        .plain = true,
        .without_client_settings = true,
        .run = run,
    },
};

const struct cli_noun cli_dev = {"dev", "Everything on one machine.", verbs,
                                 sizeof(verbs) / sizeof(verbs[0])};
