/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve leader` counts the records of the elections that candidates count. */
#include "cli/leader.h"
#include "tests/unit/cli/session_kit.h"

#include <criterion/criterion.h>
#include <jansson.h>

static struct session_kit kit;

static void open_kit(void)
{
    session_kit_init(&kit);
}

static void close_kit(void)
{
    session_kit_deinit(&kit);
}

TestSuite(cli_leader, .init = open_kit, .fini = close_kit, .timeout = 120);

static int64_t append(enum leadership_kind kind, const char *role, const char *instance,
                      int64_t term)
{
    struct leadership leadership = {.role = text_of(role),
                                    .kind = kind,
                                    .instance = text_of(instance),
                                    .term = term,
                                    .lease_ms = 60000,
                                    .reason = TEXT("stopped")};
    leadership.candidate_id.bytes[0] = (uint8_t)instance[0];
    return session_kit_append(&kit, "t.leadership", RECORD_LEADERSHIP, &leadership);
}

/* The row of each role, in the order in which they came; the caller's. */
static json_t *show(void)
{
    session_kit_open(&kit, 0);
    kit.cli.output = CLI_OUTPUT_JSON;
    cr_assert_eq(leader_show(&kit.cli, &kit.session), EXIT_CODE_OK);
    session_kit_flush(&kit);
    json_t *rows = json_loads(kit.out, 0, NULL);
    cr_assert(json_is_array(rows), "%s", kit.out);
    return rows;
}

static void expect_row(const json_t *rows, size_t index, const char *role, const char *leader,
                       int64_t term, const char *status)
{
    const json_t *row = json_array_get(rows, index);
    const char *found = json_string_value(json_object_get(row, "leader"));
    cr_expect_str_eq(json_string_value(json_object_get(row, "role")), role);
    cr_expect(leader == NULL ? found == NULL : found != NULL && strcmp(found, leader) == 0, "%s",
              kit.out);
    if (leader != NULL)
        cr_expect_eq(json_integer_value(json_object_get(row, "term")), term, "%s", kit.out);
    cr_expect_str_eq(json_string_value(json_object_get(row, "status")), status, "%s", kit.out);
}

/* The head of the topic is there, so nothing can have come before them. */
Test(cli_leader, counts_first_claims_behind_other_records)
{
    append(LEADERSHIP_CLAIM, "auditor", "ann", -1);
    broker_memory_append(kit.kafka, "t.leadership", 0, TEXT("key"), TEXT("not a record"));
    int64_t term = append(LEADERSHIP_CLAIM, "import", "bob", -1);
    append(LEADERSHIP_CLAIM, "import", "eve", -1);
    append(LEADERSHIP_RELEASE, "auditor", "ann", 0);
    json_t *rows = show();
    cr_assert_eq(json_array_size(rows), 2);
    expect_row(rows, 0, "auditor", "ann", 0, "released: stopped");
    expect_row(rows, 1, "import", "bob", term, "leads");
    json_decref(rows);
}

/* Retention took the head: a claim may follow what is gone, until it is renewed. */
Test(cli_leader, believes_no_claim_where_the_head_is_gone)
{
    append(LEADERSHIP_CLAIM, "auditor", "ann", -1);
    int64_t claim = append(LEADERSHIP_CLAIM, "auditor", "bob", -1);
    int64_t term = append(LEADERSHIP_CLAIM, "import", "eve", -1);
    append(LEADERSHIP_RENEW, "import", "eve", term);
    broker_memory_trim(kit.kafka, "t.leadership", 0, claim);
    json_t *rows = show();
    cr_assert_eq(json_array_size(rows), 2);
    expect_row(rows, 0, "auditor", NULL, -1, "never led");
    expect_row(rows, 1, "import", "eve", term, "leads");
    json_decref(rows);
}
