/* SPDX-License-Identifier: Apache-2.0 */
/* What libmicrohttpd 1.0 does in place of 0.9: MHD_get_connection_info() answers every question
 * about a connection in the same union, so that the next answer takes the place of the last. Linked
 * with -Wl,--wrap, so that all HTTP tests run with it. */
#include <microhttpd.h>
#include <string.h>

enum { OVERWRITTEN = 0xa5 };

const union MHD_ConnectionInfo *__real_MHD_get_connection_info(struct MHD_Connection *connection,
                                                               enum MHD_ConnectionInfoType type,
                                                               ...);
const union MHD_ConnectionInfo *__wrap_MHD_get_connection_info(struct MHD_Connection *connection,
                                                               enum MHD_ConnectionInfoType type,
                                                               ...);

const union MHD_ConnectionInfo *__wrap_MHD_get_connection_info(struct MHD_Connection *connection,
                                                               enum MHD_ConnectionInfoType type,
                                                               ...)
{
    static union MHD_ConnectionInfo shared;
    const union MHD_ConnectionInfo *info = __real_MHD_get_connection_info(connection, type);
    if (info == NULL)
        return NULL;
    union MHD_ConnectionInfo answer;
    memset(&answer, OVERWRITTEN, sizeof(answer));
    /* 0.9 points to the one member, whose size is not that of the union. */
    if (type == MHD_CONNECTION_INFO_CONNECTION_FD)
        answer.connect_fd = info->connect_fd;
    else
        memcpy(&answer, info, sizeof(void *)); /* all other questions of ours: a pointer */
    shared = answer;
    return &shared;
}
