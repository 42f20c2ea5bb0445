/* SPDX-License-Identifier: Apache-2.0 */
/* The command line: a table of nouns, from which parsing and help are made.
 *
 * A noun is `const struct cli_noun cli_NOUN` in the file that is named after it, and one row of
 * CLI_NOUNS or CLI_PROGRAM_NOUNS below. Its verbs declare what they take; flags, --output, --help
 * and the flags of the configuration are parsed before a verb runs. main.c gives cli_main() the
 * table that the binary offers. */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include "base/error.h"
#include "platform/config/config.h"
#include "platform/exit_code.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The nouns of this library, in the order of the help; those about the program itself come last. */
#define CLI_NOUNS(X) \
    X(dev)           \
    X(run)           \
    X(broker)        \
    X(topics)        \
    X(workflow)      \
    X(schedule)      \
    X(test)          \
    X(submit)        \
    X(import)        \
    X(cancel)        \
    X(orders)        \
    X(compensate)    \
    X(resubmit)      \
    X(step)          \
    X(signal)        \
    X(alerts)        \
    X(dead_letters)  \
    X(agents)        \
    X(overview)      \
    X(owners)        \
    X(services)      \
    X(health)        \
    X(doctor)        \
    X(leader)        \
    X(verify)        \
    X(replay)        \
    X(export)        \
    X(partition)     \
    X(token)         \
    X(context)
#define CLI_PROGRAM_NOUNS(X) X(config) X(completion) X(version) X(help)

/* A flag of a verb's own. */
struct cli_flag {
    const char *name;  /* "rate" for --rate */
    const char *value; /* what help calls its value, "N/s"; NULL = a switch without a value */
    const char *doc;   /* one sentence */
};

struct cli;

/* The keys of the configuration that --help points to. */
enum cli_settings { CLI_SETTINGS_OF_CLI, CLI_SETTINGS_ALL, CLI_SETTINGS_NONE };

struct cli_verb {
    const char *name; /* NULL: the noun itself is the command; the last one of its verbs */
    /* "FILE [ORDER...|-]": words in brackets may be left out, "..." stands for any number. NULL:
     * it takes none. */
    const char *arguments;
    const char *summary;
    const char *examples;         /* whole command lines, one a line, with "# comment" lines */
    const struct cli_flag *flags; /* ends with a row without a name; may be NULL */
    enum cli_settings settings;
    bool raw;   /* arguments go to the verb as they are; only a leading --help is parsed */
    bool plain; /* it does not take --output */
    bool without_context; /* it reads no settings of contexts */
    /* Takes the place of reading the environment and the context, after the flags and before files;
     * it may replace `environment` by `own_environment`. NULL: the ordinary way. */
    enum error_class (*load)(struct cli *cli, struct error *ret_error);
    int (*run)(struct cli *cli); /* an exit code */
    const void *of;      /* what `run` is about, where one function runs several verbs; see there */
    const char *choices; /* of the first argument, "a|b|c"; NULL: it may be anything */
    bool of_commands;    /* its arguments are a noun and a verb */
};

struct cli_noun {
    const char *name;
    const char *summary;
    const struct cli_verb *verbs;
    size_t verb_count;
};

#define CLI_DECLARE_NOUN(name) extern const struct cli_noun cli_##name;
CLI_NOUNS(CLI_DECLARE_NOUN)
CLI_PROGRAM_NOUNS(CLI_DECLARE_NOUN)
#undef CLI_DECLARE_NOUN

/* docs/reference/errors.md names every verb that has an exit code of its own. */

#define CLI_OUTPUT_NAMES "table|json|jsonl|yaml|csv|id"
/* In the order of their names. */
enum cli_output {
    CLI_OUTPUT_TABLE, /* for people: commands say more than rows have */
    CLI_OUTPUT_JSON,
    CLI_OUTPUT_JSONL,
    CLI_OUTPUT_YAML,
    CLI_OUTPUT_CSV,
    CLI_OUTPUT_ID, /* the first field of each row */
    CLI_OUTPUT_COUNT,
    CLI_OUTPUT_FIELDS = CLI_OUTPUT_COUNT /* has no name: a table of --fields, and nothing else */
};

/* One invocation. */
struct cli {
    const struct cli_noun *const *nouns; /* all that there are; ends with NULL */
    const struct cli_noun *noun;
    const struct cli_verb *verb;
    struct config *config; /* finished; at its defaults for raw verbs */
    enum cli_output output;
    const char *fields; /* of --fields: "order_id,state"; NULL: not given */
    char **arguments;   /* without flags; of raw verbs all that follow the verb */
    int argument_count;
    struct cli_given { /* flags of the verb's own, as given */
        const struct cli_flag *flag;
        const char *value; /* "" for switches */
    } * given;
    size_t given_count;
    char **config_flags; /* the configuration's flags as given, for processes that get the same */
    int config_flag_count;
    char *const *environment;
    char **own_environment; /* of a verb that leaves something out; freed after it; or NULL */
    FILE *out;
    FILE *err;
};

/* The main: argv without the program's name; `nouns` ends with NULL. Returns the exit code. */
int cli_main(int argc, char **argv, char *const envp[], const struct cli_noun *const nouns[],
             FILE *out, FILE *err);

/* The flag's value (the last one given), "" for a switch, NULL when it was not given. Asserts that
 * the verb has this flag. */
const char *cli_flag_value(const struct cli *cli, const char *name);
bool cli_flag_given(const struct cli *cli, const char *name);
/* All values of a flag that may be repeated: begin with *index = 0; NULL = no more. */
const char *cli_flag_next(const struct cli *cli, const char *name, size_t *index);
/* A whole number between min and max; `fallback` when not given. REJECT "Usage". */
enum error_class cli_flag_int(const struct cli *cli, const char *name, int64_t fallback,
                              int64_t min, int64_t max, int64_t *ret_value,
                              struct error *ret_error);

/* ---- errors (error.c): one line on stderr each ----
 *
 * `reeve: MESSAGE`, or with --output json, jsonl and yaml {"error": {"code": CODE, "detail":
 * MESSAGE}}.
 * Control characters in messages are shown as '?'. A command that fails prints nothing else. */

/* Reports the error. Returns the exit code of its class, EXIT_CODE_USAGE for the code Usage. */
int cli_fail(const struct cli *cli, const struct error *error);
/* A mistake on the command line, with a pointer to --help. Returns EXIT_CODE_USAGE. */
int cli_usage(const struct cli *cli, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* An error that has no class, or one of several. */
void cli_report(const struct cli *cli, enum error_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same with the name of a code that came from a server or a library. */
void cli_report_named(const struct cli *cli, const char *code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* `reeve: warning: MESSAGE`, or {"warning": {"code": CODE, "message": MESSAGE}}. */
void cli_warn(const struct cli *cli, enum error_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- help (help.c) ---- */

#define CLI_OUTPUT_HELP "table (the default), json, jsonl, yaml, csv or id."
#define CLI_FIELDS_HELP "Only these fields, as --output json names them."

void cli_help_all(FILE *out, const struct cli_noun *const nouns[]);
void cli_help_noun(FILE *out, const struct cli_noun *noun);
void cli_help_verb(FILE *out, const struct cli_noun *noun, const struct cli_verb *verb);
/* One page for man(1), in the language of man(7): of the noun, or of reeve itself if it is NULL. */
void cli_man(FILE *out, const struct cli_noun *const nouns[], const struct cli_noun *noun);
void cli_print_exit_codes(FILE *out);
/* How long the first sentence is. */
size_t cli_first_sentence(const char *text);
/* NULL: there is none. A noun that is its own verb has it under any name. */
const struct cli_noun *cli_find_noun(const struct cli_noun *const nouns[], const char *name);
const struct cli_verb *cli_find_verb(const struct cli_noun *noun, const char *name);
/* A flag of the verb's own, whose name is `name_size` bytes; NULL: there is none. */
const struct cli_flag *cli_find_flag(const struct cli_verb *verb, const char *name,
                                     size_t name_size);

#endif
