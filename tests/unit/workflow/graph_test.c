/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures of workflows. */
#include "tests/unit/workflow/kit.h"
#include "workflow/graph.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static const char diamond[] = "Name: shop\nVersion: 7\nSteps:\n"
                              "  - Name: Reserve\n    Agent: stock\n    After: []\n"
                              "    Compensate:\n      Action: Release\n"
                              "  - Name: Check\n    Agents: [fraud, fraud2]\n    After: []\n"
                              "  - Name: Pay\n    Agent: bank\n    After: [Reserve, Check]\n"
                              "  - Name: Ship\n    Agent: carrier\n    After: [Pay]\n"
                              "    Pivot: true\n";

/* New, lives as long as the test. */
static const char *draw(const struct workflow *workflow, enum workflow_graph_format format)
{
    size_t size = workflow_graph(workflow, format, NULL, 0);
    char *picture = arena_bytes(kit_arena(), size + 1);
    picture[size] = '\0';
    cr_assert_eq(workflow_graph(workflow, format, picture, size), size);
    cr_assert_eq(strlen(picture), size);
    return picture;
}

Test(graph, lists_the_steps_by_level_as_text)
{
    cr_assert_str_eq(draw(kit_workflow(diamond), GRAPH_TEXT),
                     "shop:7\n"
                     "  1  Reserve  [stock]         (undo: Release)\n"
                     "     Check    [fraud|fraud2]\n"
                     "  2  Pay      [bank]          <- Reserve, Check\n"
                     "  3  Ship     [carrier]       <- Pay  (pivot)\n");
}

Test(graph, names_steps_and_edges_in_dot)
{
    cr_assert_str_eq(draw(kit_workflow(diamond), GRAPH_DOT),
                     "digraph \"shop:7\" {\n"
                     "  rankdir=LR;\n"
                     "  node [shape=box, style=rounded];\n"
                     "  \"Reserve\" [label=\"Reserve\\nstock\\nundo: Release\"];\n"
                     "  \"Check\" [label=\"Check\\nfraud, fraud2\"];\n"
                     "  \"Pay\" [label=\"Pay\\nbank\"];\n"
                     "  \"Ship\" [label=\"Ship\\ncarrier\\npivot\", penwidth=2];\n"
                     "  \"Reserve\" -> \"Pay\";\n"
                     "  \"Check\" -> \"Pay\";\n"
                     "  \"Pay\" -> \"Ship\";\n"
                     "}\n");
}

Test(graph, shows_what_steps_wait_for)
{
    struct workflow *workflow = kit_workflow(HEAD "  - {Name: Soon, Wait: {Seconds: 60}}\n"
                                                  "  - {Name: Day, Wait: {Timestamp: input.on}}\n"
                                                  "  - {Name: Pay, Agent: bank}\n");
    cr_assert_str_eq(draw(workflow, GRAPH_TEXT), "w:1\n"
                                                 "  1  Soon  [Wait: 60 s]\n"
                                                 "  2  Day   [Wait: input.on]  <- Soon\n"
                                                 "  3  Pay   [bank]            <- Day\n");
    const char *dot = draw(workflow, GRAPH_DOT);
    cr_assert_not_null(strstr(dot, "\"Soon\" [label=\"Soon\\nWait: 60 s\", shape=oval];\n"), "%s",
                       dot);
}

Test(graph, shows_conditions_and_steps_without_agents)
{
    struct workflow *workflow =
        kit_workflow(HEAD "  - {Name: Sum, Set: \"${input.a}\"}\n"
                          "  - {Name: Odd, When: output.Sum == '1', Fail: {Error: Odd}}\n"
                          "  - {Name: Pay, Agent: bank, When: input.pay, Pivot: true}\n");
    cr_assert_str_eq(draw(workflow, GRAPH_TEXT),
                     "w:1\n"
                     "  1  Sum  [Set]\n"
                     "  2  Odd  [Fail: Odd]  <- Sum  (when: output.Sum == '1')\n"
                     "  3  Pay  [bank]       <- Odd  (when: input.pay)  (pivot)\n");
    const char *dot = draw(workflow, GRAPH_DOT);
    cr_assert_not_null(strstr(dot, "\"Sum\" [label=\"Sum\\nSet\", shape=hexagon];\n"), "%s", dot);
    cr_assert_not_null(strstr(dot, "\"Odd\" [label=\"Odd\\nFail: Odd\\nwhen: output.Sum == '1'\", "
                                   "shape=octagon, style=\"rounded,dashed\"];\n"),
                       "%s", dot);
    cr_assert_not_null(strstr(dot, "\"Odd\" -> \"Pay\" [arrowhead=odiamond];\n"), "%s", dot);
    cr_assert_not_null(strstr(dot, "\"Pay\" [label=\"Pay\\nbank\\nwhen: input.pay\\npivot\", "
                                   "penwidth=2, style=\"rounded,dashed\"];\n"),
                       "%s", dot);
}

static const char bodies[] =
    "Name: w\nVersion: 1\nSteps:\n"
    "  - {Name: A, Agent: x}\n"
    "  - Name: Each\n"
    "    ForEach: {Items: input.parts}\n"
    "    When: input.go\n"
    "    Steps:\n"
    "      - {Name: B, Agent: x, Compensate: {Action: U}}\n"
    "      - {Name: C, Steps: [{Name: D, Agent: x}, {Name: E, Agent: x, "
    "After: []}]}\n"
    "  - {Name: F, Agent: x, After: A}\n"
    "  - {Name: G, ForEach: {Items: [1, \"${input.n}\"]}, Steps: [{Name: H, "
    "Set: 1}]}\n"
    "  - {Name: I, ForEach: {Items: [1]}, Steps: [{Name: J, Set: 1}]}\n";

Test(graph, lists_the_steps_of_a_body_below_their_step)
{
    cr_assert_str_eq(draw(kit_workflow(bodies), GRAPH_TEXT),
                     "w:1\n"
                     "  1  A     [x]\n"
                     "  2  Each  [ForEach: input.parts]  <- A  (when: input.go)\n"
                     "       1  B  [x]      (undo: U)\n"
                     "       2  C  [Steps]  <- B\n"
                     "            1  D  [x]\n"
                     "               E  [x]\n"
                     "     F     [x]                     <- A\n"
                     "  3  G     [ForEach: 2 items]      <- F\n"
                     "       1  H  [Set]\n"
                     "  4  I     [ForEach: 1 item]       <- G\n"
                     "       1  J  [Set]\n");
}

Test(graph, draws_a_box_around_a_body_in_dot)
{
    struct workflow *workflow = kit_workflow(bodies);
    const char *dot = draw(workflow, GRAPH_DOT);
    const char *box = strstr(dot, "  subgraph \"cluster_Each\" {\n");
    cr_assert_not_null(box, "%s", dot);
    static const char expected[] =
        "  subgraph \"cluster_Each\" {\n"
        "    \"Each\" [label=\"Each\\nForEach: input.parts\\nwhen: input.go\", shape=folder, "
        "style=\"rounded,dashed\"];\n"
        "    \"Each/B\" [label=\"B\\nx\\nundo: U\"];\n"
        "    subgraph \"cluster_Each/C\" {\n"
        "      \"Each/C\" [label=\"C\\nSteps\", shape=folder];\n"
        "      \"Each/C/D\" [label=\"D\\nx\"];\n"
        "      \"Each/C/E\" [label=\"E\\nx\"];\n"
        "      \"Each/C\" -> \"Each/C/D\" [style=dotted];\n"
        "      \"Each/C\" -> \"Each/C/E\" [style=dotted];\n"
        "    }\n"
        "    \"Each/B\" -> \"Each/C\";\n"
        "    \"Each\" -> \"Each/B\" [style=dotted];\n"
        "  }\n";
    cr_assert_eq(strncmp(box, expected, strlen(expected)), 0, "%s", dot);
    cr_assert_not_null(strstr(dot, "  \"A\" -> \"Each\" [arrowhead=odiamond];\n"), "%s", dot);
    /* A body alone is drawn as a workflow. */
    dot = draw(workflow->steps[1].suborders.body, GRAPH_DOT);
    cr_assert_not_null(strstr(dot, "digraph \"w/Each:1\" {\n"), "%s", dot);
    cr_assert_not_null(strstr(dot, "  \"B\" -> \"C\";\n"), "%s", dot);
    cr_assert_not_null(strstr(dot, "    \"C/D\" [label=\"D\\nx\"];\n"), "%s", dot);
}

Test(graph, puts_a_step_on_a_level_after_all_its_predecessors)
{
    uint32_t levels[WORKFLOW_STEPS_MAX];
    struct workflow *workflow = kit_workflow(HEAD "  - {Name: C, Agent: a, After: [B, A]}\n"
                                                  "  - {Name: B, Agent: a, After: [A]}\n"
                                                  "  - {Name: A, Agent: a, After: []}\n");
    cr_assert_eq(workflow_levels(workflow, levels), 3);
    cr_assert_eq(levels[0], 2);
    cr_assert_eq(levels[1], 1);
    cr_assert_eq(levels[2], 0);
}

/* Files cannot hold such names; a function that writes markup does not rely on it. */
Test(graph, escapes_hostile_names)
{
    struct text agents[] = {TEXT("a\n\x01z")};
    struct text name = TEXT("<x y=\"&'\\\xff>");
    struct workflow_step step = {.name = name, .agents = agents, .agent_count = 1, .timeout_ms = 1};
    struct workflow workflow = {
        .name = name, .version = 1, .steps = &step, .step_count = 1, .pivot = -1};
    const char *dot = draw(&workflow, GRAPH_DOT);
    cr_assert_not_null(strstr(dot, "digraph \"<x y=\\\"&'\\\\?>:1\""));
    cr_assert_not_null(strstr(dot, "\\na??z\"];"));
    cr_assert_not_null(strstr(draw(&workflow, GRAPH_TEXT), "[a??z]"));
}

Test(graph, fills_a_short_buffer_with_the_beginning)
{
    char buffer[8] = "-------";
    size_t size = workflow_graph(kit_workflow(diamond), GRAPH_TEXT, buffer, 6);
    cr_assert_gt(size, 6);
    cr_assert_arr_eq(buffer, "shop:7-", 8);
}
