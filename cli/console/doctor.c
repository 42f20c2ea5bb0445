/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve doctor`: what is wrong with this installation, seen from here, and what to do about it. It
 * looks in the order in which things depend on each other, and changes nothing. */
#include "cli/console/console_client.h"
#include "cli/context.h"
#include "cli/field.h"
#include "cli/output.h"
#include "kafka/topics/topics.h"
#include "platform/files.h"
#include "replica/cluster/cluster.h"
#include "replica/service/about.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum result { IS_OK, IS_WARNING, IS_FAILED };
enum {
    TEXT_SIZE = 1024,
    HOST_SIZE = 256,
    WAIT_MS = 15000,
    KAFKA_MAJOR_MIN = 3, /* docs/operate/stability.md */
    KAFKA_MINOR_MIN = 9
};

#define LOG_FIX "its log says more; docs/operate/monitoring.md says what to do"
#define DISK_FIX "free space there, or give the folder a larger disk"

struct doctor {
    struct cli *cli;
    struct output *output;
    enum result worst;
};

static const char *const result_names[] = {"OK", "warning", "failed"};

/* With what to do about it: what ends a line is not cut. */
static json_t *found_of(const json_t *row)
{
    const char *fix = field_text(row, "fix");
    return json_sprintf("%s%s%s", field_text(row, "found"), fix[0] != '\0' ? "; " : "", fix);
}

static const struct output_column columns[] = {
    {"CHECK", "check", output_value, false},
    {"RESULT", "result", output_value, false},
    {"FOUND", "", found_of, false},
    {0},
};

/* `fix` NULL: there is nothing to do, as the result is OK; every other one has a fix. */
static void say(struct doctor *doctor, const char *check, enum result result, const char *fix,
                const char *format, ...) __attribute__((format(printf, 5, 6)));
static void say(struct doctor *doctor, const char *check, enum result result, const char *fix,
                const char *format, ...)
{
    char found[TEXT_SIZE];
    va_list args;
    assert((result == IS_OK) == (fix == NULL));
    va_start(args, format);
    vsnprintf(found, sizeof(found), format, args);
    va_end(args);
    doctor->worst = result > doctor->worst ? result : doctor->worst;
    output_row(doctor->output, json_pack("{s:s, s:s, s:s, s:s?}", "check", check, "result",
                                         result_names[result], "found", found, "fix", fix));
    output_flush(doctor->output);
}

/* ---- this command line ---- */

static void check_configuration(struct doctor *doctor)
{
    const struct cli *cli = doctor->cli;
    const char *context = context_name(cli), *hint = config_hint(cli->config);
    say(doctor, "program", IS_OK, NULL, "reeve %s, librdkafka %s", service_version(),
        kafka_client_version());
    say(doctor, "configuration", IS_OK, NULL, "%s%s%sprefix %s, brokers %s (%s)",
        context[0] != '\0' ? "context " : "", context, context[0] != '\0' ? ", " : "",
        config_string(cli->config, "topics.prefix"),
        config_string(cli->config, "kafka.bootstrap.servers"),
        config_origin(cli->config, "kafka.bootstrap.servers"));
    if (hint != NULL)
        say(doctor, "configuration", IS_WARNING, "rename or unset it", "%s", hint);
}

/* ---- Kafka ---- */

/* Of HOST:PORT, [V6]:PORT, or HOST alone. */
static void host_of(const char *address, size_t size, char ret_host[HOST_SIZE])
{
    const char *end = memchr(address, ']', size);
    size_t host = end != NULL ? (size_t)(end - address) : strcspn(address, ":,");
    bool v6 = size > 0 && address[0] == '[';
    host = host < size ? host : size;
    snprintf(ret_host, HOST_SIZE, "%.*s", (int)(host - v6), address + v6);
}

static void check_names(struct doctor *doctor)
{
    char host[HOST_SIZE];
    bool all = true;
    const char *at = config_string(doctor->cli->config, "kafka.bootstrap.servers");
    for (at += strspn(at, ", "); *at != '\0'; at += strspn(at, ", ")) {
        struct addrinfo *found = NULL;
        size_t size = strcspn(at, ", ");
        const char *scheme = strstr(at, "://");
        const char *address = scheme != NULL && scheme < at + size ? scheme + 3 : at;
        host_of(address, (size_t)(at + size - address), host);
        int code = getaddrinfo(host, NULL, NULL, &found);
        if (code == 0)
            freeaddrinfo(found);
        all = all && code == 0;
        if (code != 0)
            say(doctor, "names", IS_FAILED, "correct kafka.bootstrap.servers or the name server",
                "%s has no address: %s", host, gai_strerror(code));
        at += size;
    }
    if (all)
        say(doctor, "names", IS_OK, NULL, "each host of kafka.bootstrap.servers has an address");
}

/* What brokers say of themselves, as one row. */
struct brokers {
    struct doctor *doctor;
    size_t count;
    char text[TEXT_SIZE];
    char version[TOPICS_VERSION_SIZE]; /* of the first that has one */
    bool differ;
};

static void on_broker(void *ctx, const struct topics_broker *broker)
{
    struct brokers *brokers = ctx;
    int major = 0, minor = 0;
    const char *version = broker->version;
    size_t size = strlen(brokers->text);
    snprintf(brokers->text + size, sizeof(brokers->text) - size, "%s%d at %s:%d (%s%s)",
             brokers->count++ == 0 ? "" : ", ", (int)broker->id, broker->host, broker->port,
             version[0] != '\0' ? "Kafka " : "version unknown", version);
    if (brokers->version[0] == '\0')
        memcpy(brokers->version, version, sizeof(brokers->version));
    brokers->differ =
        brokers->differ || (version[0] != '\0' && strcmp(version, brokers->version) != 0);
    if (sscanf(version, "%d.%d", &major, &minor) == 2 &&
        (major < KAFKA_MAJOR_MIN || (major == KAFKA_MAJOR_MIN && minor < KAFKA_MINOR_MIN)))
        say(brokers->doctor, "brokers", IS_FAILED, "upgrade the broker: docs/operate/kafka.md",
            "broker %d at %s:%d is Kafka %s; reeve needs %d.%d or newer", (int)broker->id,
            broker->host, broker->port, version, KAFKA_MAJOR_MIN, KAFKA_MINOR_MIN);
}

static const char *fix_of(const struct error *error)
{
    switch ((int)error->code) {
    case CODE_BROKER_UNAVAILABLE:
        return "start the brokers, or correct kafka.bootstrap.servers";
    case CODE_LOGIN_REFUSED:
        return "correct kafka.security.protocol, kafka.sasl.* or kafka.ssl.*";
    case CODE_DENIED:
        return "give this user the rights that `reeve topics acl` prints";
    case CODE_CONFIG:
        return "correct the setting";
    default:
        return "docs/reference/errors.md, or run it again if the brokers just start";
    }
}

static bool check_brokers(struct doctor *doctor, const struct kafka_client_options *kafka,
                          int timeout_ms)
{
    struct error error = {0};
    struct brokers brokers = {.doctor = doctor};
    if (topics_list_brokers(kafka, timeout_ms, on_broker, &brokers, &error) != ERROR_OK) {
        say(doctor, "brokers", IS_FAILED, fix_of(&error), "%s", error.message);
        return false;
    }
    if (brokers.differ)
        say(doctor, "brokers", IS_WARNING, "finish the upgrade of the brokers",
            "their versions differ: %.900s", brokers.text);
    else
        say(doctor, "brokers", IS_OK, NULL, "the cluster has %zu: %.900s", brokers.count,
            brokers.text);
    return true;
}

static void on_finding(void *ctx, enum topics_finding finding, const char *topic, const char *line)
{
    struct doctor *doctor = ctx;
    bool brokers = strcmp(topic, TOPICS_BROKERS) == 0;
    assert(finding == TOPICS_DIFFERS);
    say(doctor, brokers ? "brokers" : "topics", IS_FAILED,
        brokers ? "start the brokers that are missing"
                : "`reeve topics apply`, or see `reeve topics check`",
        "%s", line);
}

static void check_topics(struct doctor *doctor, const struct topics_plan *plan)
{
    struct error error = {0};
    enum result before = doctor->worst;
    doctor->worst = IS_OK;
    if (topics_check(plan, on_finding, doctor, &error) != ERROR_OK)
        say(doctor, "topics", IS_FAILED, fix_of(&error), "%s", error.message);
    else if (doctor->worst == IS_OK)
        say(doctor, "topics", IS_OK, NULL, "those of %s are as expected", plan->topics->prefix);
    doctor->worst = doctor->worst > before ? doctor->worst : before;
}

static void check_kafka(struct doctor *doctor)
{
    struct error error = {0};
    struct topics topics;
    struct cluster_kafka_options kafka;
    const struct config *config = doctor->cli->config;
    int64_t wait_ms = config_ms(config, "start.timeout.ms");
    struct topics_plan plan = {.kafka = &kafka.options,
                               .topics = &topics,
                               .timeout_ms = wait_ms < WAIT_MS ? (int)wait_ms : WAIT_MS};
    enum error_class class = topics_init(&topics, config_string(config, "topics.prefix"), &error);
    if (class == ERROR_OK)
        class = cluster_kafka_options(config, 0, &kafka, &error);
    if (class != ERROR_OK)
        say(doctor, "configuration", IS_FAILED, fix_of(&error), "%s", error.message);
    else if (check_brokers(doctor, plan.kafka, plan.timeout_ms))
        check_topics(doctor, &plan);
}

/* ---- disks ---- */

/* Whether the row was written; `free_mb` and `least_mb` (disk.free.min.mb) in MB. */
static bool check_space(struct doctor *doctor, const char *where, long long free_mb,
                        long long least_mb)
{
    if (free_mb >= 2 * least_mb)
        return false;
    say(doctor, "disk", free_mb < least_mb ? IS_FAILED : IS_WARNING, DISK_FIX,
        free_mb < least_mb ? "%s has %lld MB of free space; below disk.free.min.mb, %lld, services "
                             "pause"
                           : "%s has %lld MB of free space; services pause below "
                             "disk.free.min.mb, %lld",
        where, free_mb, least_mb);
    return true;
}

/* The state folder of services on this machine, if it is there: other machines have others. */
static void check_folder(struct doctor *doctor)
{
    const struct config *config = doctor->cli->config;
    const char *path = config_string(config, "data.dir");
    int64_t bytes = 0;
    struct error error;
    path = path[0] != '\0' ? path : "reeve-data";
    if (access(path, F_OK) != 0)
        return;
    if (files_free_bytes(path, &bytes, &error) != ERROR_OK)
        say(doctor, "disk", IS_FAILED, "correct data.dir, or the rights of the folder", "%s",
            error.message);
    else if (faccessat(AT_FDCWD, path, W_OK | X_OK, AT_EACCESS) != 0)
        say(doctor, "disk", errno == EROFS ? IS_FAILED : IS_WARNING,
            errno == EROFS ? "mount it for writing"
                           : "run this as the services' user; if it is that user, give it the "
                             "folder",
            "%s cannot be written by this user: %s", path, strerror(errno));
    else if (!check_space(doctor, path, (long long)(bytes >> 20),
                          (long long)config_int(config, "disk.free.min.mb")))
        say(doctor, "disk", IS_OK, NULL, "%s has %lld MB of free space", path,
            (long long)(bytes >> 20));
}

/* ---- services ---- */

/* The body, or NULL after it said what is wrong. New. */
static json_t *ask(struct doctor *doctor, const char *path_text, const char *check)
{
    struct error error;
    struct console_client client;
    struct console_path path = {.size = 0};
    struct console_answer answer;
    console_path_add(&path, path_text);
    if (console_client_init(doctor->cli, &client, &error) != ERROR_OK ||
        console_query(&client, &path, NULL, &answer, &error) != ERROR_OK) {
        say(doctor, check, IS_FAILED, "start a console, or set console.url", "%s", error.message);
        return NULL;
    }
    json_t *body = json_incref(answer.json);
    if (answer.status != 200) {
        say(doctor, check, IS_FAILED,
            answer.status == 401 || answer.status == 403
                ? "set console.token.file to a token of the role viewer"
            : answer.status >= 500 ? "look into the console's log"
                                   : "correct console.url: a reeve console has this page",
            "%s answers with %d: %s", client.base, answer.status, field_text(body, "detail"));
        json_decref(body);
        body = NULL;
    }
    console_answer_deinit(&answer);
    return body;
}

static const char *console_fix(const char *check)
{
    static const char *const fixes[][2] = {
        {"ready", "wait until it has read the log; `reeve owners` shows how far it is"},
        {"brokers", "make the brokers reachable from the console's machine"},
        {"partitions", "wait until they are read; if that does not help, look into its log"},
        {"decisions", "start a scheduler; `reeve owners` names the partitions without one"},
        {"disk", DISK_FIX},
        {"cluster", "`reeve topics check` lists what differs"},
    };
    for (size_t i = 0; i < sizeof(fixes) / sizeof(fixes[0]); i++)
        if (strcmp(check, fixes[i][0]) == 0)
            return fixes[i][1];
    return LOG_FIX;
}

static bool check_console(struct doctor *doctor)
{
    size_t i;
    const json_t *check;
    bool all = true;
    json_t *body = ask(doctor, "/api/health", "console");
    if (body == NULL)
        return false;
    json_array_foreach(json_object_get(body, "checks"), i, check) {
        if (json_is_true(json_object_get(check, "ok")))
            continue;
        all = false;
        say(doctor, "console", IS_FAILED, console_fix(field_text(check, "name")), "%s: %s",
            field_text(check, "name"), field_text(check, "message"));
    }
    if (all)
        say(doctor, "console", IS_OK, NULL, "its checks pass");
    json_decref(body);
    return true;
}

static const char *setting_of(const json_t *service, const char *key)
{
    size_t i;
    const json_t *setting;
    json_array_foreach(json_object_get(service, "configuration"), i, setting)
        if (strcmp(field_text(setting, "key"), key) == 0)
            return field_text(setting, "value");
    return NULL;
}

static const char *version_of(const json_t *service, const char *key)
{
    const char *version = field_text(service, key);
    return version[0] != '\0' ? version : NULL;
}

/* Says so if two services that have the value have different ones. */
static bool agree(struct doctor *doctor, const json_t *services, const char *what,
                  const char *(*value_of)(const json_t *service, const char *key),
                  enum result result, const char *fix)
{
    size_t i;
    const json_t *service, *first = NULL;
    json_array_foreach(services, i, service) {
        const char *value = value_of(service, what);
        if (value == NULL)
            continue;
        if (first == NULL) {
            first = service;
        } else if (strcmp(value, value_of(first, what)) != 0) {
            say(doctor, "agreement", result, fix, "%s is %.100s in %s %s, and %.100s in %s %s",
                what, value_of(first, what), field_text(first, "service"),
                field_text(first, "instance"), value, field_text(service, "service"),
                field_text(service, "instance"));
            return false;
        }
    }
    return true;
}

static void check_agreement(struct doctor *doctor, const json_t *services)
{
    /* What docs/reference/configuration.md wants to be the same. */
    static const char *const keys[] = {"topics.prefix",     "kafka.bootstrap.servers",
                                       "clock.skew.max.ms", "orders.retention.ms",
                                       "events.keep.ms",    "leader.strategy"};
    bool all = agree(doctor, services, "version", version_of, IS_WARNING,
                     "finish the upgrade: docs/operate/upgrades.md");
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        all = agree(doctor, services, keys[i], setting_of,
                    strcmp(keys[i], "kafka.bootstrap.servers") == 0 ? IS_WARNING : IS_FAILED,
                    "set it to the same value for all services") &&
              all;
    if (all)
        say(doctor, "agreement", IS_OK, NULL,
            "versions and common settings are the same everywhere");
}

/* An instance whose clock is off by more than half of clock.skew.max.ms stops working. */
static void check_clock(struct doctor *doctor, const json_t *service)
{
    const char *limit = setting_of(service, "clock.skew.max.ms");
    const json_t *off = json_object_get(service, "clock_off_ms");
    long long ms = json_integer_value(off);
    long long most = limit != NULL ? strtoll(limit, NULL, 10) / 2 : 0;
    if (json_is_integer(off) && most > 0 && llabs(ms) > most)
        say(doctor, "clocks", IS_FAILED, "synchronize the clocks of the machines (NTP)",
            "the clock of %s %s is %lld ms %s that of the console", field_text(service, "service"),
            field_text(service, "instance"), llabs(ms), ms > 0 ? "ahead of" : "behind");
}

/* What services say of their disks. */
static void check_disks(struct doctor *doctor, const json_t *services)
{
    size_t i;
    char where[2 * HOST_SIZE];
    const json_t *service, *least = NULL;
    long long least_mb = 0;
    bool all = true;
    json_array_foreach(services, i, service) {
        const json_t *bytes = json_object_get(service, "disk_free_bytes");
        const char *limit = setting_of(service, "disk.free.min.mb");
        if (!json_is_integer(bytes))
            continue;
        long long free_mb = (long long)(json_integer_value(bytes) >> 20);
        snprintf(where, sizeof(where), "the disk of %.100s %.128s", field_text(service, "service"),
                 field_text(service, "instance"));
        if (check_space(doctor, where, free_mb, limit != NULL ? strtoll(limit, NULL, 10) : 0))
            all = false;
        if (least == NULL || free_mb < least_mb) {
            least = service;
            least_mb = free_mb;
        }
    }
    if (all && least != NULL)
        say(doctor, "disk", IS_OK, NULL,
            "those of the services have %lld MB of free space or more; %s %s has least", least_mb,
            field_text(least, "service"), field_text(least, "instance"));
}

static void check_service(struct doctor *doctor, const json_t *service)
{
    const char *error = field_text(service, "error"), *reason = field_text(service, "reason");
    if (error[0] != '\0') {
        say(doctor, "services", IS_FAILED, "start it, or correct console.services of the console",
            "%s: %s", field_text(service, "address"), error);
        return;
    }
    if (!json_is_true(json_object_get(service, "ready")) || reason[0] != '\0')
        say(doctor, "services",
            json_is_true(json_object_get(service, "ready")) ? IS_WARNING : IS_FAILED, LOG_FIX,
            "%s %s: %s", field_text(service, "service"), field_text(service, "instance"), reason);
    check_clock(doctor, service);
}

static void check_services(struct doctor *doctor)
{
    size_t i;
    const json_t *service;
    enum result before = doctor->worst;
    json_t *body = ask(doctor, "/api/services", "services");
    const json_t *services = json_object_get(body, "services");
    if (body == NULL)
        return;
    doctor->worst = IS_OK;
    if (json_array_size(services) == 0)
        say(doctor, "services", IS_WARNING, "name them in console.services of the console",
            "the console does not know which services there are");
    json_array_foreach(services, i, service)
        check_service(doctor, service);
    if (doctor->worst == IS_OK)
        say(doctor, "services", IS_OK, NULL, "%zu are ready, and their clocks agree",
            json_array_size(services));
    doctor->worst = doctor->worst > before ? doctor->worst : before;
    check_disks(doctor, services);
    if (json_array_size(services) > 0)
        check_agreement(doctor, services);
    json_decref(body);
}

static int run(struct cli *cli)
{
    struct doctor doctor = {.cli = cli, .output = output_new(cli, columns)};
    output_width(doctor.output, "CHECK", strlen("configuration"));
    output_width(doctor.output, "RESULT", strlen("warning"));
    check_configuration(&doctor);
    check_names(&doctor);
    check_kafka(&doctor);
    check_folder(&doctor);
    if (check_console(&doctor))
        check_services(&doctor);
    return output_finish(doctor.output,
                         doctor.worst == IS_FAILED ? EXIT_CODE_NEGATIVE : EXIT_CODE_OK);
}

static const struct cli_verb verbs[] = {
    {
        .summary =
            "Examines the installation, seen from here: configuration, names, brokers and their "
            "versions, topics, disks, the console, services, their clocks and whether they agree. "
            "Each line is OK, or a warning or failure with what to do about it. Changes nothing. "
            "Exit code 1: a check failed.",
        .examples = "reeve doctor\n"
                    "reeve doctor --context production --output json",
        .flags = console_flags,
        .run = run,
    },
};

const struct cli_noun cli_doctor = {"doctor", "Examines the installation.", verbs,
                                    sizeof(verbs) / sizeof(verbs[0])};
