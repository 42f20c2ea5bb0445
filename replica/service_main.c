/* SPDX-License-Identifier: Apache-2.0 */
/* From a command line to a running service, and out again in order. See service_main.h. */
#include "replica/service_main.h"

#include "platform/files.h"
#include "platform/logger.h"

#include <assert.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

struct run {
    struct service_context context; /* first: service_drained and service_fail find the rest */
    const struct service *service;
    void *state;
    bool started;
    bool draining;
    struct error failure; /* class OK = none */
    struct loop_timer deadline;
    int lock;
    char data_dir[PATH_MAX];
    char port_file[PATH_MAX];
};

/* ---- while it runs ---- */

static bool is_ready(void *ctx, char *ret_reason, size_t reason_size)
{
    struct run *run = ctx;
    if (!run->started) {
        snprintf(ret_reason, reason_size, "starting");
        return false;
    }
    if (disk_guard_trouble(run->context.disk, ret_reason, reason_size))
        return false;
    if (run->context.broker != NULL && broker_trouble(run->context.broker, ret_reason, reason_size))
        return false;
    return run->service->ready == NULL || run->service->ready(run->state, ret_reason, reason_size);
}

static void on_deadline(struct loop *loop, struct loop_timer *timer, void *userdata)
{
    (void)timer;
    (void)userdata;
    log_warning("not drained in time, leaving anyway");
    loop_stop(loop);
}

static void on_signal(struct loop *loop, int signal, void *userdata)
{
    struct run *run = userdata;
    const char *name = signal == SIGTERM ? "SIGTERM" : "SIGINT";
    if (run->draining) {
        log_warning("second signal, leaving at once", LOG_STR("signal", name));
        loop_stop(loop);
        return;
    }
    log_info("draining", LOG_STR("signal", name));
    run->draining = true;
    http_server_drain(run->context.http);
    loop_timer_after(loop, &run->deadline, config_ms(run->context.config, "drain.timeout.ms"));
    if (run->service->drain != NULL)
        run->service->drain(run->state);
    else
        loop_stop(loop);
}

static struct run *run_of(struct service_context *context)
{
    return (struct run *)(context->whole != NULL ? context->whole : context);
}

void service_drained(struct service_context *context)
{
    struct run *run = run_of(context);
    assert(run->draining || run->failure.class != ERROR_OK);
    loop_stop(run->context.loop);
}

void service_fail(struct service_context *context, const struct error *error)
{
    struct run *run = run_of(context);
    assert(error->class != ERROR_OK);
    log_error("cannot go on", LOG_ERR(error));
    if (run->failure.class == ERROR_OK)
        run->failure = *error;
    loop_stop(run->context.loop);
}

/* ---- building it up ---- */

/* A thousand connections and a store per partition need more descriptors than the usual soft
 * limit. */
static void raise_descriptor_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

static int choice_index(const char *chosen, const char *(*name)(int index), int count)
{
    for (int i = 0; i < count; i++) {
        if (strcmp(chosen, name(i)) == 0)
            return i;
    }
    assert(count == 0); /* keys.c and logger.c list the same names */
    return 0;
}

static const char *level_name(int index)
{
    return log_level_name((enum log_level)index);
}

static const char *format_name(int index)
{
    return log_format_name((enum log_format)index);
}

static void open_log(const struct run *run)
{
    const struct config *config = run->context.config;
    int level = choice_index(config_string(config, "log.level"), level_name, LOG_LEVEL_COUNT);
    int format = choice_index(config_string(config, "log.format"), format_name, LOG_FORMAT_COUNT);
    log_setup((enum log_level)level, (enum log_format)format, run->context.name,
              run->context.instance_id);
}

static enum error_class open_data_dir(struct run *run, struct error *ret_error)
{
    const char *set = config_string(run->context.config, "data.dir");
    int size = set[0] != '\0' ? snprintf(run->data_dir, sizeof(run->data_dir), "%s", set)
                              : snprintf(run->data_dir, sizeof(run->data_dir), "reeve-data/%s",
                                         run->service->name);
    int file_size =
        snprintf(run->port_file, sizeof(run->port_file), "%.*s/http.port", size, run->data_dir);
    if (file_size < 0 || (size_t)file_size >= sizeof(run->port_file))
        return error_set(ret_error, ERROR_REJECT, "Config", "data.dir is too long");
    run->context.data_dir = run->data_dir;
    enum error_class class = files_make_dirs(run->data_dir, ret_error);
    return class == ERROR_OK ? files_lock(run->data_dir, &run->lock, ret_error) : class;
}

static enum error_class open_http(struct run *run, struct error *ret_error)
{
    char port[16];
    struct http_server_options options = {
        .host = config_string(run->context.config, "http.host"),
        .port = (uint16_t)config_int(run->context.config, "http.port"),
        .metrics = run->context.metrics,
        .ready = is_ready,
        .ctx = run,
    };
    unlink(run->port_file); /* of an earlier process: nobody must take it for ours */
    enum error_class class =
        http_server_new(run->context.loop, &options, &run->context.http, ret_error);
    if (class != ERROR_OK)
        return class;
    snprintf(port, sizeof(port), "%u\n", (unsigned)http_server_port(run->context.http));
    return files_write_atomic(run->port_file, text_of(port), ret_error);
}

static void watch_disk(struct run *run)
{
    struct disk_guard_options options = {
        .path = run->data_dir,
        .min_bytes = config_int(run->context.config, "disk.free.min.mb") << 20};
    if (run->service->has_stores)
        run->context.disk = disk_guard_new(run->context.loop, run->context.metrics, &options);
}

/* Signals before all else: whatever starts a thread afterwards passes on the mask. */
static enum error_class build(struct run *run, struct error *ret_error)
{
    enum error_class class = loop_new(run->context.clock, &run->context.loop, ret_error);
    if (class == ERROR_OK)
        class = loop_on_signals(run->context.loop, on_signal, run, ret_error);
    if (class == ERROR_OK)
        class = open_data_dir(run, ret_error);
    if (class != ERROR_OK)
        return class;
    loop_timer_init(&run->deadline, on_deadline, run);
    run->context.metrics = metrics_new();
    metrics_add_process(run->context.metrics);
    watch_disk(run);
    return open_http(run, ret_error);
}

static void tear_down(struct run *run)
{
    if (run->context.http != NULL)
        unlink(run->port_file);
    http_server_free(run->context.http);
    disk_guard_free(run->context.disk);
    metrics_free(run->context.metrics);
    loop_free(run->context.loop);
    files_unlock(run->lock);
}

static enum error_class run_service(struct run *run, struct error *ret_error)
{
    enum error_class class = build(run, ret_error);
    if (class != ERROR_OK)
        return class;
    log_info("starting", LOG_STR("data_dir", run->data_dir),
             LOG_STR("http", http_server_url(run->context.http)), LOG_I64("pid", getpid()));
    class = run->service->start(&run->context, &run->state, ret_error);
    if (class != ERROR_OK)
        return class;
    run->started = true;
    loop_run(run->context.loop);
    loop_timer_cancel(run->context.loop, &run->deadline);
    if (run->service->stop != NULL)
        run->service->stop(run->state);
    log_info("stopped");
    return ERROR_OK;
}

/* ---- the main ---- */

static bool asks_for_help(int argc, char *const argv[])
{
    for (int i = 0; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    }
    return false;
}

static void print_help(const struct service *service)
{
    printf("reeve run %s --config /etc/reeve.properties\n"
           "reeve run %s --data-dir /var/lib/reeve/%s --set kafka.compression.type=lz4\n\n"
           "Every key may be a flag, a line KEY = VALUE of the file, or a variable like "
           "REEVE_DATA_DIR.\nkafka.* keys go to librdkafka. KEY.file takes the value from a "
           "file.\n\n",
           service->name, service->name, service->name);
    config_help(stdout, service->bit);
}

static enum error_class check_name(const struct config *config, struct error *ret_error)
{
    if (!config_bool(config, "group.static") || config_is_set(config, "instance.id"))
        return ERROR_OK;
    return error_set(ret_error, ERROR_REJECT, "Config",
                     "group.static needs an instance.id that stays the same from start to start: "
                     "set one, a different one for each instance of a service");
}

int service_main(const struct service *service, int argc, char *const argv[])
{
    if (asks_for_help(argc, argv)) {
        print_help(service);
        return EXIT_CODE_OK;
    }
    struct error error = {0};
    struct run run = {.service = service, .lock = -1};
    run.context = (struct service_context){
        .name = service->name, .clock = clock_real(), .config = config_new()};
    if (config_load(run.context.config, argc, argv, environ, &error) != ERROR_OK ||
        check_name(run.context.config, &error) != ERROR_OK) {
        fprintf(stderr, "reeve run %s: %s\n", service->name, error.message);
        config_free(run.context.config);
        return exit_code_of(&error);
    }
    run.context.instance_id = config_string(run.context.config, "instance.id");
    open_log(&run);
    raise_descriptor_limit();
    if (run_service(&run, &error) != ERROR_OK)
        log_error("cannot start", LOG_ERR(&error));
    else
        error = run.failure;
    tear_down(&run);
    log_setup(log_get_level(), LOG_FORMAT_AUTO, NULL, NULL); /* the names go with the config */
    config_free(run.context.config);
    return exit_code_of(&error);
}
