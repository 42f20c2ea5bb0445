/* SPDX-License-Identifier: Apache-2.0 */
/* The answers that an agent remembers over a restart, with their store in a folder. */
#include "base/numbers.h"
#include "statestore/answers.h"
#include "tests/unit/agent/world.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

enum { SOON = 1000000 + 60000 };

static struct world *world_with_folder(void)
{
    static char folder[512];
    const char *tmp = getenv("TMPDIR");
    snprintf(folder, sizeof(folder), "%s/agent-memory-XXXXXX", tmp != NULL ? tmp : "/tmp");
    cr_assert_not_null(mkdtemp(folder));
    struct world *world = world_new(1);
    world->data_dir = folder;
    return world;
}

static struct instance *alone(struct world *world)
{
    struct instance *instance = world_add(world, NULL);
    world_rebalance(world);
    return instance;
}

/* The next process over the same folder; `instance` ends without committing. */
static struct instance *restart(struct world *world, struct instance *instance)
{
    world_kill(instance);
    return alone(world);
}

Test(answer_cache, repeats_an_answer_after_a_restart)
{
    struct world *world = world_with_folder();
    struct instance *instance = alone(world);
    world_request(world, "A", DIRECTION_DO, 1, SOON);
    world_succeed(instance, "{\"paid\":1}");
    world_request(world, "B", DIRECTION_DO, 1, SOON);
    world_fail(instance, EFFECT_NONE, false);
    cr_assert_eq(world->calls_started, 2);
    instance = restart(world, instance);
    cr_assert_eq(world->calls_started, 2, "nothing was committed, and nothing is called again");
    cr_assert_eq(world_count_reports(world, "A"), 2);
    cr_assert_eq(world_count_reports(world, "B"), 2);
    cr_assert_not_null(strstr(world_reports(world), "A/Pay/do/1 ok {\"paid\":1}\n"));
    world_advance(world, 1000);
    cr_assert_eq(world_committed(instance, "A"),
                 1 + (world_partition("A") == world_partition("B")));
    world_request(world, "A", DIRECTION_DO, 2, SOON);
    cr_assert_eq(world->calls_started, 3, "another attempt is another call");
    world_free(world);
}

static int lookups(const struct instance *instance)
{
    static const char name[] = "reeve_agent_memory_lookups_total{agent=\"pay\"} ";
    size_t size;
    char *text = metrics_render(instance->service.metrics, &size);
    const char *at = strstr(text, name);
    cr_assert_not_null(at);
    struct text rest = text_of(at + strlen(name));
    uint64_t count;
    cr_assert(number_take(&rest, INT32_MAX, &count));
    free(text);
    return (int)count;
}

Test(answer_cache, does_not_look_for_requests_that_are_newer_than_its_answers)
{
    struct world *world = world_with_folder();
    struct instance *instance = alone(world);
    for (int i = 0; i < 20; i++) {
        char order[16];
        snprintf(order, sizeof(order), "o-%d", i);
        world->decision_offset = i;
        world_request(world, order, DIRECTION_DO, 1, SOON);
        world_succeed(instance, "{}");
    }
    cr_assert_eq(lookups(instance), 0);
    world->decision_offset = 10; /* a new owner of the log emits it again, to another process */
    world_request(world, "o-10", DIRECTION_DO, 1, SOON);
    instance = restart(world, instance);
    cr_assert_eq(world->calls_started, 20, "all are read again");
    cr_assert_eq(lookups(instance), 20 + (world_count_reports(world, "o-10") > 2));
    world->decision_offset = 20;
    int before = lookups(instance);
    world_request(world, "o-20", DIRECTION_DO, 1, SOON);
    cr_assert_eq(world->calls_started, 21);
    cr_assert_eq(lookups(instance), before);
    world_free(world);
}

Test(answer_cache, remembers_the_longest_answer)
{
    static char answer[REPORT_OUTPUT_BYTES_MAX + 1];
    static char expected[2 * REPORT_OUTPUT_BYTES_MAX];
    struct world *world = world_with_folder();
    struct instance *instance = alone(world);
    memset(answer, 'x', sizeof(answer) - 1);
    answer[0] = answer[sizeof(answer) - 2] = '"';
    world_request(world, "A", DIRECTION_DO, 1, SOON);
    world_succeed(instance, answer);
    world_request(world, "A", DIRECTION_DO, 1, SOON);
    instance = restart(world, instance);
    cr_assert_eq(world->calls_started, 1);
    snprintf(expected, sizeof(expected), "A/Pay/do/1 ok %s\n", answer);
    cr_assert_str_eq(strchr(world_reports(world), '\n') + 1, expected);
    world_free(world);
}

Test(answer_cache, repeats_a_call_that_never_ended)
{
    struct world *world = world_with_folder();
    struct instance *instance = alone(world);
    world_request(world, "A", DIRECTION_DO, 1, SOON);
    cr_assert_eq(instance->call_count, 1);
    instance = restart(world, instance);
    cr_assert_eq(instance->call_count, 1);
    world_free(world);
}

Test(answer_cache, remembers_accepted_calls)
{
    struct world *world = world_with_folder();
    struct instance *instance = alone(world);
    world_request(world, "A", DIRECTION_DO, 1, SOON);
    agent_call_accept(instance->calls[0]);
    instance->call_count = 0;
    world_settle(world);
    world_request(world, "A", DIRECTION_DO, 1, SOON);
    instance = restart(world, instance);
    cr_assert_eq(world->calls_started, 1);
    cr_assert_str_eq(world_reports(world), "");
    world_advance(world, 1000);
    cr_assert_eq(world_committed(instance, "A"), 2);
    world_free(world);
}

Test(answer_cache, extends_only_the_running_call)
{
    struct world *world = world_with_folder();
    struct instance *instance = alone(world);
    world_request(world, "A", DIRECTION_DO, 1, SOON);
    struct agent_call *call = instance->calls[0];
    agent_call_extend(call, 120000, TEXT("half\nof it"));
    world_settle(world);
    cr_assert_str_eq(world_reports(world), "A/Pay/do/1 more@1120000 half of it none\n");
    world->decision_offset = 50;
    world->order_version = 2;
    world->extension = true;
    world_request(world, "A", DIRECTION_DO, 1, SOON + 60000);
    cr_assert_eq(world->calls_started, 1);
    cr_assert_eq(world->extended, call);
    cr_assert_eq(call->request->complete_by, SOON + 60000);
    world_advance(world, 90000); /* past its first deadline */
    world_succeed(instance, "{}");
    instance = restart(world, instance);
    cr_assert_eq(world->calls_started, 1, "neither the request nor the grant starts one");
    world_free(world);
}

/* Its first order has expired, and another one with its id begins with the same attempt. */
Test(answer_cache, answers_no_new_order_of_an_old_id)
{
    struct world *world = world_with_folder();
    struct instance *instance = alone(world);
    world_request(world, "A", DIRECTION_DO, 1, SOON);
    world_succeed(instance, "{\"parcel\": 1}");
    instance = restart(world, instance);
    cr_assert_eq(world->calls_started, 1);
    world->decision_offset = 50;
    world->order_version = 3;
    world_request(world, "A", DIRECTION_DO, 1, SOON);
    cr_assert_eq(world->calls_started, 2);
    world_succeed(instance, "{\"parcel\": 2}");
    instance = restart(world, instance);
    cr_assert_eq(world->calls_started, 2);
    world_free(world);
}

Test(answer_cache, drops_a_damaged_store_and_continues)
{
    struct world *world = world_with_folder();
    struct instance *instance = alone(world);
    char path[1024];
    world_request(world, "A", DIRECTION_DO, 1, SOON);
    world_succeed(instance, "{}");
    world_kill(instance);
    snprintf(path, sizeof(path), "%s/answers.pay/CURRENT", world->data_dir);
    int fd = open(path, O_WRONLY | O_TRUNC);
    cr_assert_geq(fd, 0);
    cr_assert_eq(write(fd, "nonsense\n", 9), 9);
    close(fd);
    instance = alone(world);
    cr_assert_eq(instance->call_count, 1, "forgotten: called again, with the same key");
    world_succeed(instance, "{}");
    instance = restart(world, instance);
    cr_assert_eq(instance->call_count, 0);
    world_free(world);
}

static int64_t free_bytes = 1000;

static enum error_class look(const char *path, int64_t *ret_bytes, struct error *ret_error)
{
    (void)path;
    (void)ret_error;
    *ret_bytes = free_bytes;
    return ERROR_OK;
}

/* A row of the attempt A/Pay/do/1, with texts that no agent writes. */
static void put_row(const struct world *world, uint8_t succeeded, struct text output,
                    struct text error_name)
{
    static char row[2 * REPORT_OUTPUT_BYTES_MAX];
    char path[600];
    struct answers_options options = {.keep_ms = 1000000, .bytes_max = 1 << 20};
    struct answers *answers;
    struct error error;
    int64_t decision_offset = 101, order_version = 1;
    memset(row, 0, sizeof(row));
    row[0] = 1; /* version */
    row[2] = (char)succeeded;
    memcpy(row + 20, &decision_offset, 8);
    memcpy(row + 28, &order_version, 8);
    char *at = row + 44;
    struct text texts[] = {output, error_name, TEXT("why")};
    for (int i = 0; i < 3; i++) {
        memcpy(at, &texts[i].size, 4);
        memcpy(at + 4, texts[i].data, texts[i].size);
        at += 4 + texts[i].size;
    }
    snprintf(path, sizeof(path), "%s/answers.pay", world->data_dir);
    cr_assert_eq(answers_open(path, &options, 1000000, &answers, &error), ERROR_OK);
    const struct answers_key key = {.position = decision_offset,
                                    .name = {"\0\0\0\0\1\3PayA", 10}}; /* A/Pay/do/1 */
    answers_put(answers, &key, (struct text){row, (uint32_t)(at - row)});
    cr_assert_eq(answers_write(answers, 1000000, &error), ERROR_OK);
    answers_close(answers);
}

static void expect_called_again(uint8_t succeeded, struct text output, struct text error_name)
{
    struct world *world = world_with_folder();
    put_row(world, succeeded, output, error_name);
    struct instance *instance = alone(world);
    world_request(world, "A", DIRECTION_DO, 1, SOON);
    cr_assert_eq(instance->call_count, 1);
    world_succeed(instance, "{}");
    cr_assert_str_eq(world_reports(world), "A/Pay/do/1 ok {}\n");
    world_free(world);
}

Test(answer_cache, does_not_report_a_row_that_no_agent_wrote)
{
    static char large[REPORT_OUTPUT_BYTES_MAX + 1];
    memset(large, '1', sizeof(large));
    expect_called_again(1, (struct text){large, sizeof(large)}, TEXT(""));
    expect_called_again(1, TEXT("\xff"), TEXT(""));
    expect_called_again(0, TEXT(""), (struct text){large, ERROR_NAME_BYTES_MAX + 1});
    expect_called_again(0, TEXT(""), TEXT(""));
    expect_called_again(0, TEXT(""), TEXT("States.Timeout"));
    expect_called_again(2, TEXT("{}"), TEXT(""));
}

Test(answer_cache, pauses_while_the_disk_is_full)
{
    struct world *world = world_with_folder();
    struct instance *instance = alone(world);
    struct disk_guard_options options = {
        .path = world->data_dir, .min_bytes = 500, .free_bytes = look};
    struct disk_guard *guard = disk_guard_new(world->loop, instance->service.metrics, &options);
    instance->service.disk = guard;
    world_request(world, "A", DIRECTION_DO, 1, SOON);
    cr_assert_eq(world->calls_started, 1);
    free_bytes = 10;
    world_advance(world, 2 * DISK_GUARD_CHECK_MS);
    world_request(world, "B", DIRECTION_DO, 1, SOON);
    world_request(world, "C", DIRECTION_DO, 1, SOON);
    cr_assert_eq(world->calls_started, 1);
    world_succeed(instance, "{}");
    cr_assert_eq(world_count_reports(world, "A"), 1, "the running call goes on");
    free_bytes = 10000;
    for (int i = 0; i < 4; i++)
        world_advance(world, DISK_GUARD_CHECK_MS);
    cr_assert_eq(world->calls_started, 3);
    disk_guard_free(guard);
    instance->service.disk = NULL;
    world_free(world);
}

Test(answer_cache, keeps_no_answers_when_disabled)
{
    static const char *const settings[] = {"agent.memory.mb", "0", NULL};
    struct world *world = world_with_folder();
    char path[1024];
    world_add(world, settings);
    snprintf(path, sizeof(path), "%s/answers.pay", world->data_dir);
    cr_assert_neq(access(path, F_OK), 0);
    world_free(world);
}
