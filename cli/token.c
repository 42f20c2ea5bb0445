/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve token`: the file of tokens that HTTP servers accept. A token is shown once, on stdout, and
 * goes nowhere else. */
#include "platform/http/tokens.h"

#include "base/numbers.h"
#include "base/rfc3339.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "cli/token_roles.h"
#include "platform/clock.h"
#include "schemas/json/json_codec.h"

#include <stdio.h>
#include <string.h>

#define EXPIRES_EXPECTED "expected a duration such as 90d, or a time such as 2010-12-01T08:26:00Z"

/* The last time that RFC 3339 can write. */
static const int64_t time_max_ms = 253402300799999;

/* ---- arguments ---- */

static enum error_class find_file(const struct cli *cli, const char **ret_path,
                                  struct error *ret_error)
{
    const char *path = cli_flag_value(cli, "file");
    if (path == NULL)
        path = config_string(cli->config, "http.tokens.file");
    if (path[0] == '\0')
        return error_set(ret_error, CODE_USAGE,
                         "which file? Name it with --file FILE, or set http.tokens.file "
                         "(--config FILE)");
    *ret_path = path;
    return ERROR_OK;
}

static enum error_class read_role(const struct cli *cli, enum http_role *ret_role,
                                  struct error *ret_error)
{
    const char *given = cli_flag_value(cli, "role");
    if (given == NULL)
        return error_set(ret_error, CODE_USAGE,
                         "--role is missing: viewer, operator, submitter or agent");
    if (!http_role_parse(text_of(given), ret_role))
        return error_set(ret_error, CODE_USAGE,
                         "--role %.60s: expected viewer, operator, submitter or agent", given);
    return ERROR_OK;
}

/* A number alone could be meant as days or as milliseconds. */
static bool parse_duration(struct text text, int64_t *ret_ms)
{
    bool has_unit =
        text.size > 0 && (text.data[text.size - 1] < '0' || text.data[text.size - 1] > '9');
    return has_unit && number_parse_duration(text, ret_ms);
}

static enum error_class read_expiry(const struct cli *cli, int64_t now, int64_t *ret_expires_ms,
                                    struct error *ret_error)
{
    int64_t time, duration;
    const char *given = cli_flag_value(cli, "expires");
    if (given == NULL) {
        *ret_expires_ms = 0;
        return ERROR_OK;
    }
    if (parse_duration(text_of(given), &duration)) {
        if (duration <= 0 || duration > time_max_ms - now)
            return error_set(ret_error, CODE_USAGE,
                             "--expires %.40s: the duration must be above 0 and end before the "
                             "year 10000",
                             given);
        time = now + duration;
    } else if (!rfc3339_parse(text_of(given), &time)) {
        return error_set(ret_error, CODE_USAGE, "--expires %.40s: " EXPIRES_EXPECTED, given);
    } else if (time <= now) {
        return error_set(ret_error, CODE_USAGE,
                         "--expires %.40s is in the past: such a token is never accepted", given);
    }
    *ret_expires_ms = time;
    return ERROR_OK;
}

/* The answer "no" is not an error of the input. */
static int fail(const struct cli *cli, const struct error *error)
{
    int code = cli_fail(cli, error);
    bool answer = error->code == CODE_EXISTS || error->code == CODE_NOT_FOUND;
    return answer ? EXIT_CODE_NEGATIVE : code;
}

/* ---- rows ---- */

/* 0 = never. */
static json_t *time_of(int64_t ms)
{
    return ms != 0 ? json_codec_time(ms) : json_null();
}

static json_t *time_or_never(const json_t *time)
{
    return json_is_null(time) ? json_string("never") : output_time(time);
}

/* "reply-to=orders.replies.web id-prefix=web-" */
static json_t *bindings_text(const json_t *bindings)
{
    char text[HTTP_BINDING_COUNT * (HTTP_BINDING_SIZE + 16)] = "";
    size_t size = 0;
    const char *key;
    json_t *to;
    json_object_foreach((json_t *)(uintptr_t)bindings, key, to)
        size += (size_t)snprintf(text + size, sizeof(text) - size, "%s%s=%s", size > 0 ? " " : "",
                                 key, json_string_value(to));
    return json_string(text);
}

static const struct output_column columns[] = {
    {"NAME", "name", output_value, false},
    {"ROLE", "role", output_value, false},
    {"CREATED (UTC)", "created_at", time_or_never, false},
    {"EXPIRES (UTC)", "expires_at", time_or_never, false},
    {"STATUS", "status", output_value, false},
    {"BOUND TO", "bound_to", bindings_text, false},
    {0},
};

/* null = it is not bound. */
static json_t *bindings_of(const struct http_bindings *bindings)
{
    json_t *object = json_object();
    for (int i = 0; i < HTTP_BINDING_COUNT; i++)
        if (bindings->to[i][0] != '\0')
            json_object_set_new(object, http_binding_key((enum http_binding)i),
                                json_string(bindings->to[i]));
    if (json_object_size(object) > 0)
        return object;
    json_decref(object);
    return json_null();
}

static json_t *row_of(const struct http_token *token, int64_t now)
{
    bool expired = token->expires_ms != 0 && token->expires_ms <= now;
    return json_pack("{s:s, s:s, s:o, s:o, s:o, s:s}", "name", token->name, "role",
                     http_role_name(token->role), "created_at", time_of(token->created_ms),
                     "expires_at", time_of(token->expires_ms), "bound_to",
                     bindings_of(&token->bindings), "status", expired ? "expired" : "valid");
}

/* ---- verbs ---- */

static int print_added(struct cli *cli, const char *name, enum http_role role, const char *token,
                       int64_t expires_ms)
{
    if (cli->output == CLI_OUTPUT_TABLE) {
        fprintf(cli->out, "%s\n", token);
        return fflush(cli->out) == 0 ? EXIT_CODE_OK : EXIT_CODE_INTERNAL;
    }
    return output_one(cli, NULL,
                      json_pack("{s:s, s:s, s:s, s:o}", "name", name, "role", http_role_name(role),
                                "token", token, "expires_at", time_of(expires_ms)));
}

/* --agent may be repeated. */
static enum error_class read_bindings(const struct cli *cli, struct http_bindings *ret_bindings,
                                      struct error *ret_error)
{
    static const char *const flag_names[] = {"reply-to", "id-prefix"};
    char agents[HTTP_BINDING_SIZE] = "";
    const char *agent = NULL;
    const char *wrong = NULL;
    size_t size = 0;
    for (int i = 0; i < HTTP_BOUND_AGENTS && wrong == NULL; i++) {
        const char *value = cli_flag_value(cli, flag_names[i]);
        if (value != NULL)
            wrong = http_binding_set(ret_bindings, (enum http_binding)i, text_of(value));
    }
    for (size_t index = 0; (agent = cli_flag_next(cli, "agent", &index)) != NULL;) {
        if (size + strlen(agent) + 1 >= sizeof(agents))
            return error_set(ret_error, CODE_USAGE,
                             "--agent: the names have more than "
                             "249 bytes together");
        size += (size_t)snprintf(agents + size, sizeof(agents) - size, "%s%s", size > 0 ? "," : "",
                                 agent);
    }
    if (size > 0 && wrong == NULL)
        wrong = http_binding_set(ret_bindings, HTTP_BOUND_AGENTS, text_of(agents));
    return wrong == NULL ? ERROR_OK : error_set(ret_error, CODE_USAGE, "%s", wrong);
}

static int run_add(struct cli *cli)
{
    struct error error;
    struct http_bindings bindings = {0};
    char token[HTTP_TOKEN_SIZE];
    const char *path = NULL;
    const char *name = cli->arguments[0];
    enum http_role role = HTTP_ROLE_VIEWER;
    int64_t now = clock_wall_ms(clock_real());
    int64_t expires_ms = 0;
    if (find_file(cli, &path, &error) != ERROR_OK || read_role(cli, &role, &error) != ERROR_OK ||
        read_expiry(cli, now, &expires_ms, &error) != ERROR_OK ||
        read_bindings(cli, &bindings, &error) != ERROR_OK)
        return cli_fail(cli, &error);
    if (http_tokens_add_bound(path, text_of(name), role, &bindings, now, expires_ms, token,
                              &error) != ERROR_OK)
        return error.code == CODE_BAD_NAME ? cli_usage(cli, "\"%.80s\": %s", name, error.message)
                                           : fail(cli, &error);
    int code = print_added(cli, name, role, token, expires_ms);
    if (code != EXIT_CODE_OK)
        cli_report(cli, CODE_IO,
                   "the token could not be printed: revoke %s, then add it again with another "
                   "stdout",
                   name);
    else if (cli->output == CLI_OUTPUT_TABLE)
        fprintf(cli->err, "%s (%s) was added to %s, which holds only a hash of the token\n", name,
                http_role_name(role), path);
    return code;
}

static int run_list(struct cli *cli)
{
    struct error error;
    struct http_tokens tokens;
    const char *path = NULL;
    int64_t now = clock_wall_ms(clock_real());
    if (find_file(cli, &path, &error) != ERROR_OK ||
        http_tokens_read(path, &tokens, &error) != ERROR_OK)
        return cli_fail(cli, &error);
    struct output *output = output_new(cli, columns);
    for (size_t i = 0; i < tokens.count; i++)
        output_row(output, row_of(&tokens.of[i], now));
    http_tokens_deinit(&tokens);
    return output_finish(output, EXIT_CODE_OK);
}

static int run_revoke(struct cli *cli)
{
    struct error error;
    const char *path = NULL;
    const char *name = cli->arguments[0];
    if (find_file(cli, &path, &error) != ERROR_OK)
        return cli_fail(cli, &error);
    if (http_tokens_revoke(path, text_of(name), &error) != ERROR_OK)
        return fail(cli, &error);
    if (cli->output == CLI_OUTPUT_TABLE) {
        fprintf(cli->out, "revoked %s: %s has no token of that name now\n", name, path);
        return fflush(cli->out) == 0 ? EXIT_CODE_OK : EXIT_CODE_INTERNAL;
    }
    return output_one(cli, NULL, json_pack("{s:s, s:s}", "revoked", name, "file", path));
}

/* ---- the table ---- */

#define FILE_FLAG                                                                               \
    {                                                                                           \
        "file", "FILE", "The file of hashes; by default http.tokens.file of the configuration." \
    }

static const struct cli_flag add_flags[] = {
    {"role", "ROLE", "viewer, operator, submitter or agent."},
    {"expires", "DURATION|TIME",
     "When it is accepted no longer: a duration such as 90d, or a time such as "
     "2010-12-01T08:26:00Z. By default never."},
    {"reply-to", "TOPIC", "Of a submitter: the only topic that it may have statuses sent to."},
    {"id-prefix", "PREFIX", "Of a submitter: what the ids of its orders begin with."},
    {"agent", "NAME",
     "Of the role agent: it reports about attempts of this agent only. May be repeated."},
    FILE_FLAG,
    {NULL, NULL, NULL},
};
static const struct cli_flag flags[] = {FILE_FLAG, {NULL, NULL, NULL}};
static const struct cli_flag roles_flags[] = {
    {"markdown", NULL, "Prints a Markdown table."},
    {NULL, NULL, NULL},
};

static const struct cli_verb verbs[] = {
    {
        .name = "add",
        .arguments = "NAME",
        .summary = "Makes a token and prints it, this once. The file gets its hash; services that "
                   "use the file accept the token within a second or two. Exit code 1: the name "
                   "is taken.",
        .examples = "reeve token add ann --role operator --file /etc/reeve/tokens\n"
                    "reeve token add web --role submitter --expires 90d --config "
                    "/etc/reeve.properties\n"
                    "reeve token add shop --role submitter --reply-to orders.replies.shop "
                    "--id-prefix shop-",
        .flags = add_flags,
        .run = run_add,
    },
    {
        .name = "list",
        .summary = "Lists names, roles and times of the tokens in the file, which does not hold "
                   "the tokens themselves.",
        .examples = "reeve token list --file /etc/reeve/tokens",
        .flags = flags,
        .run = run_list,
    },
    {
        .name = "revoke",
        .arguments = "NAME",
        .summary = "Removes a token from the file: services refuse it within a second or two, also "
                   "where it is in use. Exit code 1: there is no token of that name.",
        .examples = "reeve token revoke ann --file /etc/reeve/tokens",
        .flags = flags,
        .run = run_revoke,
    },
    {
        .name = "roles",
        .summary = "Lists the paths of all services, and which roles may use them.",
        .examples = "reeve token roles\n"
                    "reeve token roles --output json",
        .flags = roles_flags,
        .settings = CLI_SETTINGS_NONE,
        .run = cli_token_roles,
    },
};

const struct cli_noun cli_token = {"token", "Who may use the HTTP servers.", verbs,
                                   sizeof(verbs) / sizeof(verbs[0])};
