/* SPDX-License-Identifier: Apache-2.0 */
/* See tls.h. libmicrohttpd makes the TLS session; the keys are put into it before its handshake, as
 * libmicrohttpd itself can neither change them nor insist on a client's certificate. */
#include "platform/http/tls.h"

#include "platform/files.h"
#include "platform/logger.h"

#include <assert.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>

enum { PEM_MAX = 1024 * 1024, FILES = 3 };

struct http_tls_keys {
    uint32_t users; /* connections, and the http_tls while these are the present keys */
    gnutls_certificate_credentials_t credentials;
    bool needs_certificate; /* clients do */
    char *cert;
    char *key;
};

struct http_tls {
    struct loop *loop;
    struct http_tls_options options;
    struct files_version seen[FILES];
    struct http_tls_keys *keys;
    struct loop_timer timer;
    void (*reloaded)(void *ctx); /* the server's; NULL = none */
    void *reloaded_ctx;
};

/* ---- keys ---- */

void http_tls_keys_release(struct http_tls_keys *keys)
{
    if (keys == NULL || --keys->users > 0)
        return;
    if (keys->credentials != NULL)
        gnutls_certificate_free_credentials(keys->credentials);
    if (keys->key != NULL)
        gnutls_memset(keys->key, 0, strlen(keys->key));
    free(keys->cert);
    free(keys->key);
    free(keys);
}

/* Called in the handshake, when the client has sent its certificates or none. */
static int verify_client(gnutls_session_t session)
{
    unsigned status = 0;
    gnutls_typed_vdata_st purpose = {.type = GNUTLS_DT_KEY_PURPOSE_OID,
                                     .data = (unsigned char *)(uintptr_t)GNUTLS_KP_TLS_WWW_CLIENT};
    int rc = gnutls_certificate_verify_peers(session, &purpose, 1, &status);
    return rc == 0 && status == 0 ? 0 : GNUTLS_E_CERTIFICATE_ERROR;
}

static enum error_class read_pem(const char *setting, const char *path, char **ret_pem,
                                 struct error *ret_error)
{
    size_t size = 0;
    struct error error;
    if (files_read(path, PEM_MAX, ret_pem, &size, &error) == ERROR_OK)
        return ERROR_OK;
    return error_set(ret_error, CODE_CONFIG, "%s: %s", setting, error.message);
}

static gnutls_datum_t datum(const char *text)
{
    return (gnutls_datum_t){(unsigned char *)(uintptr_t)text, (unsigned)strlen(text)};
}

static enum error_class use_client_ca(struct http_tls_keys *keys, const char *path,
                                      struct error *ret_error)
{
    char *pem = NULL;
    if (read_pem("http.tls.client.ca", path, &pem, ret_error) != ERROR_OK)
        return ERROR_REJECT;
    gnutls_datum_t ca = datum(pem);
    int count = gnutls_certificate_set_x509_trust_mem(keys->credentials, &ca, GNUTLS_X509_FMT_PEM);
    free(pem);
    if (count <= 0)
        return error_set(ret_error, CODE_CONFIG,
                         "http.tls.client.ca: %s holds no certificate of an authority: %s", path,
                         count < 0 ? gnutls_strerror(count) : "it is empty");
    gnutls_certificate_set_verify_function(keys->credentials, verify_client);
    keys->needs_certificate = true;
    return ERROR_OK;
}

static enum error_class fill_keys(struct http_tls_keys *keys,
                                  const struct http_tls_options *options, struct error *ret_error)
{
    if (read_pem("http.tls.cert", options->cert_file, &keys->cert, ret_error) != ERROR_OK ||
        read_pem("http.tls.key", options->key_file, &keys->key, ret_error) != ERROR_OK)
        return ERROR_REJECT;
    gnutls_datum_t cert = datum(keys->cert);
    gnutls_datum_t key = datum(keys->key);
    int rc = gnutls_certificate_allocate_credentials(&keys->credentials);
    assert(rc == 0);
    rc = gnutls_certificate_set_x509_key_mem(keys->credentials, &cert, &key, GNUTLS_X509_FMT_PEM);
    if (rc < 0)
        return error_set(ret_error, CODE_CONFIG, "http.tls.cert %s and http.tls.key %s: %s",
                         options->cert_file, options->key_file, gnutls_strerror(rc));
    if (options->client_ca_file[0] == '\0')
        return ERROR_OK;
    return use_client_ca(keys, options->client_ca_file, ret_error);
}

static struct http_tls_keys *read_keys(const struct http_tls_options *options,
                                       struct error *ret_error)
{
    struct http_tls_keys *keys = calloc(1, sizeof(*keys));
    assert(keys != NULL);
    keys->users = 1;
    if (fill_keys(keys, options, ret_error) == ERROR_OK)
        return keys;
    http_tls_keys_release(keys);
    return NULL;
}

/* ---- following the files ---- */

static bool have_changed(struct http_tls *tls)
{
    const char *const paths[FILES] = {tls->options.cert_file, tls->options.key_file,
                                      tls->options.client_ca_file};
    bool changed = false;
    for (int i = 0; i < FILES; i++)
        changed |= paths[i][0] != '\0' && files_changed(paths[i], &tls->seen[i]);
    return changed;
}

void http_tls_reload(struct http_tls *tls)
{
    struct error error;
    have_changed(tls);
    struct http_tls_keys *keys = read_keys(&tls->options, &error);
    if (keys == NULL) {
        log_error("cannot read the TLS certificate again; the one that was read before stays",
                  LOG_ERR(&error));
        return;
    }
    http_tls_keys_release(tls->keys);
    tls->keys = keys;
    log_info("read the TLS certificate again", LOG_STR("file", tls->options.cert_file));
    if (tls->reloaded != NULL)
        tls->reloaded(tls->reloaded_ctx);
}

static void on_check(void *ctx)
{
    struct http_tls *tls = ctx;
    if (have_changed(tls))
        http_tls_reload(tls);
    loop_timer_after(tls->loop, &tls->timer, HTTP_TLS_CHECK_MS);
}

enum error_class http_tls_new(struct loop *loop, const struct http_tls_options *options,
                              struct http_tls **ret_tls, struct error *ret_error)
{
    struct http_tls *tls = calloc(1, sizeof(*tls));
    assert(tls != NULL);
    tls->loop = loop;
    tls->options = *options;
    loop_timer_init(&tls->timer, on_check, tls);
    have_changed(tls);
    tls->keys = read_keys(options, ret_error);
    if (tls->keys == NULL) {
        http_tls_free(tls);
        return ERROR_REJECT;
    }
    loop_timer_after(loop, &tls->timer, HTTP_TLS_CHECK_MS);
    *ret_tls = tls;
    return ERROR_OK;
}

void http_tls_free(struct http_tls *tls)
{
    if (tls == NULL)
        return;
    loop_timer_cancel(tls->loop, &tls->timer);
    http_tls_keys_release(tls->keys);
    free(tls);
}

/* ---- for the server ---- */

static gnutls_session_t session_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    assert(info != NULL && info->tls_session != NULL);
    return info->tls_session;
}

const char *http_tls_cert(const struct http_tls *tls)
{
    return tls->keys->cert;
}

const char *http_tls_key(const struct http_tls *tls)
{
    return tls->keys->key;
}

void http_tls_on_reload(struct http_tls *tls, void (*reloaded)(void *ctx), void *ctx)
{
    tls->reloaded = reloaded;
    tls->reloaded_ctx = ctx;
}

/* With the credentials of the moment; the session gets its own back. */
bool http_tls_accepts(struct http_tls *tls, struct MHD_Connection *connection)
{
    gnutls_session_t session = session_of(connection);
    void *own = NULL;
    if (!tls->keys->needs_certificate)
        return true;
    int rc = gnutls_credentials_get(session, GNUTLS_CRD_CERTIFICATE, &own);
    assert(rc == 0);
    gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, tls->keys->credentials);
    bool accepts = verify_client(session) == 0;
    gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, own);
    return accepts;
}

struct http_tls_keys *http_tls_begin(struct http_tls *tls, struct MHD_Connection *connection)
{
    gnutls_session_t session = session_of(connection);
    int rc = gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, tls->keys->credentials);
    assert(rc == 0);
    gnutls_certificate_server_set_request(
        session, tls->keys->needs_certificate ? GNUTLS_CERT_REQUIRE : GNUTLS_CERT_IGNORE);
    tls->keys->users++;
    return tls->keys;
}
