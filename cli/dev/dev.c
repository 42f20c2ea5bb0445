/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve dev`: everything on one machine. The embedded broker in this process, or a real one;
 * topics, workflows; every service as a child process. Ctrl-C stops all of it. */
#include "base/names.h"
#include "cli/dev/child_processes.h"
#include "cli/session.h"
#include "cli/workflow/deployment.h"
#include "kafka/embedded.h"
#include "platform/files.h"
#include "replica/settings.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/wait.h>

enum {
    AGENTS_MAX = 64,
    APPS_MAX = 64,
    INSTANCES_MAX = 16,
    SHOW_MS = 100,
    PATIENCE_MS = 30000,
    LOG_TAIL = 2000,
    LOG_MAX = 64 << 20,
    EMBEDDED_SESSION_MS = 3500 /* its rebalances last nearly as long: 3000 is too short */
};

struct dev_agent {
    char name[NAME_BYTES_MAX + 1];
    const char *url; /* NULL: simulated */
};

struct dev {
    struct cli *cli;
    struct loop *loop;
    struct embedded *embedded; /* NULL: a real broker */
    struct children *children;
    const char *bootstrap;
    char directory[PATH_MAX];
    bool directory_is_temporary;
    struct topics topics;
    struct dev_agent agents[AGENTS_MAX];
    size_t agent_count;
    char workflow[NAME_BYTES_MAX + 1]; /* of the first file; empty: there is none */
    const char *apps[APPS_MAX];
    size_t app_count;
    int64_t schedulers;
    int64_t supervisors;
    int64_t began_ms;
    bool announced;
    bool stopping;
    int code;
    struct loop_timer timer;
};

/* ---- agents, applications, directory ---- */

static struct dev_agent *add_agent(struct dev *dev, struct text name, struct error *ret_error)
{
    for (size_t i = 0; i < dev->agent_count; i++) {
        if (text_equal(text_of(dev->agents[i].name), name))
            return &dev->agents[i];
    }
    if (dev->agent_count == AGENTS_MAX || !name_valid(name)) {
        error_set(ret_error, ERROR_REJECT, "Usage",
                  "agent \"%.*s\": expected at most %d names of letters, digits, '.', '_' "
                  "and '-'",
                  TEXT_ARG(name), AGENTS_MAX);
        return NULL;
    }
    struct dev_agent *agent = &dev->agents[dev->agent_count++];
    snprintf(agent->name, sizeof(agent->name), "%.*s", TEXT_ARG(name));
    return agent;
}

static enum error_class take_agents(struct dev *dev, struct error *ret_error)
{
    const char *pair;
    for (size_t index = 0; (pair = cli_flag_next(dev->cli, "agent", &index)) != NULL;) {
        size_t size = strcspn(pair, "=");
        struct dev_agent *agent = add_agent(dev, (struct text){pair, (uint32_t)size}, ret_error);
        if (agent == NULL)
            return ERROR_REJECT;
        agent->url =
            pair[size] == '=' && strcmp(pair + size + 1, "sim") != 0 ? pair + size + 1 : NULL;
        if (agent->url != NULL && strncmp(agent->url, "http://", 7) != 0 &&
            strncmp(agent->url, "https://", 8) != 0)
            return error_set(ret_error, ERROR_REJECT, "Usage",
                             "--agent %.100s: expected NAME, or NAME=URL with a URL such as "
                             "http://127.0.0.1:8001",
                             pair);
    }
    return ERROR_OK;
}

/* The agents that the workflows name; mistakes in the files are reported before anything starts. */
static enum error_class take_workflows(struct dev *dev, struct error *ret_error)
{
    enum error_class class = ERROR_OK;
    for (int i = 0; i < dev->cli->argument_count && class == ERROR_OK; i++) {
        struct workflow_file file;
        struct text names[WORKFLOW_AGENTS_MAX];
        const char *path = dev->cli->arguments[i];
        class = workflow_file_read(path, &file, ret_error);
        if (class != ERROR_OK)
            break;
        if (file.workflow == NULL)
            class = error_set(ret_error, ERROR_REJECT, "BadWorkflow",
                              "%.200s is not valid: see `reeve workflow lint %.100s`", path, path);
        size_t count = class == ERROR_OK ? workflow_agents(file.workflow, names) : 0;
        for (size_t n = 0; n < count && class == ERROR_OK; n++)
            class = add_agent(dev, names[n], ret_error) != NULL ? ERROR_OK : ERROR_REJECT;
        if (class == ERROR_OK && i == 0)
            snprintf(dev->workflow, sizeof(dev->workflow), "%.*s", TEXT_ARG(file.workflow->name));
        workflow_file_deinit(&file);
    }
    return class;
}

static enum error_class take_flags(struct dev *dev, struct error *ret_error)
{
    const struct cli *cli = dev->cli;
    const char *app;
    if (cli_flag_int(cli, "schedulers", 1, 1, INSTANCES_MAX, &dev->schedulers, ret_error) !=
            ERROR_OK ||
        cli_flag_int(cli, "supervisors", 1, 1, INSTANCES_MAX, &dev->supervisors, ret_error) !=
            ERROR_OK ||
        topics_init(&dev->topics, config_string(cli->config, "topics.prefix"), ret_error) !=
            ERROR_OK)
        return ERROR_REJECT;
    for (size_t index = 0; (app = cli_flag_next(cli, "app", &index)) != NULL;) {
        if (dev->app_count == APPS_MAX || !name_valid(text_of(app)))
            return error_set(
                ret_error, ERROR_REJECT, "Usage",
                "--app %.80s: expected at most %d names of letters, digits, '.', '_' and '-'", app,
                APPS_MAX);
        dev->apps[dev->app_count++] = app;
    }
    if (dev->app_count == 0)
        dev->apps[dev->app_count++] = "web";
    enum error_class class = take_agents(dev, ret_error);
    return class == ERROR_OK ? take_workflows(dev, ret_error) : class;
}

static enum error_class make_directory(struct dev *dev, struct error *ret_error)
{
    const char *set = config_string(dev->cli->config, "data.dir");
    const char *tmp = getenv("TMPDIR");
    bool embedded = !config_is_set(dev->cli->config, "kafka.bootstrap.servers");
    if (*set != '\0' || !embedded) {
        snprintf(dev->directory, sizeof(dev->directory), "%s",
                 *set != '\0' ? set : "reeve-data/dev");
        return files_make_dirs(dev->directory, ret_error);
    }
    snprintf(dev->directory, sizeof(dev->directory), "%s/reeve-dev-XXXXXX",
             tmp != NULL && *tmp != '\0' ? tmp : "/tmp");
    if (mkdtemp(dev->directory) == NULL)
        return error_set(ret_error, ERROR_FATAL, "NoDirectory", "cannot make %.200s: %s",
                         dev->directory, strerror(errno));
    dev->directory_is_temporary = true;
    return ERROR_OK;
}

/* ---- broker and topics ---- */

static void warn_of_difference(void *ctx, enum topics_finding finding, const char *topic,
                               const char *line)
{
    struct dev *dev = ctx;
    (void)topic;
    if (finding == TOPICS_DIFFERS)
        cli_warn(dev->cli, "TopicDiffers", "%s", line);
}

static enum error_class make_topics(struct dev *dev, struct error *ret_error)
{
    const struct config *config = dev->cli->config;
    const char *agents[AGENTS_MAX];
    struct cluster_kafka_options kafka;
    for (size_t i = 0; i < dev->agent_count; i++)
        agents[i] = dev->agents[i].name;
    struct topics_plan plan = {
        .kafka = &kafka.options,
        .topics = &dev->topics,
        .partitions = (int32_t)config_int(config, "partitions"),
        .replication_factor = (int32_t)config_int(config, "replication.factor"),
        .agents = agents,
        .agent_count = dev->agent_count,
        .apps = dev->apps,
        .app_count = dev->app_count,
    };
    if (dev->embedded != NULL)
        return topics_embed(&plan, dev->embedded, ret_error);
    enum error_class class = cluster_kafka_options(config, 0, &kafka, ret_error);
    return class == ERROR_OK ? topics_apply(&plan, warn_of_difference, dev, ret_error) : class;
}

static enum error_class start_broker(struct dev *dev, struct error *ret_error)
{
    enum error_class class = ERROR_OK;
    if (dev->directory_is_temporary ||
        !config_is_set(dev->cli->config, "kafka.bootstrap.servers")) {
        class = embedded_new(&dev->embedded, ret_error);
        if (class == ERROR_OK)
            dev->bootstrap = embedded_bootstrap(dev->embedded);
    } else {
        dev->bootstrap = config_string(dev->cli->config, "kafka.bootstrap.servers");
    }
    return class == ERROR_OK ? make_topics(dev, ret_error) : class;
}

/* ---- child processes ---- */

/* `reeve WORD... <the configuration flags of this command> --set KEY=VALUE...` */
struct command_line {
    char *arguments[CHILD_ARGUMENTS_MAX + 1];
    size_t count;
};

static void add_word(struct command_line *line, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void add_word(struct command_line *line, const char *format, ...)
{
    va_list args;
    char *word = NULL;
    va_start(args, format);
    int size = vasprintf(&word, format, args);
    va_end(args);
    assert(size >= 0 && line->count < CHILD_ARGUMENTS_MAX);
    line->arguments[line->count++] = word;
    line->arguments[line->count] = NULL;
}

static void add_set(struct command_line *line, const char *name, const char *value)
{
    add_word(line, "--set");
    add_word(line, "%s=%s", name, value);
}

static void add_common(struct dev *dev, struct command_line *line)
{
    const struct cli *cli = dev->cli;
    for (int i = 0; i < cli->config_flag_count; i++)
        add_word(line, "%s", cli->config_flags[i]);
    if (dev->embedded == NULL)
        return;
    add_set(line, "kafka.bootstrap.servers", dev->bootstrap);
    add_set(line, "embedded", "true");
    if (!config_is_set(cli->config, "session.timeout.ms")) {
        add_word(line, "--set");
        add_word(line, "session.timeout.ms=%d", EMBEDDED_SESSION_MS);
    }
}

static enum error_class start_line(struct dev *dev, const char *name, struct command_line *line,
                                   struct child **ret_child, struct error *ret_error)
{
    char directory[PATH_MAX + 128];
    snprintf(directory, sizeof(directory), "%s/%s", dev->directory, name);
    enum error_class class = files_make_dirs(directory, ret_error);
    if (class == ERROR_OK)
        class = children_start(dev->children, name, directory, line->arguments,
                               cli_flag_given(dev->cli, "logs"), ret_child, ret_error);
    for (size_t i = 0; i < line->count; i++)
        free(line->arguments[i]);
    return class;
}

/* For the console's page Health: the services that were started before it. */
static void add_services(struct dev *dev, struct command_line *line)
{
    char root[PATH_MAX];
    char *list = strdup("");
    if (config_is_set(dev->cli->config, "console.services") ||
        realpath(dev->directory, root) == NULL)
        root[0] = '\0';
    for (const struct child *child = NULL; (child = children_next(dev->children, child)) != NULL;) {
        char *longer = NULL;
        if (root[0] == '\0' || strcmp(child_name(child), "deploy") == 0)
            continue;
        int size = asprintf(&longer, "%s%s%s/%s", list, list[0] != '\0' ? "," : "", root,
                            child_name(child));
        assert(size > 0);
        free(list);
        list = longer;
    }
    if (list[0] != '\0')
        add_set(line, "console.services", list);
    free(list);
}

/* The submission service asks it what became of orders. */
static void add_console(const struct dev *dev, struct command_line *line)
{
    char root[PATH_MAX];
    if (config_is_set(dev->cli->config, "submission.console.url") ||
        realpath(dev->directory, root) == NULL)
        return;
    add_word(line, "--set");
    add_word(line, "submission.console.url=%s/console", root);
}

static enum error_class start_service(struct dev *dev, const char *service, const char *name,
                                      const struct dev_agent *agent, struct error *ret_error)
{
    struct command_line line = {0};
    struct child *child;
    bool has_port = strcmp(service, "console") == 0 && config_is_set(dev->cli->config, "http.port");
    add_word(&line, "run");
    add_word(&line, "%s", service);
    add_common(dev, &line);
    add_word(&line, "--set");
    add_word(&line, "data.dir=%s/%s", dev->directory, name);
    if (!has_port)
        add_set(&line, "http.port", "0");
    if (strcmp(service, "console") == 0)
        add_services(dev, &line);
    if (!config_is_set(dev->cli->config, "http.auth"))
        add_set(&line, "http.auth", "none"); /* on a loopback address, which is checked */
    if (strcmp(service, "submission") == 0)
        add_console(dev, &line);
    add_set(&line, "instance.id", name);
    if (agent != NULL) {
        add_set(&line, "agent.name", agent->name);
        add_set(&line, "agent.kind", agent->url != NULL ? "http" : "sim");
    }
    if (agent != NULL && agent->url != NULL)
        add_set(&line, "agent.http.url", agent->url);
    return start_line(dev, name, &line, &child, ret_error);
}

static enum error_class start_several(struct dev *dev, const char *service, int64_t count,
                                      struct error *ret_error)
{
    enum error_class class = ERROR_OK;
    for (int64_t i = 1; i <= count && class == ERROR_OK; i++) {
        char name[64];
        snprintf(name, sizeof(name), "%s-%lld", service, (long long)i);
        class = start_service(dev, service, name, NULL, ret_error);
    }
    return class;
}

static enum error_class start_deploy(struct dev *dev, struct error *ret_error)
{
    struct command_line line = {0};
    struct child *child = NULL;
    if (dev->cli->argument_count == 0)
        return ERROR_OK;
    add_word(&line, "workflow");
    add_word(&line, "deploy");
    add_word(&line, "--no-agent-check"); /* they start next */
    for (int i = 0; i < dev->cli->argument_count; i++)
        add_word(&line, "%s", dev->cli->arguments[i]);
    add_common(dev, &line);
    enum error_class class = start_line(dev, "deploy", &line, &child, ret_error);
    if (class == ERROR_OK)
        child_is_task(child);
    return class;
}

static enum error_class start_all(struct dev *dev, struct error *ret_error)
{
    enum error_class class = start_deploy(dev, ret_error);
    if (class == ERROR_OK)
        class = start_service(dev, "submission", "submission", NULL, ret_error);
    if (class == ERROR_OK)
        class = start_several(dev, "scheduler", dev->schedulers, ret_error);
    if (class == ERROR_OK)
        class = start_several(dev, "supervisor", dev->supervisors, ret_error);
    for (size_t i = 0; i < dev->agent_count && class == ERROR_OK; i++) {
        char name[NAME_BYTES_MAX + 16];
        snprintf(name, sizeof(name), "agent-%s", dev->agents[i].name);
        class = start_service(dev, "agent", name, &dev->agents[i], ret_error);
    }
    if (class == ERROR_OK)
        class = start_service(dev, "console", "console", NULL, ret_error);
    return class == ERROR_OK ? children_watch(dev->children, ret_error) : class;
}

/* ---- output ---- */

static const char *agent_note(const struct dev *dev, const char *name)
{
    for (size_t i = 0; i < dev->agent_count; i++) {
        if (strncmp(name, "agent-", 6) == 0 && strcmp(name + 6, dev->agents[i].name) == 0)
            return dev->agents[i].url != NULL ? dev->agents[i].url : "simulated";
    }
    return "";
}

static const char *console_url(struct dev *dev)
{
    const char *url = "";
    for (const struct child *child = NULL; (child = children_next(dev->children, child)) != NULL;)
        if (strcmp(child_name(child), "console") == 0)
            url = child_url(child);
    return url;
}

/* For `reeve ... --config FILE` in another terminal; the console's address is known last. */
static enum error_class write_client_config(struct dev *dev, struct error *ret_error)
{
    char path[PATH_MAX + 32];
    char content[1024];
    snprintf(path, sizeof(path), "%s/client.properties", dev->directory);
    int size = snprintf(content, sizeof(content),
                        "kafka.bootstrap.servers = %.600s\ntopics.prefix = %s\nembedded = %s\n"
                        "console.url = %s\n",
                        dev->bootstrap, dev->topics.prefix,
                        dev->embedded != NULL ? "true" : "false", console_url(dev));
    return files_write_atomic(path, (struct text){content, (uint32_t)size}, ret_error);
}

/* How to get a token, if the user asked for them. */
static void announce_tokens(struct dev *dev)
{
    const struct config *config = dev->cli->config;
    if (!config_is_set(config, "http.auth") ||
        strcmp(config_string(config, "http.auth"), "tokens") != 0)
        return;
    const char *file = config_string(config, "http.tokens.file");
    fprintf(dev->cli->out,
            "  export REEVE_CONSOLE_TOKEN=...  # reeve token add NAME --role operator --file %s\n",
            file[0] != '\0' ? file : "FILE, and start this with --http-tokens-file FILE");
}

static void announce(struct dev *dev)
{
    FILE *out = dev->cli->out;
    double seconds = (double)(clock_mono_ms(clock_real()) - dev->began_ms) / 1000;
    fprintf(out, "reeve dev is ready (%.1f s)\n  %-20s %s%s\n", seconds, "kafka", dev->bootstrap,
            dev->embedded != NULL ? "  embedded: its records are lost when it stops" : "");
    for (const struct child *child = NULL; (child = children_next(dev->children, child)) != NULL;) {
        const char *note = agent_note(dev, child_name(child));
        if (*child_url(child) != '\0')
            fprintf(out, "  %-20s %-23s pid %d%s%s\n", child_name(child), child_url(child),
                    (int)child_pid(child), *note != '\0' ? "  " : "", note);
    }
    fprintf(out, "  %-20s %s/NAME/log\n", "logs", dev->directory);
    if (dev->cli->argument_count == 0)
        fprintf(out, "No workflow is deployed: `reeve dev FILE.yaml` deploys one and "
                     "simulates its agents.\n");
    fprintf(out,
            "In another terminal:\n"
            "  export REEVE_CONFIG=%s/client.properties\n",
            dev->directory);
    announce_tokens(dev);
    if (dev->workflow[0] != '\0')
        fprintf(out,
                "  echo '{\"order_id\": \"1\", \"currency\": \"EUR\", \"workflow\": \"%s\"}' | "
                "reeve submit -\n",
                dev->workflow);
    fprintf(out, "  reeve orders list\nIn a browser: %s\nCtrl-C stops everything.\n",
            console_url(dev));
    fflush(out);
    dev->announced = true;
}

static void show_log(struct dev *dev, const struct child *child)
{
    char path[PATH_MAX];
    char *content = NULL;
    size_t size = 0;
    snprintf(path, sizeof(path), "%s/log", child_directory(child));
    if (files_read(path, LOG_MAX, &content, &size, NULL) != ERROR_OK)
        return;
    const char *from = content + (size > LOG_TAIL ? size - LOG_TAIL : 0);
    if (from > content)
        from += strcspn(from, "\n");
    fprintf(dev->cli->err, "%s\n", from);
    free(content);
}

/* ---- the end ---- */

static void on_stopped(void *ctx)
{
    struct dev *dev = ctx;
    loop_stop(dev->loop);
}

static void stop_all(struct dev *dev, int code)
{
    if (dev->stopping)
        return;
    dev->stopping = true;
    dev->code = code;
    loop_timer_cancel(dev->loop, &dev->timer);
    children_stop(dev->children, on_stopped);
}

static void on_signal(struct loop *loop, int signal, void *userdata)
{
    struct dev *dev = userdata;
    (void)signal;
    if (dev->stopping) {
        loop_stop(loop); /* the second time: kill what still runs */
        return;
    }
    fprintf(dev->cli->err, "stopping\n");
    stop_all(dev, EXIT_CODE_OK);
}

static void on_ended(void *ctx, struct child *child, int status)
{
    struct dev *dev = ctx;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && child_is_ready(child))
        return; /* a task */
    cli_report(dev->cli, "ServiceEnded", "%s (pid %d) %s", child_name(child), (int)child_pid(child),
               child_reason(child));
    if (dev->announced)
        return; /* the others continue: a service that crashes is a test of them */
    show_log(dev, child);
    stop_all(dev, WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_CODE_INTERNAL);
}

static void on_timer(struct loop *loop, struct loop_timer *timer, void *userdata)
{
    struct dev *dev = userdata;
    struct error error = {0};
    if (children_are_ready(dev->children)) {
        if (write_client_config(dev, &error) != ERROR_OK)
            cli_fail(dev->cli, &error);
        announce(dev);
        return;
    }
    if (clock_mono_ms(clock_real()) - dev->began_ms < PATIENCE_MS) {
        loop_timer_after(loop, timer, SHOW_MS);
        return;
    }
    for (const struct child *child = NULL; (child = children_next(dev->children, child)) != NULL;) {
        if (!child_is_ready(child))
            fprintf(dev->cli->err, "reeve: %s is not ready: %s; see %s/log\n", child_name(child),
                    child_reason(child), child_directory(child));
    }
    stop_all(dev, EXIT_CODE_UNAVAILABLE);
}

static enum error_class begin(struct dev *dev, struct error *ret_error)
{
    enum error_class class = take_flags(dev, ret_error);
    if (class == ERROR_OK)
        class = make_directory(dev, ret_error);
    if (class == ERROR_OK)
        class = loop_new(clock_real(), &dev->loop, ret_error);
    /* Before any thread begins: signals are for this loop. */
    if (class == ERROR_OK)
        class = loop_on_signals(dev->loop, on_signal, dev, ret_error);
    if (class == ERROR_OK)
        class = start_broker(dev, ret_error);
    if (class != ERROR_OK)
        return class;
    dev->children = children_new(dev->loop, on_ended, dev);
    loop_timer_init(&dev->timer, on_timer, dev);
    loop_timer_after(dev->loop, &dev->timer, SHOW_MS);
    return start_all(dev, ret_error);
}

static int run(struct cli *cli)
{
    struct error error = {0};
    struct dev *dev = calloc(1, sizeof(*dev));
    assert(dev != NULL);
    dev->cli = cli;
    dev->began_ms = clock_mono_ms(clock_real());
    enum error_class class = begin(dev, &error);
    if (class == ERROR_OK)
        loop_run(dev->loop);
    children_free(dev->children);
    embedded_free(dev->embedded);
    loop_free(dev->loop);
    if (dev->directory_is_temporary)
        files_remove_tree(dev->directory, NULL);
    int code = class == ERROR_OK ? dev->code : cli_fail(cli, &error);
    free(dev);
    return code;
}

static const struct cli_flag flags[] = {
    {"agent", "NAME[=URL]",
     "An agent that calls URL; without URL it is simulated, as are all other agents that the "
     "workflows name. May be repeated."},
    {"app", "NAME", "An application that gets a replies topic; web by default. May be repeated."},
    {"schedulers", "N", "The number of schedulers; 1 by default."},
    {"supervisors", "N", "The number of supervisors; 1 by default."},
    {"logs", NULL, "Logs to stderr instead of files."},
    {NULL, NULL, NULL},
};

static const struct cli_verb verbs[] = {
    {
        .arguments = "[WORKFLOW.yaml...]",
        .arguments_max = 16,
        .summary = "Runs all services on this machine, with an embedded broker, until Ctrl-C.",
        .examples = "reeve dev examples/workflows/three-steps.yaml\n"
                    "# a real broker, and real services behind the agents\n"
                    "reeve dev examples/workflows/order-fulfilment.yaml \\\n"
                    "    --kafka-bootstrap-servers 127.0.0.1:9092 --schedulers 2 \\\n"
                    "    --agent stock=http://127.0.0.1:8001 --http-port 8080",
        .flags = flags,
        .config_services = SETTINGS_ALL,
        .run = run,
    },
};

const struct cli_noun cli_dev = {"dev", "Everything on one machine.", verbs,
                                 sizeof(verbs) / sizeof(verbs[0])};
