/* SPDX-License-Identifier: Apache-2.0 */
/* The registry keeps the first definition of each version and finds the newest version. */
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
        .source = {source, (uint32_t)size},
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

Test(workflow_registry, lists_entries_in_order_with_their_origin)
{
    struct workflow_registry *registry = workflow_registry_new();
    cr_assert(deploy(registry, "b", 1, "x", NULL) == ERROR_OK);
    cr_assert(deploy(registry, "a", 2, "x", NULL) == ERROR_OK);
    cr_assert(deploy(registry, "a", 1, "x", NULL) == ERROR_OK);
    cr_assert(workflow_registry_count(registry) == 3);
    const struct workflow_entry *entry = workflow_registry_at(registry, 0);
    cr_assert(text_equal(entry->definition.name, TEXT("a")) && entry->definition.version == 1);
    cr_assert(text_equal(entry->definition.deployed_by, TEXT("me")));
    cr_assert(entry->definition.deployed_at == 5 && entry->definition.source.size > 20);
    entry = workflow_registry_at(registry, 2);
    cr_assert(text_equal(entry->definition.name, TEXT("b")));
    cr_assert(workflow_registry_entry(registry, TEXT("b"), 0) == entry);
    workflow_registry_free(registry);
}

Test(workflow_registry, reserves_the_version_of_an_invalid_first_definition)
{
    struct workflow_registry *registry = workflow_registry_new();
    struct error error = {0};
    cr_assert(deploy(registry, "w", 1, "no name", &error) == ERROR_REJECT);
    cr_assert_str_eq(error.code, "BadWorkflow");
    cr_assert(strstr(error.message, "3:26: Agent \"no name\" has a character") != NULL, "%s",
              error.message);
    cr_assert(deploy(registry, "w", 1, "good", &error) == ERROR_REJECT);
    cr_assert(strstr(error.message, "deploy another version") != NULL);
    cr_assert(workflow_registry_find(registry, TEXT("w"), 0) == NULL);
    cr_assert(workflow_registry_count(registry) == 0);
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
        .source = TEXT("{\"Name\": \"w\", \"Version\": 1, \"Steps\": [{\"Name\": \"A\", "
                       "\"Agent\": \"x\"}]}"),
        .format = TEXT("json"),
    };
    cr_assert(workflow_registry_add(registry, &definition, &error) == ERROR_REJECT);
    cr_assert_str_eq(error.message, "the record says w:2, its text w:1");
    workflow_registry_free(registry);
}
