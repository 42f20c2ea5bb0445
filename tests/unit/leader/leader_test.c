/* SPDX-License-Identifier: Apache-2.0 */
/* A candidate over the broker in memory: what it does with records that it cannot read. */
#include "leader/sdk/run.c" /* the fields of a candidate */
#include "tests/lib/site.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <unistd.h>

enum { STEPS_MAX = 1000, STEP_MS = 100 };

struct site {
    struct clock_manual clock;
    struct broker_memory_cluster *kafka;
    struct service_context service;
    struct cluster *cluster;
    struct leader *leader;
};

static void site_on_begin(void *ctx, int64_t token)
{
    (void)ctx;
    (void)token;
}

static void site_on_cancel(void *ctx, enum election_reason reason)
{
    struct site *site = ctx;
    (void)reason;
    leader_ended(site->leader);
}

static void run(struct site *site, int64_t ms)
{
    for (int64_t at = 0; at < ms; at += STEP_MS) {
        do {
            broker_memory_settle(site->kafka, STEPS_MAX);
        } while (loop_once(site->service.loop, 0) > 0);
        clock_manual_advance(&site->clock, STEP_MS);
    }
}

static int64_t records(const struct site *site)
{
    return site_end(site->kafka, "t.leadership", 0);
}

static struct site *site_new(void)
{
    static struct site site;
    log_set_level(LOG_LEVEL_ERROR);
    clock_manual_init(&site.clock, 1000000);
    site.kafka = broker_memory_cluster_new(1, &site.clock.clock);
    SITE_TOPICS(site.kafka, 1, "t.commands", "t.events", "t.schemas", "t.leadership");
    site.service = (struct service_context){
        .name = "test", .instance_id = "test-1", .clock = &site.clock.clock};
    simulated_service_open(&site.service, "t", NULL);
    site.cluster =
        site_open_cluster(&site.service, broker_memory_new(site.kafka, "test-1"), 0, NULL, NULL);
    run(&site, 1000);
    cr_assert(site.cluster->ready);
    return &site;
}

static void site_free(struct site *site)
{
    leader_free(site->leader);
    cluster_close(site->cluster);
    broker_memory_cluster_free(site->kafka);
    simulated_service_close(&site->service);
}

static void begin_candidate(struct site *site)
{
    static const struct leader_ops ops = {site_on_begin, site_on_cancel};
    static const struct reeve_leader_options options = {.role = "auditor"};
    struct error error;
    cr_assert_eq(leader_new(site->cluster, &options, &ops, site, &site->leader, &error), ERROR_OK,
                 "%s", error.message);
}

/* It may be a newer version's claim: as long as the schemas cannot be read, that is open. */
Test(leader, waits_while_the_schema_of_a_record_cannot_be_looked_for)
{
    struct site *site = site_new();
    broker_memory_append(site->kafka, "t.leadership", 0, TEXT("auditor"), TEXT("\xc3\x01unknown!"));
    broker_memory_set_partition_fault(site->kafka, "t.schemas", 0, PARTITION_UNREADABLE);
    begin_candidate(site);
    run(site, 120000);
    cr_assert_eq(records(site), 1);
    broker_memory_clear_partition_faults(site->kafka);
    run(site, 120000);
    cr_assert_gt(records(site), 1);
    site_free(site);
}

static void put_claim(struct site *site, const char *role)
{
    struct leadership claim = {.role = text_of(role),
                               .kind = LEADERSHIP_CLAIM,
                               .instance = TEXT("another"),
                               .candidate_id = {{7}},
                               .term = -1,
                               .lease_ms = 10000,
                               .said_at = site->clock.now_wall_ms};
    site_append(site->kafka, site->cluster->codec, "t.leadership", 0, claim.role, RECORD_LEADERSHIP,
                &claim);
}

/* A candidate that did not count it would lead next to those that did. */
Test(leader, counts_a_claim_that_another_role_or_a_broken_record_precedes)
{
    static const char *const firsts[] = {"another-role", "auditor"};
    for (size_t i = 0; i < sizeof(firsts) / sizeof(firsts[0]); i++) {
        struct site *site = site_new();
        broker_memory_append(site->kafka, "t.leadership", 0, text_of(firsts[i]), TEXT("x"));
        put_claim(site, "auditor");
        begin_candidate(site);
        run(site, 1000);
        cr_assert_eq(leader_election(site->leader)->log.term, 1, "%s", firsts[i]);
        site_free(site);
    }
}

/* It waits for the right, which may be granted at any time, and says what it waits for. */
Test(leader, names_the_right_that_is_missing)
{
    char lines[8192] = "";
    char reason[256] = "";
    int ends[2];
    struct site *site = site_new();
    broker_memory_set_partition_fault(site->kafka, "t.leadership", 0, PARTITION_REFUSES);
    cr_assert(pipe2(ends, O_NONBLOCK) == 0);
    log_set_fd(ends[1]);
    log_setup(LOG_LEVEL_WARNING, LOG_FORMAT_LOGFMT, NULL, NULL);
    begin_candidate(site);
    struct reeve_leader candidate = {.leader = site->leader};
    run(site, 60000);
    cr_assert_gt(read(ends[0], lines, sizeof(lines) - 1), 0);
    cr_expect(strstr(lines, "this user may not Write the topic of elections: grant the right") &&
                  strstr(lines, "topic=t.leadership"),
              "%s", lines);
    cr_expect(!ready(&candidate, reason, sizeof(reason)));
    cr_expect_str_eq(reason, "cannot claim the role: this user may not Write t.leadership: grant "
                             "the right");
    broker_memory_clear_partition_faults(site->kafka);
    run(site, 60000);
    cr_expect(ready(&candidate, reason, sizeof(reason)), "%s", reason);
    cr_expect(leader_leads(site->leader));
    log_set_fd(-1);
    close(ends[0]);
    close(ends[1]);
    site_free(site);
}

static void site_on_stopped(void *ctx)
{
    (void)ctx;
}

Test(leader, warns_of_nothing_when_it_is_stopped)
{
    char lines[4096] = "";
    int ends[2];
    struct site *site = site_new();
    begin_candidate(site);
    run(site, 60000);
    cr_assert(pipe2(ends, O_NONBLOCK) == 0);
    log_set_fd(ends[1]);
    log_setup(LOG_LEVEL_INFO, LOG_FORMAT_LOGFMT, NULL, NULL);
    leader_stop(site->leader, site_on_stopped, site);
    run(site, 1000);
    cr_assert_gt(read(ends[0], lines, sizeof(lines) - 1), 0);
    cr_assert(strstr(lines, "giving up the lead") != NULL, "%s", lines);
    cr_assert(strstr(lines, "level=warning") == NULL, "%s", lines);
    log_set_fd(-1);
    close(ends[0]);
    close(ends[1]);
    site_free(site);
}

/* The process was paused: its loop has not noticed yet that the lease is over. */
Test(leader, tells_a_task_that_wakes_up_that_its_lease_is_over)
{
    struct site *site = site_new();
    struct reeve_leader candidate = {.clock = &site->clock.clock};
    begin_candidate(site);
    run(site, 120000);
    candidate.leader = site->leader;
    pthread_mutex_init(&candidate.mutex, NULL);
    cr_assert(reeve_leader_wait(&candidate, 0));
    clock_manual_advance(&site->clock, 3600000);
    cr_assert_not(reeve_leader_wait(&candidate, 0));
    pthread_mutex_destroy(&candidate.mutex);
    site_free(site);
}
