/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve token roles`: the routes of all services, and which roles may use them. */
#include "cli/token_roles.h"

#include "cli/output.h"
#include "services/services.h"

#include <string.h>

#define ROW(name) {#name, name##_routes},
static const struct {
    const char *name;
    const struct http_routes *const *routes;
} services[] = {SERVICES(ROW)};
enum { SERVICE_COUNT = sizeof(services) / sizeof(services[0]), CELL_SIZE = 128 };

static const struct output_column columns[] = {
    {"services", "SERVICES", false}, {"method", "METHOD", false},           {"path", "PATH", false},
    {"roles", "ROLES", false},       {"description", "DESCRIPTION", false},
};

/* ---- who may ---- */

static bool serves(size_t service, const struct http_routes *table)
{
    const struct http_routes *const *routes = services[service].routes;
    while (*routes != NULL && *routes != table)
        routes++;
    return *routes == table;
}

static json_t *services_of(const struct http_routes *table)
{
    json_t *list = json_array();
    for (size_t i = 0; i < SERVICE_COUNT; i++)
        if (serves(i, table))
            json_array_append_new(list, json_string(services[i].name));
    return list;
}

static json_t *roles_of(const struct http_route *route)
{
    json_t *list = json_array();
    for (int role = 0; role < HTTP_ROLE_COUNT; role++)
        if (http_role_permits((enum http_role)role, route->permission))
            json_array_append_new(list, json_string(http_role_name((enum http_role)role)));
    return list;
}

/* The items of the list; or `all` in place of `count` of them. */
static const char *join(const json_t *list, size_t count, const char *all, char ret_text[CELL_SIZE])
{
    size_t i, size = 0;
    json_t *item;
    ret_text[0] = '\0';
    if (json_array_size(list) == count)
        return all;
    json_array_foreach(list, i, item) {
        size += (size_t)snprintf(ret_text + size, CELL_SIZE - size, "%s%s", i > 0 ? ", " : "",
                                 json_string_value(item));
    }
    return ret_text;
}

/* ---- rows ---- */

typedef void (*put_route)(struct cli *cli, struct output *output, const struct http_route *route,
                          json_t *services, json_t *roles);

static json_t *names_of(const char *const names[])
{
    json_t *list = names != NULL ? json_array() : json_null();
    for (size_t i = 0; names != NULL && names[i] != NULL; i++)
        json_array_append_new(list, json_string(names[i]));
    return list;
}

static void put_shown(struct cli *cli, struct output *output, const struct http_route *route,
                      json_t *of, json_t *roles)
{
    char services_text[CELL_SIZE];
    char roles_text[CELL_SIZE];
    (void)cli;
    output_row(output, json_pack("{s:s, s:s, s:s, s:s, s:s}", "services",
                                 join(of, SERVICE_COUNT, "all", services_text), "method",
                                 route->method, "path", route->pattern, "roles",
                                 join(roles, HTTP_ROLE_COUNT, "everyone", roles_text),
                                 "description", route->summary));
}

static void put_json(struct cli *cli, struct output *output, const struct http_route *route,
                     json_t *of, json_t *roles)
{
    (void)cli;
    output_row(output,
               json_pack("{s:O, s:s, s:s, s:O, s:b, s:s?, s:s?, s:o, s:o, s:s}", "services", of,
                         "method", route->method, "path", route->pattern, "roles", roles,
                         "without_token", route->permission == HTTP_OPEN, "only", route->only,
                         "or_else", route->or_else, "query", names_of(route->query), "body",
                         names_of(route->body), "description", route->summary));
}

/* A line of the table in docs/operate/access.md. */
static void put_markdown(struct cli *cli, struct output *output, const struct http_route *route,
                         json_t *of, json_t *roles)
{
    char services_text[CELL_SIZE];
    (void)output;
    (void)roles;
    fprintf(cli->out, "| %s | `%s %s` | %s |", join(of, SERVICE_COUNT, "all", services_text),
            route->method, route->pattern, route->summary);
    for (int role = 0; role < HTTP_ROLE_COUNT; role++) {
        if (!http_role_permits((enum http_role)role, route->permission))
            fputs(" |", cli->out);
        else if (route->only == NULL)
            fputs(" yes |", cli->out);
        else
            fprintf(cli->out, " yes, %s |", route->only);
    }
    if (route->or_else != NULL)
        fprintf(cli->out, " %s |\n", route->or_else);
    else
        fputs(route->permission == HTTP_OPEN ? " yes |\n" : " |\n", cli->out);
}

/* Each route once, with all services that have it. */
static void put_all(struct cli *cli, struct output *output, put_route put)
{
    for (size_t s = 0; s < SERVICE_COUNT; s++) {
        for (size_t t = 0; services[s].routes[t] != NULL; t++) {
            const struct http_routes *table = services[s].routes[t];
            json_t *of = services_of(table);
            bool first = strcmp(json_string_value(json_array_get(of, 0)), services[s].name) == 0;
            for (size_t i = 0; first && i < table->count; i++) {
                json_t *roles = roles_of(&table->rows[i]);
                put(cli, output, &table->rows[i], of, roles);
                json_decref(roles);
            }
            json_decref(of);
        }
    }
}

int cli_token_roles(struct cli *cli)
{
    if (cli_flag_given(cli, "markdown")) {
        fputs("| service | path | | viewer | operator | submitter | agent | no token |\n"
              "|---|---|---|---|---|---|---|---|\n",
              cli->out);
        put_all(cli, NULL, put_markdown);
        return fflush(cli->out) == 0 ? EXIT_CODE_OK : EXIT_CODE_INTERNAL;
    }
    struct output *output =
        output_new(cli->out, cli->output, columns, sizeof(columns) / sizeof(columns[0]));
    put_all(cli, output, cli->output == CLI_OUTPUT_TABLE ? put_shown : put_json);
    return output_finish(output, EXIT_CODE_OK);
}
