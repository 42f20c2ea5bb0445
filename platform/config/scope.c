/* SPDX-License-Identifier: Apache-2.0 */
/* Values for one of several agents in a process: agent.NAME.REST stands for agent.REST, for the
 * agent of that name only. See config.h. */
#include "base/names.h"
#include "platform/config/internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { SCOPE_NAME_MAX = 64 };

static bool may_differ(const struct config_key *key)
{
    return strncmp(key->name, CONFIG_SCOPE_PREFIX, strlen(CONFIG_SCOPE_PREFIX)) == 0 &&
           strcmp(key->name, "agent.name") != 0 && strcmp(key->name, "agent.names") != 0;
}

/* The NAME in agent.NAME.REST, where agent.REST is `key`. */
static bool middle(const char *name, const struct config_key *key, const char **ret_at,
                   size_t *ret_size)
{
    size_t prefix = strlen(CONFIG_SCOPE_PREFIX);
    const char *rest = key->name + prefix;
    size_t size = strlen(name), rest_size = strlen(rest);
    if (size < prefix + 2 + rest_size || strncmp(name, CONFIG_SCOPE_PREFIX, prefix) != 0 ||
        strcmp(name + size - rest_size, rest) != 0 || name[size - rest_size - 1] != '.')
        return false;
    *ret_at = name + prefix;
    *ret_size = size - rest_size - prefix - 1;
    return *ret_size <= SCOPE_NAME_MAX &&
           name_characters_valid((struct text){*ret_at, (uint32_t)*ret_size});
}

const struct config_key *config_scope_key(const char *name)
{
    const struct config_key *found = NULL;
    const char *at;
    size_t size, least = SIZE_MAX;
    for (size_t i = 0; i < config_keys_count; i++) {
        if (!may_differ(&config_keys[i]) || !middle(name, &config_keys[i], &at, &size) ||
            size >= least)
            continue;
        found = &config_keys[i];
        least = size;
    }
    return found;
}

static bool is_scoped(const struct config_entry *entry)
{
    return entry->key != NULL && strcmp(entry->key->name, entry->name) != 0;
}

/* From one entry to another of the same key. */
static void take(struct config_entry *to, const struct config_entry *from)
{
    struct error error;
    config_value_deinit(&to->value);
    free(to->text);
    free(to->source);
    to->text = config_copy(from->text);
    to->source = config_copy(from->source);
    to->rank = from->rank;
    if (to->key == NULL)
        return;
    enum error_class class = config_parse(to->key, to->text, to->source, &to->value, &error);
    assert(class == ERROR_OK); /* it was parsed before */
    (void)class;
}

struct config *config_scoped(const struct config *config, const char *name)
{
    struct config *copy = config_new();
    const char *at;
    size_t size;
    assert(config->finished);
    for (size_t i = 0; i < config->count; i++) {
        const struct config_entry *entry = &config->entries[i];
        if (!is_scoped(entry))
            take(config_add(copy, entry->name), entry);
    }
    for (size_t i = 0; i < config->count; i++) {
        const struct config_entry *entry = &config->entries[i];
        if (is_scoped(entry) && middle(entry->name, entry->key, &at, &size) &&
            size == strlen(name) && memcmp(at, name, size) == 0)
            take(config_find(copy, entry->key->name), entry);
    }
    struct config_entry *own = config_find(copy, "agent.name");
    free(own->text);
    own->text = config_copy(name);
    copy->finished = true;
    return copy;
}

enum error_class config_check_scopes(const struct config *config, const char *const names[],
                                     size_t count, struct error *ret_error)
{
    const char *at = "";
    size_t size = 0;
    for (size_t i = 0; i < config->count; i++) {
        const struct config_entry *entry = &config->entries[i];
        bool known = !is_scoped(entry) || !middle(entry->name, entry->key, &at, &size);
        for (size_t k = 0; k < count && !known; k++)
            known = strlen(names[k]) == size && memcmp(names[k], at, size) == 0;
        if (!known)
            return config_fail(ret_error,
                               "%s (%s): this process has no agent %.*s, see agent.name and "
                               "agent.names",
                               entry->name, entry->source, (int)size, at);
    }
    return ERROR_OK;
}
