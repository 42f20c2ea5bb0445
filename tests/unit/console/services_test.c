/* SPDX-License-Identifier: Apache-2.0 */
/* GET /api/services: what the services that console.services names say about themselves. */
#include "platform/files.h"
#include "replica/service/about.h"
#include "tests/lib/http_route.h"
#include "tests/unit/console/world.h"
#include "tests/unit/platform/names_kit.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static struct world *world;
static struct http_server *other; /* a service with a port of its own */
static const char *about;         /* what it answers; NULL: what service_about_respond() does */
static int status;

static void serve_about(struct http_exchange *exchange, void *userdata)
{
    const struct service_about usual = {.context = &world->service,
                                        .readers = SETTINGS_CONSOLE,
                                        .started_ms = 1000,
                                        .ready = true,
                                        .reason = "slow"};
    (void)userdata;
    if (about == NULL)
        service_about_respond(exchange, &usual);
    else
        http_respond(exchange, status, "application/json", text_of(about));
}

static void open_with(const char *services)
{
    world->services = services;
    world_open(world);
}

static void open_world(void)
{
    struct http_server_options options = {.port = 0};
    struct error error;
    world = world_new(5, "A");
    about = NULL;
    status = 200;
    cr_assert(http_server_new(world->loop, &options, &other, &error) == ERROR_OK);
    add_route(other, "GET", "/about", HTTP_OPEN, 0, serve_about, NULL);
}

static void close_world(void)
{
    world_close(world);
    http_server_free(other);
    world_free(world);
}

TestSuite(console_services, .init = open_world, .fini = close_world, .timeout = 120);

Test(console_services, returns_what_each_service_says)
{
    char line[160];
    char services[256];
    char path[128];
    struct error error;
    snprintf(path, sizeof(path), "%s/http.url", world->folder);
    snprintf(line, sizeof(line), "%s\n", http_server_url(other));
    cr_assert(files_write_atomic(path, text_of(line), &error) == ERROR_OK);
    snprintf(services, sizeof(services), "127.0.0.1:%u,%s,%s", (unsigned)http_server_port(other),
             http_server_url(other), world->folder);
    open_with(services);
    json_t *answer = world_get(world, 200, "/api/services");
    cr_assert_eq(json_array_size(world_at(answer, "services")), 3);
    for (size_t i = 0; i < 3; i++) {
        const json_t *service = json_array_get(world_at(answer, "services"), i);
        cr_assert(json_is_null(world_at(service, "error")), "%s", json_dumps(service, 0));
        cr_assert_str_eq(world_text(service, "service"), "console");
        cr_assert_str_eq(world_text(service, "instance"), "console-1");
        cr_assert_str_eq(world_text(service, "version"), service_version());
        cr_assert_str_eq(world_text(service, "reason"), "slow");
        cr_assert_eq(world_time(service, "started_at"), 1000);
        cr_assert(json_is_true(world_at(service, "ready")));
        cr_assert_gt(json_array_size(world_at(service, "configuration")), 10);
    }
    cr_assert_str_eq(world_text(answer, "services.2.address"), world->folder);
    json_decref(answer);
}

/* Another server on the port of `other`, at another address. */
static struct http_server *add_replica(const char *host, http_handler handler)
{
    struct error error;
    struct http_server *server;
    struct http_server_options options = {.host = host, .port = http_server_port(other)};
    cr_assert(http_server_new(world->loop, &options, &server, &error) == ERROR_OK, "%s",
              error.message);
    add_route(server, "GET", "/about", HTTP_OPEN, 0, handler, NULL);
    return server;
}

static void serve_second(struct http_exchange *exchange, void *userdata)
{
    (void)userdata;
    http_respond(exchange, 200, "application/json",
                 TEXT("{\"service\": \"console\", \"instance\": \"console-2\", \"version\": "
                      "\"1\", \"started_at\": \"2010-12-01T08:26:00.000Z\", \"configuration\": [], "
                      "\"ready\": true, "
                      "\"reason\": null}"));
}

Test(console_services, asks_every_address_of_a_name)
{
    char expected[128];
    char services[64];
    struct http_server *second = add_replica("127.0.0.2", serve_second);
    struct http_server *again = add_replica("127.0.0.3", serve_second);
    NAMES_KIT_SET("localhost", "127.0.0.4", "127.0.0.3", "127.0.0.2", "127.0.0.1", );
    snprintf(services, sizeof(services), "dns:localhost:%u", (unsigned)http_server_port(other));
    open_with(services);
    for (int round = 0; round < 2; round++) {
        json_t *answer = world_get(world, 200, "/api/services");
        cr_assert_eq(json_array_size(world_at(answer, "services")), 3, "%s", json_dumps(answer, 0));
        cr_assert_str_eq(world_text(answer, "services.0.instance"), "console-1");
        cr_assert_str_eq(world_text(answer, "services.1.instance"), "console-2");
        snprintf(expected, sizeof(expected), "%s (127.0.0.2)", services);
        cr_assert_str_eq(world_text(answer, "services.1.address"), expected);
        snprintf(expected, sizeof(expected), "%s (127.0.0.4)", services);
        cr_assert_str_eq(world_text(answer, "services.2.address"), expected);
        cr_assert_gt(strlen(world_text(answer, "services.2.error")), 0);
        json_decref(answer);
    }
    http_server_free(second);
    http_server_free(again);
}

Test(console_services, does_not_wait_for_a_name_server_that_is_silent)
{
    char services[64];
    NAMES_KIT_SET("localhost", "127.0.0.1", );
    names_kit_hold();
    snprintf(services, sizeof(services), "dns:localhost:%u,/nowhere",
             (unsigned)http_server_port(other));
    open_with(services);
    for (int round = 0; round < 2; round++) {
        SHOWS(world_get(world, 200, "/api/services"), {"services", "[2]"},
              {"services.0.error", "the name has no address: the name server does not answer"});
    }
    names_kit_release();
    SHOWS(world_get(world, 200, "/api/services"), {"services.0.instance", "console-1"});
    NAMES_KIT_SET("localhost", );
    SHOWS(world_get(world, 200, "/api/services"), {"services.0.error", "~the name has no address"});
}

#define ABOUT_FORM                                                                   \
    "{\"service\": \"s\", \"instance\": \"i\", \"version\": \"1\", \"started_at\": " \
    "\"2010-12-01T08:26:00.000Z\", \"configuration\": [], \"ready\": true, \"reason\": null%s}"

/* The time is read between question and answer, so it is at least as far off as it says. */
Test(console_services, says_how_far_a_clock_is_off)
{
    static char body[512];
    open_with(http_server_url(other));
    json_t *answer = world_get(world, 200, "/api/services");
    cr_assert_eq(json_integer_value(world_at(answer, "services.0.clock_off_ms")), 0);
    json_decref(answer);
    snprintf(body, sizeof(body), ABOUT_FORM, "");
    about = body;
    answer = world_get(world, 200, "/api/services");
    cr_assert(json_is_null(world_at(answer, "services.0.clock_off_ms")), "of an older version");
    json_decref(answer);
    snprintf(body, sizeof(body), ABOUT_FORM, ", \"time\": \"2010-12-01T08:26:00.000Z\"");
    answer = world_get(world, 200, "/api/services");
    cr_assert_lt(json_integer_value(world_at(answer, "services.0.clock_off_ms")), -1000000);
    json_decref(answer);
}

Test(console_services, says_how_much_of_a_disk_is_free)
{
    static const struct {
        const char *said;
        const char *shown;
    } cases[] = {
        {"", "null"},
        {", \"disk_free_bytes\": null", "null"},
        {", \"disk_free_bytes\": -1", "null"},
        {", \"disk_free_bytes\": \"7\"", "null"},
        {", \"disk_free_bytes\": 0", "0"},
        {", \"disk_free_bytes\": 5000000000", "5000000000"},
    };
    static char body[512];
    open_with(http_server_url(other));
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        snprintf(body, sizeof(body), ABOUT_FORM, cases[i].said);
        about = body;
        json_t *answer = world_get(world, 200, "/api/services");
        char *shown = json_dumps(world_at(answer, "services.0.disk_free_bytes"), JSON_ENCODE_ANY);
        cr_assert_str_eq(shown, cases[i].shown);
        free(shown);
        json_decref(answer);
    }
}

Test(console_services, names_the_services_that_do_not_answer)
{
    open_with("127.0.0.1:1,/nowhere");
    json_t *answer = world_get(world, 200, "/api/services");
    cr_assert_gt(strlen(world_text(answer, "services.0.error")), 0);
    SHOWS(answer, {"services.0.address", "127.0.0.1:1"},
          {"services.1.error", "~there is no http.url"});
}

static void write_list(const char *path, const char *content)
{
    struct error error;
    cr_assert(files_write_atomic(path, text_of(content), &error) == ERROR_OK, "%s", error.message);
}

Test(console_services, reads_a_file_of_addresses_each_time)
{
    char path[128], services[160], lines[256];
    snprintf(path, sizeof(path), "%s/services", world->folder);
    snprintf(services, sizeof(services), "file:%s,127.0.0.1:1", path);
    open_with(services);
    SHOWS(world_get(world, 200, "/api/services"), {"services", "[2]"},
          {"services.0.address", "~file:/"}, {"services.0.error", "~No such file"},
          {"services.1.address", "127.0.0.1:1"});
    write_list(path, "");
    SHOWS(world_get(world, 200, "/api/services"), {"services", "[1]"});
    snprintf(lines, sizeof(lines), "%s\n\n/nowhere\nfile:%s\ndns:localhost:1\nlocalhost",
             http_server_url(other), path);
    write_list(path, lines);
    SHOWS(world_get(world, 200, "/api/services"), {"services", "[6]"},
          {"services.0.address", http_server_url(other)}, {"services.0.instance", "console-1"},
          {"services.1.address", "/nowhere"}, {"services.1.error", "~there is no http.url"},
          {"services.2.error", "~must be HOST:PORT, a base URL"},
          {"services.3.error", "~must be HOST:PORT, a base URL"},
          {"services.4.error", "~must be HOST:PORT, a base URL"},
          {"services.5.address", "127.0.0.1:1"});
}

Test(console_services, says_that_a_file_names_too_many)
{
    char path[128], services[160], lines[2 * (SERVICE_LIST_MAX + 1) + 1] = "";
    for (size_t i = 0; i <= SERVICE_LIST_MAX; i++)
        memcpy(lines + 2 * i, "x\n", 3);
    snprintf(path, sizeof(path), "%s/services", world->folder);
    snprintf(services, sizeof(services), "file:%s", path);
    write_list(path, lines);
    open_with(services);
    SHOWS(world_get(world, 200, "/api/services"), {"services", "[1]"},
          {"services.0.error", "it names 257 services; the limit is 256"});
    lines[2 * SERVICE_LIST_MAX] = '\0';
    write_list(path, lines);
    SHOWS(world_get(world, 200, "/api/services"), {"services", "[256]"});
}

Test(console_services, shows_nothing_of_an_answer_that_is_not_a_services)
{
    static const struct {
        int status;
        const char *body;
        const char *error;
    } rows[] = {
        {200, "", "not that of a reeve service"},
        {200, "[1]", "not that of a reeve service"},
        {200, "{\"service\": \"scheduler\"}", "not that of a reeve service"},
        {200,
         "{\"service\": 1, \"instance\": \"i\", \"version\": \"1\", \"started_at\": "
         "\"2010-12-01T08:26:00.000Z\", "
         "\"configuration\": [], \"ready\": true, \"reason\": null}",
         "not that of a reeve service"},
        {200,
         "{\"service\": \"s\", \"instance\": \"i\", \"version\": \"1\", \"started_at\": "
         "\"2010-12-01T08:26:00.000Z\", "
         "\"configuration\": [{\"key\": 1}], \"ready\": true, \"reason\": null}",
         "not that of a reeve service"},
        {404, "{}", "answered with 404"},
        {403, "{}", "http.allowed.hosts"},
    };
    open_with(http_server_url(other));
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        about = rows[i].body;
        status = rows[i].status;
        json_t *answer = world_get(world, 200, "/api/services");
        const json_t *service = world_at(answer, "services.0");
        cr_assert(strstr(world_text(service, "error"), rows[i].error) != NULL, "row %zu", i);
        cr_assert_eq(json_object_size(service), 2, "row %zu", i);
        json_decref(answer);
    }
}

/* `other` asks for tokens from now on; ret_token is one of that role. */
static struct http_access *protect(enum http_role role, char ret_token[HTTP_TOKEN_SIZE])
{
    static char path[128]; /* borrowed by the access */
    struct error error;
    struct http_access *access = NULL;
    snprintf(path, sizeof(path), "%s/tokens", world->folder);
    const struct http_access_options options = {
        .authenticates = true, .token_file = path, .user_header = "X-Forwarded-User"};
    cr_assert(http_tokens_add(path, TEXT("console"), role, 1000, 0, ret_token, &error) == ERROR_OK);
    cr_assert(http_access_new(world->loop, NULL, &options, &access, &error) == ERROR_OK);
    http_server_free(other);
    const struct http_server_options server = {.access = access};
    cr_assert(http_server_new(world->loop, &server, &other, &error) == ERROR_OK);
    add_route(other, "GET", "/about", HTTP_VIEW, 0, serve_about, NULL);
    return access;
}

static void expect_about(enum http_role role, bool sends, const char *given, const char *expected)
{
    char token[HTTP_TOKEN_SIZE];
    struct http_access *access = protect(role, token);
    world->services_token = given != NULL ? given : sends ? token : NULL;
    open_with(http_server_url(other));
    json_t *answer = world_get(world, 200, "/api/services");
    const char *error = world_text(world_at(answer, "services.0"), "error");
    if (expected == NULL)
        cr_assert_str_eq(world_text(answer, "services.0.instance"), "console-1");
    else
        cr_assert(error != NULL && strstr(error, expected) != NULL, "%s", error);
    json_decref(answer);
    http_server_free(other);
    other = NULL;
    http_access_free(access);
}

Test(console_services, asks_with_its_token)
{
    expect_about(HTTP_ROLE_VIEWER, true, NULL, NULL);
}

Test(console_services, says_that_a_service_needs_a_token)
{
    expect_about(HTTP_ROLE_VIEWER, false, NULL,
                 "answered with 401: needs a token: set console.services.token");
}

Test(console_services, says_that_a_token_is_not_right)
{
    expect_about(HTTP_ROLE_VIEWER, true, "reeve_wrong",
                 "401: does not accept the token in console.services.token");
}

Test(console_services, says_that_a_token_has_another_role)
{
    expect_about(HTTP_ROLE_SUBMITTER, true, NULL,
                 "403: the token in console.services.token needs the role viewer");
}

static void expect_refused(const char *key, const char *value, const char *expected)
{
    struct error error;
    struct service_list *list = NULL;
    struct config *config = config_new(&settings_schema);
    cr_assert(config_set(config, key, value, &error) == ERROR_OK);
    cr_assert(config_finish(config, &error) == ERROR_OK);
    cr_assert(service_list_new(world->loop, clock_real(), config, &list, &error) == ERROR_REJECT);
    cr_assert(strstr(error.message, expected) != NULL, "%s", error.message);
    cr_assert(strstr(error.message, "canary") == NULL, "%s", error.message);
    config_free(config);
}

Test(console_services, refuses_malformed_credentials_without_showing_them)
{
    expect_refused("console.services.token", "canary\nX-Header: 1", "must be one token");
    expect_refused("console.services.tls.cert", "c.pem", "belong together: set both");
    open_with(NULL);
}

Test(console_services, lists_nothing_where_nothing_is_configured)
{
    open_with(NULL);
    SHOWS(world_get(world, 200, "/api/services"), {"services", "[0]"});
}

Test(console_services, refuses_addresses_of_no_known_form)
{
    struct service_list *list;
    struct error error;
    struct config *config = config_new(&settings_schema);
    cr_assert(config_set(config, "console.services", "a:1,ftp://b:2", &error) == ERROR_OK);
    cr_assert(config_finish(config, &error) == ERROR_OK);
    cr_assert(service_list_new(world->loop, clock_real(), config, &list, &error) == ERROR_REJECT);
    cr_assert(strstr(error.message, "\"ftp://b:2\" must be HOST:PORT") != NULL, "%s",
              error.message);
    config_free(config);
    config = config_new(&settings_schema);
    cr_assert(config_set(config, "console.services", "dns:b:1,dns:/a", &error) == ERROR_OK);
    cr_assert(config_finish(config, &error) == ERROR_OK);
    cr_assert(service_list_new(world->loop, clock_real(), config, &list, &error) == ERROR_REJECT);
    cr_assert(strstr(error.message, "\"dns:/a\" must be HOST:PORT") != NULL, "%s", error.message);
    config_free(config);
    open_with(NULL);
}
