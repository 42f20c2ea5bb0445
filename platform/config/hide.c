/* SPDX-License-Identifier: Apache-2.0 */
/* See hide.h. */
#include "platform/config/hide.h"

#include "base/text.h"
#include "platform/config/internal.h"

#include <string.h>

static const struct config_key *find_key(const struct config_schema *schema, const char *name)
{
    const struct config_key *key = config_scope_key(schema, name);
    for (size_t i = 0; i < schema->key_count && key == NULL; i++) {
        if (strcmp(schema->keys[i].name, name) == 0)
            key = &schema->keys[i];
    }
    return key;
}

/* User info and query of each URL, as of the values that are shown (help.c). What follows a query
 * may belong to it. */
static void hide_in_urls(char *value)
{
    for (char *scheme = strstr(value, "://"); scheme != NULL;) {
        char *host = scheme + 3;
        char *at = memrchr(host, '@', strcspn(host, "/?#"));
        char *rest = at != NULL ? at : host;
        char *query = strchr(rest, '?');
        if (at != NULL)
            memset(host, '*', (size_t)(at - host));
        scheme = strstr(rest, "://");
        if (query != NULL && (scheme == NULL || query < scheme)) {
            memset(query + 1, '*', strlen(query + 1));
            return;
        }
    }
}

static bool is_secret(const struct config_schema *schema, const char *name)
{
    const struct config_passthrough *passthrough = schema->passthrough;
    const struct config_key *key = find_key(schema, name);
    if (key != NULL)
        return key->type == CONFIG_SECRET;
    size_t prefix = passthrough != NULL ? strlen(passthrough->prefix) : 0;
    return prefix > 0 && strncmp(name, passthrough->prefix, prefix) == 0 &&
           !string_ends_with(name, CONFIG_FILE_SUFFIX) && passthrough->is_secret(name + prefix);
}

/* `size` bytes of a flag or of a pair name the key: "agent-callback-secret", "kafka.sasl.password".
 */
static void hide_if_secret(const struct config_schema *schema, const char *text, size_t size,
                           char *value)
{
    char name[CONFIG_NAME_SIZE];
    if (size == 0 || size >= sizeof(name))
        return;
    memcpy(name, text, size);
    name[size] = '\0';
    if (is_secret(schema, name))
        memset(value, '*', strlen(value));
    else if (find_key(schema, name) != NULL)
        hide_in_urls(value);
}

static void hide_flag(const struct config_schema *schema, const char *flag, char *value)
{
    char name[CONFIG_NAME_SIZE];
    size_t size = strcspn(flag, "=");
    if (size >= sizeof(name))
        return;
    for (size_t i = 0; i < size; i++)
        name[i] = flag[i] == '-' ? '.' : flag[i];
    name[size] = '\0';
    char *equals = strchr(value, '=');
    if (strcmp(name, "set") != 0)
        hide_if_secret(schema, name, size, value);
    else if (equals != NULL)
        hide_if_secret(schema, value, (size_t)(equals - value), equals + 1);
}

void config_hide_secrets(const struct config_schema *schema, int argc, char *argv[])
{
    for (int i = 0; i < argc; i++) {
        if (strncmp(argv[i], "--", 2) != 0)
            continue;
        char *equals = strchr(argv[i], '=');
        char *value = equals != NULL ? equals + 1 : i + 1 < argc ? argv[i + 1] : NULL;
        if (value != NULL)
            hide_flag(schema, argv[i] + 2, value);
    }
}
