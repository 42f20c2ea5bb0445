/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve dead-letters replay` and `discard`: of one or many. A row for each on stdout, those that
 * were refused on stderr. Exit code 1 when one was refused. */
#include "base/base64.h"
#include "cli/console/bulk.h"
#include "cli/console/signature.h"
#include "cli/dead_letters/dead_letters.h"
#include "cli/field.h"
#include "engine/limits.h"
#include "platform/files.h"
#include "platform/json_tree.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static const struct output_column discard_columns[] = {
    {"ID", "id", output_value, false}, {"STATE", "state", output_value, false}, {0}};
static const struct output_column replay_columns[] = {
    {"ID", "id", output_value, false},
    {"STATE", "state", output_value, false},
    {"TO", "resolution.topic", output_value, false},
    {"PARTITION", "resolution.partition", output_value, true},
    {"OFFSET", "resolution.offset", output_value, true},
    {0},
};

/* Of --json: more than a console takes. */
enum { JSON_FILE_MAX = 8 << 20 };

struct letter_run {
    struct cli *cli;
    const char *action;
    struct console_client client;
    json_t *body;
};

/* ---- which ones ---- */

static enum error_class check_id(const char *id, struct error *ret_error)
{
    struct console_path path;
    return dead_letter_path(id, "", &path, ret_error);
}

/* All of them before the first is sent: replays change what matches. */
static int add_matches(struct bulk *bulk)
{
    int code = EXIT_CODE_OK;
    json_t *cursor = NULL;
    struct error error = {0};
    struct dead_letter_flags flags;
    if (!dead_letter_flags_read(bulk->cli, &flags, &code))
        return code;
    do {
        size_t i;
        json_t *letter;
        struct console_answer answer;
        if (!dead_letter_list_page(&flags, "1000", false, &cursor, &answer, &code))
            break;
        json_array_foreach(json_object_get(answer.json, "dead_letters"), i, letter) {
            if (code == EXIT_CODE_OK &&
                bulk_add(bulk, field_text(letter, "id"), &error) != ERROR_OK)
                code = cli_fail(bulk->cli, &error);
        }
        console_answer_deinit(&answer);
    } while (code == EXIT_CODE_OK && json_is_string(cursor));
    json_decref(cursor);
    return code;
}

static int collect(struct bulk *bulk)
{
    struct cli *cli = bulk->cli;
    struct error error;
    bool filtered = dead_letter_is_filtered(cli);
    if (cli->argument_count == 0 && !filtered)
        return cli_usage(cli, "which dead letters? Give PARTITION:OFFSET, - for ids from stdin, or "
                              "a filter such as --code InvalidOrder");
    if (cli->argument_count > 0 && filtered)
        return cli_usage(cli, "give either ids or a filter");
    if (filtered)
        return add_matches(bulk);
    return bulk_add_arguments(bulk, cli->argument_count, &error) == ERROR_OK
               ? EXIT_CODE_OK
               : cli_fail(cli, &error);
}

/* ---- the body ---- */

static enum error_class read_value(const char *path, json_t *body, struct error *ret_error)
{
    char *bytes;
    size_t size;
    if (files_read(path, INPUT_BYTES_MAX, &bytes, &size, ret_error) != ERROR_OK)
        return ERROR_REJECT;
    char *text = malloc(BASE64_SIZE(size) + 1);
    assert(text != NULL);
    base64_encode((struct text){bytes, (uint32_t)size}, text);
    json_object_set_new(body, "value", json_string(text));
    free(text);
    free(bytes);
    return ERROR_OK;
}

static enum error_class read_json(const char *path, const char *record, json_t *body,
                                  struct error *ret_error)
{
    json_error_t at;
    char *text;
    size_t size;
    if (files_read(path, JSON_FILE_MAX, &text, &size, ret_error) != ERROR_OK)
        return ERROR_REJECT;
    json_t *json = json_tree_load((struct text){text, (uint32_t)size}, 0, &at);
    free(text);
    if (!json_is_object(json)) {
        json_decref(json);
        return error_set(ret_error, CODE_BAD_JSON, "%.200s: expected a JSON object: %s", path,
                         json == NULL ? at.text : "");
    }
    json_object_set_new(body, "json", json);
    if (record != NULL)
        json_object_set_new(body, "record", json_string(record));
    return ERROR_OK;
}

/* The type of the dead letter's own value, which the correction replaces; nothing if it cannot be
 * decoded. */
static enum error_class add_record(const struct bulk *bulk, json_t *body, struct error *ret_error)
{
    struct console_client client;
    struct console_path path;
    struct console_answer answer;
    if (dead_letter_path(bulk->ids[0], "", &path, ret_error) != ERROR_OK ||
        console_client_init(bulk->cli, &client, ret_error) != ERROR_OK ||
        console_query(&client, &path, NULL, &answer, ret_error) != ERROR_OK)
        return ret_error->class;
    const json_t *value = json_object_get(answer.json, "value");
    const json_t *record = json_object_get(value, "record");
    if (json_is_string(record))
        json_object_set_new(body, "record", json_string(json_string_value(record)));
    console_answer_deinit(&answer);
    return ERROR_OK;
}

/* The operator's value, if there is one. */
static enum error_class add_value(const struct bulk *bulk, json_t *body, struct error *ret_error)
{
    struct cli *cli = bulk->cli;
    const char *value = cli_flag_value(cli, "value");
    const char *json = cli_flag_value(cli, "json");
    const char *record = cli_flag_value(cli, "record");
    if (value == NULL && json == NULL && record == NULL)
        return ERROR_OK;
    if ((value != NULL) == (json != NULL) || bulk->count != 1 || !bulk->listed)
        return error_set(ret_error, CODE_USAGE,
                         "--value FILE or --json FILE corrects one dead letter, which is named");
    if (value != NULL)
        return read_value(value, body, ret_error);
    if (read_json(json, record, body, ret_error) != ERROR_OK)
        return ERROR_REJECT;
    return record == NULL ? add_record(bulk, body, ret_error) : ERROR_OK;
}

/* NULL: REJECT. */
static json_t *body_of(const struct bulk *bulk, bool replay, struct error *ret_error)
{
    if (cli_flag_given(bulk->cli, "dry-run"))
        return json_object();
    json_t *body = signature_body(bulk->cli, "the topic", ret_error);
    if (body == NULL || !replay || add_value(bulk, body, ret_error) == ERROR_OK)
        return body;
    json_decref(body);
    return NULL;
}

/* ---- sending ---- */

static int send_one(void *ctx, const char *id, struct output *output)
{
    struct letter_run *run = ctx;
    struct error error;
    struct console_path path;
    struct console_answer answer;
    int code = EXIT_CODE_OK;
    if (dead_letter_path(id, "/", &path, &error) != ERROR_OK)
        return cli_fail(run->cli, &error);
    console_path_add(&path, run->action);
    if (console_query(&run->client, &path, run->body, &answer, &error) != ERROR_OK)
        return cli_fail(run->cli, &error);
    if (answer.status != 200)
        code = console_refused(run->cli, &answer, id);
    else
        output_row(output, json_incref(answer.json));
    console_answer_deinit(&answer);
    return code;
}

/* The verb is the action. */
int dead_letters_run_resolve(struct cli *cli)
{
    const char *verb = cli->verb->name;
    static const struct bulk_kind kind = {
        "dead letter", "dead letters", {{"ID", "id", output_value, false}, {0}}, check_id};
    struct error error;
    struct bulk bulk;
    struct letter_run run = {.cli = cli, .action = verb};
    bool replay = strcmp(verb, "replay") == 0;
    const struct bulk_action action = {.verb = verb,
                                       .columns = replay ? replay_columns : discard_columns,
                                       .send = send_one,
                                       .ctx = &run};
    if (bulk_init(cli, &kind, &bulk, &error) != ERROR_OK)
        return cli_fail(cli, &error);
    int code = collect(&bulk);
    if (code == EXIT_CODE_OK) {
        run.body = body_of(&bulk, replay, &error);
        if (run.body == NULL || console_client_init(cli, &run.client, &error) != ERROR_OK)
            code = cli_fail(cli, &error);
        else
            code = bulk_run(&bulk, &action);
    }
    bulk_deinit(&bulk);
    json_decref(run.body);
    return code;
}
