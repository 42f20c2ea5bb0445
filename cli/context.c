/* SPDX-License-Identifier: Apache-2.0 */
/* See context.h; and `reeve context`. */
#include "cli/context.h"

#include "base/names.h"
#include "base/text.h"
#include "cli/output.h"
#include "platform/files.h"
#include "replica/service/settings.h"

#include <assert.h>
#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAME_MAX_BYTES = CONTEXT_NAME_SIZE - 1, FILE_BYTES_MAX = 64 * 1024 };
#define SUFFIX ".properties"

/* ---- where they are ---- */

static const char *variable(const struct cli *cli, const char *name)
{
    size_t size = strlen(name);
    for (char *const *at = cli->environment; *at != NULL; at++)
        if (strncmp(*at, name, size) == 0 && (*at)[size] == '=' && (*at)[size + 1] != '\0')
            return *at + size + 1;
    return NULL;
}

/* "" where there is no home: then there are no contexts. */
static void base_folder(const struct cli *cli, char ret_path[PATH_MAX])
{
    const char *config = variable(cli, "XDG_CONFIG_HOME"), *home = variable(cli, "HOME");
    int size = config != NULL ? snprintf(ret_path, PATH_MAX, "%s/reeve", config)
               : home != NULL ? snprintf(ret_path, PATH_MAX, "%s/.config/reeve", home)
                              : 0;
    if (size <= 0 || size >= PATH_MAX)
        ret_path[0] = '\0';
}

/* The file that holds the name of the chosen context. */
static bool choice_file(const struct cli *cli, char ret_path[PATH_MAX])
{
    char base[PATH_MAX];
    base_folder(cli, base);
    int size = snprintf(ret_path, PATH_MAX, "%s/context", base);
    return base[0] != '\0' && size < PATH_MAX;
}

static bool settings_file(const struct cli *cli, const char *name, char ret_path[PATH_MAX])
{
    char base[PATH_MAX];
    base_folder(cli, base);
    int size = snprintf(ret_path, PATH_MAX, "%s/contexts/%s" SUFFIX, base, name);
    return base[0] != '\0' && size < PATH_MAX;
}

/* A name becomes that of a file. */
static bool is_name(const char *name)
{
    struct text text = text_of(name);
    return text.size > 0 && text.size <= NAME_MAX_BYTES && name[0] != '.' && name[0] != '-' &&
           name_characters_valid(text);
}

static void read_choice(const struct cli *cli, char ret_name[NAME_MAX_BYTES + 1])
{
    char path[PATH_MAX];
    char *content = NULL;
    size_t size;
    ret_name[0] = '\0';
    if (!choice_file(cli, path) ||
        files_read(path, FILE_BYTES_MAX, &content, &size, NULL) != ERROR_OK)
        return;
    content[strcspn(content, "\n")] = '\0';
    if (is_name(content))
        snprintf(ret_name, NAME_MAX_BYTES + 1, "%s", content);
    free(content);
}

/* ---- in effect ---- */

static enum error_class no_such(const char *name, struct error *ret_error)
{
    return error_set(ret_error, CODE_CONFIG, "there is no context %.64s: `reeve context list`",
                     name);
}

enum error_class context_apply(struct cli *cli, struct error *ret_error)
{
    char chosen[NAME_MAX_BYTES + 1];
    char path[PATH_MAX];
    const char *name = config_text(cli->config, "context");
    if (config_has_file(cli->config) && !config_outranks_file(cli->config, "context")) {
        if (!string_starts_with(config_origin(cli->config, "context"), "--"))
            return ERROR_OK;
        return error_set(ret_error, CODE_USAGE, "--config and --context: name one of them");
    }
    if (name[0] == '\0') {
        read_choice(cli, chosen);
        config_set_default(cli->config, "context", chosen);
        name = chosen;
    }
    if (name[0] == '\0')
        return ERROR_OK;
    if (!is_name(name) || !settings_file(cli, name, path) || !files_exists(path))
        return no_such(name, ret_error);
    config_set_file(cli->config, path);
    return ERROR_OK;
}

bool context_sets(struct cli *cli, const char *key, char *ret_name)
{
    char chosen[CONTEXT_NAME_SIZE];
    char path[PATH_MAX];
    struct error error;
    struct config *config = config_new(&settings_schema);
    snprintf(chosen, sizeof(chosen), "%s", config_text(cli->config, "context"));
    if (chosen[0] == '\0')
        read_choice(cli, chosen);
    bool sets = is_name(chosen) && settings_file(cli, chosen, path) &&
                config_load_file(config, path, &error) == ERROR_OK && config_is_set(config, key);
    config_free(config);
    if (sets)
        memcpy(ret_name, chosen, sizeof(chosen));
    return sets;
}

const char *context_name(const struct cli *cli)
{
    return config_string(cli->config, "context");
}

/* ---- commands ---- */

static const struct output_column columns[] = {
    {"CONTEXT", "context", output_value, false},
    {"CURRENT", "current", output_value, false},
    {"CONSOLE", "console_url", output_value, false},
    {"KAFKA", "kafka_bootstrap_servers", output_value, false},
    {"PREFIX", "topics_prefix", output_value, false},
    {0},
};

static const struct output_column result_columns[] = {
    {"CONTEXT", "context", output_value, false},
    {"RESULT", "result", output_value, false},
    {0},
};

/* What the file sets; empty cells for what it leaves at the default. */
static json_t *row_of(const struct cli *cli, const char *name, const char *current)
{
    static const char *const keys[][2] = {{"console_url", "console.url"},
                                          {"kafka_bootstrap_servers", "kafka.bootstrap.servers"},
                                          {"topics_prefix", "topics.prefix"}};
    char path[PATH_MAX];
    struct error error = {0};
    struct config *config = config_new(&settings_schema);
    json_t *row = json_pack("{s:s, s:b}", "context", name, "current", strcmp(name, current) == 0);
    if (!settings_file(cli, name, path) || config_load_file(config, path, &error) != ERROR_OK)
        json_object_set_new(row, "problem", json_string(error.message));
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        json_object_set_new(row, keys[i][0],
                            config_is_set(config, keys[i][1])
                                ? json_string(config_text(config, keys[i][1]))
                                : json_null());
    config_free(config);
    return row;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_settings(const struct dirent *entry)
{
    size_t size = strlen(entry->d_name), suffix = strlen(SUFFIX);
    return size > suffix && strcmp(entry->d_name + size - suffix, SUFFIX) == 0;
}

static int run_list(struct cli *cli)
{
    char base[PATH_MAX], folder[PATH_MAX + 16], current[NAME_MAX_BYTES + 1];
    struct dirent **entries = NULL;
    base_folder(cli, base);
    snprintf(folder, sizeof(folder), "%s/contexts", base);
    read_choice(cli, current);
    int count = base[0] != '\0' ? scandir(folder, &entries, is_settings, by_name) : 0;
    struct output *output = output_new(cli, columns);
    for (int i = 0; i < count; i++) {
        entries[i]->d_name[strlen(entries[i]->d_name) - strlen(SUFFIX)] = '\0';
        if (is_name(entries[i]->d_name))
            output_row(output, row_of(cli, entries[i]->d_name, current));
        free(entries[i]);
    }
    free(entries);
    return output_finish(output, EXIT_CODE_OK);
}

/* What --flags of the line say, as lines of a properties file. */
struct lines {
    FILE *out;
    struct error error;
};

static bool is_path(const char *key)
{
    return string_ends_with(key, ".file") || string_ends_with(key, ".tls.ca") ||
           string_ends_with(key, ".tls.cert") || string_ends_with(key, ".tls.key");
}

static void write_line(void *ctx, const char *key, const char *value)
{
    struct lines *lines = ctx;
    char path[PATH_MAX];
    if (strcmp(key, "context") == 0)
        return;
    if (value[strcspn(value, "\r\n")] != '\0')
        error_set(&lines->error, CODE_USAGE, "%s: a value is one line", key);
    else if (is_path(key) && realpath(value, path) == NULL)
        error_set(&lines->error, CODE_USAGE, "%s: there is no file %.200s", key, value);
    else
        fprintf(lines->out, "%s = %s\n", key, is_path(key) ? path : value);
}

static enum error_class write_file(const char *path, struct text content, struct error *ret_error)
{
    char folder[PATH_MAX];
    const struct files_owner owner = {.user = geteuid(), .group = getegid(), .mode = 0600};
    snprintf(folder, sizeof(folder), "%s", path);
    *strrchr(folder, '/') = '\0';
    enum error_class class = files_make_dirs(folder, ret_error);
    return class == ERROR_OK ? files_write_atomic_for(path, content, &owner, ret_error) : class;
}

static int no_home(struct cli *cli)
{
    struct error error;
    error_set(&error, CODE_CONFIG, "contexts are kept below $HOME/.config/reeve: set HOME");
    return cli_fail(cli, &error);
}

static int choose(struct cli *cli, const char *name, const char *result)
{
    char path[PATH_MAX], line[NAME_MAX_BYTES + 2], current[NAME_MAX_BYTES + 1];
    struct error error;
    snprintf(line, sizeof(line), "%s\n", name);
    if (!choice_file(cli, path))
        return no_home(cli);
    if (write_file(path, text_of(line), &error) != ERROR_OK)
        return cli_fail(cli, &error);
    if (variable(cli, "REEVE_CONFIG") != NULL)
        cli_warn(cli, CODE_CONFIG,
                 "REEVE_CONFIG is set: in this shell it is stronger than the context in use; "
                 "`unset REEVE_CONFIG`, or name the context with --context");
    read_choice(cli, current);
    json_t *row = row_of(cli, name, current);
    json_object_set_new(row, "result", json_string(result));
    return output_one(cli, columns, row);
}

static bool check_name(struct cli *cli, int *ret_code)
{
    if (is_name(cli->arguments[0]))
        return true;
    *ret_code = cli_usage(cli, "%.80s: a context has a name of letters, digits, '.', '_' and '-'",
                          cli->arguments[0]);
    return false;
}

static int run_add(struct cli *cli)
{
    char path[PATH_MAX];
    char *content = NULL;
    size_t size = 0;
    int code = EXIT_CODE_OK;
    if (!check_name(cli, &code))
        return code;
    if (!settings_file(cli, cli->arguments[0], path))
        return no_home(cli);
    if (config_has_file(cli->config) && variable(cli, "REEVE_CONFIG") == NULL)
        return cli_usage(cli, "--config: a context keeps what flags say; name the settings");
    bool exists = files_exists(path);
    if (exists && !cli_flag_given(cli, "replace")) {
        cli_report(cli, CODE_CONFIG,
                   "there is a context %.64s: --replace replaces it, `reeve context use %.64s` "
                   "uses it as it is",
                   cli->arguments[0], cli->arguments[0]);
        return EXIT_CODE_NEGATIVE;
    }
    struct lines lines = {.out = open_memstream(&content, &size)};
    assert(lines.out != NULL);
    fputs("# A context of `reeve context`.\n", lines.out);
    config_each_flag(cli->config, write_line, &lines);
    fclose(lines.out);
    if (lines.error.class == ERROR_OK)
        write_file(path, (struct text){content, (uint32_t)size}, &lines.error);
    free(content);
    if (lines.error.class != ERROR_OK)
        return cli_fail(cli, &lines.error);
    return choose(cli, cli->arguments[0], exists ? "replaced" : "added");
}

/* Whether the named one is there. */
static bool find(struct cli *cli, char ret_path[PATH_MAX], int *ret_code)
{
    struct error error;
    if (!check_name(cli, ret_code))
        return false;
    if (settings_file(cli, cli->arguments[0], ret_path) && files_exists(ret_path))
        return true;
    no_such(cli->arguments[0], &error);
    cli_report(cli, error.code, "%s", error.message);
    *ret_code = EXIT_CODE_NEGATIVE;
    return false;
}

static int run_use(struct cli *cli)
{
    char path[PATH_MAX];
    int code = EXIT_CODE_OK;
    return find(cli, path, &code) ? choose(cli, cli->arguments[0], "in use") : code;
}

static int run_remove(struct cli *cli)
{
    char path[PATH_MAX], choice[PATH_MAX], current[NAME_MAX_BYTES + 1];
    struct error error;
    int code = EXIT_CODE_OK;
    if (!find(cli, path, &code))
        return code;
    read_choice(cli, current);
    bool was_current = strcmp(current, cli->arguments[0]) == 0;
    if (unlink(path) != 0 || (was_current && choice_file(cli, choice) && unlink(choice) != 0)) {
        error_set(&error, CODE_IO, "%.300s cannot be removed", path);
        return cli_fail(cli, &error);
    }
    return output_one(cli, result_columns,
                      json_pack("{s:s, s:s}", "context", cli->arguments[0], "result", "removed"));
}

static const struct cli_flag add_flags[] = {
    {"replace", NULL, "Replaces the context of that name, whose other settings are forgotten."},
    {0},
};

static const struct cli_verb verbs[] = {
    {
        .name = "add",
        .arguments = "NAME",
        .summary = "Keeps the flags of the configuration that stand on this line under a name, and "
                   "uses them from now on. Exit code 1: there is a context of that name.",
        .examples = "reeve context add production --console-url https://reeve.example.com \\\n"
                    "    --console-token-file ~/.reeve-token\n"
                    "reeve context add trial --kafka-bootstrap-servers 127.0.0.1:9092",
        .flags = add_flags,
        .without_context = true,
        .run = run_add,
    },
    {
        .name = "use",
        .arguments = "NAME",
        .summary =
            "Has commands use this context from now on. `--context NAME` is for one command.",
        .examples = "reeve context use trial\nreeve orders list --context production",
        .without_context = true,
        .run = run_use,
    },
    {
        .name = "list",
        .summary = "Lists the contexts.",
        .examples = "reeve context list",
        .without_context = true,
        .run = run_list,
    },
    {
        .name = "remove",
        .arguments = "NAME",
        .summary = "Removes a context.",
        .examples = "reeve context remove trial",
        .without_context = true,
        .run = run_remove,
    },
};

const struct cli_noun cli_context = {"context", "Named settings of the command line.", verbs,
                                     sizeof(verbs) / sizeof(verbs[0])};
