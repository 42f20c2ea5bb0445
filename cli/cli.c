/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the verb, parses its flags, runs it. See cli.h. */
#include "cli/cli.h"

#include "base/numbers.h"
#include "base/suggest.h"
#include "cli/context.h"
#include "platform/logger.h"
#include "replica/service/settings.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { SUGGESTIONS_MAX = 256 };

static const char *const output_names[] = {"table", "json", "jsonl", "yaml", "csv", "id"};
_Static_assert(sizeof(output_names) / sizeof(output_names[0]) == CLI_OUTPUT_COUNT,
               "every output has a name");

const struct cli_noun *cli_find_noun(const struct cli_noun *const nouns[], const char *name)
{
    while (*nouns != NULL && strcmp((*nouns)->name, name) != 0)
        nouns++;
    return *nouns;
}

const struct cli_verb *cli_find_verb(const struct cli_noun *noun, const char *name)
{
    for (size_t i = 0; i < noun->verb_count; i++) {
        const struct cli_verb *verb = &noun->verbs[i];
        if (verb->name == NULL || (name != NULL && strcmp(verb->name, name) == 0))
            return verb;
    }
    return NULL;
}

/* ---- flags ---- */

const struct cli_flag *cli_find_flag(const struct cli_verb *verb, const char *name,
                                     size_t name_size)
{
    for (const struct cli_flag *flag = verb->flags; flag != NULL && flag->name != NULL; flag++) {
        if (strlen(flag->name) == name_size && strncmp(flag->name, name, name_size) == 0)
            return flag;
    }
    return NULL;
}

const char *cli_flag_next(const struct cli *cli, const char *name, size_t *index)
{
    assert(cli_find_flag(cli->verb, name, strlen(name)) != NULL);
    while (*index < cli->given_count) {
        const struct cli_given *given = &cli->given[(*index)++];
        if (strcmp(given->flag->name, name) == 0)
            return given->value;
    }
    return NULL;
}

const char *cli_flag_value(const struct cli *cli, const char *name)
{
    const char *last = NULL;
    const char *value;
    for (size_t index = 0; (value = cli_flag_next(cli, name, &index)) != NULL;)
        last = value;
    return last;
}

bool cli_flag_given(const struct cli *cli, const char *name)
{
    return cli_flag_value(cli, name) != NULL;
}

enum error_class cli_flag_int(const struct cli *cli, const char *name, int64_t fallback,
                              int64_t min, int64_t max, int64_t *ret_value, struct error *ret_error)
{
    assert(min <= max);
    const char *text = cli_flag_value(cli, name);
    if (text == NULL)
        *ret_value = fallback;
    else if (!number_parse(text_of(text), min, max, ret_value))
        return error_set(ret_error, CODE_USAGE,
                         "--%s %.60s: expected a whole number from %lld to %lld", name, text,
                         (long long)min, (long long)max);
    return ERROR_OK;
}

/* ---- parsing ---- */

static bool is_help(const char *argument)
{
    return strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0;
}

static bool find_output(const char *name, enum cli_output *ret_output)
{
    for (int output = 0; output < CLI_OUTPUT_COUNT; output++) {
        if (strcmp(name, output_names[output]) == 0) {
            *ret_output = (enum cli_output)output;
            return true;
        }
    }
    return false;
}

/* Before anything else is parsed: mistakes on the command line are reported in this form. */
static void set_output(struct cli *cli, int argc, char **argv)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strncmp(argv[i], "--output=", 9) == 0)
            find_output(argv[i] + 9, &cli->output);
        else if (strcmp(argv[i], "--output") == 0 && i + 1 < argc)
            find_output(argv[i + 1], &cli->output);
    }
}

static int unknown_flag(const struct cli *cli, const char *argument)
{
    const char *names[SUGGESTIONS_MAX];
    char name[80];
    size_t count = 0;
    names[count++] = "help";
    if (!cli->verb->plain) {
        names[count++] = "output";
        names[count++] = "fields";
    }
    for (const struct cli_flag *flag = cli->verb->flags; flag != NULL && flag->name != NULL; flag++)
        names[count++] = flag->name;
    for (size_t i = 0; i < settings_schema.key_count && count < SUGGESTIONS_MAX; i++)
        names[count++] = settings_schema.keys[i].name;
    snprintf(name, sizeof(name), "%.*s", (int)strcspn(argument + 2, "="), argument + 2);
    const char *nearest = suggest_string(name, names, count);
    for (char *at = name; (at = strchr(at, '-')) != NULL;) /* as a key of the configuration */
        *at = '.';
    if (nearest == NULL)
        nearest = suggest_string(name, names, count);
    if (nearest != NULL)
        return cli_usage(cli, "unknown flag %.80s: did you mean --%s?", argument, nearest);
    const char *prefix = settings_schema.passthrough->prefix;
    if (strncmp(name, prefix, strlen(prefix)) == 0)
        return cli_usage(cli,
                         "unknown flag %.80s: settings below %s need --set %s=VALUE, or a line in "
                         "the properties file",
                         argument, prefix, name);
    return cli_usage(cli, "unknown flag %.80s", argument);
}

static int take_fields(struct cli *cli, const char *value)
{
    cli->fields = value;
    return value[strspn(value, ", ")] != '\0'
               ? EXIT_CODE_OK
               : cli_usage(cli, "--fields: expected names such as order_id,state");
}

/* Takes argv[*index] as a flag of the verb or as --output. *ret_taken: it was one. */
static int take_own_flag(struct cli *cli, int argc, char **argv, int *index, bool *ret_taken)
{
    const char *name = argv[*index] + 2;
    size_t size = strcspn(name, "=");
    const struct cli_flag *flag = cli_find_flag(cli->verb, name, size);
    bool is_output =
        !cli->verb->plain && size == strlen("output") && !strncmp(name, "output", size);
    bool is_fields =
        !cli->verb->plain && size == strlen("fields") && !strncmp(name, "fields", size);
    *ret_taken = flag != NULL || is_output || is_fields;
    if (!*ret_taken)
        return EXIT_CODE_OK;
    const char *value = name[size] == '=' ? name + size + 1 : NULL;
    bool needs_value = is_output || is_fields || flag->value != NULL;
    if (!needs_value && value != NULL)
        return cli_usage(cli, "--%s takes no value", flag->name);
    if (needs_value && value == NULL && *index + 1 < argc)
        value = argv[++*index];
    if (needs_value && value == NULL)
        return cli_usage(cli, "--%.*s needs a value", (int)size, name);
    ++*index;
    if (is_output)
        return find_output(value, &cli->output)
                   ? EXIT_CODE_OK
                   : cli_usage(cli, "--output %.60s: expected table, json, jsonl, yaml, csv or id",
                               value);
    if (is_fields)
        return take_fields(cli, value);
    assert(flag != NULL && cli->given != NULL);
    cli->given[cli->given_count++] = (struct cli_given){flag, value != NULL ? value : ""};
    return EXIT_CODE_OK;
}

static int take_flag(struct cli *cli, int argc, char **argv, int *index)
{
    bool taken = false;
    struct error error = {0};
    int at = *index;
    int code = take_own_flag(cli, argc, argv, index, &taken);
    if (code != EXIT_CODE_OK || taken)
        return code;
    if (config_take_flag(cli->config, argc, argv, index, &taken, &error) != ERROR_OK)
        return cli_fail(cli, &error);
    if (!taken)
        return unknown_flag(cli, argv[at]);
    while (at < *index)
        cli->config_flags[cli->config_flag_count++] = argv[at++];
    return EXIT_CODE_OK;
}

static int check_arguments(const struct cli *cli)
{
    int required = 0;
    int named = 0;
    const char *names = cli->verb->arguments != NULL ? cli->verb->arguments : "";
    for (const char *at = names; *at != '\0'; at += strspn(at, " ")) {
        required += *at != '[';
        named++;
        at += strcspn(at, " ");
    }
    if (cli->argument_count < required)
        return cli_usage(cli, "an argument is missing: %s", names);
    if (cli->argument_count > named && !cli->verb->raw && strstr(names, "...") == NULL)
        return cli_usage(cli, "unexpected argument \"%.80s\"", cli->arguments[named]);
    return EXIT_CODE_OK;
}

/* A command prints its answer; the log appears when log.level is set. */
static void set_log_level(const struct cli *cli)
{
    const char *wanted = config_string(cli->config, "log.level");
    enum log_level level = LOG_LEVEL_ERROR;
    for (int at = 0; config_is_set(cli->config, "log.level") && at < LOG_LEVEL_COUNT; at++) {
        if (strcmp(log_level_name((enum log_level)at), wanted) == 0)
            level = (enum log_level)at;
    }
    log_set_level(level);
}

static enum error_class load_environment(struct cli *cli, struct error *ret_error)
{
    bool takes_context = cli->verb->settings == CLI_SETTINGS_OF_CLI && !cli->verb->without_context;
    if (cli->verb->load != NULL)
        return cli->verb->load(cli, ret_error);
    enum error_class class = config_load_environment(cli->config, cli->environment, ret_error);
    return class == ERROR_OK && takes_context ? context_apply(cli, ret_error) : class;
}

/* Everything after the verb. */
static int parse(struct cli *cli, int argc, char **argv)
{
    bool flags = true;
    for (int index = 0; index < argc;) {
        const char *argument = argv[index];
        if (flags && strcmp(argument, "--") == 0) {
            flags = false;
            index++;
        } else if (flags && argument[0] == '-' && argument[1] == '-') {
            int code = take_flag(cli, argc, argv, &index);
            if (code != EXIT_CODE_OK)
                return code;
        } else if (flags && argument[0] == '-' && argument[1] != '\0') {
            return cli_usage(cli,
                             "unknown flag %.80s: a flag is a word after two dashes; write -- "
                             "before arguments that begin with a dash",
                             argument);
        } else {
            cli->arguments[cli->argument_count++] = argv[index++];
        }
    }
    struct error error = {0};
    if (load_environment(cli, &error) != ERROR_OK || config_finish(cli->config, &error) != ERROR_OK)
        return cli_fail(cli, &error);
    if (config_hint(cli->config) != NULL)
        cli_warn(cli, CODE_UNKNOWN_VARIABLE, "%s", config_hint(cli->config));
    set_log_level(cli);
    if (cli->fields != NULL && cli->output == CLI_OUTPUT_TABLE)
        cli->output = CLI_OUTPUT_FIELDS;
    return check_arguments(cli);
}

/* --help anywhere before "--" prints help, even if the rest of the line is wrong. */
static bool wants_help(const struct cli_verb *verb, int argc, char **argv)
{
    int count = verb->raw && argc > 1 ? 1 : argc;
    for (int i = 0; i < count && strcmp(argv[i], "--") != 0; i++) {
        if (is_help(argv[i]))
            return true;
    }
    return false;
}

static int run_verb(struct cli *cli, int argc, char **argv)
{
    if (wants_help(cli->verb, argc, argv)) {
        cli_help_verb(cli->out, cli->noun, cli->verb);
        return EXIT_CODE_OK;
    }
    int code = EXIT_CODE_OK;
    cli->config = config_new(&settings_schema);
    cli->arguments = calloc((size_t)argc + 1, sizeof(*cli->arguments));
    cli->given = calloc((size_t)argc + 1, sizeof(*cli->given));
    cli->config_flags = calloc((size_t)argc + 1, sizeof(*cli->config_flags));
    assert(cli->arguments != NULL && cli->given != NULL && cli->config_flags != NULL);
    if (cli->verb->raw) {
        memcpy(cli->arguments, argv, (size_t)argc * sizeof(*argv));
        cli->argument_count = argc;
        code = check_arguments(cli);
    } else {
        if (!cli->verb->plain)
            set_output(cli, argc, argv);
        code = parse(cli, argc, argv);
    }
    if (code == EXIT_CODE_OK)
        code = cli->verb->run(cli);
    if (fflush(cli->out) != 0 && code == EXIT_CODE_OK)
        code = EXIT_CODE_INTERNAL;
    free(cli->own_environment);
    free(cli->config_flags);
    free(cli->given);
    free(cli->arguments);
    config_free(cli->config);
    return code;
}

static int unknown_noun(const struct cli *cli, const char *name)
{
    const char *names[SUGGESTIONS_MAX];
    size_t count = 0;
    for (; cli->nouns[count] != NULL; count++) {
        assert(count < SUGGESTIONS_MAX);
        names[count] = cli->nouns[count]->name;
    }
    const char *nearest = suggest_string(name, names, count);
    if (nearest == NULL)
        return cli_usage(cli, "unknown command \"%.60s\"", name);
    return cli_usage(cli, "unknown command \"%.60s\": did you mean \"%s\"?", name, nearest);
}

static int unknown_verb(const struct cli *cli, const char *name)
{
    const char *names[SUGGESTIONS_MAX];
    assert(cli->noun->verb_count <= SUGGESTIONS_MAX);
    for (size_t i = 0; i < cli->noun->verb_count; i++)
        names[i] = cli->noun->verbs[i].name;
    const char *nearest = suggest_string(name, names, cli->noun->verb_count);
    if (nearest == NULL)
        return cli_usage(cli, "unknown command \"%s %.60s\"", cli->noun->name, name);
    return cli_usage(cli, "unknown command \"%s %.60s\": did you mean \"%s\"?", cli->noun->name,
                     name, nearest);
}

/* Flags follow the verb. */
static int missing_verb(struct cli *cli, int argc, char **argv)
{
    char list[256] = "";
    size_t used = 0;
    set_output(cli, argc, argv);
    for (size_t i = 0; i < cli->noun->verb_count && used < sizeof(list); i++) {
        const char *separator = i == 0 ? "" : i + 1 == cli->noun->verb_count ? " or " : ", ";
        used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", separator,
                                 cli->noun->verbs[i].name);
    }
    return cli_usage(cli, "a command is missing before %.60s: %s", argv[0], list);
}

int cli_main(int argc, char **argv, char *const envp[], const struct cli_noun *const nouns[],
             FILE *out, FILE *err)
{
    struct cli cli = {.nouns = nouns, .environment = envp, .out = out, .err = err};
    if (argc == 0) {
        cli_help_all(err, nouns);
        return EXIT_CODE_USAGE;
    }
    if (is_help(argv[0])) {
        cli_help_all(out, nouns);
        return EXIT_CODE_OK;
    }
    /* The first thing that most users type. */
    const char *noun = strcmp(argv[0], "--version") == 0 ? "version" : argv[0];
    cli.noun = cli_find_noun(nouns, noun);
    if (cli.noun == NULL)
        return unknown_noun(&cli, argv[0]);
    cli.verb = cli_find_verb(cli.noun, argc > 1 ? argv[1] : NULL);
    if (cli.verb != NULL) {
        int used = cli.verb->name != NULL ? 2 : 1;
        return run_verb(&cli, argc - used, argv + used);
    }
    if (argc == 1 || is_help(argv[1])) {
        cli_help_noun(argc == 1 ? err : out, cli.noun);
        return argc == 1 ? EXIT_CODE_USAGE : EXIT_CODE_OK;
    }
    return argv[1][0] == '-' ? missing_verb(&cli, argc - 1, argv + 1) : unknown_verb(&cli, argv[1]);
}
