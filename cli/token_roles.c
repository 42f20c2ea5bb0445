/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve token roles`: the routes of all services, and which roles may use them. */
#include "cli/token_roles.h"

#include "cli/field.h"
#include "cli/output.h"
#include "services/services.h"

#include <string.h>

#define ROW(name) {#name, name##_routes},
static const struct {
    const char *name;
    const struct http_routes *const *routes;
} services[] = {SERVICES(ROW)};
enum { SERVICE_COUNT = sizeof(services) / sizeof(services[0]) };

/* ---- rows ---- */

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

static json_t *names_of(const char *const names[])
{
    json_t *list = names != NULL ? json_array() : json_null();
    for (size_t i = 0; names != NULL && names[i] != NULL; i++)
        json_array_append_new(list, json_string(names[i]));
    return list;
}

static json_t *row_of(const struct http_routes *table, const struct http_route *route)
{
    return json_pack("{s:o, s:s, s:s, s:o, s:b, s:s?, s:s?, s:o, s:o, s:s}", "services",
                     services_of(table), "method", route->method, "path", route->pattern, "roles",
                     roles_of(route), "without_token", route->permission == HTTP_OPEN, "only",
                     route->only, "or_else", route->or_else, "query", names_of(route->query),
                     "body", names_of(route->body), "description", route->summary);
}

static bool is_first_of(const struct http_routes *table, size_t service)
{
    size_t first = 0;
    while (!serves(first, table))
        first++;
    return first == service;
}

/* Each route once, with all services that have it. */
static json_t *list_routes(void)
{
    json_t *list = json_array();
    for (size_t s = 0; s < SERVICE_COUNT; s++) {
        for (size_t t = 0; services[s].routes[t] != NULL; t++) {
            const struct http_routes *table = services[s].routes[t];
            for (size_t i = 0; is_first_of(table, s) && i < table->count; i++)
                json_array_append_new(list, row_of(table, &table->rows[i]));
        }
    }
    return list;
}

/* ---- as tables ---- */

/* The items of the list; or `all` in place of `count` of them. */
static json_t *join(const json_t *list, size_t count, const char *all)
{
    size_t i, size = 0;
    json_t *item;
    char text[OUTPUT_CELL_SIZE] = "";
    if (json_array_size(list) == count)
        return json_string(all);
    json_array_foreach(list, i, item) {
        size += (size_t)snprintf(text + size, sizeof(text) - size, "%s%s", i > 0 ? ", " : "",
                                 json_string_value(item));
    }
    return json_string(text);
}

static json_t *services_text(const json_t *list)
{
    return join(list, SERVICE_COUNT, "all");
}

static json_t *roles_text(const json_t *list)
{
    return join(list, HTTP_ROLE_COUNT, "everyone");
}

static const struct output_column columns[] = {
    {"SERVICES", "services", services_text, false},
    {"METHOD", "method", output_value, false},
    {"PATH", "path", output_value, false},
    {"ROLES", "roles", roles_text, false},
    {"DESCRIPTION", "description", output_value, false},
    {NULL, NULL, NULL, false},
};

static bool has_item(const json_t *list, const char *text)
{
    size_t i;
    json_t *item;
    json_array_foreach(list, i, item) {
        if (strcmp(json_string_value(item), text) == 0)
            return true;
    }
    return false;
}

/* Of the table in docs/operate/access.md. */
static void put_line(FILE *out, const json_t *row)
{
    const char *only = json_string_value(json_object_get(row, "only"));
    const char *or_else = json_string_value(json_object_get(row, "or_else"));
    json_t *of = services_text(json_object_get(row, "services"));
    fprintf(out, "| %s | `%s %s` | %s |", json_string_value(of), field_text(row, "method"),
            field_text(row, "path"), field_text(row, "description"));
    json_decref(of);
    for (int role = 0; role < HTTP_ROLE_COUNT; role++) {
        if (!has_item(json_object_get(row, "roles"), http_role_name((enum http_role)role)))
            fputs(" |", out);
        else if (only == NULL)
            fputs(" yes |", out);
        else
            fprintf(out, " yes, %s |", only);
    }
    if (or_else != NULL)
        fprintf(out, " %s |\n", or_else);
    else
        fputs(json_is_true(json_object_get(row, "without_token")) ? " yes |\n" : " |\n", out);
}

static int print_markdown(FILE *out, const json_t *list)
{
    size_t i;
    json_t *row;
    fputs("| service | path | | viewer | operator | submitter | agent | no token |\n"
          "|---|---|---|---|---|---|---|---|\n",
          out);
    json_array_foreach(list, i, row)
        put_line(out, row);
    return fflush(out) == 0 ? EXIT_CODE_OK : EXIT_CODE_INTERNAL;
}

int cli_token_roles(struct cli *cli)
{
    json_t *list = list_routes();
    int code = cli_flag_given(cli, "markdown") ? print_markdown(cli->out, list)
                                               : output_list(cli, columns, list);
    json_decref(list);
    return code;
}
