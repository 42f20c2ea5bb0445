/* SPDX-License-Identifier: Apache-2.0 */
/* The registry keeps the first definition of each version and knows which version is active. */
#include "workflow/registry.h"

#include "tests/unit/workflow/kit.h"

#include <criterion/criterion.h>
#include <stdio.h>

static enum error_class deploy(struct workflow_registry *registry, const char *name,
                               uint32_t version, const char *agent, struct error *ret_error)
{
    char source[256];
    int size =
        snprintf(source, sizeof(source), "Name: %s\nVersion: %u\nSteps: [{Name: A, Agent: %s}]\n",
                 name, version, agent);
    struct workflow_definition definition = {
        .name = text_of(name),
        .version = version,
        .text = {source, (uint32_t)size},
        .format = TEXT("yaml"),
        .deployed_by = TEXT("me"),
        .deployed_at = 5,
    };
    return workflow_registry_add(registry, &definition, ret_error);
}

static struct text agent_of(const struct workflow_registry *registry, const char *name,
                            uint32_t version)
{
    const struct workflow *workflow = workflow_registry_find(registry, text_of(name), version);
    return workflow != NULL ? workflow->steps[0].agents[0] : (struct text){0};
}

Test(workflow_registry, keeps_the_first_definition_of_a_version)
{
    struct workflow_registry *registry = workflow_registry_new();
    cr_assert(deploy(registry, "w", 1, "first", NULL) == ERROR_OK);
    cr_assert(deploy(registry, "w", 1, "second", NULL) == ERROR_OK);
    cr_assert(workflow_registry_count(registry) == 1);
    cr_assert(text_equal(agent_of(registry, "w", 1), TEXT("first")));
    workflow_registry_free(registry);
}

/* `reeve workflow deploy` refuses such names; its orders go on. */
Test(workflow_registry, reads_a_workflow_whose_names_would_be_refused_today)
{
    struct workflow_registry *registry = workflow_registry_new();
    cr_assert(deploy(registry, "..", 1, ".", NULL) == ERROR_OK);
    cr_assert(text_equal(agent_of(registry, "..", 1), TEXT(".")));
    workflow_registry_free(registry);
}

/* Lint may become stricter; orders of what is deployed go on. */
Test(workflow_registry, reads_a_workflow_that_lint_would_refuse)
{
    static const char *const texts[] = {
        /* an output without a guard */
        "Name: w\nVersion: 1\nSteps:\n"
        "  - {Name: A, When: input.a > 1, Agent: x}\n"
        "  - {Name: B, Agent: x, Input: {a: \"${output.A.b}\"}}\n",
        /* a kind that does not fit, a member that InputShape does not have */
        "Name: w\nVersion: 1\nInputShape: {a: number}\nSteps:\n"
        "  - {Name: A, When: \"'a' + 1 == input.b\", Agent: x}\n",
        "Name: w\nVersion: 1\nSteps: [{Name: A, When: 1 + 1, Agent: x}]\n",
        /* an optional member without a guard */
        "Name: w\nVersion: 1\nInputShape: {a: boolean?}\nSteps:\n"
        "  - {Name: A, When: input.a, Agent: x}\n",
        /* what an attempt may take */
        "Name: w\nVersion: 1\nTimeoutSeconds: 1\nSteps: [{Name: A, Agent: x}]\n",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct workflow_registry *registry = workflow_registry_new();
        struct workflow_definition definition = {
            .name = TEXT("w"), .version = 1, .text = text_of(texts[i]), .format = TEXT("yaml")};
        struct error error = {0};
        cr_assert_not_null(strstr(kit_yaml(texts[i]).problems, ": error: "), "%s", texts[i]);
        cr_assert(workflow_registry_add(registry, &definition, &error) == ERROR_OK, "%s%s",
                  texts[i], error.message);
        cr_assert(workflow_registry_find(registry, TEXT("w"), 1) != NULL);
        workflow_registry_free(registry);
    }
}

/* A scheduler would abort at the undo of a step that is Caught. */
Test(workflow_registry, refuses_a_step_that_is_both_caught_and_undone)
{
    static const char text[] = "Name: w\nVersion: 1\nSteps: [{Name: A, Agent: x, "
                               "Compensate: {Action: u}, "
                               "Catch: [{ErrorEquals: [States.ALL], Next: $continue}]}]\n";
    struct workflow_registry *registry = workflow_registry_new();
    struct workflow_definition definition = {
        .name = TEXT("w"), .version = 1, .text = text_of(text), .format = TEXT("yaml")};
    struct error error = {0};
    cr_expect(workflow_registry_add(registry, &definition, &error) == ERROR_REJECT);
    workflow_registry_free(registry);
}

/* What cannot be evaluated at all is refused. */
Test(workflow_registry, refuses_expressions_that_are_none)
{
    static const char *const whens[] = {"1 +", "output.Z.a", "nothing.a", "input.a.none()"};
    char text[256];
    for (size_t i = 0; i < sizeof(whens) / sizeof(whens[0]); i++) {
        struct workflow_registry *registry = workflow_registry_new();
        snprintf(text, sizeof(text),
                 "Name: w\nVersion: 1\nSteps: [{Name: A, When: %s, Agent: x}]\n", whens[i]);
        struct workflow_definition definition = {
            .name = TEXT("w"), .version = 1, .text = text_of(text), .format = TEXT("yaml")};
        struct error error = {0};
        cr_expect(workflow_registry_add(registry, &definition, &error) == ERROR_REJECT, "%s",
                  whens[i]);
        workflow_registry_free(registry);
    }
}

Test(workflow_registry, finds_a_version_and_the_newest_version)
{
    struct workflow_registry *registry = workflow_registry_new();
    static const uint32_t versions[] = {10, 2, 9, 2147483647};
    cr_assert(workflow_registry_find(registry, TEXT("w"), 0) == NULL);
    for (int i = 0; i < 3; i++)
        cr_assert(deploy(registry, "w", versions[i], "x", NULL) == ERROR_OK);
    cr_assert(deploy(registry, "v", 77, "x", NULL) == ERROR_OK);
    cr_assert(deploy(registry, "w-long", 1, "x", NULL) == ERROR_OK);
    cr_assert(workflow_registry_find(registry, TEXT("w"), 0)->version == 10);
    cr_assert(workflow_registry_find(registry, TEXT("w"), 9)->version == 9);
    cr_assert(workflow_registry_find(registry, TEXT("w"), 3) == NULL);
    cr_assert(workflow_registry_find(registry, TEXT("v"), 0)->version == 77);
    cr_assert(workflow_registry_find(registry, TEXT("w-"), 0) == NULL);
    cr_assert(workflow_registry_find(registry, TEXT("z"), 0) == NULL);
    cr_assert(workflow_registry_find(registry, TEXT("a"), 0) == NULL);
    cr_assert(deploy(registry, "w", versions[3], "x", NULL) == ERROR_OK);
    cr_assert(workflow_registry_find(registry, TEXT("w"), 0)->version == versions[3]);
    workflow_registry_free(registry);
}

Test(workflow_registry, lists_entries_in_order_with_what_their_records_say)
{
    struct workflow_registry *registry = workflow_registry_new();
    cr_assert(deploy(registry, "b", 1, "x", NULL) == ERROR_OK);
    cr_assert(deploy(registry, "a", 2, "x", NULL) == ERROR_OK);
    cr_assert(deploy(registry, "a", 1, "x", NULL) == ERROR_OK);
    cr_assert(workflow_registry_count(registry) == 3);
    const struct workflow_entry *entry = workflow_registry_at(registry, 0);
    cr_assert(text_equal(entry->definition.name, TEXT("a")) && entry->definition.version == 1);
    cr_assert(text_equal(entry->definition.deployed_by, TEXT("me")));
    cr_assert(entry->definition.deployed_at == 5 && entry->definition.text.size > 20);
    entry = workflow_registry_at(registry, 2);
    cr_assert(text_equal(entry->definition.name, TEXT("b")));
    cr_assert(workflow_registry_entry(registry, TEXT("b"), 0) == entry);
    workflow_registry_free(registry);
}

Test(workflow_registry, keeps_what_lint_warns_of)
{
    static const char text[] = "Name: w\nVersion: 1\nSteps:\n"
                               "  - {Name: A, Agent: x}\n"
                               "  - {Name: B, Agent: x, After: [A, A]}\n";
    struct workflow_registry *registry = workflow_registry_new();
    struct workflow_definition definition = {
        .name = TEXT("w"), .version = 1, .text = text_of(text), .format = TEXT("yaml")};
    cr_assert(workflow_registry_add(registry, &definition, NULL) == ERROR_OK);
    cr_assert(deploy(registry, "w", 2, "x", NULL) == ERROR_OK);
    const struct workflow_entry *entry = workflow_registry_entry(registry, TEXT("w"), 1);
    cr_assert_eq(entry->warning_count, 1);
    cr_assert_eq(entry->warnings[0].line, 5);
    cr_assert_str_eq(entry->warnings[0].text, "A is named twice");
    cr_assert_eq(workflow_registry_entry(registry, TEXT("w"), 2)->warning_count, 0);
    workflow_registry_free(registry);
}

Test(workflow_registry, reserves_the_version_of_an_invalid_first_definition)
{
    struct workflow_registry *registry = workflow_registry_new();
    struct error error = {0};
    cr_assert(deploy(registry, "w", 1, "no name", &error) == ERROR_REJECT);
    cr_assert_eq(error.code, CODE_BAD_WORKFLOW);
    cr_assert(strstr(error.message, "3:26: Agent \"no name\" has a character") != NULL, "%s",
              error.message);
    cr_assert(deploy(registry, "w", 1, "good", &error) == ERROR_REJECT);
    cr_assert(strstr(error.message, "deploy another version") != NULL);
    cr_assert(workflow_registry_find(registry, TEXT("w"), 0) == NULL);
    cr_assert(workflow_registry_count(registry) == 0);
    cr_assert(workflow_registry_refuses(registry, TEXT("w"), 1));
    cr_assert(!workflow_registry_refuses(registry, TEXT("w"), 2));
    cr_assert(deploy(registry, "w", 2, "good", NULL) == ERROR_OK);
    cr_assert(workflow_registry_find(registry, TEXT("w"), 0)->version == 2);
    workflow_registry_free(registry);
}

Test(workflow_registry, rejects_a_record_that_contradicts_its_text)
{
    struct workflow_registry *registry = workflow_registry_new();
    struct error error = {0};
    struct workflow_definition definition = {
        .name = TEXT("w"),
        .version = 2,
        .text = TEXT("{\"Name\": \"w\", \"Version\": 1, \"Steps\": [{\"Name\": \"A\", "
                     "\"Agent\": \"x\"}]}"),
        .format = TEXT("json"),
    };
    cr_assert(workflow_registry_add(registry, &definition, &error) == ERROR_REJECT);
    cr_assert_str_eq(error.message, "the record says w:2, its text w:1");
    workflow_registry_free(registry);
}

/* ---- which version is active ---- */

static enum error_class activate(struct workflow_registry *registry, uint32_t version, bool active)
{
    struct error error;
    struct workflow_activation activation = {.name = TEXT("w"),
                                             .version = version,
                                             .active = active,
                                             .by = TEXT("ann"),
                                             .reason = TEXT("because"),
                                             .at = 7};
    return workflow_registry_activate(registry, &activation, &error);
}

static uint32_t active(const struct workflow_registry *registry)
{
    const struct workflow_entry *entry = workflow_registry_entry(registry, TEXT("w"), 0);
    return entry != NULL ? entry->definition.version : 0;
}

static uint32_t previous(const struct workflow_registry *registry)
{
    const struct workflow_entry *entry = workflow_registry_previous(registry, TEXT("w"));
    return entry != NULL ? entry->definition.version : 0;
}

Test(workflow_registry, takes_the_newest_version_until_one_is_chosen)
{
    struct workflow_registry *registry = workflow_registry_new();
    cr_assert_eq(previous(registry), 0);
    cr_assert(deploy(registry, "w", 2, "x", NULL) == ERROR_OK);
    cr_assert(deploy(registry, "w", 1, "x", NULL) == ERROR_OK);
    cr_assert_eq(active(registry), 2);
    cr_assert_eq(previous(registry), 0); /* version 1 came later and was never active */
    cr_assert(deploy(registry, "w", 3, "x", NULL) == ERROR_OK);
    cr_assert_eq(active(registry), 3);
    cr_assert_eq(previous(registry), 2);
    cr_assert_not(workflow_registry_is_chosen(registry, TEXT("w")));
    cr_assert(activate(registry, 1, true) == ERROR_OK);
    cr_assert(workflow_registry_is_chosen(registry, TEXT("w")));
    cr_assert_eq(active(registry), 1);
    cr_assert_eq(previous(registry), 3);
    cr_assert(deploy(registry, "w", 4, "x", NULL) == ERROR_OK);
    cr_assert_eq(active(registry), 1);
    cr_assert(activate(registry, 4, true) == ERROR_OK);
    cr_assert_eq(active(registry), 4);
    cr_assert_eq(previous(registry), 1);
    workflow_registry_free(registry);
}

Test(workflow_registry, goes_back_past_retired_versions)
{
    struct workflow_registry *registry = workflow_registry_new();
    for (uint32_t version = 1; version <= 3; version++)
        cr_assert(deploy(registry, "w", version, "x", NULL) == ERROR_OK);
    cr_assert(activate(registry, 2, false) == ERROR_OK);
    cr_assert_eq(active(registry), 3);
    cr_assert_eq(previous(registry), 1);
    /* The active one stays active when it is retired: no other version was chosen. */
    cr_assert(activate(registry, 3, false) == ERROR_OK);
    const struct workflow_entry *entry = workflow_registry_entry(registry, TEXT("w"), 0);
    cr_assert(entry->definition.version == 3 && entry->retired);
    cr_assert(text_equal(entry->latest.by, TEXT("ann")));
    cr_assert(text_equal(entry->latest.reason, TEXT("because")));
    cr_assert(activate(registry, 3, true) == ERROR_OK);
    cr_assert_not(workflow_registry_entry(registry, TEXT("w"), 0)->retired);
    workflow_registry_free(registry);
}

Test(workflow_registry, chooses_only_what_is_deployed)
{
    struct workflow_registry *registry = workflow_registry_new();
    cr_assert(activate(registry, 1, true) == ERROR_REJECT);
    cr_assert(deploy(registry, "w", 1, "x", NULL) == ERROR_OK);
    cr_assert(activate(registry, 2, false) == ERROR_REJECT);
    cr_assert_eq(active(registry), 1);
    workflow_registry_free(registry);
}

static const struct workflow *find(const struct workflow_registry *registry, const char *name,
                                   uint32_t version)
{
    return workflow_registry_find(registry, text_of(name), version);
}

Test(workflow_registry, finds_bodies_by_their_whole_names)
{
    static const char source[] = "Name: w\nVersion: 2\nSteps:\n"
                                 "  - {Name: A, Agent: x}\n"
                                 "  - {Name: B, Steps: [{Name: C, Steps: [{Name: D, Set: 1}]}]}\n";
    struct workflow_registry *registry = workflow_registry_new();
    struct workflow_definition definition = {
        .name = TEXT("w"), .version = 2, .text = text_of(source), .format = TEXT("yaml")};
    cr_assert(deploy(registry, "w", 1, "x", NULL) == ERROR_OK);
    cr_assert(workflow_registry_add(registry, &definition, NULL) == ERROR_OK);
    const struct workflow *body = find(registry, "w/B", 2);
    cr_assert(body != NULL && text_equal(body->name, TEXT("w/B")) && body->version == 2);
    cr_assert_eq(find(registry, "w/B/C", 2), body->steps[0].suborders.body);
    cr_assert_eq(find(registry, "w/B", 0), body);
    static const char *const unknown[] = {"w/A",   "w/C",     "w/", "/B",  "w/B/",  "w//B",
                                          "w/B/D", "w/B/C/D", "/",  "v/B", "w/B/C/"};
    for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++)
        cr_expect_null(find(registry, unknown[i], 2), "%s", unknown[i]);
    cr_assert_null(find(registry, "w/B", 1));
    cr_assert_null(find(registry, "w/B", 3));
    /* Orders name whole files; what is retired is the file. */
    cr_assert_null(workflow_registry_entry(registry, TEXT("w/B"), 2));
    const struct workflow_entry *file = workflow_registry_file(registry, TEXT("w/B/C"), 2);
    cr_assert_eq(file, workflow_registry_entry(registry, TEXT("w"), 2));
    cr_assert(activate(registry, 2, false) == ERROR_OK);
    cr_assert(file->retired && find(registry, "w/B", 2) == body);
    workflow_registry_free(registry);
}
