/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/console/targets.h"
#include "cli/field.h"

#include "platform/clock.h"
#include "schemas/details.h"

#include <stdio.h>
#include <string.h>

enum { PAGE = 1000 };

static enum error_class check_id(const char *id, struct error *ret_error)
{
    return order_id_validate(text_of(id), ret_error);
}

enum error_class targets_init(struct cli *cli, struct bulk *ret_bulk, struct error *ret_error)
{
    static const struct bulk_kind kind = {
        "order", "orders", {{"ORDER", "order_id", output_value, false}, {0}}, check_id};
    return bulk_init(cli, &kind, ret_bulk, ret_error);
}

/* ---- by the filter ---- */

/* A console of an older version lists other versions as well. */
static bool is_of(const json_t *order, const struct targets_version *of)
{
    const char *state = json_string_value(json_object_get(order, "state"));
    bool ended = state != NULL && (strcmp(state, order_state_name(ORDER_PROCESSED)) == 0 ||
                                   strcmp(state, order_state_name(ORDER_COMPENSATED)) == 0);
    json_int_t version = field_int(order, "workflow_version");
    return text_empty(of->workflow) || (!ended && version == (json_int_t)of->version);
}

/* Adds one page of the list; *cursor: where the next one begins, or null. */
static enum error_class add_page(struct bulk *bulk, const json_t *page,
                                 const struct targets_version *of, json_t **cursor,
                                 struct error *ret_error)
{
    size_t i;
    const json_t *order;
    json_array_foreach(json_object_get(page, "orders"), i, order) {
        const char *id = json_string_value(json_object_get(order, "order_id"));
        if (id == NULL)
            return error_set(ret_error, CODE_NOT_A_CONSOLE, "an order has no id");
        if (is_of(order, of) && bulk_add(bulk, id, ret_error) != ERROR_OK)
            return ERROR_REJECT;
    }
    json_decref(*cursor);
    *cursor = json_incref(json_object_get(page, "next"));
    return ERROR_OK;
}

static void list_path(const struct order_filter *filter, const char *step,
                      const struct targets_version *of, const json_t *cursor,
                      struct console_path *path)
{
    char limit[16];
    *path = (struct console_path){.size = 0};
    snprintf(limit, sizeof(limit), "%d", PAGE);
    console_path_add(path, "/api/orders");
    order_filter_add(filter, path);
    if (!text_empty(of->workflow)) {
        char name[BODY_NAME_BYTES_MAX + 1];
        char version[16];
        snprintf(name, sizeof(name), "%.*s", TEXT_ARG(of->workflow));
        snprintf(version, sizeof(version), "%u", (unsigned)of->version);
        console_path_add_query(path, "workflow", name);
        console_path_add_query(path, "workflow_version", version);
    }
    console_path_add_query(path, "step", step);
    console_path_add_query(path, "limit", limit);
    console_path_add_query(path, "cursor", json_string_value(cursor));
}

/* All of them before the first is sent: the commands change what matches. */
static bool query(struct bulk *bulk, const struct console_client *client, const char *step,
                  const struct targets_version *of, int *ret_code)
{
    struct cli *cli = bulk->cli;
    struct error error;
    struct order_filter filter;
    json_t *cursor = NULL;
    if (order_filter_init(cli, clock_wall_ms(clock_real()), &filter, &error) != ERROR_OK) {
        *ret_code = cli_fail(cli, &error);
        return false;
    }
    do {
        struct console_path path;
        struct console_answer answer;
        list_path(&filter, step, of, cursor, &path);
        if (console_query(client, &path, NULL, &answer, &error) != ERROR_OK) {
            *ret_code = cli_fail(cli, &error);
            break;
        }
        if (answer.status != 200)
            *ret_code = console_refused(cli, &answer, NULL);
        else if (add_page(bulk, answer.json, of, &cursor, &error) != ERROR_OK)
            *ret_code = cli_fail(cli, &error);
        else if (!json_is_string(cursor))
            console_warn_incomplete(cli, answer.json);
        console_answer_deinit(&answer);
    } while (*ret_code == EXIT_CODE_OK && json_is_string(cursor));
    json_decref(cursor);
    return *ret_code == EXIT_CODE_OK;
}

bool targets_given(struct cli *cli, int id_count, const struct targets_step *step,
                   const struct targets_version *of, int *ret_code)
{
    if (id_count == 0 && text_empty(of->workflow) && !order_filter_is_given(cli, NULL)) {
        bool has_step = step->positional != NULL;
        *ret_code =
            cli_usage(cli,
                      "which orders? Give their ids%s%.64s, - for ids from stdin, or a "
                      "filter such as --state Error",
                      has_step ? " before the step, here " : "", has_step ? step->positional : "");
        return false;
    }
    if (id_count > 0 && order_filter_is_given(cli, step->flag_names ? "step" : NULL)) {
        *ret_code = cli_usage(cli, "give either ids or a filter");
        return false;
    }
    return true;
}

bool targets_collect(struct bulk *bulk, const struct console_client *client, int id_count,
                     const struct targets_step *step, const struct targets_version *of,
                     int *ret_code)
{
    struct error error;
    *ret_code = EXIT_CODE_OK;
    if (id_count == 0)
        return query(bulk, client, step->positional, of, ret_code);
    if (bulk_add_arguments(bulk, id_count, &error) != ERROR_OK)
        *ret_code = cli_fail(bulk->cli, &error);
    return *ret_code == EXIT_CODE_OK;
}
