/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve token`: what it prints, what it leaves in the file, and what it refuses. */
#include "base/rfc3339.h"
#include "platform/clock.h"
#include "platform/files.h"
#include "platform/http/tokens.h"
#include "tests/unit/cli/cli_kit.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <stdlib.h>
#include <unistd.h>

/* A folder of the test, and two paths in it. */
static char folder[] = "/tmp/cli-token-XXXXXX";
static char path[64];
static char properties[64];

static void open_folder(void)
{
    cr_assert(mkdtemp(folder) != NULL);
    snprintf(path, sizeof(path), "%s/tokens", folder);
    snprintf(properties, sizeof(properties), "%s/reeve.properties", folder);
}

static void close_folder(void)
{
    struct error error;
    cr_assert_eq(files_remove_tree(folder, &error), ERROR_OK, "%s", error.message);
    free(cli_kit_out);
    free(cli_kit_err);
}

TestSuite(cli_token, .init = open_folder, .fini = close_folder);

#define RUN(...) CLI_KIT_RUN(&cli_token, "token", __VA_ARGS__)
#define EXPECT_CODE(expected, ...)                                   \
    do {                                                             \
        int code = RUN(__VA_ARGS__);                                 \
        cr_assert_eq(code, (expected), "%d: %s", code, cli_kit_err); \
    } while (0)
#define REFUSED(expected, ...) CLI_KIT_REFUSED(&cli_token, expected, "token", __VA_ARGS__)

static char *read_file(void)
{
    struct error error;
    char *content = NULL;
    size_t size = 0;
    cr_assert_eq(files_read(path, 100000, &content, &size, &error), ERROR_OK, "%s", error.message);
    return content;
}

Test(cli_token, prints_the_token_alone_and_keeps_only_its_hash)
{
    uint8_t hash[HTTP_TOKEN_HASH_SIZE];
    struct error error;
    struct http_tokens tokens;
    EXPECT_CODE(EXIT_CODE_OK, "add", "ann", "--role", "operator", "--file", path);
    cr_assert_eq(strlen(cli_kit_out), (size_t)HTTP_TOKEN_SIZE, "%s", cli_kit_out);
    cr_assert_eq(strncmp(cli_kit_out, HTTP_TOKEN_PREFIX, strlen(HTTP_TOKEN_PREFIX)), 0);
    cli_kit_out[strcspn(cli_kit_out, "\n")] = '\0';
    cli_kit_expect_text(cli_kit_err, "ann (operator) was added to /tmp/cli-token-");
    cr_assert_eq(strchr(cli_kit_err, '\n')[1], '\0', "one line: %s", cli_kit_err);
    cr_assert(strstr(cli_kit_err, cli_kit_out) == NULL);
    char *content = read_file();
    cr_assert(strstr(content, cli_kit_out) == NULL);
    free(content);
    cr_assert_eq(http_tokens_read(path, &tokens, &error), ERROR_OK);
    http_token_hash(text_of(cli_kit_out), hash);
    const struct http_token *found = http_tokens_find(&tokens, hash, 0);
    cr_assert(found != NULL);
    cr_assert_str_eq(found->name, "ann");
    cr_assert_eq(found->role, HTTP_ROLE_OPERATOR);
    cr_assert_eq(found->expires_ms, 0);
    http_tokens_deinit(&tokens);
}

Test(cli_token, prints_a_token_as_json)
{
    int64_t expires = 0;
    int64_t before = clock_wall_ms(clock_real());
    EXPECT_CODE(EXIT_CODE_OK, "add", "web", "--role", "submitter", "--expires", "90d", "--file",
                path, "--output", "json");
    cr_assert_str_empty(cli_kit_err);
    json_t *row = json_loads(cli_kit_out, 0, NULL);
    cr_assert_eq(json_object_size(row), 4, "%s", cli_kit_out);
    cr_assert_str_eq(json_string_value(json_object_get(row, "name")), "web");
    cr_assert_str_eq(json_string_value(json_object_get(row, "role")), "submitter");
    cr_assert_eq(json_string_length(json_object_get(row, "token")), (size_t)HTTP_TOKEN_SIZE - 1);
    const char *text = json_string_value(json_object_get(row, "expires_at"));
    cr_assert(text != NULL && rfc3339_parse(text_of(text), &expires));
    int64_t after = clock_wall_ms(clock_real());
    int64_t days = (int64_t)90 * 24 * 3600 * 1000;
    cr_assert(expires >= before + days && expires <= after + days, "%s", text);
    json_decref(row);
    EXPECT_CODE(EXIT_CODE_OK, "add", "ann", "--role", "viewer", "--file", path, "--output", "json");
    row = json_loads(cli_kit_out, 0, NULL);
    cr_assert(json_is_null(json_object_get(row, "expires_at")), "%s", cli_kit_out);
    json_decref(row);
}

Test(cli_token, binds_a_token)
{
    EXPECT_CODE(EXIT_CODE_OK, "add", "a", "--role", "agent", "--agent", "pay", "--agent", "stock",
                "--file", path);
    EXPECT_CODE(EXIT_CODE_OK, "add", "s", "--role", "submitter", "--id-prefix", "s-", "--reply-to",
                "p.replies.s", "--file", path);
    EXPECT_CODE(EXIT_CODE_OK, "list", "--file", path);
    cli_kit_expect_text(cli_kit_out, "agents=pay,stock");
    cli_kit_expect_text(cli_kit_out, "reply-to=p.replies.s id-prefix=s-");
    EXPECT_CODE(EXIT_CODE_USAGE, "add", "b", "--role", "agent", "--agent", "a/b", "--file", path);
    EXPECT_CODE(EXIT_CODE_DATA, "add", "b", "--role", "viewer", "--agent", "pay", "--file", path);
    cli_kit_expect_text(cli_kit_err, "agents is for the role agent");
}

Test(cli_token, lists_tokens_with_their_status)
{
    struct error error;
#define HASH "sha256:000102030405060708090a0b0c0d0e0f000102030405060708090a0b0c0d0e"
    const struct text content =
        TEXT_CONST("# who\n"
                   "old viewer " HASH "0e 2010-12-01T08:26:00Z 2010-12-02T08:26:00Z\n"
                   "ann operator " HASH "0f 2010-12-01T08:26:00Z\n"
                   "web submitter " HASH "10 2010-12-01T08:26:00Z reply-to=p.replies.web "
                   "id-prefix=web-\n");
    cr_assert_eq(files_write_atomic(path, content, &error), ERROR_OK);
    EXPECT_CODE(EXIT_CODE_OK, "list", "--file", path);
    cr_assert_str_eq(
        cli_kit_out,
        "NAME  ROLE       CREATED (UTC)        EXPIRES (UTC)        STATUS   BOUND TO\n"
        "old   viewer     2010-12-01 08:26:00  2010-12-02 08:26:00  expired\n"
        "ann   operator   2010-12-01 08:26:00  never                valid\n"
        "web   submitter  2010-12-01 08:26:00  never                valid    "
        "reply-to=p.replies.web id-prefix=web-\n",
        "%s", cli_kit_out);
    EXPECT_CODE(EXIT_CODE_OK, "list", "--file", path, "--output", "jsonl");
    json_t *row = json_loads(cli_kit_out, JSON_DISABLE_EOF_CHECK, NULL);
    cr_assert_str_eq(json_string_value(json_object_get(row, "created_at")),
                     "2010-12-01T08:26:00.000Z");
    cr_assert_str_eq(json_string_value(json_object_get(row, "expires_at")),
                     "2010-12-02T08:26:00.000Z");
    cr_assert_str_eq(json_string_value(json_object_get(row, "status")), "expired");
    json_decref(row);
}

Test(cli_token, revokes_by_name_and_answers_no_when_there_is_none)
{
    EXPECT_CODE(EXIT_CODE_OK, "add", "ann", "--role", "viewer", "--file", path);
    EXPECT_CODE(EXIT_CODE_NEGATIVE, "add", "ann", "--role", "operator", "--file", path);
    cli_kit_expect_text(cli_kit_err, "has a token of the name ann: revoke it first");
    cr_assert_str_empty(cli_kit_out);
    EXPECT_CODE(EXIT_CODE_OK, "revoke", "ann", "--file", path);
    cli_kit_expect_text(cli_kit_out, "revoked ann: /tmp/cli-token-");
    EXPECT_CODE(EXIT_CODE_NEGATIVE, "revoke", "ann", "--file", path);
    cli_kit_expect_text(cli_kit_err, "has no token of the name ann");
    EXPECT_CODE(EXIT_CODE_OK, "list", "--file", path, "--output", "json");
    cr_assert_str_eq(cli_kit_out, "[]\n");
}

Test(cli_token, uses_the_file_of_the_configuration)
{
    struct error error;
    char line[128];
    int size = snprintf(line, sizeof(line), "http.tokens.file = %s\n", path);
    cr_assert_eq(files_write_atomic(properties, (struct text){line, (uint32_t)size}, &error),
                 ERROR_OK);
    EXPECT_CODE(EXIT_CODE_OK, "add", "ann", "--role", "agent", "--config", properties);
    EXPECT_CODE(EXIT_CODE_OK, "list", "--http-tokens-file", path);
    cli_kit_expect_text(cli_kit_out, "ann   agent");
    EXPECT_CODE(EXIT_CODE_OK, "revoke", "ann", "--config", properties);
    REFUSED("--file FILE, or set http.tokens.file", "list");
    REFUSED("--file FILE, or set http.tokens.file", "add", "ann", "--role", "viewer");
    REFUSED("--file FILE, or set http.tokens.file", "revoke", "ann");
}

Test(cli_token, refuses_bad_command_lines)
{
    REFUSED("an argument is missing: NAME", "add", "--role", "viewer", "--file", path);
    REFUSED("--role is missing: viewer, operator, submitter or agent", "add", "ann", "--file",
            path);
    REFUSED("--role boss: expected viewer", "add", "ann", "--role", "boss", "--file", path);
    REFUSED("\"a b\": the name must be 1 to 64", "add", "a b", "--role", "viewer", "--file", path);
    REFUSED("--expires 90: expected a duration", "add", "ann", "--role", "viewer", "--expires",
            "90", "--file", path);
    REFUSED("must be above 0", "add", "ann", "--role", "viewer", "--expires", "0d", "--file", path);
    REFUSED("must be above 0", "add", "ann", "--role", "viewer", "--expires", "9000000d", "--file",
            path);
    REFUSED("is in the past", "add", "ann", "--role", "viewer", "--expires", "2010-12-01T08:26:00Z",
            "--file", path);
    cr_assert_not(files_exists(path), "nothing was made");
    EXPECT_CODE(EXIT_CODE_CONFIG, "list", "--file", path);
    cr_assert_str_empty(cli_kit_out);
    EXPECT_CODE(EXIT_CODE_CONFIG, "revoke", "ann", "--file", "/nowhere/tokens");
}
