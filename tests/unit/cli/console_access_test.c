/* SPDX-License-Identifier: Apache-2.0 */
/* The command line as a client of servers that ask for tokens and speak HTTPS: what it sends to
 * whom, and what it says when it is refused. The server is that of the services. */
#include "cli/console/console_client.h"
#include "cli/verify/live_stores.h"
#include "platform/clock.h"
#include "platform/files.h"
#include "platform/http/access.h"
#include "platform/http/server.h"
#include "platform/http/tls.h"
#include "replica/service/address.h"
#include "replica/service/settings.h"
#include "tests/lib/certificate.h"
#include "tests/lib/http_route.h"
#include "tests/unit/cli/cli_kit.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATH_SIZE = 128, URL_SIZE = 64 };

static char folder[] = "/tmp/cli-access-XXXXXX";
static char tokens_path[PATH_SIZE];
static char viewer[HTTP_TOKEN_SIZE], operator[HTTP_TOKEN_SIZE];
static struct certificate authority, certificate, client;
static pid_t server;
static char url[URL_SIZE];

/* ---- the server, in a process of its own ---- */

/* Who asked, and with which body. */
static void answer(struct http_exchange *exchange, void *userdata)
{
    char text[512];
    char who[128];
    struct text body = http_body(exchange);
    (void)userdata;
    snprintf(who, sizeof(who), "\"user\": \"%s\", \"token\": %s", http_user(exchange),
             http_header(exchange, "Authorization") != NULL ? "true" : "false");
    snprintf(text, sizeof(text), "{%s, \"body\": %.*s, \"partitions\": [{%s}]}", who,
             body.size > 0 ? (int)body.size : 4, body.size > 0 ? body.data : "null", who);
    http_respond(exchange, 200, "application/json", text_of(text));
}

static void answer_stores(struct http_exchange *exchange, void *userdata)
{
    (void)userdata;
    http_respond(exchange, 200, "application/json",
                 TEXT("{\"service\": \"scheduler\", \"instance\": \"vm-1\", \"deadlines\": true, "
                      "\"partitions\": [{\"partition\": 2, \"next_event_offset\": 7, "
                      "\"orders\": 3, \"digest\": \"00ff\"}]}"));
}

static void say(int fd, const char *text)
{
    cr_assert_eq(write(fd, text, strlen(text) + 1), (ssize_t)strlen(text) + 1);
}

static void serve(int fd, bool secure)
{
    struct error error = {0};
    struct loop *loop = NULL;
    struct http_access *access = NULL;
    struct http_tls *tls = NULL;
    struct http_server *http = NULL;
    const struct http_access_options who = {
        .authenticates = true, .token_file = tokens_path, .user_header = "X-Forwarded-User"};
    const struct http_tls_options keys = {.cert_file = certificate.cert_path,
                                          .key_file = certificate.key_path,
                                          .client_ca_file = authority.cert_path};
    cr_assert_eq(loop_new(clock_real(), &loop, &error), ERROR_OK);
    cr_assert_eq(http_access_new(loop, NULL, &who, &access, &error), ERROR_OK, "%s", error.message);
    if (secure)
        cr_assert_eq(http_tls_new(loop, &keys, &tls, &error), ERROR_OK, "%s", error.message);
    const struct http_server_options options = {.host = "127.0.0.1", .access = access, .tls = tls};
    cr_assert_eq(http_server_new(loop, &options, &http, &error), ERROR_OK, "%s", error.message);
    add_route(http, "GET", "/api/partitions", HTTP_VIEW, 0, answer, NULL);
    add_route(http, "GET", "/api/overview", HTTP_OPEN, 0, answer, NULL);
    add_route(http, "POST", "/api/agents/{agent}/pause", HTTP_OPERATE, 0, answer, NULL);
    add_route(http, "GET", "/stores", HTTP_VIEW, 0, answer_stores, NULL);
    say(fd, http_server_local_url(http));
    loop_run(loop);
}

static void start(bool secure)
{
    int pipe_fds[2];
    cr_assert_eq(pipe(pipe_fds), 0);
    server = fork();
    cr_assert_geq(server, 0);
    if (server == 0) {
        serve(pipe_fds[1], secure);
        _exit(0);
    }
    close(pipe_fds[1]);
    cr_assert_gt(read(pipe_fds[0], url, sizeof(url)), 0, "the server does not start");
    close(pipe_fds[0]);
}

static void open_world(void)
{
    struct error error;
    cr_assert(mkdtemp(folder) != NULL && chdir(folder) == 0);
    unsetenv("USER");
    snprintf(tokens_path, sizeof(tokens_path), "%s/tokens", folder);
    authority = certificate_new(folder, "authority", NULL, 10);
    certificate = certificate_new(folder, "server", &authority, 10);
    client = certificate_new(folder, "client", &authority, 10);
    int64_t now = clock_wall_ms(clock_real());
    cr_assert_eq(
        http_tokens_add(tokens_path, TEXT("grafana"), HTTP_ROLE_VIEWER, now, 0, viewer, &error),
        ERROR_OK);
    cr_assert_eq(
        http_tokens_add(tokens_path, TEXT("ann"), HTTP_ROLE_OPERATOR, now, 0, operator, & error),
        ERROR_OK);
}

static void close_world(void)
{
    struct error error;
    if (server > 0) {
        kill(server, SIGKILL);
        waitpid(server, NULL, 0);
    }
    certificate_free(&authority);
    certificate_free(&certificate);
    certificate_free(&client);
    cr_assert_eq(files_remove_tree(folder, &error), ERROR_OK, "%s", error.message);
    free(cli_kit_out);
    free(cli_kit_err);
}

TestSuite(cli_access, .init = open_world, .fini = close_world);

static void write_file(const char *name, const char *content)
{
    char path[PATH_SIZE];
    struct error error;
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    cr_assert_eq(files_write_atomic(path, text_of(content), &error), ERROR_OK, "%s", error.message);
}

/* The command ends with that code, prints `expected`, and shows no token. */
#define EXPECT(code, text, expected, noun, ...)                              \
    do {                                                                     \
        int is = CLI_KIT_RUN(&cli_##noun, #noun, __VA_ARGS__);               \
        cr_assert_eq(is, (code), "%d: %s", is, cli_kit_err);                 \
        cli_kit_expect_text(text, expected);                                 \
        cr_assert(strstr(cli_kit_err, "reeve_") == NULL, "%s", cli_kit_err); \
    } while (0)
#define REFUSED(expected, noun, ...) \
    EXPECT(EXIT_CODE_NOT_PERMITTED, cli_kit_err, expected, noun, __VA_ARGS__)

/* ---- tokens ---- */

Test(cli_access, sends_the_token_of_the_configuration)
{
    start(false);
    EXPECT(EXIT_CODE_OK, cli_kit_out, "\"user\":\"grafana\"", owners, "--console", url,
           "--console-token", viewer, "--output", "json");
    write_file("viewer", viewer);
    EXPECT(EXIT_CODE_OK, cli_kit_out, "\"user\":\"grafana\"", owners, "--console", url, "--set",
           "console.token.file=viewer", "--output", "json");
    EXPECT(EXIT_CODE_OK, cli_kit_out, "\"token\":false", overview, "--console", url, "--output",
           "json");
}

Test(cli_access, says_what_to_do_when_it_is_refused)
{
    start(false);
    REFUSED("the console needs a token: set console.token.file, see docs/operate/access.md", owners,
            "--console", url);
    REFUSED("does not accept the token in console.token: it is wrong, was revoked or has expired",
            owners, "--console", url, "--console-token", "reeve_wrong");
    REFUSED("the role of the token in console.token does not permit it", agents, "pause", "stock",
            "--by", "ann", "--reason", "r", "--console", url, "--console-token", viewer);
    REFUSED("{\"error\":{\"code\":\"NoToken\",\"detail\":\"the console needs a token", owners,
            "--console", url, "--output", "json");
    /* A token that was right before keeps its right while the address sends wrong ones. */
    EXPECT(EXIT_CODE_OK, cli_kit_out, "\"user\":\"ann\"", owners, "--console", url,
           "--console-token", operator, "--output", "json");
    for (int i = 0; i < HTTP_FAILURES_MAX; i++)
        CLI_KIT_RUN(&cli_owners, "owners", "--console", url, "--console-token", "reeve_wrong");
    REFUSED("check console.token, then wait a minute", owners, "--console", url, "--console-token",
            "reeve_wrong");
    EXPECT(EXIT_CODE_OK, cli_kit_out, "\"user\":\"ann\"", owners, "--console", url,
           "--console-token", operator, "--output", "json");
}

Test(cli_access, understands_refusals_of_proxies)
{
    cli_kit_console_open();
    cli_kit_answer(401, "<html>Who are you?</html>");
    REFUSED("the console needs a token", owners, "--output", "table");
    cli_kit_answer(403, "<html>Go away</html>");
    REFUSED("the console gives no reason (NotPermitted)", owners, "--output", "table");
    cli_kit_answer(429, "{\"code\": \"Busy\", \"detail\": \"too many requests\"}");
    EXPECT(EXIT_CODE_UNAVAILABLE, cli_kit_err, "too many requests (Busy)", owners, "--output",
           "table");
    cli_kit_console_close();
}

Test(cli_access, refuses_malformed_tokens_without_showing_them)
{
    write_file("two", "reeve_one\nreeve_two\n");
    EXPECT(EXIT_CODE_CONFIG, cli_kit_err, "console.token (", owners, "--console", "http://[::1]:1",
           "--set", "console.token.file=two");
    EXPECT(EXIT_CODE_CONFIG, cli_kit_err, "must be one token", owners, "--console",
           "http://[::1]:1", "--console-token", "reeve_a b");
    EXPECT(EXIT_CODE_CONFIG, cli_kit_err, "console.tls.cert and console.tls.key belong together",
           owners, "--console", "http://[::1]:1", "--console-tls-cert", "c.pem");
}

Test(cli_access, leaves_the_name_to_the_token)
{
    start(false);
    EXPECT(EXIT_CODE_OK, cli_kit_out, "\"body\":{\"reason\":\"r\"}", agents, "pause", "stock",
           "--reason", "r", "--console", url, "--console-token", operator, "--output", "json");
    cli_kit_expect_text(cli_kit_out, "\"user\":\"ann\"");
}

/* ---- who gets the token ---- */

static struct config *new_config(const char *token)
{
    struct error error;
    struct config *config = config_new(&settings_schema);
    cr_assert_eq(config_set(config, "console.token", token, &error), ERROR_OK);
    cr_assert_eq(config_set(config, "data.dir", folder, &error), ERROR_OK);
    cr_assert_eq(config_finish(config, &error), ERROR_OK);
    return config;
}

Test(cli_access, sends_no_token_to_the_default_address)
{
    static const struct cli_flag flags[] = {CONSOLE_FLAG, {NULL, NULL, NULL}};
    static const struct cli_verb verb = {.flags = flags};
    struct error error;
    struct console_client found;
    struct cli cli = {.verb = &verb, .err = stderr, .config = new_config("reeve_x")};
    write_file("http.url", "https://127.0.0.1:9\n");
    cr_assert_eq(console_client_init(&cli, &found, &error), ERROR_OK);
    cr_assert_str_eq(found.base, "https://127.0.0.1:9");
    cr_assert_str_eq(found.credentials.token, "reeve_x");
    cr_assert_not(found.withholds_token);
    /* Another user could have written it, and listens there. */
    cr_assert_eq(chmod("http.url", 0666), 0);
    cr_assert_eq(console_client_init(&cli, &found, &error), ERROR_OK);
    cr_assert_str_eq(found.base, "http://127.0.0.1:8080");
    cr_assert_str_empty(found.credentials.token);
    cr_assert(found.withholds_token);
    const struct console_answer refused = {
        .status = 401, .json = json_object(), .token = CONSOLE_TOKEN_WITHHELD};
    char *text = NULL;
    size_t size = 0;
    cli.err = open_memstream(&text, &size);
    cr_assert_eq(console_refused(&cli, &refused, NULL), EXIT_CODE_NOT_PERMITTED);
    fclose(cli.err);
    cli_kit_expect_text(text, "which is not sent to the default address: set console.url");
    free(text);
    json_decref(refused.json);
    config_free(cli.config);
}

Test(cli_access, reads_urls_strictly)
{
    static const char *const bad[] = {"",
                                      "\n",
                                      "http://\n",
                                      "ftp://h:1\n",
                                      "http://h:1",
                                      "http:///a\n",
                                      "http://h:1/a\n",
                                      "http://a@h:1\n",
                                      "http://h:1?\n",
                                      "http://h :1\n"};
    struct service_url found = {.text = "unchanged"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        write_file("http.url", bad[i]);
        cr_assert_not(service_url_read(folder, &found), "%s", bad[i]);
    }
    cr_assert_str_eq(found.text, "unchanged");
    write_file("http.url", "https://[::1]:8443\n");
    cr_assert(service_url_read(folder, &found));
    cr_assert_str_eq(found.text, "https://[::1]:8443");
    cr_assert(found.is_own);
}

static enum error_class read_live(const char *token, struct verify_live *live,
                                  struct error *ret_error)
{
    const struct service_credentials credentials = {.token = token};
    return verify_live_read(folder, &credentials, live, ret_error);
}

Test(cli_access, reads_live_stores_with_the_token)
{
    char line[URL_SIZE + 2];
    struct error error;
    struct verify_live live = {0};
    start(false);
    snprintf(line, sizeof(line), "%s\n", url);
    write_file("http.url", line);
    cr_assert_eq(read_live(viewer, &live, &error), ERROR_OK, "%s", error.message);
    cr_assert_eq(live.count, 1);
    cr_assert_str_eq(live.stores[0].service, "scheduler vm-1");
    verify_live_free(&live);
    cr_assert_eq(read_live("", &live, &error), ERROR_REJECT);
    cr_assert_eq(exit_code_of(&error), EXIT_CODE_NOT_PERMITTED);
    cli_kit_expect_text(error.message, "/stores answers 401: set console.token.file; see docs");
    cr_assert_eq(read_live("reeve_wrong", &live, &error), ERROR_REJECT);
    cli_kit_expect_text(error.message, "the token is not right, was revoked or has expired");
    cr_assert_eq(chmod("http.url", 0666), 0);
    cr_assert_eq(read_live(viewer, &live, &error), ERROR_REJECT);
    cli_kit_expect_text(error.message, "belongs to another user, so it gets no token");
    verify_live_free(&live);
}

/* ---- TLS ---- */

Test(cli_access, calls_consoles_by_https)
{
    start(true);
    cr_assert_eq(strncmp(url, "https://127.0.0.1:", 18), 0, "%s", url);
#define WITH_CLIENT "--console-tls-cert", client.cert_path, "--console-tls-key", client.key_path
    EXPECT(EXIT_CODE_OK, cli_kit_out, "\"user\":\"ann\"", owners, "--console", url,
           "--console-token", operator, "--console-tls-ca", authority.cert_path, WITH_CLIENT,
           "--output", "json");
    EXPECT(EXIT_CODE_CONFIG, cli_kit_err, "see console.tls.ca, .cert and .key", owners, "--console",
           url, "--console-token", operator, WITH_CLIENT);
    EXPECT(EXIT_CODE_CONFIG, cli_kit_err, "nowhere.pem", owners, "--console", url,
           "--console-token", operator, "--console-tls-ca", "nowhere.pem", WITH_CLIENT);
    EXPECT(EXIT_CODE_UNAVAILABLE, cli_kit_err, "no console answers at https://127.0.0.1:", owners,
           "--console", url, "--console-token", operator, "--console-tls-ca", authority.cert_path);
}
