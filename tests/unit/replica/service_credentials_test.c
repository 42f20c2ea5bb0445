/* SPDX-License-Identifier: Apache-2.0 */
/* The same rules for whatever asks another program's server. */
#include "replica/service/credentials.h"

#include "replica/service/settings.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static const char *const prefixes[] = {"console", "console.services", "submission.console"};
enum { PREFIXES = sizeof(prefixes) / sizeof(prefixes[0]) };

/* A configuration with PREFIX.`name` = `value`. */
static struct config *with(const char *prefix, const char *name, const char *value)
{
    char key[64];
    struct error error;
    struct config *config = config_new(&settings_schema);
    snprintf(key, sizeof(key), "%s.%s", prefix, name);
    cr_assert(config_set(config, key, value, &error) == ERROR_OK, "%s", error.message);
    cr_assert(config_finish(config, &error) == ERROR_OK, "%s", error.message);
    return config;
}

Test(service_credentials, reads_the_keys_of_each_prefix)
{
    for (size_t i = 0; i < PREFIXES; i++) {
        char header[SERVICE_AUTHORIZATION_SIZE];
        struct error error;
        struct service_credentials credentials;
        struct config *config = with(prefixes[i], "token", "reeve_x");
        cr_assert(service_credentials_read(config, prefixes[i], &credentials, &error) == ERROR_OK);
        service_credentials_header(&credentials, header);
        cr_expect_str_eq(header, "Authorization: Bearer reeve_x");
        cr_expect(credentials.ca_file == NULL && credentials.cert_file == NULL);
        config_free(config);
        config = with(prefixes[i], "tls.ca", "ca.pem");
        cr_assert(service_credentials_read(config, prefixes[i], &credentials, &error) == ERROR_OK);
        service_credentials_header(&credentials, header);
        cr_expect_str_empty(header);
        cr_expect_str_eq(credentials.ca_file, "ca.pem");
        config_free(config);
    }
}

Test(service_credentials, refuses_bad_tokens_and_half_a_certificate)
{
    for (size_t i = 0; i < PREFIXES; i++) {
        char part[128];
        struct error error;
        struct service_credentials credentials;
        struct config *config = with(prefixes[i], "token", "a b");
        cr_expect(service_credentials_read(config, prefixes[i], &credentials, &error) ==
                  ERROR_REJECT);
        snprintf(part, sizeof(part), "%s.token (--set) must be one token", prefixes[i]);
        cr_expect(strstr(error.message, part) != NULL, "%s", error.message);
        config_free(config);
        config = with(prefixes[i], "tls.key", "key.pem");
        cr_expect(service_credentials_read(config, prefixes[i], &credentials, &error) ==
                  ERROR_REJECT);
        snprintf(part, sizeof(part), "%s.tls.cert and %s.tls.key belong together", prefixes[i],
                 prefixes[i]);
        cr_expect(strstr(error.message, part) != NULL, "%s", error.message);
        config_free(config);
    }
}
