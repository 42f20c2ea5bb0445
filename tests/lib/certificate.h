/* SPDX-License-Identifier: Apache-2.0 */
/* Certificates for tests of TLS. */
#ifndef TESTS_LIB_CERTIFICATE_H
#define TESTS_LIB_CERTIFICATE_H

#include <limits.h>
#include <openssl/types.h>

struct certificate {
    EVP_PKEY *key;
    X509 *x509;
    char cert_path[PATH_MAX]; /* both PEM */
    char key_path[PATH_MAX];
};

/* For 127.0.0.1, as the files NAME.pem and NAME.key in `folder`. `issuer` NULL: an authority that
 * signs itself. Valid for `days` from now, and ten days before. */
struct certificate certificate_new(const char *folder, const char *name,
                                   const struct certificate *issuer, int days);
/* The same with a key of another kind, which it owns. */
struct certificate certificate_of_key(const char *folder, const char *name,
                                      const struct certificate *issuer, int days, EVP_PKEY *key);
void certificate_free(struct certificate *certificate);

#endif
