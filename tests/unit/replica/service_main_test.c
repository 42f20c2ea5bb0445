/* SPDX-License-Identifier: Apache-2.0 */
/* The life cycle of a service, in the process of the test, which sends the signals to itself. */
#include "replica/service/service.h"

#include "platform/files.h"
#include "platform/http/client.h"
#include "platform/logger.h"
#include "replica/service/settings.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { TRACE_SIZE = 512 };

static char folder[64];
static char trace[TRACE_SIZE];
static int log_fd;

static struct service_context *context;
static struct http_client *client;
static struct error start_error;
static bool warm;
static bool slow;
static const char *slow_reason = "slow";
static bool drains;
static bool ask_when_draining;
static void (*script)(void); /* runs once the loop does */
static struct loop_deferred script_work;

static void note(const char *what)
{
    size_t size = strlen(trace);
    snprintf(trace + size, sizeof(trace) - size, "%s ", what);
}

static void open_folder(void)
{
    snprintf(folder, sizeof(folder), "/tmp/reeve-service-XXXXXX");
    cr_assert(mkdtemp(folder) != NULL);
    log_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    log_set_fd(log_fd);
}

static void close_folder(void)
{
    log_set_fd(-1);
    close(log_fd);
    files_remove_tree(folder, NULL);
}

TestSuite(service_main, .init = open_folder, .fini = close_folder);

static void ask_readyz(void (*then)(void));
static void end_life(void);

static void run_script(void *ctx)
{
    (void)ctx;
    script();
}

static enum error_class start(struct service_context *given, void **ret_state,
                              struct error *ret_error)
{
    note("start");
    context = given;
    if (start_error.class != ERROR_OK) {
        *ret_error = start_error;
        return start_error.class;
    }
    struct http_client_options options = {.close_idle = true};
    cr_assert(http_client_new(context->loop, &options, &client, ret_error) == ERROR_OK);
    loop_deferred_init(&script_work, run_script, NULL);
    loop_defer(context->loop, &script_work);
    *ret_state = &warm;
    return ERROR_OK;
}

static bool ready(void *state, char *ret_reason, size_t reason_size)
{
    snprintf(ret_reason, reason_size, "warming up");
    return *(bool *)state;
}

static void drain(void *state)
{
    (void)state;
    note("drain");
    if (ask_when_draining)
        ask_readyz(end_life);
    if (drains)
        service_drained(context);
}

static bool degraded(void *state, char *ret_reason, size_t reason_size)
{
    (void)state;
    snprintf(ret_reason, reason_size, "%s", slow_reason);
    return slow;
}

static void stop(void *state)
{
    (void)state;
    note("stop");
    http_client_free(client);
}

static const struct service service = {.name = "tester",
                                       .bit = SETTINGS_SCHEDULER,
                                       .start = start,
                                       .ready = ready,
                                       .degraded = degraded,
                                       .drain = drain,
                                       .stop = stop};

static int run(const char *flag)
{
    char *argv[] = {"--data-dir", folder, "--instance-id=t-1", (char *)(uintptr_t)flag};
    return service_main(&service, flag != NULL ? 4 : 3, argv);
}

/* ---- asking /readyz, from inside ---- */

static void (*next)(void);

static void on_answer(const struct http_result *result, void *userdata)
{
    char text[64];
    (void)userdata;
    snprintf(text, sizeof(text), "%d:%.*s", result->status, (int)strcspn(result->body.data, "\n"),
             result->body.data);
    note(text);
    next();
}

static void ask_readyz(void (*then)(void))
{
    char url[PATH_MAX];
    char path[PATH_MAX];
    char *port = NULL;
    char *base = NULL;
    size_t size = 0;
    snprintf(path, sizeof(path), "%s/http.port", context->data_dir);
    cr_assert(files_read(path, 16, &port, &size, NULL) == ERROR_OK);
    snprintf(path, sizeof(path), "%s/http.url", context->data_dir);
    cr_assert(files_read(path, 64, &base, &size, NULL) == ERROR_OK);
    snprintf(url, sizeof(url), "http://127.0.0.1:%s", port);
    cr_assert_str_eq(base, url, "%s", base);
    url[strcspn(url, "\n")] = '\0';
    strncat(url, "/readyz", sizeof(url) - strlen(url) - 1);
    free(base);
    free(port);
    next = then;
    struct http_request request = {.method = "GET", .url = url, .timeout_ms = 20000};
    cr_assert(http_client_send(client, &request, on_answer, NULL, NULL) == ERROR_OK);
}

static void end_life(void)
{
    service_drained(context);
}

static void terminate(void)
{
    cr_assert(kill(getpid(), SIGTERM) == 0);
    ask_when_draining = true;
}

static void get_slow(void)
{
    slow = true;
    ask_readyz(terminate);
}

static void get_warm(void)
{
    warm = true;
    ask_readyz(get_slow);
}

static void live(void)
{
    cr_assert_str_eq(context->instance_id, "t-1");
    cr_assert_str_eq(context->data_dir, folder);
    ask_readyz(get_warm);
}

Test(service_main, runs_drains_and_stops)
{
    char path[PATH_MAX];
    int lock = -1;
    script = live;
    cr_assert(run(NULL) == EXIT_CODE_OK);
    cr_assert_str_eq(trace,
                     "start 503:warming up 200:ok 200:degraded: slow drain 503:draining stop ");
    snprintf(path, sizeof(path), "%s/http.port", folder);
    cr_assert(!files_exists(path));
    snprintf(path, sizeof(path), "%s/http.url", folder);
    cr_assert(!files_exists(path));
    cr_assert(files_lock(folder, &lock, NULL) == ERROR_OK, "the lock is given back");
    files_unlock(lock);
}

static void signal_once(void)
{
    cr_assert(kill(getpid(), SIGINT) == 0);
}

static void signal_twice(void)
{
    cr_assert(kill(getpid(), SIGTERM) == 0);
    cr_assert(kill(getpid(), SIGINT) == 0);
}

Test(service_main, stops_at_once_when_drained)
{
    script = signal_once;
    drains = true;
    cr_assert(run("--drain-timeout-ms=1d") == EXIT_CODE_OK);
    cr_assert_str_eq(trace, "start drain stop ");
}

/* A stricter umask stays. */
Test(service_main, lets_only_its_user_and_group_read_its_files)
{
    static const mode_t masks[][2] = {{022, 027}, {0, 027}, {077, 077}};
    for (size_t i = 0; i < sizeof(masks) / sizeof(masks[0]); i++) {
        umask(masks[i][0]);
        script = signal_once;
        drains = true;
        cr_assert_eq(run("--drain-timeout-ms=1d"), EXIT_CODE_OK);
        cr_assert_eq(umask(022), masks[i][1]);
    }
}

Test(service_main, stops_a_service_that_does_not_drain)
{
    script = signal_once;
    cr_assert(run("--drain-timeout-ms=20") == EXIT_CODE_OK);
    cr_assert_str_eq(trace, "start drain stop ");
}

Test(service_main, stops_at_the_second_signal)
{
    script = signal_twice;
    cr_assert(run("--drain-timeout-ms=1d") == EXIT_CODE_OK);
    cr_assert_str_eq(trace, "start drain stop ");
}

static void fail(void)
{
    struct error error = {0};
    error_set(&error, CODE_BROKER_UNAVAILABLE, "no broker answers");
    service_fail(context, &error);
}

Test(service_main, exits_with_the_code_of_a_failure)
{
    script = fail;
    cr_assert(run(NULL) == EXIT_CODE_UNAVAILABLE);
    cr_assert_str_eq(trace, "start stop ");
}

Test(service_main, exits_with_the_code_of_a_failed_start)
{
    static const struct {
        enum error_code code;
        int exit_code;
    } cases[] = {{CODE_BROKER_UNAVAILABLE, EXIT_CODE_UNAVAILABLE},
                 {CODE_TOPICS_MISSING, EXIT_CODE_DATA},
                 {CODE_CONFIG, EXIT_CODE_CONFIG},
                 {CODE_SYSTEM, EXIT_CODE_INTERNAL}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        error_set(&start_error, cases[i].code, "no");
        cr_assert(run(NULL) == cases[i].exit_code, "%s", error_code_name(cases[i].code));
    }
    cr_assert_str_eq(trace, "start start start start ");
}

Test(service_main, starts_nothing_on_usage_errors_or_a_busy_directory)
{
    int lock = -1;
    cr_assert(run("--data-dri=/x") == EXIT_CODE_USAGE);
    cr_assert(run("--http-port=x") == EXIT_CODE_CONFIG);
    cr_assert(files_lock(folder, &lock, NULL) == ERROR_OK);
    cr_assert(run(NULL) == EXIT_CODE_INTERNAL);
    files_unlock(lock);
    cr_assert(run("--http-host=nowhere.invalid") == EXIT_CODE_CONFIG);
    cr_assert(run("--help") == EXIT_CODE_OK);
    cr_assert_str_eq(trace, "");
}

/* ---- under systemd ---- */

static int manager; /* its end of NOTIFY_SOCKET */

static void be_managed(const char *watchdog_us)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof(address.sun_path), "%s/notify", folder);
    manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    cr_assert(manager >= 0);
    cr_assert(bind(manager, (struct sockaddr *)&address, sizeof(address)) == 0);
    cr_assert(setenv("NOTIFY_SOCKET", address.sun_path, true) == 0);
    cr_assert(setenv("WATCHDOG_USEC", watchdog_us, true) == 0);
}

/* The next message, "" if there is none. */
static const char *told(void)
{
    static char message[TRACE_SIZE];
    ssize_t size = recv(manager, message, sizeof(message) - 1, 0);
    message[size > 0 ? size : 0] = '\0';
    return message;
}

static void end_managed_life(void *ctx)
{
    (void)ctx;
    cr_assert(kill(getpid(), SIGTERM) == 0);
}

static struct loop_timer managed_life;

static void live_managed(void)
{
    warm = true;
    loop_timer_init(&managed_life, end_managed_life, NULL);
    loop_timer_after(context->loop, &managed_life, 50);
}

/* A watchdog of 20 ms hears of it each 10 ms. */
Test(service_main, tells_systemd_how_it_is_doing)
{
    script = live_managed;
    drains = true;
    be_managed("20000");
    cr_assert_eq(run(NULL), EXIT_CODE_OK);
    cr_assert_str_eq(told(), "READY=1");
    cr_assert_str_eq(told(), "WATCHDOG=1");
    cr_assert_str_eq(told(), "STATUS=warming up");
    cr_assert_str_eq(told(), "WATCHDOG=1");
    cr_assert_str_eq(told(), "STATUS=ready");
    cr_assert_str_eq(told(), "WATCHDOG=1", "each status is sent once");
    const char *last = told();
    while (strcmp(last, "WATCHDOG=1") == 0)
        last = told();
    cr_assert_str_eq(last, "STOPPING=1\nSTATUS=draining");
    cr_assert_str_eq(told(), "");
}

/* Each line would be an assignment, such as MAINPID=1. */
Test(service_main, tells_systemd_the_first_line_of_a_status)
{
    script = signal_once;
    drains = warm = slow = true;
    slow_reason = "away\nMAINPID=1";
    be_managed("0");
    cr_assert_eq(run(NULL), EXIT_CODE_OK);
    cr_assert_str_eq(told(), "READY=1");
    cr_assert_str_eq(told(), "WATCHDOG=1");
    cr_assert_str_eq(told(), "STATUS=away");
}

Test(service_main, tells_systemd_nothing_of_a_failed_start)
{
    error_set(&start_error, CODE_TOPICS_MISSING, "no");
    be_managed("0");
    cr_assert_eq(run(NULL), EXIT_CODE_DATA);
    cr_assert_str_eq(told(), "");
}
