/* SPDX-License-Identifier: Apache-2.0 */
/* The console's metrics: what its read model holds, and who uses it. */
#ifndef SERVICES_CONSOLE_METRICS_H
#define SERVICES_CONSOLE_METRICS_H

struct console;
struct console_metrics;

/* Refreshes them before each rendering of the service's metrics, until console_metrics_free(). */
struct console_metrics *console_metrics_new(struct console *console);
void console_metrics_free(struct console_metrics *metrics);

#endif
