/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/property/ownership_process.h"

#include "replica/service/settings.h"
#include "tests/property/ownership_upgrade.h"

#include <assert.h>

static void on_cluster_ready(void *ctx)
{
    (void)ctx;
}

void process_boot(struct world *world, struct process *process, const struct host_clock *host,
                  const char *name, unsigned flags)
{
    struct error error;
    enum error_class class;
    process->config = config_new(&settings_schema);
    class = config_set(process->config, "topics.prefix", "p", &error);
    assert(class == ERROR_OK);
    class = config_finish(process->config, &error);
    assert(class == ERROR_OK);
    process->metrics = metrics_new();
    process->service = (struct service_context){.name = "scheduler",
                                                .instance_id = name,
                                                .data_dir = world->run->folder,
                                                .clock = &host->clock.clock,
                                                .config = process->config,
                                                .metrics = process->metrics};
    class = loop_new(&host->clock.clock, &process->service.loop, &error);
    assert(class == ERROR_OK);
    process->broker = broker_memory_new(world->kafka, name);
    class = cluster_open_on(&process->service, process->broker, flags, on_cluster_ready, process,
                            &process->cluster, &error);
    assert(class == ERROR_OK);
    upgrade_booted(world, process);
}

void process_shut(struct process *process)
{
    upgrade_shut(process);
    cluster_close(process->cluster);
    metrics_free(process->metrics);
    loop_free(process->service.loop);
    config_free(process->config);
    process->cluster = NULL;
}
