/* SPDX-License-Identifier: Apache-2.0 */
/* What each path of the API answers to a request that is wrong: 400 and one line that names the
 * parameter, the field or the part of the path. */
#include "services/console/routes.h"
#include "tests/unit/console/fixture.h"

#include <criterion/criterion.h>
#include <stdio.h>

#define LONG64 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
#define WHY "\"by\": \"ann\", \"reason\": \"x\""

static void open_world(void)
{
    world = world_new(7, "A{c} B{c,z1} C{e}");
    world_open(world);
}

TestSuite(console_bad_input, .init = open_world, .fini = close_world);

/* A path of the route. */
static const char *path_of(const struct http_route *route)
{
    static char path[128];
    size_t size = 0;
    for (const char *at = route->pattern; *at != '\0'; at++) {
        bool is_name = *at == '{';
        path[size++] = !is_name ? *at : at[1] == 'i' ? 'o' : at[1] == 'n' ? 'w' : '1';
        if (is_name)
            at = strchr(at, '}');
    }
    path[size] = '\0';
    return path;
}

static bool is_post(const struct http_route *route)
{
    return strcmp(route->method, "POST") == 0;
}

static bool takes_a_reason(const struct http_route *route)
{
    for (size_t i = 0; route->body != NULL && route->body[i] != NULL; i++)
        if (strcmp(route->body[i], "reason") == 0)
            return true;
    return false;
}

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* `body` NULL: a GET. */
static void check(const char *path, const char *body, const char *expected)
{
    world_refuses(world, 400, "BadRequest", path, body, expected);
}

Test(console_bad_input, names_an_unknown_parameter_of_each_path)
{
    char path[160];
    for (size_t i = 0; i < console_api_routes.count; i++) {
        const struct http_route *route = &console_api_routes.rows[i];
        bool posts = is_post(route);
        snprintf(path, sizeof(path), "%s?zzzzzz=1", path_of(route));
        check(path, posts ? "{" WHY "}" : NULL,
              posts ? "unknown parameter zzzzzz: this path takes no parameters"
                    : "unknown parameter zzzzzz: ");
    }
}

Test(console_bad_input, names_a_repeated_parameter)
{
    static const char *const cases[][2] = {
        {"/api/orders?limit=1&limit=1", "limit is given more than once"},
        {"/api/orders?state=Error&step=A&state=Error", "state is given more than once"},
        {"/api/orders/count?workflow=a&workflow=b", "workflow is given more than once"},
        {"/api/orders?group=a&waiting_for=A&group=b", "group is given more than once"},
        {"/api/orders/count?waiting_for=A&waiting_for=B", "waiting_for is given more than once"},
        {"/api/orders/o/history?after=1&after=", "after is given more than once"},
        {"/api/alerts?open=1&open=0", "open is given more than once"},
        {"/api/agents?agent=a&agent=b", "agent is given more than once"},
        {"/api/watch?order=a&order=a", "order is given more than once"},
        {"/api/events?state=Error&state=Error", "state is given more than once"},
        {"/api/workflows/test/1/graph?format=text&format=dot", "format is given more than once"},
        {"/api/dead-letters?code=a&code=b", "code is given more than once"},
        {"/api/dead-letters/0/0?bytes=1&bytes=1", "bytes is given more than once"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        check(cases[i][0], NULL, cases[i][1]);
    json_decref(world_get(world, 200, "/api/orders?attribute=a%3D1&attribute=b%3D2"));
}

Test(console_bad_input, suggests_the_likely_parameter)
{
    static const char *const cases[][2] = {
        {"/api/orders?stat=Error", "unknown parameter stat: did you mean state?"},
        {"/api/orders?State=Error", "unknown parameter State: did you mean state?"},
        {"/api/orders?limt=1", "unknown parameter limt: did you mean limit?"},
        {"/api/orders?groups=managers", "unknown parameter groups: did you mean group?"},
        {"/api/orders/count?waiting-for=A", "did you mean waiting_for?"},
        {"/api/orders?workflow-version=1", "did you mean workflow_version?"},
        {"/api/orders/count?prefix=a", "did you mean id_prefix?"},
        {"/api/orders/count?limit=5",
         "unknown parameter limit: expected state, step, waiting_for, group, error, "},
        {"/api/dead-letters?topics=a", "did you mean topic?"},
        {"/api/watch?zzz=", "unknown parameter zzz: expected after, order, state, workflow"},
        {"/api/counts?%0A=1", "unknown parameter (not printable): this path takes no parameters"},
        {"/api/counts?%FF", "unknown parameter (not printable)"},
        {"/api/counts?=1", "unknown parameter "},
        {"/api/counts?" LONG64 LONG64 "=1", "unknown parameter " LONG64 ": this path"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        check(cases[i][0], NULL, cases[i][1]);
}

Test(console_bad_input, names_the_parameter_whose_value_is_wrong)
{
    static const char *const cases[][2] = {
        {"/api/orders?state=Eror", "state: expected"},
        {"/api/orders?limit=0", "limit: expected an integer from 1 to 1000"},
        {"/api/orders?limit=", "limit: expected"},
        {"/api/orders?cursor=x", "cursor: expected"},
        {"/api/orders?paused=2", "paused: expected"},
        {"/api/orders?alert=closed", "alert: expected"},
        {"/api/orders?attribute=x", "attribute: expected"},
        {"/api/orders?workflow_version=1", "workflow_version: expected"},
        {"/api/orders/count?since=2010-12-02&until=2010-12-01", "since: expected"},
        {"/api/orders/count?step=" LONG64 "x", "step is 65 bytes; the limit is 64"},
        {"/api/orders?waiting_for=" LONG64 "x", "waiting_for is 65 bytes; the limit is 64"},
        {"/api/orders/count?group=" LONG64 "x", "group is 65 bytes; the limit is 64"},
        {"/api/orders?group=managers%00", "the query is malformed"},
        {"/api/orders/o/history?limit=0", "limit: expected"},
        {"/api/orders/o/history?after=x", "after: expected"},
        {"/api/orders/o/at/x", "offset: expected"},
        {"/api/orders/o/at/-1", "offset: expected"},
        {"/api/orders/a%2Fb/at/0", "order_id"},
        {"/api/orders/a%2Fb/history", "order_id"},
        {"/api/alerts?open=2", "open: expected"},
        {"/api/alerts?limit=x", "limit: expected"},
        {"/api/agents?agent=" LONG64 "x", "agent is 65 bytes"},
        {"/api/workflows/test/0/graph", "the version in the path: expected"},
        {"/api/workflows/test/1/graph?format=png", "format: expected"},
        {"/api/watch?state=x", "state: expected"},
        {"/api/watch?workflow=" LONG64 LONG64 LONG64, "workflow is 192 bytes; the limit is 181"},
        {"/api/watch?order=" LONG64 LONG64 "x", "order is 129 bytes; the limit is 128"},
        {"/api/events?state=x", "state: expected"},
        {"/api/events?order=" LONG64 LONG64 "x", "order is 129 bytes"},
        {"/api/dead-letters?all=2", "all: expected"},
        {"/api/dead-letters?since=2010-12-02&until=2010-12-01", "since: expected"},
        {"/api/dead-letters?code=" LONG64 "x", "code is 65 bytes"},
        {"/api/dead-letters/x/0", "the partition and the offset"},
        {"/api/dead-letters/0/0?bytes=x", "bytes: expected"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        check(cases[i][0], NULL, cases[i][1]);
}

Test(console_bad_input, names_the_field_of_a_body)
{
    for (size_t i = 0; i < console_api_routes.count; i++) {
        const char *path = path_of(&console_api_routes.rows[i]);
        /* Of some, another field is missing as well. */
        const char *missing = strstr(path, "migrate") != NULL ? "version: expected"
                              : strstr(path, "amend") != NULL ? "input: expected"
                                                              : NULL;
        if (!takes_a_reason(&console_api_routes.rows[i]))
            continue;
        check(path, "{\"reason\": \"x\"}", missing != NULL ? missing : "by: expected");
        check(path, "{\"by\": \"ann\"}", missing != NULL ? missing : "reason: expected");
        check(path, "{" WHY ", \"zzz\": 1}", "zzz");
        check(path, "[]", "");
        check(path, "{", "");
    }
    check("/api/agents/a%2Fb/pause", "{" WHY "}", "agent must be");
    check("/api/orders/a%2Fb/pause", "{" WHY "}", "order_id");
    check("/api/dead-letters/0/x/discard", "{" WHY "}", "the partition and the offset");
}

Test(console_bad_input, refuses_malformed_and_unknown_paths)
{
    static const char *const malformed[] = {
        "/api/orders/a%2Fb",
        "/api/orders/%0A",
        "/api/orders/%FF",
        "/api/orders/%00",
        "/api/orders/" LONG64 LONG64 "x",
        "/api/orders?limit=1001",
        "/api/orders?limit=-1",
        "/api/orders?limit=1e3",
        "/api/orders?limit=99999999999999999999",
        "/api/orders?cursor=nonsense",
        "/api/orders?cursor=AQAAAAAAAAAALw",
        "/api/orders?step=" LONG64 "x",
        "/api/orders?error=" LONG64 "x",
        "/api/orders?error=%FF%00",
        "/api/orders/x/history?limit=10001",
        "/api/orders/x/at/1x",
        "/api/orders/x/at/99999999999999999999",
        "/api/orders/x/at/%20",
        "/api/orders/%01/at/1",
    };
    static const char *const unknown[] = {
        "/api/orders/none",           "/api/orders/none/history",
        "/api/orders/" LONG64 LONG64, "/api/orders/a/b",
        "/api/orders/x/at/",          "/api/orders/unknown/at/5",
        "/api/orders/o-1?wait=0",     "/api/nothing",
    };
    static const char *const waits[] = {"61s", "1h", "-1s", "soon", "", "1x"};
    for (size_t i = 0; i < COUNT_OF(malformed); i++)
        check(malformed[i], NULL, "");
    for (size_t i = 0; i < COUNT_OF(unknown); i++)
        world_refuses(world, 404, NULL, unknown[i], NULL, "");
    for (size_t i = 0; i < COUNT_OF(waits); i++) {
        char path[64];
        snprintf(path, sizeof(path), "/api/orders/o-1?wait=%s", waits[i]);
        check(path, NULL, "up to 60s");
    }
    json_decref(world_get(world, 200, "/api/orders?state=&step=&error=&workflow=&cursor="));
    json_decref(world_get(world, 200, "/api/orders?workflow=none&error=%FF"));
}
