/* SPDX-License-Identifier: Apache-2.0 */
/* Two instances of an HTTP agent on the embedded broker, one of whose services fails: its
 * partitions move to the other instance and return when the service is healthy again.
 * Their health records are read as a router reads them. */
#include "base/goods.h"
#include "kafka/embedded/embedded.h"
#include "platform/logger.h"
#include "replica/agents/agent_table.h"
#include "replica/service/settings.h"
#include "services/agent/core/core.h"
#include "services/agent/health/breaker.h"
#include "services/agent/kinds/kinds.h"
#include "tests/embedded/agent_topics.h"
#include "tests/lib/http_route.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PARTITIONS = 4, WAIT_MS = 90000, ORDERS_MAX = 256 };

struct site {
    struct service_context service;
    struct agent *agent;
    struct http_server *server; /* its remote service; NULL: connections are refused */
    uint32_t posts;
    bool drained;
};

struct lab {
    struct loop *loop;
    struct embedded *embedded;
    struct service_context service; /* of the test's own cluster */
    struct cluster *cluster;
    struct agent_table *table;
    struct broker_reader *readers[PARTITIONS];
    struct heap_arena arena;
    struct site sites[2];
    uint32_t reported[ORDERS_MAX]; /* times, by order */
    uint32_t failures;
    uint32_t ordered;
};

/* ---- the remote service ---- */

static void on_post(struct http_exchange *exchange, void *userdata)
{
    struct site *site = userdata;
    site->posts++;
    http_respond(exchange, 200, "application/json", TEXT("{}"));
}

static void serve(struct lab *lab, struct site *site, uint16_t port)
{
    struct http_server_options options = {.port = port};
    struct error error;
    cr_assert(http_server_new(lab->loop, &options, &site->server, &error) == ERROR_OK, "%s",
              error.message);
    add_route(site->server, "POST", "/{action}", HTTP_OPEN, 0, on_post, site);
}

/* A reserved port, where connections are refused until a server listens. */
static int reserve_port(uint16_t *ret_port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    int one = 1;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    cr_assert_geq(fd, 0);
    cr_assert_eq(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)), 0);
    cr_assert_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    cr_assert_eq(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    *ret_port = ntohs(address.sin_port);
    return fd;
}

/* ---- the lab ---- */

static void on_record(void *ctx, const struct broker_record *record)
{
    struct lab *lab = ctx;
    struct record decoded;
    struct error error;
    unsigned order;
    heap_arena_reset(&lab->arena);
    cr_assert(codec_decode(lab->cluster->codec, record->value, true, &lab->arena.arena, &decoded,
                           &error) == ERROR_OK,
              "%s", error.message);
    const struct report_step *report = &decoded.command.report_step;
    char id[32];
    snprintf(id, sizeof(id), "%.*s", TEXT_ARG(report->order_id));
    cr_assert_eq(sscanf(id, "O%u", &order), 1);
    cr_assert_lt(order, ORDERS_MAX);
    lab->reported[order]++;
    lab->failures += !report->succeeded;
}

static void on_end(void *ctx, int64_t next_offset)
{
    (void)ctx;
    (void)next_offset;
}

static void on_error(void *ctx, const struct error *error)
{
    (void)ctx;
    cr_assert_neq(error->class, ERROR_FATAL, "%s", error->message);
}

static const struct broker_reader_ops reader_ops = {on_record, on_end, on_error};

static void on_ready(void *ctx)
{
    struct lab *lab = ctx;
    lab->table = agent_table_follow(lab->cluster, NULL, NULL);
    for (int32_t i = 0; i < PARTITIONS; i++)
        lab->readers[i] = broker_read(lab->cluster->broker, lab->cluster->topics.commands, i,
                                      BROKER_EARLIEST, &reader_ops, lab);
}

static struct service_context service_of(struct lab *lab, const char *instance,
                                         const char *const settings[])
{
    struct service_context service = {.name = "agent",
                                      .instance_id = instance,
                                      .clock = clock_real(),
                                      .config = config_new(&settings_schema),
                                      .loop = lab->loop,
                                      .metrics = metrics_new()};
    struct error error;
    cr_assert(config_set(service.config, "topics.prefix", "t", &error) == ERROR_OK);
    cr_assert(config_set(service.config, "kafka.bootstrap.servers",
                         embedded_bootstrap(lab->embedded), &error) == ERROR_OK);
    for (size_t i = 0; settings[i] != NULL; i += 2)
        cr_assert(config_set(service.config, settings[i], settings[i + 1], &error) == ERROR_OK,
                  "%s", error.message);
    cr_assert(config_finish(service.config, &error) == ERROR_OK, "%s", error.message);
    return service;
}

static struct lab *lab_open(void)
{
    static struct lab lab;
    struct error error;
    log_set_level(LOG_LEVEL_ERROR);
    cr_assert(loop_new(clock_real(), &lab.loop, &error) == ERROR_OK);
    heap_arena_init(&lab.arena, 1 << 16);
    cr_assert(embedded_new(&(struct embedded_options){0}, &lab.embedded, &error) == ERROR_OK, "%s",
              error.message);
    make_agent_topics(lab.embedded, PARTITIONS);
    lab.service = service_of(&lab, "test", (const char *const[]){NULL});
    cr_assert(cluster_open(&lab.service, 0, on_ready, &lab, &lab.cluster, &error) == ERROR_OK, "%s",
              error.message);
    return &lab;
}

static void site_open(struct lab *lab, struct site *site, const char *instance, uint16_t port)
{
    char url[64];
    struct error error;
    snprintf(url, sizeof(url), "http://127.0.0.1:%u", port);
    site->service = service_of(
        lab, instance,
        (const char *const[]){"agent.name", "pay", "agent.http.url", url, "session.timeout.ms",
                              "4000", "agent.heartbeat.ms", "500", "agent.circuit.errors.min", "5",
                              "agent.circuit.open.ms", "500", "agent.circuit.open.max.ms", "1000",
                              "agent.circuit.successes", "1", NULL});
    cr_assert(agent_new(&site->service, &http_agent_ops, NULL, &site->agent, &error) == ERROR_OK,
              "%s", error.message);
}

static void note_drained(void *ctx)
{
    ((struct site *)ctx)->drained = true;
}

static bool is_drained(void *ctx)
{
    return ((struct site *)ctx)->drained;
}

static void site_close(struct lab *lab, struct site *site)
{
    agent_drain(site->agent, note_drained, site);
    cr_assert(loop_run_until(lab->loop, is_drained, site, WAIT_MS), "drained");
    agent_free(site->agent);
    http_server_free(site->server);
    metrics_free(site->service.metrics);
    config_free(site->service.config);
}

static void lab_close(struct lab *lab)
{
    agent_table_free(lab->table);
    for (int i = 0; i < PARTITIONS; i++)
        broker_reader_close(lab->readers[i]);
    cluster_close(lab->cluster);
    metrics_free(lab->service.metrics);
    config_free(lab->service.config);
    heap_arena_deinit(&lab->arena);
    embedded_free(lab->embedded);
    loop_free(lab->loop);
}

static void on_acked(void *ctx, uint64_t token, int64_t offset, const struct error *error)
{
    (void)ctx;
    (void)token;
    (void)offset;
    cr_assert(error == NULL || !error_is(error), "%s", error->message);
}

static void request(struct lab *lab)
{
    char order[16];
    char key[64];
    struct error error;
    snprintf(order, sizeof(order), "O%u", lab->ordered++);
    snprintf(key, sizeof(key), "%s/Pay/do/0", order);
    struct order_details details = {.order_id = text_of(order),
                                    .customer = TEXT("c"),
                                    .goods = &(struct goods){.currency = TEXT("GBP")},
                                    .workflow = TEXT("w"),
                                    .workflow_version = 1};
    struct step_request step_request = {
        .order_id = text_of(order),
        .ref = {TEXT("Pay"), DIRECTION_DO, 1},
        .agent = TEXT("pay"),
        .action = TEXT("TakePayment"),
        .idempotency_key = text_of(key),
        .do_key = text_of(key),
        .complete_by = clock_wall_ms(clock_real()) + 10 * WAIT_MS,
        .order = &details,
        .decision_offset = lab->ordered,
        .order_version = 1,
    };
    cr_assert(cluster_append(lab->cluster, BROKER_PRODUCER_LOG, "t.requests.pay", -1,
                             text_of(order), RECORD_STEP_REQUEST, &step_request, on_acked, lab, 0,
                             &error) == ERROR_OK,
              "%s", error.message);
}

/* ---- waiting ---- */

static bool all_are_reported(void *ctx)
{
    const struct lab *lab = ctx;
    for (uint32_t i = 0; i < lab->ordered; i++)
        if (lab->reported[i] == 0)
            return false;
    return true;
}

static const struct agent_entry *entry_of(const struct lab *lab, const char *instance)
{
    const struct agent_group *group =
        lab->table != NULL ? agent_table_find(lab->table, TEXT("pay")) : NULL;
    const struct agent_entry *entry = group != NULL ? group->entries : NULL;
    while (entry != NULL && strcmp(entry->instance, instance) != 0)
        entry = entry->next;
    return entry;
}

static uint32_t partitions_of(const struct lab *lab, const char *instance)
{
    const struct agent_entry *entry = entry_of(lab, instance);
    return entry != NULL ? entry->partitions : 0;
}

static bool both_have_some(void *ctx)
{
    const struct lab *lab = ctx;
    return partitions_of(lab, "a") == PARTITIONS / 2 && partitions_of(lab, "b") == PARTITIONS / 2;
}

static bool only_b_has_some(void *ctx)
{
    const struct lab *lab = ctx;
    const struct agent_entry *a = entry_of(lab, "a");
    return a != NULL && a->circuit == AGENT_CIRCUIT_OPEN && a->partitions == 0 &&
           partitions_of(lab, "b") == PARTITIONS;
}

static bool circuit_of_a_is_closed(void *ctx)
{
    const struct agent_entry *a = entry_of(ctx, "a");
    return a != NULL && a->circuit == AGENT_CIRCUIT_CLOSED;
}

static bool no_instance_is_left(void *ctx)
{
    const struct lab *lab = ctx;
    return agent_table_count(lab->table) == 0;
}

static void await(struct lab *lab, bool (*done)(void *), const char *what)
{
    cr_assert(loop_run_until(lab->loop, done, lab, WAIT_MS), "%s", what);
}

Test(agent_circuit_embedded, moves_partitions_away_from_an_unhealthy_instance_and_back)
{
    struct lab *lab = lab_open();
    struct site *a = &lab->sites[0];
    struct site *b = &lab->sites[1];
    uint16_t port;
    int reserved = reserve_port(&port);
    serve(lab, b, 0);
    site_open(lab, a, "a", port);
    site_open(lab, b, "b", http_server_port(b->server));
    await(lab, both_have_some, "both have partitions");
    for (int i = 0; i < 60; i++)
        request(lab);
    await(lab, only_b_has_some, "the partitions of a have moved");
    const struct agent_entry *entry = entry_of(lab, "a");
    cr_assert_gt(entry->errors_permille, 0);
    cr_assert_gt(strlen(entry->last_error), 0);
    cr_assert_eq(entry->capacity, 0);
    await(lab, all_are_reported, "all are reported");
    cr_assert_eq(a->posts, 0);
    cr_assert_geq(b->posts, 60);
    serve(lab, a, port);
    await(lab, both_have_some, "half of the partitions came back");
    for (int i = 0; i < 60; i++)
        request(lab);
    await(lab, all_are_reported, "all are reported again");
    await(lab, circuit_of_a_is_closed, "the circuit is closed");
    cr_assert_gt(a->posts, 0);
    cr_assert_eq(lab->failures, 0, "no failure was reported");
    site_close(lab, a);
    site_close(lab, b);
    await(lab, no_instance_is_left, "those that stopped are gone");
    close(reserved);
    lab_close(lab);
}
