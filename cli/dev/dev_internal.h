/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of `reeve dev`: dev.c (its life), options.c (what the user asked for),
 * leftovers.c (what it ignores), state.c (its folder), agents.c (which agents there are),
 * services.c (the broker, the topics and the child processes), kafka.c (a real broker of its own),
 * workflows.c (what is deployed, and what changes in the files), announcement.c (what it prints),
 * running.c (the commands for one that runs). */
#ifndef CLI_DEV_DEV_INTERNAL_H
#define CLI_DEV_DEV_INTERNAL_H

#include "base/names.h"
#include "cli/dev/child_processes.h"
#include "cli/session.h"
#include "kafka/embedded/embedded.h"
#include "kafka/topics/topics.h"
#include "platform/files.h"
#include "replica/cluster/cluster.h"

#include <limits.h>

enum {
    AGENTS_MAX = 64,
    APPS_MAX = 64,
    AGENT_URL_BYTES_MAX = 500,
    WORKFLOW_FILES_MAX = 16,
    CONSOLE_PORT = 8080, /* as in production (packaging/) */
    SUBMISSION_PORT = 8081,
    TICK_MS = 500
};

#define DEV_DIRECTORY "reeve-dev"

enum dev_agent_kind {
    DEV_AGENT_SIMULATED,
    DEV_AGENT_HTTP,
    DEV_AGENT_KAFKA /* the user's own program: only its topic is made */
};

struct dev_agent {
    char name[NAME_BYTES_MAX + 1];
    enum dev_agent_kind kind;
    char url[AGENT_URL_BYTES_MAX + 1]; /* of DEV_AGENT_HTTP */
    struct child *child;               /* borrowed; NULL: none was started */
    bool failed;                       /* it could not be started, which was reported */
    struct files_version seen;         /* its file in agents/ */
};

struct dev_workflows;
struct dev_kafka;

struct dev {
    struct cli *cli;
    struct loop *loop;
    struct embedded *embedded; /* NULL: a real broker */
    struct dev_kafka *kafka;   /* NULL: --kafka was not given */
    struct children *children;
    struct child *deploy;  /* borrowed; NULL: there are no workflow files */
    const char *bootstrap; /* borrowed; NULL: not known yet */
    char directory[PATH_MAX];
    bool directory_is_temporary;
    int lock; /* of the directory; -1: not locked */
    int last_broker_port;
    struct topics topics;
    struct dev_agent agents[AGENTS_MAX];
    size_t agent_count;
    bool agents_full; /* which was reported */
    char *example;    /* JSON of an order that the first workflow takes; NULL: there is none */
    char *trial;      /* likewise, with an id of its own; NULL: --try was not given */
    char *signals;    /* a line for each Await of the trial: what sends its signal; or NULL */
    const char *apps[APPS_MAX];
    size_t app_count;
    struct dev_workflows *workflows;
    int64_t schedulers;
    int64_t supervisors;
    int64_t began_ms;
    int64_t services_began_ms; /* 0: they wait for the broker */
    bool announced;
    bool stopping;
    int code;
    struct loop_timer timer;
    struct loop_timer tick;
};

/* options.c */
enum error_class dev_take_flags(struct dev *dev, struct error *ret_error);
/* The order that users are shown is one of this workflow. */
void dev_take_example(struct dev *dev, const struct workflow *workflow);
/* The agents that the files name, which are simulated if nothing else is known of them. */
enum error_class dev_take_workflows(struct dev *dev, struct error *ret_error);

/* leftovers.c: of other terminals and installations. */
/* Reads the environment without what selects a broker, and names that in one warning. */
enum error_class dev_load(struct cli *cli, struct error *ret_error);
/* Likewise, silently; other settings are those for clients of the `reeve dev` that runs. */
enum error_class dev_load_running(struct cli *cli, struct error *ret_error);
/* Child processes must not inherit what was left out. Before any thread begins. */
void dev_clean_environment(const struct cli *cli);

/* state.c */
/* Makes, checks and locks the directory. FATAL "DirectoryInUse": a `reeve dev` runs on it. REJECT
 * "Config": it holds something else. */
enum error_class dev_open_state(struct dev *dev, struct error *ret_error);
void dev_close_state(struct dev *dev);
const char *dev_state_directory(const struct cli *cli);
/* Whether a `reeve dev` runs on it; *ret_pid 0: unknown. */
bool dev_state_is_used(const char *directory, long *ret_pid);

/* agents.c */
/* NAME, NAME=sim, NAME=URL or NAME=kafka. REJECT "Usage". */
enum error_class dev_agent_parse(const char *pair, struct dev_agent *ret_agent,
                                 struct error *ret_error);
/* NULL: there is none. */
struct dev_agent *dev_find_agent(struct dev *dev, struct text name);
/* The one that is there, or a new one, which is simulated. NULL: there are too many, or the name is
 * not valid. */
struct dev_agent *dev_add_agent(struct dev *dev, struct text name, struct error *ret_error);
/* Keeps the agent in the directory of a `reeve dev`, which takes note of it. */
enum error_class dev_keep_agent(const char *directory, const struct dev_agent *agent,
                                struct error *ret_error);
/* Those that are kept, as they are; what flags said about an agent remains. */
void dev_take_kept_agents(struct dev *dev);
/* Starts agents that were added, and changes those whose file has changed. */
void dev_check_agents(struct dev *dev);
/* "simulated", a URL, or that it is the user's program. */
const char *dev_agent_note(const struct dev_agent *agent);

/* services.c */
enum error_class dev_start_broker(struct dev *dev, struct error *ret_error);
/* *ret_answers: topics can be made; else call it again soon. */
enum error_class dev_await_broker(struct dev *dev, bool *ret_answers, struct error *ret_error);
/* How to connect to it. */
enum error_class dev_broker_options(const struct dev *dev,
                                    struct cluster_kafka_options *ret_options,
                                    struct error *ret_error);
enum error_class dev_make_topics(struct dev *dev, struct error *ret_error);
enum error_class dev_start_services(struct dev *dev, struct error *ret_error);
/* Starts it, or again with what has changed, or ends it (DEV_AGENT_KAFKA). */
enum error_class dev_start_agent(struct dev *dev, struct dev_agent *agent, struct error *ret_error);
/* For the console's page Health: what runs now. */
enum error_class dev_write_services(const struct dev *dev, struct error *ret_error);
/* Deploys the files of which `chosen` is true, all if it is NULL. */
enum error_class dev_start_deploy(struct dev *dev, const bool chosen[], struct error *ret_error);
/* Submits dev->trial, and shows how it goes. */
enum error_class dev_start_trial(struct dev *dev, struct error *ret_error);
/* New: the configuration that the services have. */
enum error_class dev_service_config(struct dev *dev, struct config **ret_config,
                                    struct error *ret_error);

/* kafka.c */
/* REJECT "Usage" or "Config": the flags contradict each other, or there is no Java or no Kafka.
 * Does nothing without --kafka. */
enum error_class dev_take_kafka(struct dev *dev, struct error *ret_error);
enum error_class dev_start_kafka(struct dev *dev, struct error *ret_error);
/* The next step of its start, if its time has come. RETRY: it takes too long. */
enum error_class dev_await_kafka(struct dev *dev, bool *ret_answers, struct error *ret_error);
/* A child has ended before the broker answered. True: another process has taken one of its ports
 * while Java started, and it will try others. */
bool dev_kafka_moves(struct dev *dev, const struct child *child);
/* Of the broker. */
pid_t dev_kafka_pid(const struct dev *dev);
/* The folder with its jars. */
const char *dev_kafka_home(const struct dev *dev);
/* After its process has ended. */
void dev_free_kafka(struct dev *dev);

/* workflows.c */
enum error_class dev_follow_workflows(struct dev *dev, struct error *ret_error);
void dev_check_workflows(struct dev *dev);
/* `reeve workflow deploy` has ended, after the announcement. */
void dev_deployed(struct dev *dev);
void dev_unfollow_workflows(struct dev *dev);
/* Borrowed. NULL: what is deployed has not been read yet. */
const struct workflow_registry *dev_deployed_workflows(const struct dev *dev);

/* announcement.c */
/* For `reeve ... --config FILE` in another terminal; the console's address is known last. */
enum error_class dev_write_client_config(struct dev *dev, struct error *ret_error);
void dev_announce(struct dev *dev);
/* The end of it, of a child that has failed. */
void dev_show_log(struct dev *dev, const struct child *child);

/* running.c */
int dev_run_env(struct cli *cli);
int dev_run_agent(struct cli *cli);
int dev_run_app(struct cli *cli);

#endif
