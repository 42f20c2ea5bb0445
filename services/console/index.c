/* SPDX-License-Identifier: Apache-2.0 */
/* See index.h.
 *
 *     GET  /api/orders                        orders, page by page
 *            state= step= ...
 *     POST /api/orders/{id}/cancel            undo the order, before its pivot
 *            "by" "reason" */
#include "services/console/index.h"

#include "services/services.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_WIDTH = 34, LINE_WIDTH = 80 };

/* Each name between `before` and `after`, in lines that are indented. */
static void put_names(FILE *out, const char *const names[], const char *before, const char *after)
{
    size_t column = LINE_WIDTH;
    for (size_t i = 0; names[i] != NULL; i++) {
        if (column + strlen(before) + strlen(names[i]) + strlen(after) >= LINE_WIDTH)
            column = (size_t)fprintf(out, "\n      ");
        column += (size_t)fprintf(out, " %s%s%s", before, names[i], after);
    }
}

static void put_route(FILE *out, const struct http_route *route)
{
    fprintf(out, "%-4s %-*s %s", route->method, PATH_WIDTH, route->pattern, route->summary);
    if (route->query != NULL)
        put_names(out, route->query, "", "=");
    if (route->body != NULL)
        put_names(out, route->body, "\"", "\"");
    fputc('\n', out);
}

void console_serve_index(struct http_exchange *exchange)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert(out != NULL);
    fputs("reeve console\n\n", out);
    for (size_t t = 0; console_routes[t] != NULL; t++) {
        for (size_t i = 0; i < console_routes[t]->count; i++)
            put_route(out, &console_routes[t]->rows[i]);
        fputc('\n', out);
    }
    fputs("Order ids in paths are percent-encoded. Times are as in RFC 3339.\n", out);
    fclose(out);
    http_respond(exchange, 200, "text/plain; charset=utf-8", (struct text){text, (uint32_t)size});
    free(text);
}
