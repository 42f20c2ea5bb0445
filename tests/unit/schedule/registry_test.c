/* SPDX-License-Identifier: Apache-2.0 */
/* The deployed schedules of a process, and what a change of one writes. */
#include "schedule/lifecycle.h"

#include <criterion/criterion.h>
#include <stdio.h>

#define EVERY(name) "Schedule: " name "\nEverySeconds: 60\nOrder: {workflow: w}\n"

static struct schedule_registry *registry;
static struct error error;

static void set_up(void)
{
    registry = schedule_registry_new();
}

static void tear_down(void)
{
    schedule_registry_free(registry);
}

TestSuite(schedule_registry, .init = set_up, .fini = tear_down);

static enum error_class put(const char *key, const char *text, bool paused)
{
    const struct schedule_definition definition = {.name = text_of(key),
                                                   .text = text_of(text),
                                                   .format = TEXT("yaml"),
                                                   .deployed_by = TEXT("ann"),
                                                   .paused = paused,
                                                   .by = TEXT("bob"),
                                                   .reason = TEXT("why")};
    error = (struct error){.class = ERROR_OK};
    return schedule_registry_put(registry, text_of(key), &definition, 7, &error);
}

Test(schedule_registry, has_the_newest_record_of_each_name_in_their_order)
{
    cr_assert_eq(put("b", EVERY("b"), false), ERROR_OK);
    cr_assert_eq(put("c", EVERY("c"), false), ERROR_OK);
    cr_assert_eq(put("a", EVERY("a"), false), ERROR_OK);
    uint64_t number = schedule_registry_find(registry, TEXT("b"))->number;
    cr_assert_eq(put("b", EVERY("b"), true), ERROR_OK);
    cr_assert_eq(schedule_registry_count(registry), 3);
    const struct schedule_entry *entry = schedule_registry_at(registry, 1);
    cr_assert(text_equal(entry->definition.name, TEXT("b")) && entry->definition.paused);
    cr_assert(entry->number > number && entry->appended_at == 7 && entry->schedule != NULL);
    schedule_registry_remove(registry, TEXT("b"));
    schedule_registry_remove(registry, TEXT("b"));
    cr_assert_eq(schedule_registry_count(registry), 2);
    cr_assert(text_equal(schedule_registry_at(registry, 1)->definition.name, TEXT("c")));
    cr_assert_null(schedule_registry_find(registry, TEXT("b")));
}

Test(schedule_registry, keeps_why_a_schedule_is_not_usable)
{
    const struct schedule_entry *entry = NULL;
    cr_assert_eq(put("a", "Schedule: a\n", false), ERROR_REJECT);
    cr_assert_str_eq(error.message, "its text does not compile: 1:1: the schedule has no Cron or "
                                    "EverySeconds");
    cr_assert_eq(put("b", EVERY("a"), false), ERROR_REJECT);
    cr_assert_str_eq(error.message, "the record's key is b, its name b, and its text says a");
    const struct error why = {.class = ERROR_REJECT, .message = "not Avro"};
    schedule_registry_put_unreadable(registry, TEXT("c"), &why, 7, &error);
    cr_assert_eq(schedule_registry_count(registry), 3);
    for (uint32_t i = 0; i < 3; i++) {
        entry = schedule_registry_at(registry, i);
        cr_assert(entry->schedule == NULL && !text_empty(entry->problem));
        cr_assert_eq(schedule_registry_get(registry, entry->definition.name, &entry, &error),
                     ERROR_REJECT);
        cr_assert_eq(error.code, CODE_BAD_SCHEDULE);
    }
    cr_assert_eq(put("a", EVERY("a"), false), ERROR_OK);
    cr_assert_eq(schedule_registry_get(registry, TEXT("a"), &entry, &error), ERROR_OK);
    cr_assert_eq(put("no/name", EVERY("a"), false), ERROR_REJECT);
    cr_assert_eq(schedule_registry_count(registry), 3);
}

Test(schedule_registry, has_a_limit)
{
    char key[16], text[128];
    const struct schedule_author author = {.by = TEXT("ann")};
    struct schedule schedule = {.name = TEXT("new")};
    struct schedule_definition definition;
    enum schedule_deployment result;
    for (int i = 0; i <= SCHEDULES_MAX; i++) {
        snprintf(key, sizeof(key), "s-%d", i);
        snprintf(text, sizeof(text), "Schedule: %s\nEverySeconds: 60\nOrder: {workflow: w}\n", key);
        cr_assert_eq(put(key, text, false), i < SCHEDULES_MAX ? ERROR_OK : ERROR_REJECT);
    }
    cr_assert_eq(error.code, CODE_TOO_MANY_SCHEDULES);
    cr_assert_eq(put("s-7", EVERY("s-7"), true), ERROR_OK); /* one that is there */
    cr_assert_eq(schedule_deploy(registry, &schedule, TEXT("x"), WORKFLOW_YAML, &author, &result,
                                 &definition, &error),
                 ERROR_REJECT);
    cr_assert_eq(error.code, CODE_TOO_MANY_SCHEDULES);
}

Test(schedule_registry, writes_what_a_change_leaves_as_it_was)
{
    const struct schedule_author author = {TEXT("cid"), TEXT("because"), 99};
    const struct schedule schedule = {.name = TEXT("a")};
    struct schedule_definition definition;
    enum schedule_deployment result;
    put("a", EVERY("a"), true);
    cr_assert_eq(schedule_pause(registry, TEXT("a"), false, &author, &definition, &error),
                 ERROR_OK);
    cr_assert(!definition.paused && text_equal(definition.by, TEXT("cid")) && definition.at == 99);
    cr_assert(text_equal(definition.deployed_by, TEXT("ann")));
    cr_assert(text_equal(definition.text, text_of(EVERY("a"))));
    cr_assert_eq(schedule_deploy(registry, &schedule, TEXT("new"), WORKFLOW_JSON, &author, &result,
                                 &definition, &error),
                 ERROR_OK);
    cr_assert_eq(result, SCHEDULE_IS_CHANGED);
    cr_assert(definition.paused && text_equal(definition.by, TEXT("bob")));
    cr_assert(text_equal(definition.deployed_by, TEXT("cid")) && definition.deployed_at == 99);
    cr_assert(text_equal(definition.format, TEXT("json")));
}
