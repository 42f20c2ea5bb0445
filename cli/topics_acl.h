/* SPDX-License-Identifier: Apache-2.0 */
/* Between topics.c, which has the noun's table, and topics_acl.c. */
#ifndef CLI_TOPICS_ACL_H
#define CLI_TOPICS_ACL_H

#include "cli/cli.h"

enum { CLI_TOPICS_NAMES_MAX = 256 };

/* The values of a flag that names agents or applications. REJECT "Usage". */
enum error_class cli_topics_names(const struct cli *cli, const char *flag,
                                  const char *ret_names[CLI_TOPICS_NAMES_MAX], size_t *ret_count,
                                  struct error *ret_error);

int cli_topics_acl(struct cli *cli);

#endif
