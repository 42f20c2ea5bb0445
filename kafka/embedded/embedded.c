/* SPDX-License-Identifier: Apache-2.0 */
/* The embedded broker's thread and its parts. See embedded.h. */
#include "kafka/embedded/embedded.h"

#include "kafka/embedded/api.h"
#include "kafka/embedded/api_groups.h"

#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

enum { EXPIRE_MS = 60000, ADDRESS_SIZE = 32 };

struct embedded {
    struct embedded_node broker;
    struct loop_wakeup stop;
    struct loop_timer expire;
    char address[ADDRESS_SIZE];
    pthread_t thread;
    bool running;
};

static void on_request(void *ctx, struct peer *peer)
{
    api_handle(ctx, peer);
}

static void on_closed(void *ctx, struct peer *peer)
{
    struct embedded_node *broker = ctx;
    groups_forget_peer(broker->groups, peer);
}

static const struct peers_ops peers_ops = {.request = on_request, .closed = on_closed};

static void on_stop(void *ctx)
{
    struct embedded *embedded = ctx;
    loop_stop(embedded->broker.loop);
}

static void on_expire(void *ctx)
{
    struct embedded *embedded = ctx;
    struct embedded_node *broker = &embedded->broker;
    catalogue_expire(broker->catalogue, clock_wall_ms(loop_clock(broker->loop)));
    loop_timer_after(broker->loop, &embedded->expire, EXPIRE_MS);
}

static void *run(void *ctx)
{
    struct embedded *embedded = ctx;
    loop_run(embedded->broker.loop);
    return NULL;
}

/* Signals are for the threads that were there before. */
static enum error_class start(struct embedded *embedded, struct error *ret_error)
{
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    embedded->running = pthread_create(&embedded->thread, NULL, run, embedded) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return embedded->running
               ? ERROR_OK
               : error_set_as(ret_error, ERROR_RETRY, CODE_EMBEDDED, "embedded broker: no thread");
}

/* They can be listed and described, though no member has come yet. */
static void add_groups(struct embedded_node *broker)
{
    const struct offsets *offsets = catalogue_offsets(broker->catalogue);
    for (const struct offset_row *row = NULL; (row = offsets_next(offsets, row)) != NULL;)
        groups_add(broker->groups, row->group);
}

/* Each partition and each connection takes a descriptor. */
static void allow_descriptors(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit); /* what is not allowed has the limit that it had */
}

static enum error_class open_parts(struct embedded *embedded,
                                   const struct embedded_options *options, struct error *ret_error)
{
    struct embedded_node *broker = &embedded->broker;
    uint64_t max = options->partition_bytes_max;
    allow_descriptors();
    broker->report = options->report;
    broker->report_ctx = options->ctx;
    enum error_class class = loop_new(clock_real(), &broker->loop, ret_error);
    if (class == ERROR_OK)
        class = catalogue_open(options->directory, max != 0 ? max : EMBEDDED_PARTITION_BYTES_MAX,
                               &broker->catalogue, ret_error);
    if (class == ERROR_OK)
        class =
            peers_new(broker->loop, options->port, &peers_ops, broker, &broker->peers, ret_error);
    if (class == ERROR_OK)
        class = loop_wakeup_open(broker->loop, &embedded->stop, on_stop, embedded, ret_error);
    if (class != ERROR_OK)
        return class;
    broker->groups = groups_new(broker->loop, &api_groups_ops);
    add_groups(broker);
    loop_deferred_init(&broker->appended, api_serve_fetches, broker);
    /* Other numbers than those of earlier runs, which partitions remember. */
    broker->next_producer = clock_wall_ms(clock_real()) * 1000;
    loop_timer_init(&embedded->expire, on_expire, embedded);
    loop_timer_after(broker->loop, &embedded->expire, 0);
    return ERROR_OK;
}

enum error_class embedded_new(const struct embedded_options *options,
                              struct embedded **ret_embedded, struct error *ret_error)
{
    struct embedded *embedded = calloc(1, sizeof(*embedded));
    assert(embedded != NULL);
    embedded->stop.fd = -1;
    enum error_class class = open_parts(embedded, options, ret_error);
    if (class == ERROR_OK) {
        snprintf(embedded->address, sizeof(embedded->address), "127.0.0.1:%d",
                 peers_port(embedded->broker.peers));
        class = start(embedded, ret_error);
    }
    if (class == ERROR_OK)
        *ret_embedded = embedded;
    else
        embedded_free(embedded);
    return class;
}

const char *embedded_bootstrap(const struct embedded *embedded)
{
    return embedded->address;
}

void embedded_free(struct embedded *embedded)
{
    if (embedded == NULL)
        return;
    struct embedded_node *broker = &embedded->broker;
    if (embedded->running) {
        loop_wakeup_send(&embedded->stop);
        pthread_join(embedded->thread, NULL);
    }
    peers_free(broker->peers);
    groups_free(broker->groups);
    catalogue_close(broker->catalogue);
    if (embedded->stop.fd >= 0)
        loop_wakeup_close(&embedded->stop);
    loop_free(broker->loop);
    free(embedded);
}
