/* SPDX-License-Identifier: Apache-2.0 */
/* The server with a certificate, and who gets in. */
#include "platform/files.h"
#include "platform/http/client.h"
#include "platform/http/tls.h"
#include "tests/lib/certificate.h"
#include "tests/unit/platform/http_server_kit.h"

#include <criterion/criterion.h>
#include <gnutls/gnutls.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "/tmp/reeve-tls-XXXXXX";
static char cert_path[PATH_MAX];
static char key_path[PATH_MAX];
static struct certificate ours, theirs; /* authorities */
static struct certificate server, renewed, client, expired, foreign;
static struct http_tls *tls;

static void open_kit(void)
{
    signal(SIGPIPE, SIG_IGN);
    cr_assert(mkdtemp(folder) != NULL);
    snprintf(cert_path, sizeof(cert_path), "%s/current.pem", folder);
    snprintf(key_path, sizeof(key_path), "%s/current.key", folder);
    ours = certificate_new(folder, "ours", NULL, 10);
    theirs = certificate_new(folder, "theirs", NULL, 10);
    server = certificate_new(folder, "server", &ours, 10);
    renewed = certificate_new(folder, "renewed", &theirs, 10);
    client = certificate_new(folder, "client", &ours, 10);
    expired = certificate_new(folder, "expired", &ours, -1);
    foreign = certificate_new(folder, "foreign", &theirs, 10);
    http_kit_open();
}

static void close_kit(void)
{
    http_server_free(http_kit_server);
    http_kit_server = NULL;
    http_tls_free(tls);
    http_kit_close();
    certificate_free(&ours);
    certificate_free(&theirs);
    certificate_free(&server);
    certificate_free(&renewed);
    certificate_free(&client);
    certificate_free(&expired);
    certificate_free(&foreign);
    files_remove_tree(folder, NULL);
}

TestSuite(http_tls_server, .init = open_kit, .fini = close_kit);

/* The server's files become those of `certificate`. */
static void install(const struct certificate *certificate)
{
    cr_assert(unlink(cert_path) == 0 || !files_exists(cert_path));
    cr_assert(unlink(key_path) == 0 || !files_exists(key_path));
    cr_assert(link(certificate->key_path, key_path) == 0);
    cr_assert(link(certificate->cert_path, cert_path) == 0);
}

static enum error_class open_tls(const char *client_ca, struct error *ret_error)
{
    const struct http_tls_options options = {
        .cert_file = cert_path, .key_file = key_path, .client_ca_file = client_ca};
    return http_tls_new(http_kit_loop, &options, &tls, ret_error);
}

static void serve(const struct certificate *certificate, const char *client_ca)
{
    struct error error = {0};
    install(certificate);
    cr_assert(open_tls(client_ca, &error) == ERROR_OK, "%s", error.message);
    http_kit_listen((struct http_server_options){.tls = tls});
    cr_assert(strncmp(http_server_url(http_kit_server), "https://127.0.0.1:", 18) == 0);
}

/* ---- asking ---- */

static void on_result(const struct http_result *result, void *userdata)
{
    *(int *)userdata = result->outcome == HTTP_ANSWERED ? result->status : -(int)result->outcome;
}

static bool is_answered(void *ctx)
{
    return *(int *)ctx != 0;
}

/* The status of /livez, or the negative outcome. */
static int ask(const struct certificate *trusts, const struct certificate *shows)
{
    struct http_client *http = NULL;
    struct error error = {0};
    int status = 0;
    char url[128];
    const struct http_client_options options = {.ca_file = trusts->cert_path,
                                                .cert_file =
                                                    shows != NULL ? shows->cert_path : NULL,
                                                .key_file = shows != NULL ? shows->key_path : NULL};
    cr_assert(http_client_new(http_kit_loop, &options, &http, &error) == ERROR_OK);
    snprintf(url, sizeof(url), "%s/livez", http_server_url(http_kit_server));
    const struct http_request request = {
        .method = "GET", .url = url, .timeout_ms = HTTP_KIT_WAIT_MS};
    cr_assert(http_client_send(http, &request, on_result, &status, &error) == ERROR_OK);
    cr_assert(loop_run_until(http_kit_loop, is_answered, &status, 2 * HTTP_KIT_WAIT_MS));
    http_client_free(http);
    return status;
}

Test(http_tls_server, serves_clients_that_trust_its_authority)
{
    serve(&server, "");
    cr_assert_eq(ask(&ours, NULL), 200);
    cr_assert_eq(ask(&theirs, NULL), -HTTP_NOT_SENT);
    cr_assert_eq(ask(&ours, &foreign), 200, "no certificate is asked for");
}

Test(http_tls_server, needs_certificates_of_clients_where_that_is_set)
{
    serve(&server, ours.cert_path);
    cr_assert_eq(ask(&ours, &client), 200);
    cr_assert_lt(ask(&ours, NULL), 0);
    cr_assert_lt(ask(&ours, &foreign), 0);
    cr_assert_lt(ask(&ours, &expired), 0);
    cr_assert_eq(ask(&ours, &client), 200);
}

/* A byte of clear text is answered by nothing that looks like HTTP. */
Test(http_tls_server, does_not_answer_in_clear_text)
{
    serve(&server, "");
    int fd = http_kit_dial();
    http_kit_send_text(fd, "GET /livez HTTP/1.1\r\n" HTTP_KIT_HOST "\r\n");
    http_kit_expect_answer(fd);
    cr_assert(strstr(http_kit_answer, "HTTP") == NULL, "%s", http_kit_answer);
    close(fd);
}

/* Whether a client that offers only this can make a connection. */
static bool can_connect(const char *priorities)
{
    gnutls_session_t session;
    gnutls_certificate_credentials_t credentials;
    int fd = http_kit_dial();
    int rc = GNUTLS_E_AGAIN;
    cr_assert(gnutls_init(&session, GNUTLS_CLIENT | GNUTLS_NONBLOCK) == 0);
    cr_assert(gnutls_certificate_allocate_credentials(&credentials) == 0);
    cr_assert(gnutls_priority_set_direct(session, priorities, NULL) == 0);
    gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, credentials);
    gnutls_transport_set_int(session, fd);
    for (int i = 0; i < 2000 && (rc == GNUTLS_E_AGAIN || rc == GNUTLS_E_INTERRUPTED); i++) {
        loop_once(http_kit_loop, 5);
        rc = gnutls_handshake(session);
    }
    gnutls_deinit(session);
    gnutls_certificate_free_credentials(credentials);
    close(fd);
    return rc == 0;
}

/* Else a key that is stolen years later opens what was recorded. */
Test(http_tls_server, offers_only_what_a_stolen_key_does_not_open_later)
{
    struct certificate rsa = certificate_of_key(folder, "rsa", &ours, 10, EVP_RSA_gen(2048));
    serve(&rsa, "");
    cr_expect(can_connect("NORMAL:-VERS-ALL:+VERS-TLS1.3"));
    cr_expect(can_connect("NORMAL:-VERS-ALL:+VERS-TLS1.2"));
    cr_expect(!can_connect("NORMAL:-VERS-ALL:+VERS-TLS1.2:-KX-ALL:+RSA"));
    cr_expect(!can_connect("NORMAL:-VERS-ALL:+VERS-TLS1.1"));
    certificate_free(&rsa);
}

static void write_authorities(const char *path, const struct certificate *one,
                              const struct certificate *two)
{
    char *text[2] = {NULL, NULL};
    char all[32768];
    size_t size = 0;
    cr_assert(files_read(one->cert_path, sizeof(all) / 2, &text[0], &size, NULL) == ERROR_OK);
    if (two != NULL)
        cr_assert(files_read(two->cert_path, sizeof(all) / 2, &text[1], &size, NULL) == ERROR_OK);
    snprintf(all, sizeof(all), "%s%s", text[0], two != NULL ? text[1] : "");
    cr_assert(files_write_atomic(path, text_of(all), NULL) == ERROR_OK);
    free(text[0]);
    free(text[1]);
}

static struct http_exchange *hold_as(const struct certificate *shows, struct http_client **ret_http)
{
    static int status;
    struct error error = {0};
    char url[128];
    const struct http_client_options options = {
        .ca_file = ours.cert_path, .cert_file = shows->cert_path, .key_file = shows->key_path};
    cr_assert(http_client_new(http_kit_loop, &options, ret_http, &error) == ERROR_OK);
    snprintf(url, sizeof(url), "%s/hold", http_server_url(http_kit_server));
    const struct http_request request = {
        .method = "GET", .url = url, .timeout_ms = 10 * HTTP_KIT_WAIT_MS};
    http_kit_held = NULL;
    cr_assert(http_client_send(*ret_http, &request, on_result, &status, &error) == ERROR_OK);
    cr_assert(loop_run_until(http_kit_loop, http_kit_is_held, NULL, HTTP_KIT_WAIT_MS));
    return http_kit_held;
}

static bool is_gone(void *ctx);

/* Its clients could go on for as long as they keep their connections. */
Test(http_tls_server, cuts_connections_of_an_authority_that_was_removed)
{
    char authorities[PATH_MAX];
    struct http_client *https[2];
    snprintf(authorities, sizeof(authorities), "%s/authorities", folder);
    write_authorities(authorities, &ours, &theirs);
    serve(&server, authorities);
    struct http_exchange *removed = hold_as(&client, &https[0]);
    struct http_exchange *kept = hold_as(&foreign, &https[1]);
    http_tls_reload(tls);
    loop_once(http_kit_loop, 0);
    cr_assert(!http_gone(removed) && !http_gone(kept), "the same authorities");
    write_authorities(authorities, &theirs, NULL);
    cr_assert(loop_run_until(http_kit_loop, is_gone, removed, HTTP_KIT_WAIT_MS));
    cr_assert(!http_gone(kept));
    http_respond(removed, 200, "text/plain", TEXT(""));
    http_respond(kept, 200, "text/plain", TEXT(""));
    loop_once(http_kit_loop, 10);
    http_client_free(https[0]);
    http_client_free(https[1]);
}

static bool trusts_renewed(void *ctx)
{
    (void)ctx;
    return ask(&theirs, NULL) == 200;
}

Test(http_tls_server, follows_its_files)
{
    serve(&server, "");
    cr_assert_eq(ask(&ours, NULL), 200);
    install(&renewed);
    cr_assert(loop_run_until(http_kit_loop, trusts_renewed, NULL, HTTP_KIT_WAIT_MS));
    cr_assert_eq(ask(&ours, NULL), -HTTP_NOT_SENT);
    cr_assert(unlink(key_path) == 0);
    http_tls_reload(tls);
    cr_assert_eq(ask(&theirs, NULL), 200, "the keys that were read before stay");
}

static bool is_gone(void *ctx)
{
    return http_gone(ctx);
}

/* What a client sends when it closes a TLS connection must not look like a request. */
Test(http_tls_server, sees_that_a_client_has_gone)
{
    struct http_client *http = NULL;
    struct error error = {0};
    int status = 0;
    char url[128];
    serve(&server, "");
    const struct http_client_options options = {.ca_file = ours.cert_path};
    cr_assert(http_client_new(http_kit_loop, &options, &http, &error) == ERROR_OK);
    snprintf(url, sizeof(url), "%s/hold", http_server_url(http_kit_server));
    const struct http_request request = {
        .method = "GET", .url = url, .timeout_ms = HTTP_KIT_WAIT_MS};
    cr_assert(http_client_send(http, &request, on_result, &status, &error) == ERROR_OK);
    cr_assert(loop_run_until(http_kit_loop, http_kit_is_held, NULL, HTTP_KIT_WAIT_MS));
    cr_assert(!http_gone(http_kit_held));
    http_client_free(http);
    cr_assert(loop_run_until(http_kit_loop, is_gone, http_kit_held, HTTP_KIT_WAIT_MS));
    http_respond(http_kit_held, 200, "text/plain", TEXT("too late"));
}

/* ---- files ---- */

static void expect_refused(const char *client_ca, const char *why)
{
    struct error error = {0};
    cr_expect(open_tls(client_ca, &error) == ERROR_REJECT);
    cr_expect_eq(error.code, CODE_CONFIG);
    cr_expect(strstr(error.message, why) != NULL, "%s", error.message);
    cr_expect_null(tls);
}

Test(http_tls_server, refuses_files_that_do_not_fit)
{
    struct error error = {0};
    char empty[PATH_MAX];
    expect_refused("", "http.tls.cert: cannot read");
    install(&server);
    cr_assert(unlink(key_path) == 0);
    expect_refused("", "http.tls.key: cannot read");
    cr_assert(link(client.key_path, key_path) == 0);
    expect_refused("", "http.tls.key");
    install(&server);
    snprintf(empty, sizeof(empty), "%s/empty", folder);
    cr_assert(files_write_atomic(empty, TEXT(""), &error) == ERROR_OK);
    expect_refused(empty, "http.tls.client.ca");
    expect_refused("/no/ca", "http.tls.client.ca: cannot read");
}
