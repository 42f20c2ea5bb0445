/* SPDX-License-Identifier: Apache-2.0 */
/* Consumer groups of the embedded broker: rounds, sessions, static members. Peers are not looked
 * into by groups.c: here they are marks that tell whom an answer is for. */
#include "kafka/embedded/groups.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

enum { PEERS = 8, ID_SIZE = 64, SESSION_MS = 1000, ROUND_MS = 5000 };

/* The last answer to a peer. */
struct answer {
    int joined;
    int synced;
    rd_kafka_resp_err_t code;
    int32_t generation;
    char member[ID_SIZE];
    bool leads;
    char assignment[ID_SIZE];
};

static struct clock_manual manual;
static struct loop *loop;
static struct groups *groups;
static struct peer peers[PEERS];
static struct answer answers[PEERS];

static struct answer *answer_of(const struct peer *peer)
{
    return &answers[peer - peers];
}

static void on_joined(struct peer *peer, const struct member *member, const char *leader)
{
    struct answer *answer = answer_of(peer);
    answer->joined++;
    answer->code = RD_KAFKA_RESP_ERR_NO_ERROR;
    answer->generation = member->group->generation;
    snprintf(answer->member, sizeof(answer->member), "%s", member->id);
    answer->leads = strcmp(leader, member->id) == 0;
}

static void on_not_joined(struct peer *peer, rd_kafka_resp_err_t code)
{
    answer_of(peer)->joined++;
    answer_of(peer)->code = code;
}

static void on_synced(struct peer *peer, rd_kafka_resp_err_t code, struct text assignment)
{
    struct answer *answer = answer_of(peer);
    answer->synced++;
    answer->code = code;
    snprintf(answer->assignment, sizeof(answer->assignment), "%.*s", TEXT_ARG(assignment));
}

static const struct groups_ops ops = {on_joined, on_not_joined, on_synced};

static void set_up(void)
{
    struct error error;
    clock_manual_init(&manual, 5000);
    cr_assert_eq(loop_new(&manual.clock, &loop, &error), ERROR_OK);
    groups = groups_new(loop, &ops);
}

static void tear_down(void)
{
    groups_free(groups);
    loop_free(loop);
}

TestSuite(embedded_groups, .init = set_up, .fini = tear_down);

static void pass(int64_t ms)
{
    clock_manual_advance(&manual, ms);
    loop_once(loop, 0);
}

static rd_kafka_resp_err_t join_with(int peer, const char *member, const char *instance,
                                     const char *metadata)
{
    struct buffer protocols = {0};
    wire_put_i32(&protocols, 1);
    wire_put_string(&protocols, TEXT("range"));
    wire_put_bytes(&protocols, text_of(metadata));
    struct join join = {.group = TEXT("g"),
                        .session_ms = SESSION_MS,
                        .round_ms = ROUND_MS,
                        .member = text_of(member),
                        .instance = text_of(instance),
                        .client = TEXT("client"),
                        .kind = TEXT("consumer"),
                        .protocols = {(const char *)protocols.data, (uint32_t)protocols.size}};
    rd_kafka_resp_err_t code = groups_join(groups, &join, &peers[peer]);
    buffer_deinit(&protocols);
    return code;
}

static void join(int peer)
{
    cr_assert_eq(join_with(peer, answers[peer].member, NULL, "m"), RD_KAFKA_RESP_ERR_NO_ERROR);
}

static struct identity identity_of(int peer)
{
    return (struct identity){.group = TEXT("g"),
                             .member = text_of(answers[peer].member),
                             .generation = answers[peer].generation};
}

/* The leader assigns each of the first `count` peers its own number. */
static rd_kafka_resp_err_t sync(int peer, int count)
{
    struct buffer assignments = {0};
    struct identity identity = identity_of(peer);
    wire_put_i32(&assignments, count);
    for (int i = 0; i < count; i++) {
        char number[16];
        snprintf(number, sizeof(number), "%d", i);
        wire_put_string(&assignments, text_of(answers[i].member));
        wire_put_bytes(&assignments, text_of(number));
    }
    struct wire wire = {.rest = {(const char *)assignments.data, (uint32_t)assignments.size}};
    rd_kafka_resp_err_t code = groups_sync(groups, &identity, wire, &peers[peer]);
    buffer_deinit(&assignments);
    return code;
}

static rd_kafka_resp_err_t beat(int peer)
{
    struct identity identity = identity_of(peer);
    return groups_heartbeat(groups, &identity);
}

/* Two members that have what they were assigned; peer 0 leads. */
static void settle(void)
{
    join(0);
    join(1);
    pass(GROUP_FIRST_ROUND_MS);
    cr_assert_eq(sync(1, 0), RD_KAFKA_RESP_ERR_NO_ERROR);
    cr_assert_eq(sync(0, 2), RD_KAFKA_RESP_ERR_NO_ERROR);
}

Test(embedded_groups, begins_when_the_first_members_have_joined)
{
    join(0);
    cr_assert_eq(answers[0].joined, 0);
    join(1);
    pass(GROUP_FIRST_ROUND_MS);
    cr_assert_eq(answers[0].joined, 1);
    cr_assert_eq(answers[1].joined, 1);
    cr_assert_eq(answers[0].generation, 1);
    cr_assert(answers[0].leads);
    cr_assert(!answers[1].leads);
    cr_assert_eq(sync(1, 0), RD_KAFKA_RESP_ERR_NO_ERROR);
    cr_assert_eq(answers[1].synced, 0);
    cr_assert_eq(sync(0, 2), RD_KAFKA_RESP_ERR_NO_ERROR);
    cr_assert_str_eq(answers[0].assignment, "0");
    cr_assert_str_eq(answers[1].assignment, "1");
    cr_assert_eq(beat(0), RD_KAFKA_RESP_ERR_NO_ERROR);
}

Test(embedded_groups, begins_a_round_for_a_new_member)
{
    settle();
    join(2);
    cr_assert_eq(beat(0), RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS);
    join(0);
    cr_assert_eq(answers[2].joined, 0);
    join(1);
    cr_assert_eq(answers[2].joined, 1);
    cr_assert_eq(answers[2].generation, 2);
    cr_assert_eq(sync(0, 3), RD_KAFKA_RESP_ERR_NO_ERROR);
    cr_assert_eq(sync(2, 0), RD_KAFKA_RESP_ERR_NO_ERROR);
    cr_assert_str_eq(answers[2].assignment, "2");
}

Test(embedded_groups, goes_on_without_a_member_whose_session_ends)
{
    settle();
    pass(SESSION_MS - 1);
    cr_assert_eq(beat(0), RD_KAFKA_RESP_ERR_NO_ERROR);
    pass(1);
    cr_assert_eq(beat(0), RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS);
    cr_assert_eq(beat(1), RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID);
    join(0);
    cr_assert_eq(answers[0].generation, 2);
}

/* It heartbeats, but does not join. */
Test(embedded_groups, goes_on_without_a_member_that_does_not_join_in_time)
{
    settle();
    join(2);
    join(0);
    for (int ms = 0; ms < ROUND_MS; ms += SESSION_MS / 2) {
        cr_assert_eq(answers[0].joined, 1);
        beat(1);
        pass(SESSION_MS / 2);
    }
    cr_assert_eq(answers[0].joined, 2);
    cr_assert_eq(answers[2].joined, 1);
    cr_assert_eq(beat(1), RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID);
}

Test(embedded_groups, goes_on_without_a_leader_that_leaves)
{
    settle();
    struct identity identity = identity_of(0);
    cr_assert_eq(groups_leave(groups, &identity), RD_KAFKA_RESP_ERR_NO_ERROR);
    cr_assert_eq(beat(1), RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS);
    join(1);
    cr_assert(answers[1].leads);
    identity = identity_of(1);
    cr_assert_eq(groups_leave(groups, &identity), RD_KAFKA_RESP_ERR_NO_ERROR);
    cr_assert_eq(groups_find(groups, TEXT("g"))->state, GROUP_EMPTY);
}

Test(embedded_groups, refuses_what_is_of_an_earlier_round)
{
    settle();
    struct identity identity = identity_of(0);
    identity.generation = 0;
    cr_assert_eq(groups_heartbeat(groups, &identity), RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION);
    cr_assert_eq(groups_check_commit(groups, &identity), RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION);
    identity = identity_of(0);
    cr_assert_eq(groups_check_commit(groups, &identity), RD_KAFKA_RESP_ERR_NO_ERROR);
    identity.generation = -1;
    identity.member = TEXT("");
    cr_assert_eq(groups_check_commit(groups, &identity), RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID);
}

Test(embedded_groups, lets_consumers_without_members_commit)
{
    struct identity identity = {.group = TEXT("h"), .generation = -1};
    cr_assert_eq(groups_check_commit(groups, &identity), RD_KAFKA_RESP_ERR_NO_ERROR);
    cr_assert_not_null(groups_find(groups, TEXT("h")));
}

Test(embedded_groups, keeps_what_a_static_member_has_while_it_restarts)
{
    cr_assert_eq(join_with(0, "", "a", "m"), RD_KAFKA_RESP_ERR_NO_ERROR);
    cr_assert_eq(join_with(1, "", "b", "m"), RD_KAFKA_RESP_ERR_NO_ERROR);
    pass(GROUP_FIRST_ROUND_MS);
    cr_assert_eq(sync(0, 2), RD_KAFKA_RESP_ERR_NO_ERROR);
    cr_assert_eq(sync(1, 0), RD_KAFKA_RESP_ERR_NO_ERROR);
    struct identity before = identity_of(0);
    char id[ID_SIZE];
    snprintf(id, sizeof(id), "%s", answers[0].member);
    before.member = text_of(id);
    before.instance = TEXT("a");
    cr_assert_eq(join_with(0, "", "a", "m"), RD_KAFKA_RESP_ERR_NO_ERROR);
    cr_assert_eq(answers[0].joined, 2);
    cr_assert_eq(answers[0].generation, 1);
    cr_assert(!answers[0].leads, "it has no members to assign anything to");
    cr_assert_str_neq(answers[0].member, id);
    cr_assert_eq(sync(0, 0), RD_KAFKA_RESP_ERR_NO_ERROR);
    cr_assert_str_eq(answers[0].assignment, "0");
    cr_assert_eq(beat(1), RD_KAFKA_RESP_ERR_NO_ERROR);
    cr_assert_eq(groups_heartbeat(groups, &before), RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID);
    cr_assert_eq(join_with(2, id, "a", "m"), RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID);
}

Test(embedded_groups, begins_a_round_when_a_static_leader_restarts_within_one)
{
    cr_assert_eq(join_with(0, "", "a", "m"), RD_KAFKA_RESP_ERR_NO_ERROR);
    pass(GROUP_FIRST_ROUND_MS);
    cr_assert_eq(join_with(0, "", "a", "m"), RD_KAFKA_RESP_ERR_NO_ERROR);
    cr_assert_eq(answers[0].generation, 2);
    cr_assert(answers[0].leads);
}

Test(embedded_groups, begins_a_round_when_a_member_says_something_else)
{
    settle();
    cr_assert_eq(join_with(1, answers[1].member, NULL, "other"), RD_KAFKA_RESP_ERR_NO_ERROR);
    cr_assert_eq(beat(0), RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS);
    join(0);
    cr_assert_eq(answers[1].generation, 2);
}

Test(embedded_groups, refuses_members_without_a_common_protocol)
{
    settle();
    struct buffer protocols = {0};
    wire_put_i32(&protocols, 1);
    wire_put_string(&protocols, TEXT("sticky"));
    wire_put_bytes(&protocols, TEXT("m"));
    struct join join = {.group = TEXT("g"),
                        .session_ms = SESSION_MS,
                        .round_ms = ROUND_MS,
                        .kind = TEXT("consumer"),
                        .protocols = {(const char *)protocols.data, (uint32_t)protocols.size}};
    cr_assert_eq(groups_join(groups, &join, &peers[3]),
                 RD_KAFKA_RESP_ERR_INCONSISTENT_GROUP_PROTOCOL);
    join.session_ms = GROUP_SESSION_MS_MIN - 1;
    cr_assert_eq(groups_join(groups, &join, &peers[3]), RD_KAFKA_RESP_ERR_INVALID_SESSION_TIMEOUT);
    join.session_ms = SESSION_MS;
    join.group = TEXT("a\0b");
    cr_assert_eq(groups_join(groups, &join, &peers[3]), RD_KAFKA_RESP_ERR_INVALID_GROUP_ID);
    cr_assert_not(groups_add(groups, join.group));
    join.group = TEXT("");
    cr_assert_eq(groups_join(groups, &join, &peers[3]), RD_KAFKA_RESP_ERR_INVALID_GROUP_ID);
    buffer_deinit(&protocols);
}

Test(embedded_groups, forgets_a_member_whose_connection_ends_while_it_joins)
{
    settle();
    join(2);
    groups_forget_peer(groups, &peers[2]);
    pass(SESSION_MS - 1);
    beat(0);
    beat(1);
    pass(1);
    join(0);
    join(1);
    cr_assert_eq(answers[0].joined, 2);
    cr_assert_eq(answers[2].joined, 0);
}
