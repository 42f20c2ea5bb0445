/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/console/console_client.h"
#include "cli/field.h"

#include "base/percent.h"
#include "platform/json_tree.h"
#include "replica/service/address.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct cli_flag console_flags[] = {CONSOLE_FLAG, {0}};

/* ---- the address ---- */

/* Operator commands go to that URL: only to one that this user or root wrote. */
static bool read_url(const char *directory, const char *below, struct console_client *client)
{
    char path[PATH_MAX];
    struct service_url url;
    int size = snprintf(path, sizeof(path), "%s%s", directory, below);
    if (size < 0 || size >= (int)sizeof(path) || !service_url_read(path, &url) || !url.is_own)
        return false;
    snprintf(client->base, sizeof(client->base), "%s", url.text);
    return true;
}

static bool find_url(const char *directory, struct console_client *client)
{
    return read_url(directory, "/console", client) || read_url(directory, "/dev/console", client) ||
           read_url(directory, "", client);
}

static enum error_class take_url(const char *given, struct console_client *client,
                                 struct error *ret_error)
{
    size_t size = strlen(given);
    while (size > 0 && given[size - 1] == '/')
        size--;
    if (size >= sizeof(client->base) ||
        (strncmp(given, "http://", 7) != 0 && strncmp(given, "https://", 8) != 0))
        return error_set(ret_error, CODE_USAGE,
                         "--console %.100s: expected a URL such as http://127.0.0.1:8080", given);
    snprintf(client->base, sizeof(client->base), "%.*s", (int)size, given);
    return ERROR_OK;
}

enum error_class console_client_init(struct cli *cli, struct console_client *ret_client,
                                     struct error *ret_error)
{
    const char *given = cli_flag_value(cli, "console");
    const char *directory = config_string(cli->config, "data.dir");
    *ret_client = (struct console_client){.withholds_token = false};
    enum error_class class =
        service_credentials_read(cli->config, "console", &ret_client->credentials, ret_error);
    if (class != ERROR_OK)
        return class;
    if (given == NULL && config_is_set(cli->config, "console.url"))
        given = config_string(cli->config, "console.url");
    if (given != NULL)
        return take_url(given, ret_client, ret_error);
    if (find_url(directory[0] != '\0' ? directory : "reeve-data", ret_client))
        return ERROR_OK;
    /* While no console runs there, any user may listen on that port. */
    snprintf(ret_client->base, sizeof(ret_client->base), "http://127.0.0.1:8080");
    ret_client->withholds_token = ret_client->credentials.token[0] != '\0';
    ret_client->credentials.token = "";
    return ERROR_OK;
}

/* ---- paths ---- */

void console_path_add(struct console_path *path, const char *literal)
{
    size_t size = strlen(literal);
    assert(path->size < sizeof(path->text));
    path->is_too_long = path->is_too_long || size >= sizeof(path->text) - path->size;
    if (path->is_too_long)
        return;
    memcpy(path->text + path->size, literal, size + 1);
    path->size += size;
}

static void add_encoded(struct console_path *path, const char *text)
{
    size_t left = sizeof(path->text) - path->size;
    size_t size = percent_encode(text_of(text), PERCENT_KEEP_UNRESERVED, path->text + path->size,
                                 path->is_too_long ? 0 : left);
    path->is_too_long = path->is_too_long || size >= left;
    if (!path->is_too_long)
        path->size += size;
}

void console_path_add_segment(struct console_path *path, const char *segment)
{
    path->has_empty_segment = path->has_empty_segment || segment[0] == '\0';
    add_encoded(path, segment);
}

void console_path_add_query(struct console_path *path, const char *name, const char *value)
{
    if (value == NULL)
        return;
    console_path_add(path, path->has_query ? "&" : "?");
    console_path_add(path, name);
    console_path_add(path, "=");
    add_encoded(path, value);
    path->has_query = true;
}

/* ---- queries ---- */

/* Also of a proxy, whose answers are pages. */
static bool is_about_access(int status)
{
    return status == 401 || status == 403 || status == 429;
}

static enum console_token token_of(const struct console_client *client)
{
    const char *token = client->credentials.token;
    if (token != NULL && token[0] != '\0')
        return CONSOLE_TOKEN_SENT;
    return client->withholds_token ? CONSOLE_TOKEN_WITHHELD : CONSOLE_TOKEN_NONE;
}

/* A console says of what there is none; other servers know no such path. */
static bool is_of_console(const json_t *json, int status)
{
    const char *code = json_string_value(json_object_get(json, "code"));
    return json_is_object(json) &&
           (status != 404 ||
            (code != NULL && !text_equal(text_of(code), error_code_text(CODE_NOT_FOUND))));
}

static enum error_class parse_answer(const struct console_client *client,
                                     const struct http_reply *reply,
                                     struct console_answer *ret_answer, struct error *ret_error)
{
    struct text body = {reply->body, (uint32_t)reply->size};
    json_t *json = json_tree_load(body, JSON_ALLOW_NUL, NULL);
    if (!json_is_object(json) && is_about_access(reply->status)) {
        json_decref(json);
        json = json_object();
    }
    if (!is_of_console(json, reply->status)) {
        json_decref(json);
        return error_set(ret_error, CODE_NOT_A_CONSOLE,
                         "%.200s (status %d) is not a console: give its address with --console URL",
                         client->base, reply->status);
    }
    *ret_answer = (struct console_answer){reply->status, json, token_of(client)};
    return ERROR_OK;
}

static enum error_class no_answer(const struct console_client *client, const struct error *why,
                                  struct error *ret_error)
{
    if (why->class != ERROR_RETRY)
        return error_wrap(ret_error, why, "%.200s: %.300s: see console.tls.ca, .cert and .key",
                          client->base, why->message);
    return error_set(ret_error, CODE_NO_CONSOLE,
                     "no console answers at %.200s (%s): start one with `reeve run console`, or "
                     "give its address with --console URL",
                     client->base, why->message);
}

enum error_class console_query(const struct console_client *client, const struct console_path *path,
                               const json_t *body, struct console_answer *ret_answer,
                               struct error *ret_error)
{
    char url[CONSOLE_BASE_SIZE + CONSOLE_PATH_SIZE];
    struct http_reply reply;
    struct error why;
    if (path->is_too_long)
        return error_set(ret_error, CODE_USAGE,
                         "the arguments are too long: a console takes %d bytes, percent-encoded",
                         CONSOLE_PATH_SIZE - 1);
    if (path->has_empty_segment)
        return error_set(ret_error, CODE_USAGE, "an argument is empty: expected an id or a name");
    snprintf(url, sizeof(url), "%s%s", client->base, path->text);
    char *text = body != NULL ? json_tree_print(body, JSON_COMPACT) : NULL;
    assert(body == NULL || text != NULL);
    enum error_class class =
        http_call(&client->credentials, url, text, CONSOLE_WAIT_SECONDS, &reply, &why);
    free(text);
    if (class != ERROR_OK)
        return no_answer(client, &why, ret_error);
    class = parse_answer(client, &reply, ret_answer, ret_error);
    http_reply_deinit(&reply);
    return class;
}

void console_answer_deinit(struct console_answer *answer)
{
    json_decref(answer->json);
    *answer = (struct console_answer){0};
}

/* ---- answers ---- */

static bool has_code(const struct console_answer *answer, enum error_code code)
{
    const char *has = json_string_value(json_object_get(answer->json, "code"));
    return text_equal(text_of(has), error_code_text(code));
}

static int code_of(const struct console_answer *answer)
{
    switch (answer->status) {
    case 404:
    case 409:
        return EXIT_CODE_NEGATIVE;
    case 400:
    case 413:
        return EXIT_CODE_USAGE;
    case 401:
    case 403:
        return EXIT_CODE_NOT_PERMITTED;
    case 429:
        return has_code(answer, CODE_TOO_MANY_FAILURES) ? EXIT_CODE_NOT_PERMITTED
                                                        : EXIT_CODE_UNAVAILABLE;
    case 503:
    case 504:
        return EXIT_CODE_UNAVAILABLE;
    default:
        return EXIT_CODE_INTERNAL;
    }
}

/* What to do about an answer that is about who asks. NULL: the console says it. */
static const char *access_hint(const struct console_answer *answer)
{
    if (has_code(answer, CODE_TOO_MANY_FAILURES))
        return "the console was sent too many wrong tokens and now refuses this one: check "
               "console.token, then wait a minute";
    if (answer->status == 403 && has_code(answer, CODE_FORBIDDEN))
        return "the role of the token in console.token does not permit it: see the roles in "
               "docs/operate/access.md";
    if (answer->status != 401)
        return NULL;
    switch (answer->token) {
    case CONSOLE_TOKEN_NONE:
        break;
    case CONSOLE_TOKEN_SENT:
        return "the console does not accept the token in console.token: it is wrong, was revoked "
               "or has expired, see docs/operate/access.md";
    case CONSOLE_TOKEN_WITHHELD:
        return "the console needs a token, which is not sent to the default address: set "
               "console.url, see docs/operate/access.md";
    }
    return "the console needs a token: set console.token.file, see docs/operate/access.md";
}

int console_refused(const struct cli *cli, const struct console_answer *answer, const char *subject)
{
    const char *code = json_string_value(json_object_get(answer->json, "code"));
    const char *message = json_string_value(json_object_get(answer->json, "detail"));
    const char *hint = access_hint(answer);
    bool table = cli->output == CLI_OUTPUT_TABLE;
    if (code == NULL)
        code = error_code_name(is_about_access(answer->status) ? CODE_NOT_PERMITTED : CODE_UNKNOWN);
    if (hint != NULL) {
        cli_report_named(cli, code, "%s", hint);
        return code_of(answer);
    }
    message = message != NULL ? message : "the console gives no reason";
    cli_report_named(cli, code, "%s%s%s%s%s%s", subject != NULL ? subject : "",
                     subject != NULL ? ": " : "", message, table ? " (" : "", table ? code : "",
                     table ? ")" : "");
    return code_of(answer);
}

void console_warn_incomplete(const struct cli *cli, const json_t *body)
{
    size_t i;
    const json_t *row;
    json_array_foreach(json_object_get(body, "incomplete"), i, row) {
        cli_warn(cli, CODE_INCOMPLETE, "orders may be missing: %s", field_text(row, "reason"));
    }
}

void console_warn_waiting(const struct cli *cli, const json_t *body)
{
    size_t i;
    const json_t *row;
    const json_t *list = json_object_get(body, "waiting");
    json_int_t commands = 0;
    char where[64];
    json_array_foreach(list, i, row)
        commands += field_int(row, "commands");
    if (commands <= 0)
        return;
    if (json_array_size(list) == 1)
        snprintf(where, sizeof(where), "partition %lld",
                 field_int(json_array_get(list, 0), "partition"));
    else
        snprintf(where, sizeof(where), "%zu partitions", json_array_size(list));
    cli_warn(cli, CODE_COMMANDS_WAITING,
             "%lld command%s undecided in %s; orders in %s are not listed", (long long)commands,
             commands == 1 ? " waits" : "s wait", where, commands == 1 ? "it" : "them");
}

/* The first page speaks for all of them. */
static void warn_old(const struct cli *cli, const struct console_path *path, const json_t *body)
{
    json_int_t age = field_int(body, "data_age_ms");
    bool first = strstr(path->text, "cursor=") == NULL && strstr(path->text, "after=") == NULL;
    if (age > DATA_AGE_MAX_MS && first)
        cli_warn(cli, CODE_OLD_DATA,
                 "the console has had no answer from the brokers for %lld s: what it shows may be "
                 "that old",
                 (long long)(age / 1000));
}

bool console_get(struct cli *cli, const struct console_path *path,
                 struct console_answer *ret_answer, int *ret_code)
{
    struct error error;
    struct console_client client;
    if (console_client_init(cli, &client, &error) != ERROR_OK ||
        console_query(&client, path, NULL, ret_answer, &error) != ERROR_OK) {
        *ret_code = cli_fail(cli, &error);
        return false;
    }
    if (ret_answer->status == 200) {
        warn_old(cli, path, ret_answer->json);
        return true;
    }
    *ret_code = console_refused(cli, ret_answer, NULL);
    console_answer_deinit(ret_answer);
    return false;
}

bool console_get_page(struct cli *cli, struct console_path *path, json_t **cursor,
                      struct console_answer *ret_answer, int *ret_code)
{
    console_path_add_query(path, "cursor", json_string_value(*cursor));
    if (!console_get(cli, path, ret_answer, ret_code))
        return false;
    json_decref(*cursor);
    *cursor = json_incref(json_object_get(ret_answer->json, "next"));
    return true;
}

static bool all_true(const json_t *list, const char *name)
{
    size_t i;
    const json_t *item;
    json_array_foreach(list, i, item) {
        if (!json_is_true(json_object_get(item, name)))
            return false;
    }
    return true;
}

int console_show_list(struct cli *cli, const struct console_path *path,
                      const struct console_list *list)
{
    struct console_answer answer;
    int code = EXIT_CODE_OK;
    bool whole =
        cli->fields == NULL && (cli->output == CLI_OUTPUT_JSON || cli->output == CLI_OUTPUT_JSONL ||
                                cli->output == CLI_OUTPUT_YAML);
    if (!console_get(cli, path, &answer, &code))
        return code;
    const json_t *rows = json_object_get(answer.json, list->name);
    console_warn_incomplete(cli, answer.json);
    if (list->none != NULL && json_array_size(rows) == 0)
        cli_warn(cli, list->none_code, "%s", list->none);
    code = whole ? output_one(cli, NULL, json_incref(answer.json))
                 : output_list(cli, list->columns, rows);
    if (code == EXIT_CODE_OK && !all_true(rows, list->good))
        code = EXIT_CODE_NEGATIVE;
    console_answer_deinit(&answer);
    return code;
}

int console_show(struct cli *cli, const struct console_path *path,
                 int (*print)(struct cli *cli, const json_t *body))
{
    struct console_answer answer;
    int code = EXIT_CODE_OK;
    if (!console_get(cli, path, &answer, &code))
        return code;
    console_warn_incomplete(cli, answer.json);
    if (cli->output == CLI_OUTPUT_TABLE) {
        code = print(cli, answer.json);
        code = ferror(cli->out) == 0 ? code : EXIT_CODE_INTERNAL;
    } else {
        code = output_one(cli, NULL, json_incref(answer.json));
    }
    console_answer_deinit(&answer);
    return code;
}
