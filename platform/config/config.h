/* SPDX-License-Identifier: Apache-2.0 */
/* Typed configuration, driven by a schema: one table of keys (struct config_schema) from which
 * parsing, checks, help and documentation are made.
 *
 * Origins, the strongest first: flags, environment, properties file, default.
 *   flags        --set KEY=VALUE, or --KEY=VALUE and --KEY VALUE with dots or dashes
 *                (--data-dir /x); a bool alone means true; --config FILE names the properties file
 *   environment  with the prefix REEVE_: REEVE_DATA_DIR is data.dir; REEVE_CONFIG is --config;
 *                an empty value counts as unset
 *   file         one KEY = VALUE per line, blanks around both are cut off, # starts a comment
 * KEY.file = PATH reads the value from a file (for secrets; one trailing newline is cut off).
 * A schema may pass the keys below one prefix through to a library that checks them itself.
 * Unknown keys are errors that suggest the nearest known one. Errors have class REJECT, code
 * Config (Usage for flags that do not exist), and one line that names the key and its origin.
 *
 * Getters assert that the key exists and has that type: a wrong name is a bug, not an input.
 * Strings are borrowed until config_free. */
#ifndef PLATFORM_CONFIG_CONFIG_H
#define PLATFORM_CONFIG_CONFIG_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum config_type {
    CONFIG_STRING,
    CONFIG_NAME, /* a string of letters, digits, '.', '_', '-': may become part of a topic's name */
    CONFIG_INT,
    CONFIG_BOOL,        /* true, false, yes, no, on, off, 1, 0 */
    CONFIG_DURATION_MS, /* milliseconds, or with a unit: 500ms, 30s, 5m, 2h, 7d */
    CONFIG_DOUBLE,
    CONFIG_ENUM,   /* one of `choices` */
    CONFIG_SECRET, /* a string that is never shown */
    CONFIG_LIST,   /* separated by commas */
    CONFIG_TYPE_COUNT
};

struct config;

struct config_key {
    const char *name; /* words and dots */
    enum config_type type;
    const char *fallback; /* the default as a user would write it; "" = none */
    double min;           /* of a number, duration or size, or of a text's length; */
    double max;           /* min and max both 0: no bounds */
    const char *unit;     /* "ms", "MB", ...; NULL = none */
    const char *choices;  /* of enums: "auto|logfmt|json"; else NULL */
    unsigned readers;     /* bits of the schema's readers; for help and documentation only */
    const char *doc;      /* one or two sentences */
};

/* Which programs read a key: a name for each bit, and for sets of bits that have one ("all"). */
struct config_reader {
    const char *name;
    unsigned bits;
};

/* A setting below the pass-through prefix. Borrowed from its configuration. */
struct config_setting {
    const char *name; /* without the prefix */
    const char *value;
    const char *origin;
};

/* The keys below `prefix` belong to a library: it checks them, the table need not list them. */
struct config_passthrough {
    const char *prefix; /* "kafka." */
    bool (*is_secret)(const char *name);
    /* ERROR_OK, or class REJECT, code Config, with a message that names the key and its origin. */
    enum error_class (*check)(const struct config_setting settings[], size_t count,
                              struct error *ret_error);
    /* Whether the library has a setting of that name. If not, *ret_nearest is the one that differs
     * by one letter, new, or NULL. */
    bool (*knows)(const char *name, char **ret_nearest);
};

/* PREFIX.NAME.REST is a value of the key PREFIX.REST for the part NAME of the process alone. */
struct config_scope {
    const char *prefix;    /* "agent."; NULL = no key has scopes */
    const char *name_key;  /* holds the name of the one part; has no scopes itself */
    const char *names_key; /* lists the names of several parts; has no scopes itself */
};

struct config_schema {
    const struct config_key *keys;
    size_t key_count;
    const struct config_reader *readers;
    size_t reader_count;
    const struct config_passthrough *passthrough; /* NULL = none */
    struct config_scope scope;
    const char *environment_prefix; /* "REEVE_" */
    /* Called by config_finish after all origins: sets, by config_set_default, what only the running
     * process knows. May be NULL. */
    void (*complete)(struct config *config);
};

/* Every key at its default. `schema` is borrowed until config_free. */
struct config *config_new(const struct config_schema *schema);
void config_free(struct config *config);

/* ---- reading the origins: in any order, the stronger origin wins ---- */

/* All origins, then config_finish. `argv` begins after the names of program and subcommand;
 * arguments that are not flags of the configuration are errors. `envp` is like environ; NULL = no
 * environment. */
enum error_class config_load(struct config *config, int argc, char *const argv[],
                             char *const envp[], struct error *ret_error);

/* For programs with flags of their own: if argv[*index] is a flag of the configuration, takes it
 * with its value and moves *index past it. *ret_taken: whether it was one. */
enum error_class config_take_flag(struct config *config, int argc, char *const argv[], int *index,
                                  bool *ret_taken, struct error *ret_error);
/* Variables that do not name a key belong to someone else: they are ignored. */
enum error_class config_load_environment(struct config *config, char *const envp[],
                                         struct error *ret_error);
/* Names the first ignored variable that differs from a key by one letter; NULL: there is none.
 * Borrowed. */
const char *config_hint(const struct config *config);
enum error_class config_load_file(struct config *config, const char *path, struct error *ret_error);
/* Sets one key as --set does. */
enum error_class config_set(struct config *config, const char *name, const char *value,
                            struct error *ret_error);
/* A default that only the program knows (weaker than all origins). */
void config_set_default(struct config *config, const char *name, const char *value);
/* Whether --config or the environment names a properties file. */
bool config_has_file(const struct config *config);
/* Whether the value is of a stronger origin than the name of that file, as that of --context in a
 * shell with REEVE_CONFIG. False without a file. */
bool config_outranks_file(const struct config *config, const char *name);
/* The properties file, instead of one that they name. Before config_finish(). */
void config_set_file(struct config *config, const char *path);
/* Reads the file that --config or the environment names, then the KEY.file values, checks the
 * pass-through settings, and calls the schema's complete(). Call it once, last. */
enum error_class config_finish(struct config *config, struct error *ret_error);

/* ---- values ---- */

/* A text, name, enum or secret. */
const char *config_string(const struct config *config, const char *name);
/* Of any key, as it was written; NULL = no such key. For names that come from a user's program. */
const char *config_text(const struct config *config, const char *name);
int64_t config_int(const struct config *config, const char *name);
bool config_bool(const struct config *config, const char *name);
int64_t config_ms(const struct config *config, const char *name);
double config_double(const struct config *config, const char *name);
/* The array and its NUL-terminated items are borrowed. */
size_t config_list(const struct config *config, const char *name, const char *const **ret_items);
/* Whether an origin other than the defaults set it. */
bool config_is_set(const struct config *config, const char *name);
/* The origin of the value: "--set", "environment", "/etc/reeve.properties:12", "default".
 * Borrowed. */
const char *config_origin(const struct config *config, const char *name);

/* The settings below the pass-through prefix, those in the table included. */
size_t config_setting_count(const struct config *config);
struct config_setting config_setting_at(const struct config *config, size_t index);

/* ---- scopes: several parts in one process, each with values of its own ---- */

/* New; the configuration as the part `name` reads it. `config` is finished. */
struct config *config_scoped(const struct config *config, const char *name);
/* Any NAME is accepted until this check: REJECT, code Config, if a value belongs to a part that is
 * not in `names`. */
enum error_class config_check_scopes(const struct config *config, const char *const names[],
                                     size_t count, struct error *ret_error);

/* ---- help and documentation ---- */

/* The keys that one of `readers` reads, with defaults, as help text or as a Markdown table. */
void config_help(const struct config_schema *schema, FILE *out, unsigned readers);
void config_markdown(const struct config_schema *schema, FILE *out, unsigned readers);
/* Calls `visit` with each effective value as it may be shown: secrets are hidden. All borrowed
 * during the call. */
void config_each(const struct config *config, unsigned readers,
                 void (*visit)(void *ctx, const char *name, const char *value, const char *origin),
                 void *ctx);
/* Calls `visit` with each value that a flag has set, secrets included; of KEY.file with the path.
 * All borrowed during the call. */
void config_each_flag(const struct config *config,
                      void (*visit)(void *ctx, const char *name, const char *value), void *ctx);
/* The same as config_each() as text. */
void config_show(const struct config *config, FILE *out, unsigned readers);

#endif
