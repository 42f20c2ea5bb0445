/* SPDX-License-Identifier: Apache-2.0 */
/* The certificate of a server, and which clients' certificates it accepts. New files are used for
 * new connections; those that exist go on with the keys that they began with, unless these files no
 * longer accept the client's certificate. */
#ifndef PLATFORM_HTTP_TLS_H
#define PLATFORM_HTTP_TLS_H

#include "base/error.h"
#include "platform/loop.h"

#include <stdbool.h>

enum { HTTP_TLS_CHECK_MS = 1000 /* how often the files are looked at */ };

/* Only key exchanges with forward secrecy: a key that is stolen later opens no recording. */
#define HTTP_TLS_PRIORITIES "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-RSA"

struct http_tls;
struct http_tls_keys;
struct MHD_Connection;

/* Paths of PEM files, borrowed. */
struct http_tls_options {
    const char *cert_file; /* the server's certificate, and its chain */
    const char *key_file;  /* its private key, not encrypted */
    /* Authorities that may sign clients' certificates; every client needs one then. "" = clients
     * need none. */
    const char *client_ca_file;
};

/* REJECT, code Config: a file is missing or malformed, or key and certificate do not belong
 * together. `loop` is borrowed. */
enum error_class http_tls_new(struct loop *loop, const struct http_tls_options *options,
                              struct http_tls **ret_tls, struct error *ret_error);
/* After the server that uses it. */
void http_tls_free(struct http_tls *tls);
/* Reads the files now (SIGHUP). If that fails, it is logged, and the keys that were read before
 * stay. */
void http_tls_reload(struct http_tls *tls);

/* ---- for the server ---- */

/* The content of the files; borrowed until the next reload. */
const char *http_tls_cert(const struct http_tls *tls);
const char *http_tls_key(const struct http_tls *tls);
/* The connection, which has just been accepted, uses the present keys until they are released. */
struct http_tls_keys *http_tls_begin(struct http_tls *tls, struct MHD_Connection *connection);
/* Whether the client's certificate is accepted by the present authorities. True where none is
 * needed. */
bool http_tls_accepts(struct http_tls *tls, struct MHD_Connection *connection);
/* Calls `reloaded` after new files were read. NULL: no more. */
void http_tls_on_reload(struct http_tls *tls, void (*reloaded)(void *ctx), void *ctx);
/* NULL is allowed. */
void http_tls_keys_release(struct http_tls_keys *keys);

#endif
