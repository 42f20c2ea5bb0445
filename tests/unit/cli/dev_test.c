/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve dev` without services: what is an agent, when a service starts again, and in which order
 * processes are stopped. */
#include "cli/dev/dev_internal.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static void expect(const char *pair, const char *name, enum dev_agent_kind kind, const char *url)
{
    struct error error = {0};
    struct dev_agent agent;
    cr_assert_eq(dev_agent_parse(pair, &agent, &error), ERROR_OK, "%s: %s", pair, error.message);
    cr_expect_str_eq(agent.name, name);
    cr_expect_eq(agent.kind, kind, "%s", pair);
    cr_expect_str_eq(agent.url, url);
}

static void refuse(const char *pair, const char *part)
{
    struct error error = {0};
    struct dev_agent agent = {.name = "untouched"};
    cr_expect_eq(dev_agent_parse(pair, &agent, &error), ERROR_REJECT, "%s", pair);
    cr_expect_eq(error.code, CODE_USAGE);
    cr_expect(strstr(error.message, part) != NULL, "%s: %s", pair, error.message);
    cr_expect_str_eq(agent.name, "untouched");
}

Test(cli_dev, takes_agents_as_users_write_them)
{
    expect("stock", "stock", DEV_AGENT_SIMULATED, "");
    expect("stock=sim", "stock", DEV_AGENT_SIMULATED, "");
    expect("stock=kafka", "stock", DEV_AGENT_KAFKA, "");
    expect("stock=http://127.0.0.1:1/a=b", "stock", DEV_AGENT_HTTP, "http://127.0.0.1:1/a=b");
    expect("stock=https://example.com", "stock", DEV_AGENT_HTTP, "https://example.com");
}

Test(cli_dev, refuses_what_is_not_an_agent)
{
    char longest[AGENT_URL_BYTES_MAX + 32] = "a=http://";
    refuse("", "expected 1 to 64 letters");
    refuse("=kafka", "expected 1 to 64 letters");
    refuse("..", "other than");
    refuse("a/b", "expected 1 to 64 letters");
    refuse("a=", "expected NAME, NAME=kafka, or NAME=URL");
    refuse("a=ftp://x", "expected NAME, NAME=kafka, or NAME=URL");
    memset(longest + strlen(longest), 'x', AGENT_URL_BYTES_MAX - strlen("http://"));
    expect(longest, "a", DEV_AGENT_HTTP, longest + strlen("a="));
    longest[strlen(longest)] = 'x'; /* the rest is zeros */
    refuse(longest, "at most 500 bytes");
}

Test(cli_dev, waits_longer_for_a_service_that_keeps_ending)
{
    static const int64_t expected[] = {1000, 2000, 4000, 8000, 16000, 30000, 30000};
    for (int i = 0; i < 7; i++)
        cr_expect_eq(child_again_ms(i + 1), expected[i], "%d", i + 1);
    cr_expect_eq(child_again_ms(1000), 30000);
}

/* ---- the end ---- */

struct stop {
    char folder[PATH_MAX];
    struct loop *loop;
    struct children *children;
    struct loop_timer timer;
};

static bool holds(const struct stop *stop, const char *file, const char *expected)
{
    char path[PATH_MAX + 32];
    char *content = NULL;
    size_t size;
    snprintf(path, sizeof(path), "%s/%s", stop->folder, file);
    bool same =
        files_read(path, 256, &content, &size, NULL) == ERROR_OK && strcmp(content, expected) == 0;
    free(content);
    return same;
}

static void on_stopped(void *ctx)
{
    struct stop *stop = ctx;
    loop_stop(stop->loop);
}

static void on_ended(void *ctx, struct child *child, int exit_code)
{
    (void)ctx;
    cr_assert_fail("%s has ended with %d", child_name(child), exit_code);
}

static void stop_when_up(void *ctx)
{
    struct stop *stop = ctx;
    if (holds(stop, "broker/log", "up\n") && holds(stop, "service/log", "up\n"))
        children_stop(stop->children, on_stopped);
    else
        loop_timer_after(stop->loop, &stop->timer, 10);
}

/* A shell that says in `ends` when it ends, after `seconds`. */
static void start_shell(struct stop *stop, char *name, enum child_kind kind, const char *seconds)
{
    char directory[PATH_MAX + 32], script[PATH_MAX + 256];
    char flag[] = "-c";
    struct child *child;
    struct error error;
    snprintf(directory, sizeof(directory), "%s/%s", stop->folder, name);
    snprintf(script, sizeof(script),
             "trap 'sleep %s; echo %s >>%s/ends; exit 0' TERM; echo up; while :; do sleep 1; done",
             seconds, name, stop->folder);
    char *arguments[] = {flag, script, NULL};
    const struct child_options options = {.name = name,
                                          .directory = directory,
                                          .kind = kind,
                                          .program = "/bin/sh",
                                          .arguments = arguments};
    cr_assert_eq(files_make_dirs(directory, &error), ERROR_OK, "%s", error.message);
    cr_assert_eq(children_start(stop->children, &options, &child, &error), ERROR_OK, "%s",
                 error.message);
    cr_assert_eq(child_is_ready(child), kind == CHILD_BROKER);
}

Test(cli_dev, stops_the_broker_after_the_services, .timeout = 60)
{
    struct stop stop = {.folder = "/tmp/reeve-dev-stop-XXXXXX"};
    struct error error;
    char broker[] = "broker", service[] = "service";
    cr_assert_not_null(mkdtemp(stop.folder));
    cr_assert_eq(loop_new(clock_real(), &stop.loop, &error), ERROR_OK, "%s", error.message);
    stop.children = children_new(stop.loop, on_ended, &stop);
    loop_timer_init(&stop.timer, stop_when_up, &stop);
    start_shell(&stop, broker, CHILD_BROKER, "0");
    start_shell(&stop, service, CHILD_SERVICE, "0.3");
    loop_timer_after(stop.loop, &stop.timer, 10);
    loop_run(stop.loop);
    cr_expect(holds(&stop, "ends", "service\nbroker\n"));
    children_free(stop.children);
    loop_free(stop.loop);
    files_remove_tree(stop.folder, NULL);
}
