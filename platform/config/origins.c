/* SPDX-License-Identifier: Apache-2.0 */
/* The origins of the configuration: flags, environment, properties file. See config.h. */
#include "base/text.h"
#include "platform/config/internal.h"

#include "platform/files.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_MAX = 1 << 20 };

/* ---- flags ---- */

static void set_path(struct config *config, const char *path, enum config_rank rank)
{
    if (rank < config->path_rank)
        return;
    free(config->path);
    config->path = config_copy(path);
    config->path_rank = rank;
}

bool config_has_file(const struct config *config)
{
    return config->path != NULL;
}

bool config_outranks_file(const struct config *config, const char *name)
{
    const struct config_entry *entry = config_find(config, name);
    assert(entry != NULL);
    return config->path != NULL && entry->rank > config->path_rank;
}

void config_set_file(struct config *config, const char *path)
{
    assert(!config->finished);
    free(config->path);
    config->path = config_copy(path);
}

static enum error_class take_set(struct config *config, const char *pair, struct error *ret_error)
{
    char name[CONFIG_NAME_SIZE];
    const char *equals = strchr(pair, '=');
    if (equals == NULL || equals == pair || (size_t)(equals - pair) >= sizeof(name))
        return config_fail(ret_error, "--set %.100s: expected KEY=VALUE", pair);
    memcpy(name, pair, (size_t)(equals - pair));
    name[equals - pair] = '\0';
    return config_assign(config, name, equals + 1, CONFIG_RANK_FLAG, "--set", ret_error);
}

/* "--data-dir=/x" -> "data.dir". False = too long for any key. */
static bool flag_name(const char *flag, char ret_name[CONFIG_NAME_SIZE], const char **ret_value)
{
    size_t size = strcspn(flag, "=");
    if (size == 0 || size >= CONFIG_NAME_SIZE)
        return false;
    for (size_t i = 0; i < size; i++)
        ret_name[i] = flag[i] == '-' ? '.' : flag[i];
    ret_name[size] = '\0';
    *ret_value = flag[size] == '=' ? flag + size + 1 : NULL;
    return true;
}

/* Only keys of the table are flags, and their KEY.file: settings that pass through and values with
 * a scope need --set. */
static const struct config_key *find_key(const struct config_schema *schema, const char *name,
                                         size_t size)
{
    for (size_t i = 0; i < schema->key_count; i++) {
        const char *known = schema->keys[i].name;
        if (strlen(known) == size && memcmp(known, name, size) == 0)
            return &schema->keys[i];
    }
    return NULL;
}

static bool names_a_file(const struct config_schema *schema, const char *name)
{
    return string_ends_with(name, CONFIG_FILE_SUFFIX) &&
           find_key(schema, name, strlen(name) - strlen(CONFIG_FILE_SUFFIX)) != NULL;
}

enum error_class config_take_flag(struct config *config, int argc, char *const argv[], int *index,
                                  bool *ret_taken, struct error *ret_error)
{
    char name[CONFIG_NAME_SIZE];
    const char *value = NULL;
    const char *flag = argv[*index];
    *ret_taken = false;
    if (!string_starts_with(flag, "--") || !flag_name(flag + 2, name, &value))
        return ERROR_OK;
    bool is_set = strcmp(name, "set") == 0;
    bool is_path = strcmp(name, "config") == 0;
    const struct config_key *key = find_key(config->schema, name, strlen(name));
    if (!is_set && !is_path && key == NULL && !names_a_file(config->schema, name))
        return ERROR_OK;
    int used = 1;
    bool has_next = *index + 1 < argc && !string_starts_with(argv[*index + 1], "--");
    if (value == NULL && key != NULL && key->type == CONFIG_BOOL) {
        value = "true";
    } else if (value == NULL && has_next) {
        value = argv[*index + 1];
        used = 2;
    } else if (value == NULL) {
        return error_set(ret_error, CODE_USAGE, "%s needs a value", flag);
    }
    *index += used;
    *ret_taken = true;
    if (is_set)
        return take_set(config, value, ret_error);
    if (is_path) {
        set_path(config, value, CONFIG_RANK_FLAG);
        return ERROR_OK;
    }
    char origin[CONFIG_NAME_SIZE + 2];
    snprintf(origin, sizeof(origin), "%.*s", (int)strcspn(flag, "="), flag);
    return config_assign(config, name, value, CONFIG_RANK_FLAG, origin, ret_error);
}

/* ---- the environment ---- */

/* Kubernetes sets X_Y_SERVICE_HOST, X_Y_PORT_80_TCP_ADDR and the like in every container when a
 * service is named x-y. */
static bool is_service_link(const char *name, const char *value)
{
    return string_ends_with(name, "_SERVICE_HOST") || strstr(name, "_SERVICE_PORT") != NULL ||
           (strstr(name, "_PORT_") != NULL &&
            (strstr(name, "_TCP") != NULL || strstr(name, "_UDP") != NULL)) ||
           (string_ends_with(name, "_PORT") &&
            (string_starts_with(value, "tcp://") || string_starts_with(value, "udp://")));
}

/* Not a setting: perhaps of another program, perhaps misspelt. */
static bool is_foreign(struct config *config, const char *name, const char *key)
{
    const char *prefix = config->schema->environment_prefix;
    char *nearest = NULL;
    if (config_knows(config, key, &nearest))
        return false;
    for (char *at = nearest; at != NULL && *at != '\0'; at++)
        *at = *at == '.' ? '_' : (char)toupper((unsigned char)*at);
    if (nearest != NULL && config->hint == NULL &&
        asprintf(&config->hint,
                 "the variable %s is ignored: it is not a setting. Did you mean %s%s?", name,
                 prefix, nearest) < 0)
        config->hint = NULL;
    free(nearest);
    return true;
}

static enum error_class take_variable(struct config *config, const char *variable,
                                      struct error *ret_error)
{
    char name[CONFIG_NAME_SIZE];
    char key[CONFIG_NAME_SIZE];
    char origin[CONFIG_NAME_SIZE + 16];
    const struct config_schema *schema = config->schema;
    size_t prefix = strlen(schema->environment_prefix);
    const char *equals = strchr(variable, '=');
    if (!string_starts_with(variable, schema->environment_prefix) || equals == NULL)
        return ERROR_OK;
    size_t size = (size_t)(equals - variable);
    if (size >= sizeof(name) || equals[1] == '\0')
        return ERROR_OK;
    memcpy(name, variable, size);
    name[size] = '\0';
    if (is_service_link(name, equals + 1))
        return ERROR_OK;
    if (strcmp(name + prefix, "CONFIG") == 0) {
        set_path(config, equals + 1, CONFIG_RANK_ENVIRONMENT);
        return ERROR_OK;
    }
    for (size_t i = prefix; i <= size; i++)
        key[i - prefix] = name[i] == '_' ? '.' : (char)tolower((unsigned char)name[i]);
    if (is_foreign(config, name, key))
        return ERROR_OK;
    snprintf(origin, sizeof(origin), "environment %s", name);
    return config_assign(config, key, equals + 1, CONFIG_RANK_ENVIRONMENT, origin, ret_error);
}

enum error_class config_load_environment(struct config *config, char *const envp[],
                                         struct error *ret_error)
{
    for (; envp != NULL && *envp != NULL; envp++) {
        enum error_class class = take_variable(config, *envp, ret_error);
        if (class != ERROR_OK)
            return class;
    }
    return ERROR_OK;
}

/* ---- the properties file ---- */

static char *trim(char *text)
{
    text += strspn(text, " \t\r");
    size_t size = strlen(text);
    while (size > 0 && strchr(" \t\r", text[size - 1]) != NULL)
        text[--size] = '\0';
    return text;
}

static enum error_class take_line(struct config *config, char *line, const char *origin,
                                  struct error *ret_error)
{
    line = trim(line);
    if (*line == '\0' || *line == '#')
        return ERROR_OK;
    char *equals = strchr(line, '=');
    if (equals == NULL) /* the line may hold a password: it is not shown */
        return config_fail(ret_error, "%s: expected KEY = VALUE, but the line has no '='", origin);
    *equals = '\0';
    return config_assign(config, trim(line), trim(equals + 1), CONFIG_RANK_FILE, origin, ret_error);
}

enum error_class config_load_file(struct config *config, const char *path, struct error *ret_error)
{
    char *content = NULL;
    size_t size = 0;
    struct error error = {0};
    if (files_read(path, FILE_MAX, &content, &size, &error) != ERROR_OK)
        return config_fail(ret_error, "%s", error.message);
    enum error_class class = ERROR_OK;
    if (strlen(content) != size)
        class = config_fail(ret_error, "%s holds NUL bytes: not a properties file", path);
    char *rest = content;
    for (int number = 1; rest != NULL && class == ERROR_OK; number++) {
        char origin[256];
        char *line = strsep(&rest, "\n");
        snprintf(origin, sizeof(origin), "%.230s:%d", path, number);
        class = take_line(config, line, origin, ret_error);
    }
    free(content);
    return class;
}

/* ---- all of them ---- */

/* `argument` is neither a flag of the configuration nor the value of one. */
static enum error_class fail_argument(const struct config_schema *schema, const char *argument,
                                      struct error *ret_error)
{
    struct error error = {0};
    char name[CONFIG_NAME_SIZE];
    const char *value;
    if (!string_starts_with(argument, "--"))
        config_fail(&error, "unexpected argument \"%.100s\"", argument);
    else if (flag_name(argument + 2, name, &value))
        config_fail_unknown(schema, name, argument, &error);
    else
        config_fail(&error, "unknown flag %.100s", argument);
    return error_set(ret_error, CODE_USAGE, "%s", error.message);
}

enum error_class config_load(struct config *config, int argc, char *const argv[],
                             char *const envp[], struct error *ret_error)
{
    enum error_class class = ERROR_OK;
    for (int index = 0; index < argc && class == ERROR_OK;) {
        bool taken = false;
        class = config_take_flag(config, argc, argv, &index, &taken, ret_error);
        if (class == ERROR_OK && !taken)
            class = fail_argument(config->schema, argv[index], ret_error);
    }
    if (class == ERROR_OK)
        class = config_load_environment(config, envp, ret_error);
    return class == ERROR_OK ? config_finish(config, ret_error) : class;
}
