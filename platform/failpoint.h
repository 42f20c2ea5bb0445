/* SPDX-License-Identifier: Apache-2.0 */
/* Named failpoints, for crash tests; compiled only with REEVE_FAILPOINTS (not in release builds).
 *
 *     FAILPOINT("cycle.emitted");                      between two steps
 *     if (FAILPOINT_ERROR("store.write")) return ...;  where an error can be injected
 *     FAILPOINT_OF("cycle.decide", order_id);          "cycle.decide/ID": with that id only
 *
 * The environment's REEVE_FAILPOINT switches them on, several separated by commas:
 *     name=kill@N    SIGKILL to this process at the N-th pass (default: @1)
 *     name=stop@N    SIGSTOP at the N-th pass; the test sends SIGCONT
 *     name=error@N   FAILPOINT_ERROR is true at the N-th pass; @N+ from the N-th pass on
 * A malformed specification ends the process with a message: a crash test that does not crash
 * proves nothing. Global state; loop thread only. */
#ifndef PLATFORM_FAILPOINT_H
#define PLATFORM_FAILPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef REEVE_FAILPOINTS

#define FAILPOINT(name) ((void)failpoint_pass(name))
#define FAILPOINT_ERROR(name) failpoint_pass(name)
#define FAILPOINT_OF(name, text) ((void)failpoint_pass_of(name, (text).data, (text).size))
#define FAILPOINT_ERROR_OF(name, text) failpoint_pass_of(name, (text).data, (text).size)

/* Counts the pass and takes the action that is configured. True: inject an error. */
bool failpoint_pass(const char *name);
/* Passes the failpoint "name/detail", if it is configured. */
bool failpoint_pass_of(const char *name, const char *detail, size_t size);

/* ---- for tests, in their own process ---- */

/* Replaces the configured failpoints and resets the counts; NULL or "" = none. False: malformed,
 * nothing changed. */
bool failpoint_configure(const char *specification);
/* Passes of `name` since it was configured; 0 if it is not. */
uint64_t failpoint_passes(const char *name);
/* Called at every pass of every failpoint; true = inject an error (or
 * "crash": the test drops the object). NULL = none. */
void failpoint_on_pass(bool (*hook)(const char *name, void *ctx), void *ctx);

#else

#define FAILPOINT(name) ((void)0)
#define FAILPOINT_ERROR(name) false
#define FAILPOINT_OF(name, text) ((void)0)
#define FAILPOINT_ERROR_OF(name, text) false

#endif

#endif
