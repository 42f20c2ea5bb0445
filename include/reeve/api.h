/* SPDX-License-Identifier: Apache-2.0 */
/* What all public headers of reeve share. C17 and C++17; include reeve/agent.h or reeve/leader.h
 * instead of this file. */
#ifndef REEVE_API_H
#define REEVE_API_H

/* A symbol that libreeve.so exports; all others are hidden. */
#define REEVE_API __attribute__((visibility("default")))

#endif
