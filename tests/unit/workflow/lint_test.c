/* SPDX-License-Identifier: Apache-2.0 */
/* Mistakes in a file's structure, its names and its graph, reported with line and column. */
#include "tests/unit/workflow/kit.h"

#include <criterion/criterion.h>

Test(workflow_lint, reports_unknown_missing_empty_and_repeated_fields)
{
    LINT({HEAD "  - {Name: A, Agnet: x}\n",
          "4:5: error: a step has no Agent, Agents, Set, Fail, Wait, Await or Steps\n"
          "4:15: error: Agnet is an unknown field of a step: did you mean Agent?\n"},
         {"name: w\nVersion: 1\nSteps: [{Name: A, Agent: x}]\n",
          "1:1: error: name is an unknown field of the workflow: did you mean Name?\n"
          "1:1: error: the workflow has no Name\n"},
         {HEAD "  - {Name: A, Agent: x, Colour: red}\n",
          "4:25: error: Colour is an unknown field of a step\n"},
         {HEAD "  - {Name: A, Agent: x, Next: B}\n",
          "4:25: error: there is no field Next here: After names the steps that come before\n"},
         {HEAD "  - {Name: A, Agent: x, MaxAttempts: 3}\n",
          "4:25: error: MaxAttempts does not belong here; it belongs to a retrier\n"},
         {"Name: w\nVersion: 1\nRetry: []\nSteps: [{Name: A, Agent: x}]\n",
          "3:1: error: Retry does not belong here; it belongs to Defaults or Compensate of "
          "Defaults or a "
          "step or Compensate of a step\n"},
         {HEAD "  - Name: A\n    Agent: x\n    Name: B\n",
          "6:5: error: Name is given twice, first in line 4\n"},
         {HEAD "  - Name: A\n    Agent: x\n    After:\n",
          "6:5: error: After has no value: give it one or leave it out\n"},
         {HEAD "  - Name: A\n    Agent: null\n",
          "5:5: error: Agent has no value: give it one or leave it out\n"},
         {"Version: 1\n", "1:1: error: the workflow has no Name\n"
                          "1:1: error: the workflow has no Steps\n"});
}

Test(workflow_lint, reports_values_of_the_wrong_type)
{
    LINT({"- a\n- b\n", "1:1: error: the workflow must be a mapping of fields, not a list\n"},
         {"hello\n", "1:1: error: the workflow must be a mapping of fields, not a text\n"},
         {"Name: [w]\nVersion: 1\nSteps: {}\n",
          "1:7: error: Name must be a name, not a list\n"
          "3:8: error: Steps must be a list, not a mapping\n"},
         {"Name: 1.0\nVersion: \"1\"\nSteps: []\n",
          "1:7: error: Name must be a name: put 1.0 in quotes\n"
          "2:10: error: Version must be a whole number, not a text (1): leave out the quotes\n"
          "3:8: error: Steps has 0 steps; it must have 1 to 64\n"},
         {"Name: w\nVersion: 1.5\nSteps: [3, {Name: A, Agent: x}]\n",
          "2:10: error: Version must be a whole number, not a number (1.5)\n"
          "3:9: error: a step must be a mapping of fields, not a number\n"},
         {"Name: w\nVersion: 0\nComment: 7\nSteps: [{Name: A, Agent: true}]\n",
          "2:10: error: Version must be from 1 to 2147483647, not 0\n"
          "3:10: error: Comment must be a text: put 7 in quotes\n"
          "4:26: error: Agent must be a name: put true in quotes\n"},
         {"Name: w\nVersion: 99999999999999999999\nSteps: [{Name: A, Agent: x}]\n",
          "2:10: error: Version must be from 1 to 2147483647, not 99999999999999999999\n"},
         {HEAD "  - {Name: A, Agent: x, Pivot: yes}\n",
          "4:32: error: Pivot must be true or false: write true\n"},
         {HEAD "  - {Name: A, Agent: x, Pivot: 'false'}\n",
          "4:32: error: Pivot must be true or false: write false without quotes\n"},
         {HEAD "  - {Name: A, Agent: x, Pivot: 1}\n",
          "4:32: error: Pivot must be true or false, not a number (1)\n"},
         {HEAD "  - {Name: A, Agent: x, Compensate: Undo}\n",
          "4:37: error: Compensate of a step must be a mapping of fields, not a text: write "
          "{Action: Undo}\n"});
}

Test(workflow_lint, checks_agents)
{
    LINT({HEAD "  - {Name: A, Agent: x, Agents: [y]}\n",
          "4:25: error: a step has Agent or Agents, not both: name all of them in Agents\n"},
         {HEAD "  - {Name: A}\n",
          "4:5: error: a step has no Agent, Agents, Set, Fail, Wait, Await or Steps\n"},
         {HEAD "  - {Name: A, Agents: []}\n",
          "4:23: error: Agents names 0 agents; it must name 1 to 8\n"},
         {HEAD "  - {Name: A, Agents: [a, b, c, d, e, f, g, h, i]}\n",
          "4:23: error: Agents names 9 agents; it must name 1 to 8\n"},
         {HEAD "  - {Name: A, Agents: [x, y, x]}\n", "4:30: error: agent x is named twice\n"},
         {HEAD "  - {Name: A, Agents: x}\n",
          "4:23: error: Agents must be a list of agents, not a text\n"},
         {HEAD "  - {Name: A, Agent: [x, y]}\n",
          "4:22: error: Agent must be a name, not a list: several are named in Agents\n"},
         {HEAD "  - {Name: A, Agents: [x, 7, {}, a/b]}\n",
          "4:27: error: an agent must be a name: put 7 in quotes\n"
          "4:30: error: an agent must be a name, not a mapping\n"
          "4:34: error: an agent \"a/b\" has a character that is not a letter, a digit or one of . "
          "_ "
          "-\n"},
         {HEAD "  - {Name: A, Agents: }\n",
          "4:15: error: Agents has no value: give it one or leave it out\n"},
         {HEAD "  - {Name: A, Agentss: [x]}\n",
          "4:5: error: a step has no Agent, Agents, Set, Fail, Wait, Await or Steps\n"
          "4:15: error: Agentss is an unknown field of a step: did you mean Agents?\n"},
         {"Name: w\nVersion: 1\nDefaults: {Agents: [x]}\nSteps: [{Name: A, Agent: x}]\n",
          "3:12: error: Agents does not belong here; it belongs to a step\n"});
}

Test(workflow_lint, checks_extensions)
{
    LINT({HEAD "  - {Name: A, Agent: x, MaxExtensionSeconds: -1}\n",
          "4:46: error: MaxExtensionSeconds must be a number of seconds from 0 to 31622400, not "
          "-1\n"},
         {HEAD "  - {Name: A, Agent: x, MaxExtension: 5}\n",
          "4:25: error: MaxExtension is an unknown field of a step: did you mean "
          "MaxExtensionSeconds?\n"},
         {HEAD "  - {Name: A, Agent: x, Compensate: {Action: U, MaxExtensionSeconds: soon}}\n",
          "4:70: error: MaxExtensionSeconds must be a number of seconds, not a text (soon)\n"},
         {"Name: w\nVersion: 1\nTimeoutSeconds: 100\nSteps:\n"
          "  - {Name: A, Agent: x, TimeoutSeconds: 10, MaxExtensionSeconds: 100}\n",
          "5:12: warning: step A with all its retries and extensions may take 110 s, longer than "
          "the whole order (100 s)\n"});
}

Test(workflow_lint, checks_durations)
{
    LINT({HEAD "  - {Name: A, Agent: x, TimeoutSeconds: 0}\n",
          "4:41: error: TimeoutSeconds must be a number of seconds from 0.001 to 31622400, not "
          "0\n"},
         {HEAD "  - {Name: A, Agent: x, TimeoutSeconds: -1}\n",
          "4:41: error: TimeoutSeconds must be a number of seconds from 0.001 to 31622400, not "
          "-1\n"},
         {HEAD "  - {Name: A, Agent: x, TimeoutSeconds: 31622400.001}\n",
          "4:41: error: TimeoutSeconds must be a number of seconds from 0.001 to 31622400, not "
          "31622400.001\n"},
         {HEAD "  - {Name: A, Agent: x, TimeoutSeconds: 1.0005}\n",
          "4:41: error: TimeoutSeconds has more than three digits after the decimal point: "
          "1.0005\n"},
         {HEAD "  - {Name: A, Agent: x, TimeoutSeconds: 1e3}\n",
          "4:41: error: TimeoutSeconds must be a number of seconds, not a number (1e3)\n"},
         {HEAD "  - {Name: A, Agent: x, TimeoutSeconds: 5s}\n",
          "4:41: error: TimeoutSeconds must be a number of seconds: write 5\n"},
         {HEAD "  - {Name: A, Agent: x, TimeoutSeconds: '5'}\n",
          "4:41: error: TimeoutSeconds must be a number of seconds, not a text (5): leave out the "
          "quotes\n"},
         {HEAD "  - {Name: A, Agent: x, TimeoutSeconds: 0x10}\n",
          "4:41: error: TimeoutSeconds must be a number of seconds, not a text (0x10)\n"});
}

Test(workflow_lint, checks_names)
{
    LINT({HEAD "  - {Name: Take Payment, Agent: x}\n",
          "4:12: error: Name \"Take Payment\" has a character that is not a letter, a digit or one "
          "of . _ -\n"},
         {HEAD "  - {Name: .., Agent: x}\n",
          "4:12: error: Name \"..\" is a step of a path: it must not be \".\" or \"..\"\n"},
         {HEAD "  - {Name: A, Agent: .}\n",
          "4:22: error: Agent \".\" is a step of a path: it must not be \".\" or \"..\"\n"},
         {HEAD "  - {Name: A, Agent: \"\"}\n",
          "4:22: error: Agent has 0 characters; it must have 1 to 64\n"},
         {HEAD "  - {Name: "
               "Aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffggggg, Agent: x}\n",
          "4:12: error: Name has 65 characters; it must have 1 to 64\n"},
         {HEAD "  - {Name: A, Agent: x}\n  - {Name: A, Agent: y}\n",
          "5:12: error: there is already a step A, in line 4\n"},
         {HEAD "  - {Name: A, Agent: x, Compensate: {Action: A}}\n",
          "4:46: warning: the action that undoes A has the same name as the step\n"},
         {HEAD "  - {Name: \xc3\xa9t\xc3\xa9, Agent: !x y}\n",
          "4:24: error: tags (!) are not allowed: put a text or an expression that begins with ! "
          "in quotes\n"});
}

Test(workflow_lint, checks_predecessors)
{
    LINT(
        {HEAD "  - {Name: Reserve, Agent: x}\n  - {Name: Pay, Agent: x, After: Reserv}\n",
         "5:34: error: After names Reserv, which is not a step: did you mean Reserve?\n"},
        {HEAD "  - {Name: A, Agent: x}\n  - {Name: B, Agent: x, After: [A, Zebra, A]}\n",
         "5:36: error: After names Zebra, which is not a step: add that step, or correct the name\n"
         "5:43: warning: A is named twice\n"},
        {HEAD "  - {Name: A, Agent: x, After: A}\n", "4:32: error: step A waits for itself\n"},
        {HEAD "  - {Name: A, Agent: x, After: {B: C}}\n",
         "4:32: error: After must be a list of steps, not a mapping\n"},
        {HEAD "  - {Name: A, Agent: x, After: [[B], ~]}\n",
         "4:33: error: After must name steps, not a list\n"
         "4:38: error: After must name steps, not nothing\n"});
}

Test(workflow_lint, shows_the_steps_of_a_cycle)
{
    LINT({HEAD "  - {Name: A, Agent: x, After: C}\n  - {Name: B, Agent: x}\n"
               "  - {Name: C, Agent: x}\n",
          "4:12: error: these steps wait for each other in a cycle: A -> B -> C -> A\n"},
         {HEAD "  - {Name: S, Agent: x}\n  - {Name: T, Agent: x, After: [S, U]}\n"
               "  - {Name: U, Agent: x, After: T}\n  - {Name: V, Agent: x, After: U}\n",
          "5:12: error: these steps wait for each other in a cycle: T -> U -> T\n"});
}

Test(workflow_lint, checks_the_pivot)
{
    LINT({HEAD "  - {Name: A, Agent: x, Pivot: true}\n  - {Name: B, Agent: x, Pivot: true}\n",
          "5:32: error: there can be only one pivot, and A in line 4 is one\n"},
         {HEAD "  - Name: A\n    Agent: x\n    Pivot: true\n    Compensate: {Action: U}\n",
          "7:17: error: the pivot A is never undone: Compensate has no meaning here\n"},
         {HEAD "  - {Name: A, Agent: x, Pivot: true}\n"
               "  - Name: B\n    Agent: x\n    Compensate: {Action: U}\n"
               "    OnExhausted: compensate\n"
               "    Catch: [{ErrorEquals: [States.ALL], Next: $compensate}]\n",
          "7:17: error: step B comes after the pivot, where there is no way back: it is never "
          "undone\n"
          "8:18: error: step B comes after the pivot, where there is no way back: OnExhausted must "
          "be error\n"
          "9:12: error: step B comes after the pivot, where there is no way back: $compensate is "
          "not possible\n"},
         {HEAD "  - {Name: A, Agent: x}\n  - {Name: B, Agent: x, After: A, Pivot: true}\n"
               "  - {Name: C, Agent: x, After: A}\n  - {Name: D, Agent: x, After: [B, C]}\n",
          "6:12: error: step C comes neither before nor after the pivot B: let one name the other "
          "in After\n"});
}

Test(workflow_lint, warns_of_steps_that_exceed_the_order_timeout)
{
#define TIMED "Name: w\nVersion: 1\nTimeoutSeconds: 10\nSteps:\n"
    LINT({TIMED "  - {Name: A, Agent: x, TimeoutSeconds: 10.5}\n",
          "5:12: error: one attempt of step A may take 10.5 s, longer than the whole order (10 "
          "s)\n"},
         {TIMED "  - Name: A\n    Agent: x\n    TimeoutSeconds: 2\n"
                "    Retry: [{ErrorEquals: [X], IntervalSeconds: 1, MaxAttempts: 3}]\n",
          "5:11: warning: step A with all its retries may take 15 s, longer than the whole order "
          "(10 s)\n"},
         {TIMED "  - {Name: A, Agent: x, TimeoutSeconds: 4}\n"
                "  - {Name: B, Agent: x, TimeoutSeconds: 4}\n"
                "  - {Name: C, Agent: x, TimeoutSeconds: 4.25}\n",
          "3:17: warning: the steps one after the other may take 12.25 s with all their retries, "
          "longer than the whole order (10 s)\n"},
         {TIMED "  - {Name: A, Agent: x, TimeoutSeconds: 4, After: []}\n"
                "  - {Name: B, Agent: x, TimeoutSeconds: 4, After: []}\n"
                "  - {Name: C, Agent: x, TimeoutSeconds: 4, After: [A, B]}\n",
          ""},
         /* Exactly the timeout of the order. */
         {TIMED "  - {Name: A, Agent: x, TimeoutSeconds: 10}\n", ""},
         /* The time of an undo does not count. */
         {TIMED "  - Name: A\n    Agent: x\n    TimeoutSeconds: 1\n"
                "    Compensate: {Action: U, TimeoutSeconds: 1000}\n",
          ""},
         /* The longest possible schedule does not overflow. */
         {TIMED "  - Name: A\n    Agent: x\n    TimeoutSeconds: 1\n"
                "    Retry: [{ErrorEquals: [X], IntervalSeconds: 31622400, BackoffRate: 1000, "
                "MaxAttempts: 1000}]\n",
          "5:11: warning: step A with all its retries may take 31622401001 s, longer than the "
          "whole order (10 s)\n"});
}

Test(workflow_lint, reports_all_mistakes_in_file_order)
{
    LINT({"Version: x\nTimeoutSeconds: soon\nSteps:\n"
          "  - {Name: B, Agent: a b, After: C}\n"
          "  - {Nmae: D, Agent: x}\n",
          "1:1: error: the workflow has no Name\n"
          "1:10: error: Version must be a whole number, not a text (x)\n"
          "2:17: error: TimeoutSeconds must be a number of seconds, not a text (soon)\n"
          "4:22: error: Agent \"a b\" has a character that is not a letter, a digit or one of . _ "
          "-\n"
          "4:34: error: After names C, which is not a step: add that step, or correct the name\n"
          "5:5: error: a step has no Name\n"
          "5:6: error: Nmae is an unknown field of a step: did you mean Name?\n"});
}
