/* SPDX-License-Identifier: Apache-2.0 */
/* Values for one part of a process: PREFIX.NAME.REST sets PREFIX.REST for the part NAME only. See
 * struct config_scope. */
#include "platform/config/internal.h"

#include "base/names.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { SCOPE_NAME_MAX = 64 };

static bool has_prefix(const char *name, const struct config_scope *scope)
{
    return scope->prefix != NULL && strncmp(name, scope->prefix, strlen(scope->prefix)) == 0;
}

static bool may_have_scopes(const struct config_key *key, const struct config_scope *scope)
{
    return has_prefix(key->name, scope) && strcmp(key->name, scope->name_key) != 0 &&
           strcmp(key->name, scope->names_key) != 0;
}

/* The NAME in PREFIX.NAME.REST, where PREFIX.REST is `key`. */
static bool middle(const struct config_scope *scope, const char *name, const struct config_key *key,
                   const char **ret_at, size_t *ret_size)
{
    if (!has_prefix(name, scope))
        return false;
    size_t prefix = strlen(scope->prefix);
    const char *rest = key->name + prefix;
    size_t size = strlen(name), rest_size = strlen(rest);
    if (size < prefix + 2 + rest_size || strcmp(name + size - rest_size, rest) != 0 ||
        name[size - rest_size - 1] != '.')
        return false;
    const char *at = name + prefix;
    size -= rest_size + prefix + 1;
    if (size > SCOPE_NAME_MAX || !name_characters_valid((struct text){at, (uint32_t)size}))
        return false;
    *ret_at = at;
    *ret_size = size;
    return true;
}

const struct config_key *config_scope_key(const struct config_schema *schema, const char *name)
{
    const struct config_key *found = NULL;
    const char *at;
    size_t size, least = SIZE_MAX;
    for (size_t i = 0; i < schema->key_count; i++) {
        const struct config_key *key = &schema->keys[i];
        if (!may_have_scopes(key, &schema->scope) ||
            !middle(&schema->scope, name, key, &at, &size) || size >= least)
            continue;
        found = key;
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
    free(to->origin);
    to->text = config_copy(from->text);
    to->origin = config_copy(from->origin);
    to->rank = from->rank;
    if (to->key == NULL)
        return;
    enum error_class class = config_parse(to->key, to->text, to->origin, &to->value, &error);
    assert(class == ERROR_OK); /* it was parsed before */
}

struct config *config_scoped(const struct config *config, const char *name)
{
    const struct config_scope *scope = &config->schema->scope;
    struct config *copy = config_new(config->schema);
    const char *at;
    size_t size;
    assert(config->finished && scope->prefix != NULL);
    for (size_t i = 0; i < config->count; i++) {
        const struct config_entry *entry = &config->entries[i];
        if (!is_scoped(entry))
            take(config_add(copy, entry->name), entry);
    }
    for (size_t i = 0; i < config->count; i++) {
        const struct config_entry *entry = &config->entries[i];
        if (is_scoped(entry) && middle(scope, entry->name, entry->key, &at, &size) &&
            size == strlen(name) && memcmp(at, name, size) == 0)
            take(config_find(copy, entry->key->name), entry);
    }
    struct config_entry *own = config_find(copy, scope->name_key);
    free(own->text);
    own->text = config_copy(name);
    copy->finished = true;
    return copy;
}

enum error_class config_check_scopes(const struct config *config, const char *const names[],
                                     size_t count, struct error *ret_error)
{
    const struct config_scope *scope = &config->schema->scope;
    const char *at = "";
    size_t size = 0;
    for (size_t i = 0; i < config->count; i++) {
        const struct config_entry *entry = &config->entries[i];
        bool known = !is_scoped(entry) || !middle(scope, entry->name, entry->key, &at, &size);
        for (size_t k = 0; k < count && !known; k++)
            known = strlen(names[k]) == size && memcmp(names[k], at, size) == 0;
        if (!known)
            return config_fail(ret_error, "%s (%s): neither %s nor %s names %.*s", entry->name,
                               entry->origin, scope->name_key, scope->names_key, (int)size, at);
    }
    return ERROR_OK;
}
