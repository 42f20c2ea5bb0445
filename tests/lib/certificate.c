/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/certificate.h"

#include <criterion/criterion.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>

enum { DAY = 86400 };

static FILE *create(const char *folder, const char *name, const char *kind, char ret_path[PATH_MAX])
{
    cr_assert(snprintf(ret_path, PATH_MAX, "%s/%s.%s", folder, name, kind) < PATH_MAX);
    FILE *file = fopen(ret_path, "w");
    cr_assert_not_null(file);
    return file;
}

static void add_extension(X509 *x509, int nid, const char *value)
{
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, NULL, nid, value);
    cr_assert_not_null(extension);
    cr_assert_eq(X509_add_ext(x509, extension, -1), 1);
    X509_EXTENSION_free(extension);
}

struct certificate certificate_new(const char *folder, const char *name,
                                   const struct certificate *issuer, int days)
{
    return certificate_of_key(folder, name, issuer, days, EVP_EC_gen("P-256"));
}

struct certificate certificate_of_key(const char *folder, const char *name,
                                      const struct certificate *issuer, int days, EVP_PKEY *key)
{
    static long serial;
    struct certificate certificate = {.key = key, .x509 = X509_new()};
    X509 *x509 = certificate.x509;
    X509_set_version(x509, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(x509), ++serial);
    X509_gmtime_adj(X509_getm_notBefore(x509), -10L * DAY);
    X509_gmtime_adj(X509_getm_notAfter(x509), (long)days * DAY);
    X509_set_pubkey(x509, certificate.key);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(x509), "CN", MBSTRING_ASC,
                               (const unsigned char *)name, -1, -1, 0);
    X509_set_issuer_name(x509, X509_get_subject_name(issuer != NULL ? issuer->x509 : x509));
    add_extension(x509, NID_basic_constraints, issuer == NULL ? "critical,CA:TRUE" : "CA:FALSE");
    add_extension(x509, NID_subject_alt_name, "IP:127.0.0.1");
    cr_assert_gt(X509_sign(x509, issuer != NULL ? issuer->key : certificate.key, EVP_sha256()), 0);
    FILE *file = create(folder, name, "pem", certificate.cert_path);
    cr_assert_eq(PEM_write_X509(file, x509), 1);
    fclose(file);
    file = create(folder, name, "key", certificate.key_path);
    cr_assert_eq(PEM_write_PrivateKey(file, certificate.key, NULL, NULL, 0, NULL, NULL), 1);
    fclose(file);
    return certificate;
}

void certificate_free(struct certificate *certificate)
{
    X509_free(certificate->x509);
    EVP_PKEY_free(certificate->key);
}
