/* SPDX-License-Identifier: Apache-2.0 */
/* The replica shortfall in the brokers' metadata, as a message for operators. */
#include "kafka/client_internal.h"
#include "kafka/topics/topics.h"

#include <criterion/criterion.h>

static int32_t ids[] = {1, 2, 3};

static struct rd_kafka_metadata_partition partition(int32_t id, int32_t leader, int replicas,
                                                    int in_sync)
{
    return (struct rd_kafka_metadata_partition){.id = id,
                                                .leader = leader,
                                                .replica_cnt = replicas,
                                                .replicas = ids,
                                                .isr_cnt = in_sync,
                                                .isrs = ids};
}

static void add(struct kafka_shortfall *shortfall, char *topic,
                struct rd_kafka_metadata_partition *partitions, int count)
{
    const struct rd_kafka_metadata_topic metadata = {
        .topic = topic, .partition_cnt = count, .partitions = partitions};
    kafka_shortfall_add(shortfall, &metadata);
}

Test(kafka_shortfall, reports_one_broker_instead_of_three)
{
    char text[KAFKA_TROUBLE_SIZE] = "untouched";
    struct kafka_shortfall shortfall = {0};
    struct rd_kafka_metadata_partition fine[] = {partition(0, 1, 3, 3), partition(1, 2, 3, 2),
                                                 partition(2, 1, 2, 1), partition(3, 1, 1, 1)};
    add(&shortfall, "orders.events", fine, 4);
    cr_assert_not(kafka_shortfall_text(&shortfall, 2, text, sizeof(text)));
    cr_assert_str_eq(text, "untouched");
}

Test(kafka_shortfall, names_the_first_and_counts_the_others)
{
    char text[KAFKA_TROUBLE_SIZE];
    struct kafka_shortfall shortfall = {0};
    struct rd_kafka_metadata_partition commands[] = {partition(0, 1, 3, 2)};
    struct rd_kafka_metadata_partition events[] = {partition(0, 1, 3, 3), partition(1, 3, 3, 1),
                                                   partition(2, -1, 3, 1)};
    add(&shortfall, "orders.commands", commands, 1);
    add(&shortfall, "orders.events", events, 3);
    cr_assert(kafka_shortfall_text(&shortfall, 1, text, sizeof(text)));
    cr_assert_str_eq(text,
                     "2 of 4 partitions accept no records: orders.events[1] has 1 of 3 replicas "
                     "in sync and needs 2 (min.insync.replicas); 1 broker is up");
}

Test(kafka_shortfall, reports_a_partition_without_a_leader)
{
    char text[KAFKA_TROUBLE_SIZE];
    struct kafka_shortfall shortfall = {0};
    struct rd_kafka_metadata_partition events[] = {partition(7, -1, 1, 0)};
    add(&shortfall, "orders.events", events, 1);
    cr_assert(kafka_shortfall_text(&shortfall, 2, text, sizeof(text)));
    cr_assert_str_eq(text, "1 of 1 partitions accept no records: orders.events[7] has no leader; "
                           "2 brokers are up");
}

Test(kafka_shortfall, reports_a_topic_that_it_may_not_describe)
{
    char text[KAFKA_TROUBLE_SIZE];
    struct kafka_shortfall shortfall = {0};
    struct rd_kafka_metadata_topic hidden = {.topic = "orders.workflows",
                                             .err = RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED};
    kafka_shortfall_add(&shortfall, &hidden);
    cr_assert(kafka_shortfall_text(&shortfall, 1, text, sizeof(text)));
    cr_assert_str_eq(text,
                     "this user may not Describe topic orders.workflows: grant it Read there");
}

Test(kafka_shortfall, fits_the_longest_name)
{
    char name[TOPIC_NAME_SIZE];
    char text[KAFKA_TROUBLE_SIZE];
    struct kafka_shortfall shortfall = {.partitions = UINT32_MAX - 1, .missing = 0};
    struct rd_kafka_metadata_partition events[] = {partition(INT32_MAX, 1, 3, 1)};
    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    add(&shortfall, name, events, 1);
    cr_assert(kafka_shortfall_text(&shortfall, 1, text, sizeof(text)));
    cr_assert_not_null(strstr(text, "needs 2 (min.insync.replicas); 1 broker is up"));
}
