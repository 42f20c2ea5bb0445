/* SPDX-License-Identifier: Apache-2.0 */
/* GET /api/workflows/{name}/{version}/graph. */
#include "tests/lib/site.h"
#include "tests/unit/console/fixture.h"

#include <criterion/criterion.h>

static const char text[] = "Name: shop\nVersion: 3\nSteps:\n"
                           "  - {Name: Pay, Agent: bank, After: [],\n"
                           "     Compensate: {Action: Refund}}\n"
                           "  - {Name: Ship, Agents: [a, b], After: [Pay], Pivot: true}\n"
                           "  - {Name: Late, When: input.late, Fail: {Error: TooLate},\n"
                           "     Catch: [{ErrorEquals: [TooLate], Next: $continue}]}\n"
                           "  - Name: Each\n"
                           "    ForEach: {Items: input.parts}\n"
                           "    Steps:\n"
                           "      - {Name: Tell, Agent: mail}\n"
                           "      - {Name: Twice, ForEach: {Items: [1, 2]},\n"
                           "         Steps: [{Name: Book, Agent: books}]}\n";

static void open_world(void)
{
    world = world_new(3, "linear: Pay=pay");
    site_deploy(world->kafka, world->codec, "t.workflows", TEXT("shop"), 3, "yaml", text_of(text));
    world_open(world);
}

TestSuite(console_graph, .init = open_world, .fini = close_world);

Test(console_graph, answers_with_the_steps)
{
    SHOWS(world_get(world, 200, "/api/workflows/shop/3/graph"), {"name", "shop"}, {"version", "3"},
          {"steps.0.undo", "Refund"}, {"steps.0.level", "0"}, {"steps.1.level", "1"},
          {"steps.1.after.0", "Pay"}, {"steps.1.agents.1", "b"}, {"steps.1.pivot", "true"},
          {"steps.1.undo", "null"}, {"steps.1.kind", "Agent"}, {"steps.1.when", "null"},
          {"steps.2.kind", "Fail"}, {"steps.2.when", "input.late"}, {"steps.2.error", "TooLate"},
          {"steps.2.agents", "[0]"}, {"steps.2.for_each", "null"}, {"steps.2.steps", "null"});
}

Test(console_graph, shows_the_steps_of_a_body_within_its_step)
{
    SHOWS(world_get(world, 200, "/api/workflows/shop/3/graph"), {"steps.3.kind", "Steps"},
          {"steps.3.for_each", "input.parts"}, {"steps.3.steps.0.name", "Tell"},
          {"steps.3.steps.0.level", "0"}, {"steps.3.steps.1.level", "1"},
          {"steps.3.steps.1.for_each", "2 items"}, {"steps.3.steps.1.steps.0.agents.0", "books"});
    SHOWS(world_get(world, 200, "/api/workflows/shop/3"), {"steps.3.kind", "Steps"},
          {"steps.3.for_each", "input.parts"}, {"steps.3.steps.0.agent", "mail"},
          {"steps.3.steps.0.kind", "Agent"}, {"steps.3.steps.1.for_each", "2 items"},
          {"steps.3.steps.1.steps.0.step", "Book"}, {"steps.0.steps", "null"});
}

/* A sub-order's page asks for the body that it runs by its whole name. */
Test(console_graph, draws_a_body_by_its_name)
{
    SHOWS(world_get(world, 200, "/api/workflows/shop%2FEach/3/graph"), {"name", "shop/Each"},
          {"version", "3"}, {"steps.0.name", "Tell"}, {"steps.1.after.0", "Tell"});
    SHOWS(world_get(world, 404, "/api/workflows/shop%2FPay/3/graph"),
          {"detail", "version 3 of this workflow is not deployed"});
    /* Only whole files are versions. */
    SHOWS(world_get(world, 404, "/api/workflows/shop%2FEach/3"),
          {"detail", "version 3 of this workflow is not deployed"});
}

Test(console_graph, lists_what_a_step_decides)
{
    SHOWS(world_get(world, 200, "/api/workflows/shop/3"), {"steps.0.kind", "Agent"},
          {"steps.0.when", "null"}, {"steps.0.catch", "[0]"}, {"steps.2.kind", "Fail"},
          {"steps.2.agent", "null"}, {"steps.2.when", "input.late"}, {"steps.2.error", "TooLate"},
          {"steps.2.catch.0.errors.0", "TooLate"}, {"steps.2.catch.0.next", "$continue"},
          {"steps.2.on_exhausted", "$error"});
}

Test(console_graph, refuses_what_it_cannot_draw)
{
    static const struct {
        const char *path;
        int status;
        const char *message;
    } cases[] = {
        {"/api/workflows/shop/3/graph?format=svg", 400,
         "format: expected \"text\", \"dot\" or \"json\""},
        {"/api/workflows/shop/x/graph", 400,
         "the version in the path: expected an integer from 1 to 2147483647"},
        {"/api/workflows/shop/0/graph", 400,
         "the version in the path: expected an integer from 1 to 2147483647"},
        {"/api/workflows/shop/4/graph?format=dot", 404,
         "version 4 of this workflow is not deployed"},
        {"/api/workflows/%22/3/graph", 404, "version 3 of this workflow is not deployed"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        SHOWS(world_get(world, cases[i].status, cases[i].path), {"detail", cases[i].message});
    }
}
