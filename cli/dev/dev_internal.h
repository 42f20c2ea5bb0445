/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of `reeve dev`: dev.c (its life), options.c (what the user asked for),
 * services.c (the broker, the topics and the child processes), announcement.c (what it prints). */
#ifndef CLI_DEV_DEV_INTERNAL_H
#define CLI_DEV_DEV_INTERNAL_H

#include "base/names.h"
#include "cli/dev/child_processes.h"
#include "cli/session.h"
#include "kafka/embedded/embedded.h"
#include "kafka/topics/topics.h"

#include <limits.h>

enum { AGENTS_MAX = 64, APPS_MAX = 64 };

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
    char *example; /* JSON of an order that the first file's workflow takes; NULL: no file */
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

/* options.c */
enum error_class dev_take_flags(struct dev *dev, struct error *ret_error);
enum error_class dev_make_directory(struct dev *dev, struct error *ret_error);

/* services.c */
enum error_class dev_start_broker(struct dev *dev, struct error *ret_error);
enum error_class dev_start_services(struct dev *dev, struct error *ret_error);

/* announcement.c */
/* For `reeve ... --config FILE` in another terminal; the console's address is known last. */
enum error_class dev_write_client_config(struct dev *dev, struct error *ret_error);
void dev_announce(struct dev *dev);
/* The end of it, of a child that has failed. */
void dev_show_log(struct dev *dev, const struct child *child);

#endif
