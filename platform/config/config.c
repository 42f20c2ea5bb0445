/* SPDX-License-Identifier: Apache-2.0 */
/* The values of the configuration: which origin wins, and the getters. See config.h. */
#include "base/text.h"
#include "platform/config/internal.h"

#include "base/suggest.h"
#include "platform/files.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { SECRET_MAX = 64 * 1024 };

enum error_class config_fail(struct error *ret_error, const char *format, ...)
{
    char message[ERROR_MESSAGE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof(message), format, arguments);
    va_end(arguments);
    return error_set(ret_error, CODE_CONFIG, "%s", message);
}

char *config_copy(const char *text)
{
    char *copy = strdup(text);
    assert(copy != NULL);
    return copy;
}

static void replace(char **text, const char *by)
{
    char *copy = config_copy(by);
    free(*text);
    *text = copy;
}

struct config *config_new(const struct config_schema *schema)
{
    assert(schema != NULL && schema->key_count > 0);
    struct config *config = calloc(1, sizeof(*config));
    assert(config != NULL);
    config->schema = schema;
    config->entries = calloc(schema->key_count, sizeof(*config->entries));
    assert(config->entries != NULL);
    config->count = schema->key_count;
    for (size_t i = 0; i < schema->key_count; i++) {
        struct config_entry *entry = &config->entries[i];
        struct error error = {0};
        entry->key = &schema->keys[i];
        entry->name = config_copy(entry->key->name);
        entry->text = config_copy(entry->key->fallback);
        entry->origin = config_copy("default");
        enum error_class class =
            config_parse(entry->key, entry->text, "default", &entry->value, &error);
        assert(class == ERROR_OK); /* otherwise a row of the table is wrong */
    }
    return config;
}

static void deinit_entry(struct config_entry *entry)
{
    config_value_deinit(&entry->value);
    free(entry->name);
    free(entry->text);
    free(entry->origin);
    free(entry->file);
    free(entry->file_origin);
}

void config_free(struct config *config)
{
    if (config == NULL)
        return;
    for (size_t i = 0; i < config->count; i++)
        deinit_entry(&config->entries[i]);
    free(config->entries);
    free(config->path);
    free(config->hint);
    free(config);
}

/* ---- finding keys ---- */

static bool is_passthrough(const struct config *config, const char *name)
{
    const struct config_passthrough *passthrough = config->schema->passthrough;
    return passthrough != NULL && string_starts_with(name, passthrough->prefix);
}

struct config_entry *config_find(const struct config *config, const char *name)
{
    for (size_t i = 0; i < config->count; i++) {
        if (strcmp(config->entries[i].name, name) == 0)
            return &config->entries[i];
    }
    return NULL;
}

struct config_entry *config_add(struct config *config, const char *name)
{
    struct config_entry *entry = config_find(config, name);
    if (entry != NULL)
        return entry;
    const struct config_key *key = config_scope_key(config->schema, name);
    if (key == NULL && !is_passthrough(config, name))
        return NULL;
    struct config_entry *grown =
        realloc(config->entries, (config->count + 1) * sizeof(*config->entries));
    assert(grown != NULL);
    config->entries = grown;
    entry = &grown[config->count++];
    *entry = (struct config_entry){.key = key,
                                   .name = config_copy(name),
                                   .text = config_copy(""),
                                   .origin = config_copy("default")};
    return entry;
}

/* `name` without the suffix of a value's file; false: it has none. */
static bool name_without_file(const char *name, char ret_base[CONFIG_NAME_SIZE])
{
    size_t size = strlen(name);
    size_t suffix = strlen(CONFIG_FILE_SUFFIX);
    if (size <= suffix || size - suffix >= CONFIG_NAME_SIZE ||
        strcmp(name + size - suffix, CONFIG_FILE_SUFFIX) != 0)
        return false;
    memcpy(ret_base, name, size - suffix);
    ret_base[size - suffix] = '\0';
    return true;
}

static bool knows_exactly(const struct config *config, const char *name, char **ret_nearest)
{
    const struct config_schema *schema = config->schema;
    if (config_find(config, name) != NULL || config_scope_key(schema, name) != NULL)
        return true;
    if (is_passthrough(config, name))
        return schema->passthrough->knows(name + strlen(schema->passthrough->prefix), ret_nearest);
    return false;
}

/* Of the table. */
static char *nearest_key(const struct config_schema *schema, const char *name)
{
    struct text *names = calloc(schema->key_count, sizeof(*names));
    assert(names != NULL);
    for (size_t i = 0; i < schema->key_count; i++)
        names[i] = text_of(schema->keys[i].name);
    const struct text *nearest = suggest_within(text_of(name), names, schema->key_count, 1);
    char *copy = nearest != NULL ? config_copy(nearest->data) : NULL;
    free(names);
    return copy;
}

bool config_knows(const struct config *config, const char *name, char **ret_nearest)
{
    char base[CONFIG_NAME_SIZE];
    char *nearest = NULL;
    bool known = knows_exactly(config, name, &nearest);
    if (!known && name_without_file(name, base)) {
        free(nearest);
        nearest = NULL;
        known = knows_exactly(config, base, &nearest);
    }
    if (known) {
        free(nearest);
        return true;
    }
    if (nearest != NULL) { /* of the library */
        char *whole = NULL;
        int size = asprintf(&whole, "%s%s", config->schema->passthrough->prefix, nearest);
        assert(size > 0);
        free(nearest);
        nearest = whole;
    }
    *ret_nearest = nearest != NULL ? nearest : nearest_key(config->schema, name);
    return false;
}

const char *config_hint(const struct config *config)
{
    return config->hint;
}

/* Suggests only keys of the table: the check of the pass-through settings suggests its own. */
enum error_class config_fail_unknown(const struct config_schema *schema, const char *name,
                                     const char *origin, struct error *ret_error)
{
    const char **names = calloc(schema->key_count, sizeof(*names));
    assert(names != NULL);
    for (size_t i = 0; i < schema->key_count; i++)
        names[i] = schema->keys[i].name;
    const char *nearest = suggest_string(name, names, schema->key_count);
    free(names);
    const struct config_passthrough *passthrough = schema->passthrough;
    if (nearest == NULL && passthrough != NULL && string_starts_with(name, passthrough->prefix))
        return config_fail(ret_error,
                           "%.100s is not a flag: settings below %s need --set %.100s=VALUE, or a "
                           "line in the properties file",
                           origin, passthrough->prefix, name);
    return config_fail(ret_error, "unknown key %.100s (%s)%s%s%s", name, origin,
                       nearest != NULL ? ": did you mean " : "", nearest != NULL ? nearest : "",
                       nearest != NULL ? "?" : "");
}

/* ---- assigning ---- */

/* Takes the value unless a stronger origin has set one. A file must not set a key twice. */
static enum error_class assign_text(struct config_entry *entry, const char *text,
                                    enum config_rank rank, const char *origin,
                                    struct error *ret_error)
{
    struct config_value value = {0};
    if (entry->key != NULL) {
        enum error_class class = config_parse(entry->key, text, origin, &value, ret_error);
        if (class != ERROR_OK)
            return class;
    }
    if (rank == CONFIG_RANK_FILE && entry->rank == CONFIG_RANK_FILE) {
        config_value_deinit(&value);
        return config_fail(ret_error, "%s is set twice: by %s and by %s", entry->name,
                           entry->origin, origin);
    }
    if (rank < entry->rank) {
        config_value_deinit(&value);
        return ERROR_OK;
    }
    config_value_deinit(&entry->value);
    entry->value = value;
    entry->rank = rank;
    replace(&entry->text, text);
    replace(&entry->origin, origin);
    return ERROR_OK;
}

static struct config_entry *find_for_file(struct config *config, const char *name)
{
    char base[CONFIG_NAME_SIZE];
    return name_without_file(name, base) ? config_add(config, base) : NULL;
}

enum error_class config_assign(struct config *config, const char *name, const char *text,
                               enum config_rank rank, const char *origin, struct error *ret_error)
{
    assert(!config->finished);
    struct config_entry *entry = config_find(config, name);
    struct config_entry *file_entry = entry == NULL ? find_for_file(config, name) : NULL;
    if (file_entry != NULL) {
        if (rank >= file_entry->file_rank) {
            replace(&file_entry->file, text);
            replace(&file_entry->file_origin, origin);
            file_entry->file_rank = rank;
        }
        return ERROR_OK;
    }
    entry = config_add(config, name);
    if (entry == NULL || strlen(name) >= CONFIG_NAME_SIZE)
        return config_fail_unknown(config->schema, name, origin, ret_error);
    return assign_text(entry, text, rank, origin, ret_error);
}

enum error_class config_set(struct config *config, const char *name, const char *value,
                            struct error *ret_error)
{
    return config_assign(config, name, value, CONFIG_RANK_FLAG, "--set", ret_error);
}

void config_set_default(struct config *config, const char *name, const char *value)
{
    struct error error = {0};
    enum error_class class =
        config_assign(config, name, value, CONFIG_RANK_PROGRAM, "default", &error);
    assert(class == ERROR_OK);
}

/* ---- finishing ---- */

static enum error_class read_value_file(struct config_entry *entry, struct error *ret_error)
{
    char *content = NULL;
    size_t size = 0;
    struct error error = {0};
    char origin[256];
    if (entry->file == NULL || entry->file_rank < entry->rank)
        return ERROR_OK;
    if (entry->file_rank == entry->rank)
        return config_fail(ret_error, "%s is set twice: by %s, and from a file by %s", entry->name,
                           entry->origin, entry->file_origin);
    if (files_read(entry->file, SECRET_MAX, &content, &size, &error) != ERROR_OK)
        return config_fail(ret_error, "%s.file (%s): %s", entry->name, entry->file_origin,
                           error.message);
    if (size > 0 && content[size - 1] == '\n')
        content[--size] = '\0';
    if (size > 0 && content[size - 1] == '\r')
        content[--size] = '\0';
    snprintf(origin, sizeof(origin), "file %.240s", entry->file);
    enum error_class class = strlen(content) != size
                                 ? config_fail(ret_error, "%s.file (%s): the file holds NUL bytes",
                                               entry->name, entry->file_origin)
                                 : assign_text(entry, content, entry->file_rank, origin, ret_error);
    explicit_bzero(content, size);
    free(content);
    return class;
}

static struct config_setting setting_of(const struct config *config,
                                        const struct config_entry *entry)
{
    return (struct config_setting){.name =
                                       entry->name + strlen(config->schema->passthrough->prefix),
                                   .value = entry->text,
                                   .origin = entry->origin};
}

static enum error_class check_passthrough(const struct config *config, struct error *ret_error)
{
    size_t count = 0;
    if (config->schema->passthrough == NULL)
        return ERROR_OK;
    struct config_setting *settings = calloc(config->count, sizeof(*settings));
    assert(settings != NULL);
    for (size_t i = 0; i < config->count; i++)
        if (is_passthrough(config, config->entries[i].name))
            settings[count++] = setting_of(config, &config->entries[i]);
    enum error_class class = config->schema->passthrough->check(settings, count, ret_error);
    free(settings);
    return class;
}

enum error_class config_finish(struct config *config, struct error *ret_error)
{
    enum error_class class = ERROR_OK;
    assert(!config->finished);
    if (config->path != NULL)
        class = config_load_file(config, config->path, ret_error);
    for (size_t i = 0; i < config->count && class == ERROR_OK; i++)
        class = read_value_file(&config->entries[i], ret_error);
    if (class == ERROR_OK)
        class = check_passthrough(config, ret_error);
    if (class != ERROR_OK)
        return class;
    if (config->schema->complete != NULL)
        config->schema->complete(config);
    config->finished = true;
    return ERROR_OK;
}

/* ---- getters ---- */

static const struct config_entry *get(const struct config *config, const char *name)
{
    const struct config_entry *entry = config_find(config, name);
    assert(entry != NULL && entry->key != NULL);
    return entry;
}

static const struct config_entry *get_typed(const struct config *config, const char *name,
                                            enum config_type type)
{
    const struct config_entry *entry = get(config, name);
    assert(entry->key->type == type);
    return entry;
}

const char *config_string(const struct config *config, const char *name)
{
    const struct config_entry *entry = get(config, name);
    enum config_type type = entry->key->type;
    assert(type == CONFIG_STRING || type == CONFIG_NAME || type == CONFIG_ENUM ||
           type == CONFIG_SECRET);
    return entry->text;
}

const char *config_text(const struct config *config, const char *name)
{
    const struct config_entry *entry = config_find(config, name);
    return entry != NULL ? entry->text : NULL;
}

int64_t config_int(const struct config *config, const char *name)
{
    return get_typed(config, name, CONFIG_INT)->value.number;
}

bool config_bool(const struct config *config, const char *name)
{
    return get_typed(config, name, CONFIG_BOOL)->value.number != 0;
}

int64_t config_ms(const struct config *config, const char *name)
{
    return get_typed(config, name, CONFIG_DURATION_MS)->value.number;
}

double config_double(const struct config *config, const char *name)
{
    return get_typed(config, name, CONFIG_DOUBLE)->value.real;
}

size_t config_list(const struct config *config, const char *name, const char *const **ret_items)
{
    const struct config_entry *entry = get_typed(config, name, CONFIG_LIST);
    *ret_items = (const char *const *)entry->value.items;
    return entry->value.item_count;
}

bool config_is_set(const struct config *config, const char *name)
{
    return get(config, name)->rank > CONFIG_RANK_PROGRAM;
}

const char *config_origin(const struct config *config, const char *name)
{
    return get(config, name)->origin;
}

/* ---- pass-through settings ---- */

bool config_is_secret(const struct config *config, const struct config_entry *entry)
{
    if (entry->key != NULL)
        return entry->key->type == CONFIG_SECRET;
    assert(is_passthrough(config, entry->name));
    return config->schema->passthrough->is_secret(setting_of(config, entry).name);
}

size_t config_setting_count(const struct config *config)
{
    size_t count = 0;
    for (size_t i = 0; i < config->count; i++)
        count += is_passthrough(config, config->entries[i].name);
    return count;
}

struct config_setting config_setting_at(const struct config *config, size_t index)
{
    size_t i = 0;
    assert(index < config_setting_count(config));
    for (;; i++) {
        if (is_passthrough(config, config->entries[i].name) && index-- == 0)
            return setting_of(config, &config->entries[i]);
    }
}
