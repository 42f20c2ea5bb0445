/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simulation/simulated_service.h"

#include "replica/service/settings.h"

#include <assert.h>
#include <stdio.h>

/* The program says why it ends. */
static void require(enum error_class class, const struct error *error)
{
    if (class != ERROR_OK)
        fprintf(stderr, "%s\n", error->message);
    assert(class == ERROR_OK);
}

void simulated_service_open(struct service_context *service, const char *prefix,
                            const char *const settings[])
{
    struct error error;
    struct config *config = config_new(&settings_schema);
    assert(service->name != NULL && service->clock != NULL);
    require(config_set(config, "topics.prefix", prefix, &error), &error);
    for (size_t i = 0; settings != NULL && settings[i] != NULL; i += 2)
        require(config_set(config, settings[i], settings[i + 1], &error), &error);
    require(config_finish(config, &error), &error);
    service->config = config;
    service->metrics = metrics_new();
    if (service->loop == NULL)
        require(loop_new(service->clock, &service->loop, &error), &error);
}

void simulated_service_close(struct service_context *service)
{
    config_free(service->config);
    metrics_free(service->metrics);
    loop_free(service->loop);
    service->config = NULL;
    service->metrics = NULL;
    service->loop = NULL;
}
