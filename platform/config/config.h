/* SPDX-License-Identifier: Apache-2.0 */
/* Typed configuration. One table of keys (keys.c) is help, documentation and check at once.
 *
 * Sources, the stronger first: flag, environment, properties file, default.
 *   flags        --set KEY=VALUE; --KEY=VALUE or --KEY VALUE for our own keys, dots or dashes
 *                (--data-dir /x); a bool alone means true; --config FILE names the properties file
 *   environment  REEVE_DATA_DIR is data.dir, REEVE_KAFKA_BOOTSTRAP_SERVERS is
 *                kafka.bootstrap.servers; REEVE_CONFIG is --config; an empty value counts as none
 *   file         KEY = VALUE a line, blanks around both are cut off, # starts a comment line
 * KEY.file = PATH takes the value from a file (for secrets; one newline at its end is cut off).
 * kafka.* goes to librdkafka; what would break a guarantee of ours is refused. Unknown keys are
 * errors that suggest the nearest known one. Errors have class REJECT, code Config (Usage for
 * flags that are none), and one line that names the key and where it was set.
 *
 * Getters assert that the key exists with that type: a wrong name is a bug, not an input.
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
    CONFIG_SIZE,        /* bytes, or with a unit: 64k, 8m, 1g (1024 based) */
    CONFIG_DOUBLE,
    CONFIG_ENUM,   /* one of `choices` */
    CONFIG_SECRET, /* a string that is never shown */
    CONFIG_LIST,   /* separated by commas */
    CONFIG_TYPE_COUNT
};

/* Which services read a key: for help and docs only; every service accepts every key. */
enum {
    CONFIG_SUBMISSION = 1,
    CONFIG_SCHEDULER = 2,
    CONFIG_AGENT = 4,
    CONFIG_SUPERVISOR = 8,
    CONFIG_CONSOLE = 16,
    CONFIG_CLI = 32,
    CONFIG_SERVICES = 31, /* all but the CLI */
    CONFIG_ALL = 63
};

struct config_key {
    const char *name; /* words and dots */
    enum config_type type;
    const char *fallback; /* the default as it would be written; "" = none */
    double min; /* of numbers, durations and sizes; of texts: of the length. Both 0 = no bounds */
    double max;
    const char *unit;    /* "ms", "MB", ...; NULL = none */
    const char *choices; /* of enums: "auto|logfmt|json"; else NULL */
    unsigned services;
    const char *doc; /* one or two sentences */
};

extern const struct config_key config_keys[];
extern const size_t config_keys_count;
/* Variables that begin with REEVE_ and are no keys: scripts' and tests' own. A name that ends in
 * '_' is a prefix. NULL-terminated. */
extern const char *const config_environment_ignored[];

struct config;

/* Every key at its default. */
struct config *config_new(void);
void config_free(struct config *config);

/* ---- reading the sources: in any order, the stronger source wins ---- */

/* All sources, then config_finish. `argv` begins after the program's and subcommand's names;
 * anything that is not a flag of ours is refused. `envp` as environ; NULL = no environment. */
enum error_class config_load(struct config *config, int argc, char *const argv[],
                             char *const envp[], struct error *ret_error);

/* For mains with flags of their own. Looks at argv[*index]: if it is a flag of the
 * configuration, takes it with its value and moves *index behind it. *ret_taken says whether it
 * was. */
enum error_class config_take_flag(struct config *config, int argc, char *const argv[], int *index,
                                  bool *ret_taken, struct error *ret_error);
enum error_class config_load_environment(struct config *config, char *const envp[],
                                         struct error *ret_error);
enum error_class config_load_file(struct config *config, const char *path, struct error *ret_error);
/* One key as if by --set. */
enum error_class config_set(struct config *config, const char *name, const char *value,
                            struct error *ret_error);
/* A default that only the program knows (weaker than all sources). */
void config_set_default(struct config *config, const char *name, const char *value);
/* Reads the file that --config or REEVE_CONFIG named, then KEY.file values, and fills
 * instance.id. Call once, last. */
enum error_class config_finish(struct config *config, struct error *ret_error);

/* ---- values ---- */

/* Also of names, enums and secrets. */
const char *config_string(const struct config *config, const char *name);
int64_t config_int(const struct config *config, const char *name);
bool config_bool(const struct config *config, const char *name);
int64_t config_ms(const struct config *config, const char *name);
int64_t config_size(const struct config *config, const char *name);
double config_double(const struct config *config, const char *name);
/* Items are borrowed, NUL-terminated; the array too. */
size_t config_list(const struct config *config, const char *name, const char *const **ret_items);
/* Whether any source but the default set it. */
bool config_is_set(const struct config *config, const char *name);
/* Where the value came from: "--set", "environment", "/etc/reeve.properties:12", "default".
 * Borrowed. */
const char *config_source(const struct config *config, const char *name);

/* The kafka.* settings for librdkafka, without the prefix, bootstrap.servers included. */
size_t config_kafka_count(const struct config *config);
void config_kafka_at(const struct config *config, size_t index, const char **ret_name,
                     const char **ret_value);

/* ---- several agents in one process ---- */

/* agent.NAME.REST is a value of agent.REST for the agent NAME alone, whatever NAME is: who reads
 * such keys says with config_check_scopes() which names there are (REJECT, code Config).
 * config_scoped(): new; the configuration as the agent `name` sees it. `config` is finished. */
struct config *config_scoped(const struct config *config, const char *name);
enum error_class config_check_scopes(const struct config *config, const char *const names[],
                                     size_t count, struct error *ret_error);

/* ---- for people ---- */

/* The keys that one of `services` reads, with defaults, as help text or as a Markdown table. */
void config_help(FILE *out, unsigned services);
void config_markdown(FILE *out, unsigned services);
/* Effective values and their sources, secrets hidden. */
void config_show(const struct config *config, FILE *out, unsigned services);
const char *config_type_name(enum config_type type);

#endif
