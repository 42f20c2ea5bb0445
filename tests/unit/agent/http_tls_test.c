/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTP agent and a remote service behind TLS (tls_service.py): who trusts whom, and the headers
 * of the configuration. Certificates are made here. */
#include "platform/files.h"
#include "platform/http/header_lines.h"
#include "replica/service/settings.h"
#include "services/agent/kinds/kinds.h"
#include "tests/lib/certificate.h"
#include "tests/unit/agent/world.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SOON = 1000000 + 60000 };

static char folder[PATH_MAX];

/* ---- the scene ---- */

struct scene {
    struct certificate ours, theirs;        /* authorities */
    struct certificate server, client;      /* of ours */
    struct certificate expired_server;      /* of ours */
    struct certificate foreign, old_client; /* of theirs; of ours, expired */
    struct world *world;
    pid_t service;
    int service_input;
    char url[64];
};

static struct scene scene;

static void open_scene(void)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(folder, sizeof(folder), "%s/tls-XXXXXX", tmp != NULL ? tmp : "/tmp");
    cr_assert_not_null(mkdtemp(folder));
    signal(SIGPIPE, SIG_IGN);
    scene = (struct scene){.service_input = -1};
    scene.ours = certificate_new(folder, "ours", NULL, 10);
    scene.theirs = certificate_new(folder, "theirs", NULL, 10);
    scene.server = certificate_new(folder, "server", &scene.ours, 10);
    scene.client = certificate_new(folder, "client", &scene.ours, 10);
    scene.expired_server = certificate_new(folder, "expired", &scene.ours, -1);
    scene.foreign = certificate_new(folder, "foreign", &scene.theirs, 10);
    scene.old_client = certificate_new(folder, "old-client", &scene.ours, -1);
}

static void close_scene(void)
{
    if (scene.world != NULL)
        world_free(scene.world);
    if (scene.service > 0) {
        close(scene.service_input);
        waitpid(scene.service, NULL, 0);
    }
    certificate_free(&scene.ours);
    certificate_free(&scene.theirs);
    certificate_free(&scene.server);
    certificate_free(&scene.client);
    certificate_free(&scene.expired_server);
    certificate_free(&scene.foreign);
    certificate_free(&scene.old_client);
    files_remove_tree(folder, NULL);
}

TestSuite(http_tls, .init = open_scene, .fini = close_scene);

/* Starts the service with that certificate; `client_ca`: whose clients it accepts, NULL = all. */
static void serve(const struct certificate *as, const struct certificate *client_ca)
{
    int input[2], output[2];
    char script[PATH_MAX], line[32];
    const char *root = getenv("REEVE_SOURCE_DIR");
    if (root == NULL || root[0] == '\0')
        cr_skip_test("REEVE_SOURCE_DIR does not name the tree");
    snprintf(script, sizeof(script), "%s/tests/unit/agent/tls_service.py", root);
    cr_assert(pipe2(input, O_CLOEXEC) == 0 && pipe2(output, O_CLOEXEC) == 0);
    scene.service = fork();
    if (scene.service == 0) {
        dup2(input[0], 0);
        dup2(output[1], 1);
        execlp("python3", "python3", script, as->cert_path, as->key_path,
               client_ca != NULL ? client_ca->cert_path : "", (char *)NULL);
        _exit(127);
    }
    close(input[0]);
    close(output[1]);
    scene.service_input = input[1];
    FILE *answer = fdopen(output[0], "r");
    cr_assert_not_null(fgets(line, sizeof(line), answer), "%s does not run", script);
    fclose(answer);
    snprintf(scene.url, sizeof(scene.url), "https://127.0.0.1:%ld", strtol(line, NULL, 10));
}

/* The report of one call; the wait before a second try is longer than the deadline allows. `more`:
 * "key", "value", ..., NULL. */
static const char *call(const struct certificate *ca, const char *const more[])
{
    const char *settings[32] = {"agent.name",
                                "pay",
                                "agent.http.url",
                                scene.url,
                                "agent.http.tls.ca",
                                ca->cert_path,
                                "agent.http.connect.timeout.ms",
                                "60000",
                                "agent.http.try.timeout.ms",
                                "60000",
                                "agent.retry.backoff.ms",
                                "200000",
                                "agent.retry.backoff.max.ms",
                                "200000"};
    for (size_t i = 0; more != NULL && more[i] != NULL; i++)
        settings[14 + i] = more[i];
    scene.world = world_new(1);
    scene.world->ops = &http_agent_ops;
    world_add(scene.world, settings);
    world_rebalance(scene.world);
    world_request(scene.world, "A", DIRECTION_DO, 1, SOON);
    for (int i = 0; i < 100000 && world_reports(scene.world)[0] == '\0'; i++) {
        broker_memory_settle(scene.world->kafka, 100000);
        loop_once(scene.world->loop, 5);
    }
    return world_reports(scene.world);
}

/* ---- who trusts whom ---- */

Test(http_tls, calls_a_service_of_the_configured_authority)
{
    serve(&scene.server, NULL);
    cr_assert_str_eq(call(&scene.ours, NULL),
                     "A/Pay/do/1 ok {\"authorization\":null,\"peer\":null,\"tenant\":null}\n");
}

Test(http_tls, sends_nothing_to_a_service_whose_certificate_has_expired)
{
    serve(&scene.expired_server, NULL);
    cr_assert_str_eq(call(&scene.ours, NULL), "A/Pay/do/1 Http.NotConnected none\n");
}

Test(http_tls, sends_nothing_to_a_service_of_a_foreign_authority)
{
    serve(&scene.foreign, NULL);
    cr_assert_str_eq(call(&scene.ours, NULL), "A/Pay/do/1 Http.NotConnected none\n");
}

Test(http_tls, shows_its_certificate_to_a_service_that_asks_for_one)
{
    serve(&scene.server, &scene.ours);
    const char *report =
        call(&scene.ours, (const char *[]){"agent.http.tls.cert", scene.client.cert_path,
                                           "agent.http.tls.key", scene.client.key_path, NULL});
    cr_assert_str_eq(
        report, "A/Pay/do/1 ok {\"authorization\":null,\"peer\":\"client\",\"tenant\":null}\n");
}

/* TLS 1.3 refuses a client after its request may be on the way: then the effect is unknown. */
static void expect_refused(const struct certificate *client)
{
    serve(&scene.server, &scene.ours);
    const char *const with[] = {"agent.http.tls.cert", client->cert_path, "agent.http.tls.key",
                                client->key_path, NULL};
    const char *report = call(&scene.ours, client->x509 != NULL ? with : NULL);
    cr_assert(strcmp(report, "A/Pay/do/1 Http.NotConnected none\n") == 0 ||
                  strcmp(report, "A/Pay/do/1 Http.ConnectionLost unknown\n") == 0,
              "%s", report);
}

Test(http_tls, is_refused_without_a_certificate)
{
    expect_refused(&(struct certificate){.x509 = NULL});
}

Test(http_tls, is_refused_with_a_foreign_certificate)
{
    expect_refused(&scene.foreign);
}

Test(http_tls, is_refused_with_an_expired_certificate)
{
    expect_refused(&scene.old_client);
}

/* ---- headers and files ---- */

Test(http_tls, sends_the_configured_headers)
{
    serve(&scene.server, NULL);
    const char *report = call(
        &scene.ours, (const char *[]){"agent.http.headers",
                                      "Authorization: Bearer s3cret\r\n\nX-Tenant:  a b\n", NULL});
    cr_assert_str_eq(report, "A/Pay/do/1 ok {\"authorization\":\"Bearer s3cret\","
                             "\"peer\":null,\"tenant\":\"a b\"}\n");
}

static void expect_bad_headers(const char *text, const char *message)
{
    struct header_lines headers;
    struct error error;
    cr_assert_eq(header_lines_parse("agent.http.headers", text, &headers, &error), ERROR_REJECT,
                 "%s", text);
    cr_assert_str_eq(error.message, message);
}

Test(http_tls, rejects_headers_without_showing_their_values)
{
    static const char line[] = "agent.http.headers: header 2 is not a line like NAME: VALUE";
    expect_bad_headers("A: 1\ns3cret", line);
    expect_bad_headers("A: 1\ns3 cret: x", line);
    expect_bad_headers("A: 1\n: s3cret", line);
    expect_bad_headers("A: 1\ns3cret:  ", line);
    expect_bad_headers("A: 1\nB: s3\x01cret", line);
    expect_bad_headers("HOST: s3cret",
                       "agent.http.headers: HOST is set by reeve itself: remove it");
    expect_bad_headers("Reeve-Attempt: 1",
                       "agent.http.headers: Reeve-Attempt is set by reeve itself: remove it");
    expect_bad_headers("a:1\na:1\na:1\na:1\na:1\na:1\na:1\na:1\na:1\na:1\na:1\na:1\na:1\na:1\na:1\n"
                       "a:1\na:1\n",
                       "agent.http.headers has more than 16 headers");
}

static void expect_bad_start(const char *key, const char *value, const char *message)
{
    struct service_context service = {.name = "agent", .config = config_new(&settings_schema)};
    struct error error;
    void *ctx = NULL;
    cr_assert(config_set(service.config, "agent.http.url", "https://x", &error) == ERROR_OK);
    cr_assert(config_set(service.config, key, value, &error) == ERROR_OK);
    cr_assert(config_finish(service.config, &error) == ERROR_OK);
    cr_assert_eq(http_agent_ops.start(&service, &ctx, &error), ERROR_REJECT);
    cr_assert_str_eq(error.message, message);
    config_free(service.config);
}

Test(http_tls, refuses_to_start_without_its_files)
{
    expect_bad_start(
        "agent.http.tls.ca", "/no/ca",
        "agent.http.tls.ca must be the path of a PEM file; cannot read /no/ca: No such "
        "file or directory");
    expect_bad_start("agent.http.tls.cert", scene.client.cert_path,
                     "agent.http.tls.cert and agent.http.tls.key belong together: set both");
    expect_bad_start("agent.http.tls.key", scene.client.key_path,
                     "agent.http.tls.cert and agent.http.tls.key belong together: set both");
}
