/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated agent: the same in every run; the ledger of the tests: idempotent by key across
 * processes. */
#include "tests/lib/sim_ledger.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { DRAWS = 20000 };

static struct step_request request_of(const char *key, enum direction direction, uint32_t attempt)
{
    return (struct step_request){
        .order_id = TEXT("7"),
        .ref = {TEXT("Pay"), direction, attempt},
        .idempotency_key = text_of(key),
        .do_key = text_of(key),
        .complete_by = 5000,
    };
}

Test(sim_plan, parses_latencies)
{
    struct sim_latency latency;
    struct error error;
    cr_assert(sim_latency_parse("5", &latency, &error) == ERROR_OK);
    cr_assert(latency.kind == SIM_LATENCY_FIXED && latency.mean_ms == 5);
    cr_assert(sim_latency_parse("fixed:0.5", &latency, &error) == ERROR_OK);
    cr_assert(latency.kind == SIM_LATENCY_FIXED && latency.mean_ms == 0.5);
    cr_assert(sim_latency_parse("normal:20:5", &latency, &error) == ERROR_OK);
    cr_assert(latency.kind == SIM_LATENCY_NORMAL && latency.deviation_ms == 5);
    cr_assert(sim_latency_parse("exp:10", &latency, &error) == ERROR_OK);
    cr_assert(latency.kind == SIM_LATENCY_EXPONENTIAL && latency.mean_ms == 10);
    static const char *const bad[] = {
        "",     "x",   "-1",   "5ms",       "normal:20", "normal:1:", "normal:1:2:3",
        "exp:", "nan", "1e99", "gauss:1:2", "5 ",        "exp:-1",    "inf"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        cr_assert(sim_latency_parse(bad[i], &latency, &error) == ERROR_REJECT, "%s", bad[i]);
}

Test(sim_plan, derives_plans_from_seed_key_and_attempt)
{
    struct sim_options options = {.latency = {SIM_LATENCY_EXPONENTIAL, 100, 0},
                                  .fail_share = 0.3,
                                  .silent_share = 0.3,
                                  .seed = 42};
    struct step_request request = request_of("7/Pay/do/0", DIRECTION_DO, 1);
    struct step_request later = request_of("7/Pay/do/0", DIRECTION_DO, 2);
    struct sim_plan plan = sim_plan_of(&options, &request);
    struct sim_plan again = sim_plan_of(&options, &request);
    struct sim_plan other = sim_plan_of(&options, &later);
    cr_assert(plan.outcome == again.outcome && plan.latency_ms == again.latency_ms);
    cr_assert(plan.outcome != other.outcome || plan.latency_ms != other.latency_ms);
    options.seed = 43;
    other = sim_plan_of(&options, &request);
    cr_assert(plan.outcome != other.outcome || plan.latency_ms != other.latency_ms);
}

Test(sim_plan, draws_the_configured_shares_and_latencies)
{
    static const struct sim_latency latencies[] = {
        {SIM_LATENCY_FIXED, 7, 0}, {SIM_LATENCY_NORMAL, 50, 10}, {SIM_LATENCY_EXPONENTIAL, 50, 0}};
    static const double deviations[] = {0, 10, 50};
    for (int kind = 0; kind < 3; kind++) {
        struct sim_options options = {.latency = latencies[kind],
                                      .fail_share = 0.1,
                                      .silent_share = 0.2,
                                      .unknown_share = 0.3,
                                      .seed = 1};
        double sum = 0, squares = 0;
        int outcomes[SIM_OUTCOME_COUNT] = {0};
        for (int i = 0; i < DRAWS; i++) {
            char key[32];
            snprintf(key, sizeof(key), "%d/Pay/do/0", i);
            struct step_request request = request_of(key, DIRECTION_DO, 1);
            struct sim_plan plan = sim_plan_of(&options, &request);
            sum += (double)plan.latency_ms;
            squares += (double)plan.latency_ms * (double)plan.latency_ms;
            outcomes[plan.outcome]++;
        }
        double mean = sum / (double)DRAWS;
        cr_assert(fabs(mean - latencies[kind].mean_ms) < 1.5, "mean %f", mean);
        cr_assert(fabs(sqrt(fmax(0, squares / (double)DRAWS - mean * mean)) - deviations[kind]) <
                  2);
        cr_assert(abs(outcomes[SIM_REFUSED] - DRAWS / 10) < DRAWS / 100);
        cr_assert(abs(outcomes[SIM_SILENT] - DRAWS / 5) < DRAWS / 100);
        cr_assert(abs(outcomes[SIM_UNKNOWN] - DRAWS * 3 / 10) < DRAWS / 100);
    }
}

Test(sim_plan, never_refuses_undos)
{
    struct sim_options options = {.fail_share = 1, .seed = 1};
    struct step_request undo = request_of("7/Pay/undo/0", DIRECTION_UNDO, 1);
    struct step_request doing = request_of("7/Pay/do/0", DIRECTION_DO, 1);
    cr_assert_eq(sim_plan_of(&options, &undo).outcome, SIM_DONE);
    cr_assert_eq(sim_plan_of(&options, &doing).outcome, SIM_REFUSED);
}

/* ---- the ledger ---- */

static const char *ledger_path(void)
{
    static char path[64];
    snprintf(path, sizeof(path), "/tmp/reeve-agent-sim-%d.jsonl", (int)getpid());
    return path;
}

static void drop_ledger(void)
{
    unlink(ledger_path());
}

TestSuite(sim_ledger, .init = drop_ledger, .fini = drop_ledger);

static struct sim_entry entry_of(const struct step_request *request, enum sim_outcome outcome,
                                 bool applies)
{
    return (struct sim_entry){
        .request = request, .outcome = outcome, .applies = applies, .sent = 1000};
}

static struct sim_entry write_one(struct sim_ledger *ledger, const char *key,
                                  enum direction direction, enum sim_outcome outcome, bool applies)
{
    struct step_request request = request_of(key, direction, 1);
    struct sim_entry entry = entry_of(&request, outcome, applies);
    struct sim_entry *entries[] = {&entry};
    sim_ledger_write(ledger, entries, 1, 1005);
    return entry;
}

static size_t read_file(char *text, size_t size)
{
    FILE *file = fopen(ledger_path(), "r");
    cr_assert_not_null(file);
    size_t length = fread(text, 1, size - 1, file);
    fclose(file);
    text[length] = '\0';
    return length;
}

Test(sim_ledger, writes_a_line_for_each_call)
{
    char text[4096];
    struct sim_ledger *ledger = sim_ledger_open(ledger_path());
    write_one(ledger, "7/Pay/do/0", DIRECTION_DO, SIM_DONE, true);
    write_one(ledger, "8/Pay/do/0", DIRECTION_DO, SIM_REFUSED, false);
    read_file(text, sizeof(text));
    cr_assert_str_eq(text,
                     "{\"key\":\"7/Pay/do/0\",\"request\":\"7/Pay/do/1\",\"direction\":\"do\","
                     "\"sent\":1000,\"complete_by\":5000,\"applied\":true,\"outcome\":\"done\","
                     "\"time\":1005}\n"
                     "{\"key\":\"8/Pay/do/0\",\"request\":\"7/Pay/do/1\",\"direction\":\"do\","
                     "\"sent\":1000,\"complete_by\":5000,\"applied\":false,"
                     "\"outcome\":\"refused\",\"time\":1005}\n");
    sim_ledger_close(ledger);
}

static int count_applied(void)
{
    char text[65536];
    int count = 0;
    read_file(text, sizeof(text));
    for (const char *at = text; (at = strstr(at, "\"applied\":true")) != NULL; at++)
        count++;
    return count;
}

Test(sim_ledger, applies_each_key_once_across_processes)
{
    struct sim_ledger *one = sim_ledger_open(ledger_path()), *two = sim_ledger_open(ledger_path());
    struct sim_entry entry = write_one(one, "7/Pay/do/0", DIRECTION_DO, SIM_UNKNOWN, true);
    cr_assert(!entry.done_before && !entry.undone_before);
    entry = write_one(two, "7/Pay/do/0", DIRECTION_DO, SIM_REFUSED, false);
    cr_assert(entry.done_before, "a refusal would not be true");
    entry = write_one(one, "7/Pay/do/0", DIRECTION_DO, SIM_DONE, true);
    cr_assert(entry.done_before);
    cr_assert_eq(count_applied(), 1);
    sim_ledger_close(one);
    one = sim_ledger_open(ledger_path()); /* killed and started again */
    entry = write_one(one, "7/Pay/do/0", DIRECTION_DO, SIM_DONE, true);
    cr_assert(entry.done_before);
    cr_assert_eq(count_applied(), 1);
    sim_ledger_close(one);
    sim_ledger_close(two);
}

Test(sim_ledger, keeps_undone_keys_undone)
{
    struct sim_ledger *one = sim_ledger_open(ledger_path()), *two = sim_ledger_open(ledger_path());
    write_one(one, "7/Pay/do/0", DIRECTION_UNDO, SIM_DONE, true); /* it came first */
    struct sim_entry entry = write_one(two, "7/Pay/do/0", DIRECTION_DO, SIM_DONE, true);
    cr_assert(entry.undone_before && !entry.done_before);
    write_one(two, "7/Pay/do/0", DIRECTION_UNDO, SIM_DONE, true);
    cr_assert_eq(count_applied(), 1, "the undo");
    sim_ledger_close(one);
    sim_ledger_close(two);
}

Test(sim_ledger, ends_a_line_that_a_crash_cut_off)
{
    char text[4096];
    struct sim_ledger *ledger = sim_ledger_open(ledger_path());
    write_one(ledger, "7/Pay/do/0", DIRECTION_DO, SIM_DONE, true);
    sim_ledger_close(ledger);
    int fd = open(ledger_path(), O_WRONLY | O_APPEND);
    cr_assert_eq(write(fd, "{\"key\":\"8/Pa", 12), 12);
    close(fd);
    ledger = sim_ledger_open(ledger_path());
    write_one(ledger, "9/Pay/do/0", DIRECTION_DO, SIM_DONE, true);
    cr_assert(write_one(ledger, "7/Pay/do/0", DIRECTION_DO, SIM_DONE, true).done_before);
    cr_assert(write_one(ledger, "9/Pay/do/0", DIRECTION_DO, SIM_DONE, true).done_before);
    cr_assert_not(write_one(ledger, "8/Pay/do/0", DIRECTION_DO, SIM_DONE, true).done_before);
    read_file(text, sizeof(text));
    cr_assert_not_null(strstr(text, "{\"key\":\"8/Pa\n{\"key\":\"9/Pay/do/0\""));
    sim_ledger_close(ledger);
}

Test(sim_ledger, writes_many_keys_in_one_batch)
{
    enum { KEYS = 3000 };
    static char keys[KEYS][24];
    static struct step_request requests[KEYS];
    static struct sim_entry entries[KEYS];
    static struct sim_entry *pointers[KEYS];
    struct sim_ledger *one = sim_ledger_open(ledger_path()), *two = sim_ledger_open(ledger_path());
    for (int i = 0; i < KEYS; i++) {
        snprintf(keys[i], sizeof(keys[i]), "%d/Pay/do/0", i);
        requests[i] = request_of(keys[i], DIRECTION_DO, 1);
        entries[i] = entry_of(&requests[i], SIM_DONE, true);
        pointers[i] = &entries[i];
    }
    sim_ledger_write(one, pointers, KEYS, 1005);
    for (int i = 0; i < KEYS; i++)
        cr_assert_not(entries[i].done_before);
    sim_ledger_write(two, pointers, KEYS, 1005);
    for (int i = 0; i < KEYS; i++)
        cr_assert(entries[i].done_before, "%d", i);
    sim_ledger_close(one);
    sim_ledger_close(two);
}
