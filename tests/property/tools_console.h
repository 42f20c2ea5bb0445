/* SPDX-License-Identifier: Apache-2.0 */
/* A console that begins with empty stores while the world goes on, and answers over HTTP. */
#ifndef TESTS_PROPERTY_TOOLS_CONSOLE_H
#define TESTS_PROPERTY_TOOLS_CONSOLE_H

#include "tests/property/tools_world.h"

/* One begins; it does not wait. */
void tools_console_open(struct tools *tools);
void tools_console_close(struct tools *tools);
/* It runs for a turn, if there is one. */
void tools_console_follow(struct tools *tools);
/* When it has read all that there is: its owners, its orders with their histories and its alerts
 * are those of the test's fold. NULL, or what differs. */
const char *tools_console_check(struct tools *tools);

#endif
