/* SPDX-License-Identifier: Apache-2.0 */
/* From a command line to a running service, and out again in order. See service.h. */
#include "replica/service/service.h"

#include "platform/files.h"
#include "platform/logger.h"
#include "platform/memory_guard.h"
#include "replica/service/about.h"
#include "replica/service/access.h"
#include "replica/service/settings.h"
#include "replica/service/systemd.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

struct service_process {
    struct service_context context;
    struct service_access access;
    const struct service *service;
    void *state;
    bool started;
    bool draining;
    int64_t started_ms;   /* wall clock */
    struct error failure; /* class OK = none */
    struct loop_timer deadline;
    struct memory_guard memory;
    struct systemd_link systemd;
    int lock;
    char data_dir[PATH_MAX];
    char port_file[PATH_MAX];
    char url_file[PATH_MAX];
};

/* ---- while it runs ---- */

static bool is_ready(void *ctx, char *ret_reason, size_t reason_size)
{
    struct service_process *process = ctx;
    if (!process->started) {
        snprintf(ret_reason, reason_size, "starting");
        return false;
    }
    if (disk_guard_trouble(process->context.disk, ret_reason, reason_size))
        return false;
    if (process->context.in_trouble != NULL &&
        process->context.in_trouble(process->context.in_trouble_ctx, ret_reason, reason_size))
        return false;
    return process->service->ready == NULL ||
           process->service->ready(process->state, ret_reason, reason_size);
}

static bool is_degraded(void *ctx, char *ret_reason, size_t reason_size)
{
    struct service_process *process = ctx;
    return process->started && process->service->degraded != NULL &&
           process->service->degraded(process->state, ret_reason, reason_size);
}

/* What /readyz says, but for "ok". */
static bool has_trouble(void *ctx, char *ret_reason, size_t reason_size)
{
    return !is_ready(ctx, ret_reason, reason_size) || is_degraded(ctx, ret_reason, reason_size);
}

static void serve_about(struct http_exchange *exchange, void *userdata)
{
    struct service_process *process = userdata;
    char reason[ERROR_MESSAGE_SIZE] = "";
    bool ready = !process->draining && is_ready(process, reason, sizeof(reason));
    if (process->draining)
        snprintf(reason, sizeof(reason), "draining");
    else if (ready && !is_degraded(process, reason, sizeof(reason)))
        reason[0] = '\0'; /* the handlers may have written to it */
    const struct service_about about = {.context = &process->context,
                                        .readers = process->service->bit,
                                        .started_ms = process->started_ms,
                                        .ready = ready,
                                        .reason = reason};
    service_about_respond(exchange, &about);
}

static const struct http_route about[] = {
    {.method = "GET",
     .pattern = "/about",
     .permission = HTTP_VIEW,
     .handler = serve_about,
     .query = HTTP_NO_NAMES,
     .summary = "what this process is: its versions, its configuration and how it is doing"},
};
const struct http_routes service_about_routes = HTTP_ROUTES(about);

static void on_deadline(void *ctx)
{
    struct service_process *process = ctx;
    log_warning("not drained in time, leaving anyway");
    loop_stop(process->context.loop);
}

static void on_signal(struct loop *loop, int signal, void *userdata)
{
    struct service_process *process = userdata;
    if (signal == SIGHUP) {
        service_access_reload(&process->access);
        return;
    }
    const char *name = signal == SIGTERM ? "SIGTERM" : "SIGINT";
    if (process->draining) {
        log_warning("second signal, leaving at once", LOG_STR("signal", name));
        loop_stop(loop);
        return;
    }
    log_info("draining", LOG_STR("signal", name));
    process->draining = true;
    systemd_draining(&process->systemd);
    http_server_drain(process->context.http);
    loop_timer_after(loop, &process->deadline,
                     config_ms(process->context.config, "drain.timeout.ms"));
    if (process->service->drain != NULL)
        process->service->drain(process->state);
    else
        loop_stop(loop);
}

void service_drained(struct service_context *context)
{
    struct service_process *process = context->process;
    assert(process->draining || process->failure.class != ERROR_OK);
    loop_stop(process->context.loop);
}

bool service_can_fail(const struct service_context *context)
{
    return context->process != NULL || context->on_failure != NULL;
}

void service_fail(struct service_context *context, const struct error *error)
{
    struct service_process *process = context->process;
    assert(error->class != ERROR_OK);
    log_error("cannot continue", LOG_ERR(error));
    if (context->on_failure != NULL)
        context->on_failure(context->on_failure_ctx, error);
    if (process == NULL)
        return;
    if (process->failure.class == ERROR_OK)
        process->failure = *error;
    loop_stop(process->context.loop);
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
    assert(count == 0); /* settings.c and platform/logger.c list the same names */
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

static void open_log(const struct service_process *process)
{
    const struct config *config = process->context.config;
    int level = choice_index(config_string(config, "log.level"), level_name, LOG_LEVEL_COUNT);
    int format = choice_index(config_string(config, "log.format"), format_name, LOG_FORMAT_COUNT);
    log_setup((enum log_level)level, (enum log_format)format, process->context.name,
              process->context.instance_id);
}

static enum error_class open_data_dir(struct service_process *process, struct error *ret_error)
{
    const char *set = config_string(process->context.config, "data.dir");
    int size = set[0] != '\0' ? snprintf(process->data_dir, sizeof(process->data_dir), "%s", set)
                              : snprintf(process->data_dir, sizeof(process->data_dir),
                                         "reeve-data/%s", process->service->name);
    int file_size = snprintf(process->port_file, sizeof(process->port_file), "%.*s/http.port", size,
                             process->data_dir);
    snprintf(process->url_file, sizeof(process->url_file), "%.*s/http.url", size,
             process->data_dir); /* is shorter */
    if (file_size < 0 || (size_t)file_size >= sizeof(process->port_file))
        return error_set(ret_error, CODE_CONFIG, "data.dir is too long");
    process->context.data_dir = process->data_dir;
    enum error_class class = files_make_dirs(process->data_dir, ret_error);
    return class == ERROR_OK ? files_lock(process->data_dir, &process->lock, ret_error) : class;
}

static void allow_hosts(const struct service_process *process)
{
    const char *const *hosts = NULL;
    size_t count = config_list(process->context.config, "http.allowed.hosts", &hosts);
    for (size_t i = 0; i < count; i++)
        http_server_allow_host(process->context.http, text_of(hosts[i]));
}

/* For programs on this machine; one that finds the port finds the URL as well. */
static enum error_class write_address(const struct service_process *process,
                                      struct error *ret_error)
{
    char port[16];
    char url[160];
    snprintf(port, sizeof(port), "%u\n", (unsigned)http_server_port(process->context.http));
    snprintf(url, sizeof(url), "%s\n", http_server_local_url(process->context.http));
    enum error_class class = files_write_atomic(process->url_file, text_of(url), ret_error);
    return class == ERROR_OK ? files_write_atomic(process->port_file, text_of(port), ret_error)
                             : class;
}

static void forget_address(const struct service_process *process)
{
    unlink(process->port_file);
    unlink(process->url_file);
}

static enum error_class open_http(struct service_process *process, struct error *ret_error)
{
    struct http_server_options options = {
        .host = config_string(process->context.config, "http.host"),
        .port = (uint16_t)config_int(process->context.config, "http.port"),
        .any_port = config_bool(process->context.config, "http.port.fallback"),
        .metrics = process->context.metrics,
        .ready = is_ready,
        .degraded = is_degraded,
        .ctx = process,
        .access = process->access.access,
        .tls = process->access.tls,
        .routes = process->service->routes,
    };
    forget_address(process); /* of an earlier process: clients must not use it */
    enum error_class class =
        http_server_new(process->context.loop, &options, &process->context.http, ret_error);
    if (class == ERROR_OK)
        class = service_access_check(&process->access, process->context.config,
                                     process->context.http, ret_error);
    if (class != ERROR_OK)
        return class;
    allow_hosts(process);
    http_server_routes(process->context.http, &service_about_routes, process);
    return write_address(process, ret_error);
}

static void watch_disk(struct service_process *process)
{
    struct disk_guard_options options = {
        .path = process->data_dir,
        .min_bytes = config_int(process->context.config, "disk.free.min.mb") << 20};
    if (process->service->has_stores)
        process->context.disk =
            disk_guard_new(process->context.loop, process->context.metrics, &options);
}

/* Signals before all else: whatever starts a thread afterwards passes on the mask. */
static enum error_class build(struct service_process *process, struct error *ret_error)
{
    enum error_class class = loop_new(process->context.clock, &process->context.loop, ret_error);
    if (class == ERROR_OK)
        class = loop_on_signals(process->context.loop, on_signal, process, ret_error);
    if (class == ERROR_OK)
        class = open_data_dir(process, ret_error);
    if (class != ERROR_OK)
        return class;
    loop_timer_init(&process->deadline, on_deadline, process);
    process->context.metrics = metrics_new();
    metrics_add_process(process->context.metrics);
    service_about_add_metrics(process->context.metrics);
    watch_disk(process);
    memory_guard_begin(&process->memory, process->context.loop);
    class = service_access_open(process->context.loop, process->context.metrics,
                                process->context.config, &process->access, ret_error);
    return class == ERROR_OK ? open_http(process, ret_error) : class;
}

static void tear_down(struct service_process *process)
{
    if (process->context.http != NULL)
        forget_address(process);
    http_server_free(process->context.http);
    service_access_close(&process->access);
    memory_guard_end(&process->memory);
    disk_guard_free(process->context.disk);
    metrics_free(process->context.metrics);
    loop_free(process->context.loop);
    files_unlock(process->lock);
}

static enum error_class run_service(struct service_process *process, struct error *ret_error)
{
    enum error_class class = build(process, ret_error);
    if (class != ERROR_OK)
        return class;
    process->started_ms = clock_wall_ms(process->context.clock);
    log_info("starting", LOG_STR("data_dir", process->data_dir),
             LOG_STR("http", http_server_url(process->context.http)), LOG_I64("pid", getpid()));
    class = process->service->start(&process->context, &process->state, ret_error);
    if (class != ERROR_OK)
        return class;
    process->started = true;
    systemd_begin(&process->systemd, process->context.loop, has_trouble, process);
    loop_run(process->context.loop);
    loop_timer_cancel(process->context.loop, &process->deadline);
    systemd_end(&process->systemd);
    if (process->service->stop != NULL)
        process->service->stop(process->state);
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

static const struct config_schema *schema_of(const struct service *service)
{
    return service->schema != NULL ? service->schema : &settings_schema;
}

/* What the operator typed: `reeve run NAME`, or a program that was made with libreeve. */
static void print_command(FILE *out, const struct service *service)
{
    bool own = strcmp(program_invocation_short_name, "reeve") == 0;
    fprintf(out, own ? "reeve run %s" : "%s", own ? service->name : program_invocation_short_name);
}

static void print_help(const struct service *service)
{
    print_command(stdout, service);
    printf(" --config /etc/reeve.properties\n");
    print_command(stdout, service);
    printf(" --data-dir /var/lib/reeve/%s --set kafka.compression.type=lz4\n\n"
           "Every key may be a flag, a line KEY = VALUE of the file, or a variable like "
           "REEVE_DATA_DIR.\nkafka.* keys go to librdkafka. KEY.file takes the value from a "
           "file.\n\n",
           service->name);
    config_help(schema_of(service), stdout, service->bit);
}

static enum error_class check_config(const struct service *service, const struct config *config,
                                     struct error *ret_error)
{
    if (config_bool(config, "group.static") && !config_is_set(config, "instance.id"))
        return error_set(ret_error, CODE_CONFIG,
                         "group.static needs an instance.id that stays the same from start to "
                         "start: set one, a different one for each instance of a service");
    return service->check != NULL ? service->check(config, ret_error) : ERROR_OK;
}

/* Orders are in the stores: new files are for the service's user and group only. A stricter umask
 * stays. */
static void restrict_new_files(void)
{
    mode_t mask = umask(S_IWGRP | S_IRWXO);
    umask(mask | S_IWGRP | S_IRWXO);
}

int service_main(const struct service *service, int argc, char *const argv[])
{
    if (asks_for_help(argc, argv)) {
        print_help(service);
        return EXIT_CODE_OK;
    }
    restrict_new_files();
    struct error error = {0};
    struct service_process process = {.service = service, .lock = -1};
    process.context = (struct service_context){.name = service->name,
                                               .process = &process,
                                               .clock = clock_real(),
                                               .config = config_new(schema_of(service))};
    if (config_load(process.context.config, argc, argv, environ, &error) != ERROR_OK ||
        check_config(service, process.context.config, &error) != ERROR_OK) {
        print_command(stderr, service);
        fprintf(stderr, ": %s\n", error.message);
        config_free(process.context.config);
        return exit_code_of(&error);
    }
    process.context.instance_id = config_string(process.context.config, "instance.id");
    open_log(&process);
    if (config_hint(process.context.config) != NULL)
        log_warning("a variable is not a setting",
                    LOG_STR("hint", config_hint(process.context.config)));
    raise_descriptor_limit();
    if (run_service(&process, &error) != ERROR_OK)
        log_error("cannot start", LOG_ERR(&error));
    else
        error = process.failure;
    tear_down(&process);
    log_setup(log_get_level(), LOG_FORMAT_AUTO, NULL, NULL); /* the names go with the config */
    config_free(process.context.config);
    return exit_code_of(&error);
}
