/* SPDX-License-Identifier: Apache-2.0 */
/* What selects a broker outside the command line is often left over from another terminal or
 * installation. `reeve dev` would then fill that broker with trials, so it ignores and names it. */
#include "cli/context.h"
#include "cli/dev/dev_internal.h"
#include "replica/service/settings.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <unistd.h>

#define PREFIX "REEVE_"
#define CONFIG PREFIX "CONFIG="
#define SERVERS PREFIX "KAFKA_BOOTSTRAP_SERVERS"
#define KAFKA PREFIX "KAFKA_"

enum { NAMES_BYTES_MAX = 300 };

/* Of flags only, as long as nothing else was read. */
struct chosen {
    bool servers; /* --kafka-bootstrap-servers */
    bool file;    /* --config */
};

/* A file that is gone was of a `reeve dev` that kept nothing. */
static bool names_a_broker(const char *path)
{
    struct error error;
    struct config *config = config_new(&settings_schema);
    bool names = !files_exists(path) || (config_load_file(config, path, &error) == ERROR_OK &&
                                         config_is_set(config, "kafka.bootstrap.servers"));
    config_free(config);
    return names;
}

/* Other variables that begin like that are not ours. */
static bool is_setting(const char *variable)
{
    char name[128];
    char *nearest = NULL;
    const struct config_passthrough *kafka = settings_schema.passthrough;
    size_t size = strcspn(variable, "=") - strlen(KAFKA);
    if (size >= sizeof(name))
        return false;
    for (size_t i = 0; i < size; i++) {
        char c = variable[strlen(KAFKA) + i];
        name[i] = c == '_' ? '.' : (char)tolower((unsigned char)c);
    }
    name[size] = '\0';
    bool known = kafka->knows(name, &nearest);
    free(nearest);
    return known;
}

/* Whether the variable is left out; *ret_named: the user should know, because it would count. */
static bool is_left_over(const char *variable, struct chosen chosen, bool *ret_named)
{
    *ret_named = true;
    if (string_starts_with(variable, CONFIG)) {
        *ret_named = !chosen.file;
        return chosen.file || names_a_broker(variable + strlen(CONFIG));
    }
    if (string_starts_with(variable, SERVERS)) {
        *ret_named = !chosen.servers;
        return true;
    }
    /* How to reach a broker: that of the command line, if there is one. */
    return string_starts_with(variable, KAFKA) && !chosen.servers && !chosen.file &&
           is_setting(variable);
}

/* "A", then "A, B" ... */
static void add_name(char names[NAMES_BYTES_MAX], const char *name, size_t size)
{
    size_t used = strlen(names);
    snprintf(names + used, NAMES_BYTES_MAX - used, "%s%.*s", used > 0 ? ", " : "", (int)size, name);
}

/* Leaves out and names what is left over. */
static void filter(struct cli *cli, struct chosen chosen, char names[NAMES_BYTES_MAX])
{
    size_t count = 0, kept = 0;
    while (cli->environment != NULL && cli->environment[count] != NULL)
        count++;
    assert(cli->own_environment == NULL);
    cli->own_environment = calloc(count + 1, sizeof(*cli->own_environment));
    assert(cli->own_environment != NULL);
    for (size_t i = 0; i < count; i++) {
        char *variable = cli->environment[i];
        size_t size = strcspn(variable, "=");
        bool named = false, empty = variable[size] == '\0' || variable[size + 1] == '\0';
        if (empty || !is_left_over(variable, chosen, &named))
            cli->own_environment[kept++] = variable;
        else if (named)
            add_name(names, variable, size);
    }
    cli->environment = cli->own_environment;
}

enum error_class dev_load(struct cli *cli, struct error *ret_error)
{
    char names[NAMES_BYTES_MAX] = "", context[CONTEXT_NAME_SIZE], name[CONTEXT_NAME_SIZE + 16];
    const struct chosen chosen = {.servers = config_is_set(cli->config, "kafka.bootstrap.servers"),
                                  .file = config_has_file(cli->config)};
    filter(cli, chosen, names);
    enum error_class class = config_load_environment(cli->config, cli->environment, ret_error);
    if (class != ERROR_OK)
        return class;
    if (!chosen.servers && !config_has_file(cli->config) &&
        context_sets(cli, "kafka.bootstrap.servers", context)) {
        snprintf(name, sizeof(name), "the context %s", context);
        add_name(names, name, strlen(name));
    }
    if (names[0] != '\0')
        cli_warn(cli, CODE_IGNORED_VARIABLE,
                 "ignored: %s. Only --kafka-bootstrap-servers, --set and --config make `reeve dev` "
                 "use another broker than its own",
                 names);
    return ERROR_OK;
}

enum error_class dev_load_running(struct cli *cli, struct error *ret_error)
{
    char names[NAMES_BYTES_MAX] = "", path[PATH_MAX + 32];
    bool has_file = config_has_file(cli->config);
    filter(cli, (struct chosen){.servers = true, .file = true}, names);
    enum error_class class = config_load_environment(cli->config, cli->environment, ret_error);
    const char *set = config_text(cli->config, "data.dir");
    snprintf(path, sizeof(path), "%s/client.properties", *set != '\0' ? set : DEV_DIRECTORY);
    if (class == ERROR_OK && !has_file && !config_has_file(cli->config) && files_exists(path))
        config_set_file(cli->config, path);
    return class;
}

void dev_clean_environment(const struct cli *cli)
{
    if (cli->own_environment == NULL)
        return;
    for (char **at = environ; at != NULL && *at != NULL;) {
        char name[128];
        bool kept = !string_starts_with(*at, PREFIX);
        for (char *const *own = cli->own_environment; !kept && *own != NULL; own++)
            kept = strcmp(*own, *at) == 0;
        snprintf(name, sizeof(name), "%.*s", (int)strcspn(*at, "="), *at);
        if (kept || unsetenv(name) != 0)
            at++; /* unsetenv moves the next one here */
    }
}
