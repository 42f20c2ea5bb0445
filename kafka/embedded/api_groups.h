/* SPDX-License-Identifier: Apache-2.0 */
/* How the members of groups are answered on the wire. */
#ifndef KAFKA_EMBEDDED_API_GROUPS_H
#define KAFKA_EMBEDDED_API_GROUPS_H

#include "kafka/embedded/groups.h"

extern const struct groups_ops api_groups_ops;

#endif
