/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of platform/config only. */
#ifndef PLATFORM_CONFIG_INTERNAL_H
#define PLATFORM_CONFIG_INTERNAL_H

#include "platform/config/config.h"

/* Which origin wins, the strongest last. */
enum config_rank {
    CONFIG_RANK_DEFAULT,
    CONFIG_RANK_PROGRAM,
    CONFIG_RANK_FILE,
    CONFIG_RANK_ENVIRONMENT,
    CONFIG_RANK_FLAG
};

/* The parsed value, by the type of its key. */
struct config_value {
    int64_t number; /* also of bools */
    double real;
    const char **items; /* of lists: new, NULL-terminated array of new strings */
    size_t item_count;
};

struct config_entry {
    const struct config_key *key; /* NULL = a pass-through setting that the table does not list */
    char *name;                   /* the key's, or one with a scope */
    char *text;                   /* never NULL */
    char *origin;
    enum config_rank rank;
    struct config_value value;
    char *file; /* of KEY.file, NULL = none */
    char *file_origin;
    enum config_rank file_rank;
};

struct config {
    const struct config_schema *schema;
    struct config_entry *entries; /* the schema's keys in its order, then the others */
    size_t count;
    char *path; /* of the properties file, NULL = none */
    enum config_rank path_rank;
    char *hint; /* see config_hint() */
    bool finished;
};

/* ERROR_REJECT, code Config. */
enum error_class config_fail(struct error *ret_error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* config.c. NULL = no such entry. */
struct config_entry *config_find(const struct config *config, const char *name);
/* One value from one origin, KEY.file included. An unknown key is an error with a suggestion. */
enum error_class config_assign(struct config *config, const char *name, const char *text,
                               enum config_rank rank, const char *origin, struct error *ret_error);
/* The entry of that name, added if it is a pass-through setting or has a scope. NULL = unknown. */
struct config_entry *config_add(struct config *config, const char *name);
/* Whether config_assign would find the name. If not, *ret_nearest is the known name that differs by
 * one letter, new, or NULL. */
bool config_knows(const struct config *config, const char *name, char **ret_nearest);
enum error_class config_fail_unknown(const struct config_schema *schema, const char *name,
                                     const char *origin, struct error *ret_error);
/* Whether the entry's value must not be shown. */
bool config_is_secret(const struct config *config, const struct config_entry *entry);
/* scope.c: the key that PREFIX.NAME.REST is a value for; NULL = none. */
const struct config_key *config_scope_key(const struct config_schema *schema, const char *name);

/* parse.c: reads `text` by the key's type and bounds. *ret_value is new. */
enum error_class config_parse(const struct config_key *key, const char *text, const char *origin,
                              struct config_value *ret_value, struct error *ret_error);
void config_value_deinit(struct config_value *value);

/* New. Aborts without memory: a process that is starting has nothing to save. */
char *config_copy(const char *text);

enum { CONFIG_NAME_SIZE = 128 };
#define CONFIG_FILE_SUFFIX ".file"

#endif
