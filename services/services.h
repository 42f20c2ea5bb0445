/* SPDX-License-Identifier: Apache-2.0 */
/* The mains of the services, as `reeve run SERVICE` calls them: argv begins after the service's
 * name. Each returns an exit code of platform/exit_code.h. */
#ifndef SERVICES_SERVICES_H
#define SERVICES_SERVICES_H

int submission_main(int argc, char **argv);
int scheduler_main(int argc, char **argv);
int agent_main(int argc, char **argv);
int supervisor_main(int argc, char **argv);
int console_main(int argc, char **argv);

#endif
