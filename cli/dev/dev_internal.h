/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of `reeve dev`: dev.c (its life), options.c (what the user asked for),
 * state.c (its folder), services.c (the broker, the topics and the child processes), agents.c
 * (agents that come while it runs), watch.c (files that change), announcement.c (what it prints).
 *
 * Its folder holds
 *     reeve-dev           what marks it as one of `reeve dev`
 *     lock                held while it runs (files_lock)
 *     client.properties   for commands in another terminal
 *     broker/             the embedded broker's
 *     agents/NAME         an agent that was added by `reeve dev agent`: its URL, "sim" or "kafka"
 *     apps/NAME           an application that was added by `reeve dev app`
 *     SERVICE/            each service's store, log, http.port and http.url
 */
#ifndef CLI_DEV_DEV_INTERNAL_H
#define CLI_DEV_DEV_INTERNAL_H

#include "base/names.h"
#include "cli/dev/child_processes.h"
#include "cli/session.h"
#include "kafka/embedded/embedded.h"
#include "kafka/topics/topics.h"

#include <limits.h>

enum {
    AGENTS_MAX = 64,
    APPS_MAX = 64,
    FILES_MAX = 16,
    URL_SIZE = 1024,
    DEV_NAME_SIZE = NAME_BYTES_MAX + 16 /* of a child */
};

#define DEV_FOLDER "reeve-dev" /* where data.dir names no other */
#define DEV_MARK "reeve-dev"   /* a file in it */
#define DEV_SIMULATED "sim"    /* these two in place of a URL */
#define DEV_ON_KAFKA "kafka"

struct dev_agent {
    char name[NAME_BYTES_MAX + 1];
    char url[URL_SIZE];          /* or DEV_SIMULATED, or DEV_ON_KAFKA: the user runs it */
    bool given;                  /* by a flag, which counts more than what was kept */
    char started_with[URL_SIZE]; /* that URL; "": not started */
    struct child *child;         /* NULL: not started */
};

struct dev {
    struct cli *cli;
    struct loop *loop;
    struct embedded *embedded; /* NULL: a real broker */
    struct children *children;
    const char *bootstrap;
    char directory[PATH_MAX];
    bool directory_is_temporary;
    int lock; /* of the directory; -1: none */
    struct topics topics;
    struct dev_agent agents[AGENTS_MAX];
    size_t agent_count;
    char *example; /* JSON of an order that the first file's workflow takes; NULL: no file */
    char apps[APPS_MAX][NAME_BYTES_MAX + 1];
    size_t app_count;
    int64_t schedulers;
    int64_t supervisors;
    int64_t began_ms;
    bool announced;
    bool stopping;
    int code;
    struct loop_timer timer; /* until all are ready, then for what comes later */
    struct dev_watch *watch; /* of the files; NULL: none */
};

/* options.c */
enum error_class dev_take_flags(struct dev *dev, struct error *ret_error);
/* "NAME", "NAME=URL", "NAME=sim" or "NAME=kafka". REJECT: something else, or too many. */
enum error_class dev_take_agent(struct dev *dev, const char *pair, struct error *ret_error);
enum error_class dev_take_app(struct dev *dev, const char *name, struct error *ret_error);
/* The agents that the workflow of the file names are simulated, unless they are known. REJECT: the
 * file is not valid; the problems were printed. */
enum error_class dev_take_workflow(struct dev *dev, const char *path, struct error *ret_error);
/* NULL: there is none of that name. */
struct dev_agent *dev_find_agent(struct dev *dev, struct text name);

/* state.c */
/* Makes the folder, or takes over that of an earlier run. FATAL "DirectoryInUse": it runs. */
enum error_class dev_open_state(struct dev *dev, struct error *ret_error);
void dev_close_state(struct dev *dev);
/* Where another `reeve dev` keeps its state, by the same rules. */
const char *dev_state_folder(const struct cli *cli);
/* Adds what was kept in agents/ and apps/, and is not known. *ret_added: whether anything was. */
enum error_class dev_take_kept(struct dev *dev, bool *ret_added, struct error *ret_error);
/* Keeps an agent or an application for the running one, and for the next start. */
enum error_class dev_keep(const char *folder, const char *kind, const char *name, const char *value,
                          struct error *ret_error);

/* services.c */
enum error_class dev_start_broker(struct dev *dev, struct error *ret_error);
/* Makes the topics that are missing. Blocks. */
enum error_class dev_make_topics(struct dev *dev, struct error *ret_error);
enum error_class dev_start_services(struct dev *dev, struct error *ret_error);
/* Unless it is started, or the user runs it. */
enum error_class dev_start_agent(struct dev *dev, struct dev_agent *agent, struct error *ret_error);
/* `reeve workflow deploy` of these files, as a task. */
enum error_class dev_start_deploy(struct dev *dev, char *const paths[], int count,
                                  struct error *ret_error);

/* watch.c */
/* Before the files are read: what changes from here on is deployed again. */
void dev_watch_begin(struct dev *dev);
/* Called twice a second from the announcement on: what was added, and files that changed. */
void dev_look(struct dev *dev);
void dev_watch_free(struct dev_watch *watch);

/* announcement.c */
/* For `reeve ... --config FILE` in another terminal; the console's address is known last. */
enum error_class dev_write_client_config(struct dev *dev, struct error *ret_error);
void dev_announce(struct dev *dev);
/* The end of it, of a child that has failed. */
void dev_show_log(struct dev *dev, const struct child *child);

/* commands.c: the verbs next to `reeve dev` itself */
int dev_env(struct cli *cli);
int dev_add_agent(struct cli *cli);
int dev_add_app(struct cli *cli);

#endif
