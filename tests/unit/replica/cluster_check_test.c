/* SPDX-License-Identifier: Apache-2.0 */
/* The number of partitions: fixed when the topics are created. */
#include "platform/logger.h"
#include "replica/cluster/cluster.h"
#include "replica/cluster/membership.h"
#include "tests/lib/site.h"

#include <criterion/criterion.h>
#include <string.h>

enum { PARTITIONS = 2 };

struct site {
    struct clock_manual clock;
    struct broker_memory_cluster *kafka;
    struct service_context service;
    struct cluster *cluster;
    bool ready;
    uint32_t failures;
    struct error failure; /* the last */
};

static void on_ready(void *ctx)
{
    ((struct site *)ctx)->ready = true;
}

static void on_failure(void *ctx, const struct error *error)
{
    struct site *site = ctx;
    site->failures++;
    site->failure = *error;
}

static void settle(struct site *site)
{
    site_settle(site->kafka, site->service.loop);
}

static struct site *site_new(void)
{
    static struct site site;
    log_set_level(LOG_LEVEL_ERROR);
    clock_manual_init(&site.clock, 1000000);
    site.kafka = broker_memory_cluster_new(1, &site.clock.clock);
    SITE_TOPICS(site.kafka, PARTITIONS, "t.commands", "t.events", "t.alerts");
    SITE_TOPICS(site.kafka, 1, "t.schemas");
    site.service = (struct service_context){.name = "test",
                                            .instance_id = "test-1",
                                            .clock = &site.clock.clock,
                                            .on_failure = on_failure,
                                            .on_failure_ctx = &site};
    simulated_service_open(&site.service, "t", NULL);
    return &site;
}

static void open(struct site *site)
{
    site->cluster = site_open_cluster(&site->service, broker_memory_new(site->kafka, "test-1"),
                                      CLUSTER_CHECKS_LOG, on_ready, site);
    settle(site);
}

static void site_free(struct site *site)
{
    cluster_close(site->cluster);
    broker_memory_cluster_free(site->kafka);
    simulated_service_close(&site->service);
}

static void claim(struct site *site, int32_t partition_count)
{
    struct codec *codec = codec_new();
    struct claim record = {
        .claim_id = {{1}}, .instance = TEXT("scheduler"), .partition_count = partition_count};
    site_append(site->kafka, codec, "t.events", 0, record.instance, RECORD_CLAIM, &record);
    codec_free(codec);
}

static void check_failed(const struct site *site, const char *text)
{
    cr_assert_eq(site->failures, 1);
    cr_assert_eq(site->failure.class, ERROR_REJECT);
    cr_assert_eq(site->failure.code, CODE_PARTITIONS_DIFFER);
    cr_assert_not_null(strstr(site->failure.message, text), "%s", site->failure.message);
    cr_assert_eq(site_ends(site->kafka, "t.alerts", PARTITIONS), 1);
}

Test(cluster_check, passes_a_log_with_the_same_number)
{
    struct site *site = site_new();
    broker_memory_append(site->kafka, "t.events", 0, TEXT("x"), TEXT("garbage"));
    claim(site, PARTITIONS);
    open(site);
    cr_assert(site->ready);
    cr_assert_eq(site->failures, 0);
    site_free(site);
}

Test(cluster_check, passes_an_empty_log)
{
    struct site *site = site_new();
    open(site);
    cr_assert(site->ready);
    cr_assert_eq(site->failures, 0);
    site_free(site);
}

/* Partitions were added while nothing ran: all topics agree, the log does not. */
Test(cluster_check, refuses_a_log_that_began_with_another_number)
{
    struct site *site = site_new();
    broker_memory_append(site->kafka, "t.events", 0, TEXT("x"), TEXT("garbage"));
    claim(site, 1);
    open(site);
    cr_assert_not(site->ready);
    check_failed(site, "t.events[0] was claimed when there were 1 partitions, and now there are 2");
    site_free(site);
}

Test(cluster_check, ends_the_service_when_partitions_are_added)
{
    struct site *site = site_new();
    open(site);
    cr_assert(site->ready);
    broker_memory_add_partitions(site->kafka, "t.events", 3);
    settle(site);
    check_failed(site, "t.events has 3 partitions now, and had 2");
    broker_memory_add_partitions(site->kafka, "t.commands", 3);
    settle(site);
    cr_assert_eq(site->failures, 1);
    site_free(site);
}

/* ---- the group learns of them before the metadata is looked at ---- */

static struct membership_partition *refuse(void *ctx, int32_t number, uint32_t assigned_count,
                                           struct error *ret_error)
{
    (void)ctx;
    (void)number;
    (void)assigned_count;
    error_set_foreign(ret_error, ERROR_FATAL, "Test", "not opened");
    return NULL;
}

static void close_nothing(struct membership_partition *partition)
{
    (void)partition;
}

static bool works(struct membership_partition *partition, char *ret_trouble, size_t size)
{
    (void)partition;
    (void)ret_trouble;
    (void)size;
    return true;
}

static void on_left(void *ctx)
{
    (void)ctx;
}

Test(cluster_check, ends_the_service_when_the_group_gives_it_an_added_partition)
{
    static const struct membership_ops ops = {
        .open = refuse, .close = close_nothing, .works = works, .until_then = "opened"};
    static const int32_t added[] = {0, 1, 2};
    struct site *site = site_new();
    open(site);
    struct membership *membership =
        membership_join(site->cluster, site->cluster->topics.commands, &ops, site);
    broker_memory_assign(site->cluster->broker, "t.test", added, 3);
    settle(site);
    check_failed(site, "t.commands has 3 partitions now, and had 2");
    membership_leave(membership, on_left, site);
    settle(site);
    site_free(site);
}
