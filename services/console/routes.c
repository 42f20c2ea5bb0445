/* SPDX-License-Identifier: Apache-2.0 */
/* The table of the API's routes, made of routes.def: each row becomes a function that calls what
 * the row says, and a row of the table. */
#include "services/console/routes.h"
#include "services/console/api/search_api.h"
#include "services/console/console.h"
#include "services/console/index.h"

/* Before that, there are no partitions, and nothing that a handler needs. */
static bool is_open(struct http_exchange *exchange, void *userdata)
{
    const struct console *console = userdata;
    if (console->api.owners != NULL)
        return true;
    http_respond_error(exchange, 503, CODE_STARTING,
                       "the console is still reading schemas and workflows");
    return false;
}

#define FILTERS                                                                                   \
    "state", "step", "waiting_for", "group", "error", "workflow", "workflow_version", "customer", \
        "attribute", "id_prefix", "since", "until", "alert", "paused", "all"
#define ORDER "/api/orders/{id}"
#define DEAD_LETTER "/api/dead-letters/{partition}/{offset}"
#define VERSION "/api/workflows/{name}/{version}"
#define WHEN_OPEN is_open
#define ALWAYS NULL

/* The bodies of what operators do to an order: the names of the command's fields. */
enum { BODY_FIELDS_MAX = 16 };
#define FIELDS(type) const char *type[BODY_FIELDS_MAX];
#define TEXT_FIELD(type, need, name, limits)
#define BOOL_FIELD(type, need, name)
#define U32_FIELD(type, need, name)
#define I64_FIELD(type, need, name)
#define I64_FIELD_OR(type, name, otherwise)
#define TIME_FIELD(type, need, name)
#define ENUM_FIELD(type, need, name, otherwise)
#define END_FIELDS(type)
/* clang-format off */
static const struct {
#include "engine/commands.def"
} bodies = {
#define FIELDS(type) .type = {
#define TEXT_FIELD(type, need, name, limits) #name,
#define BOOL_FIELD(type, need, name) #name,
#define U32_FIELD(type, need, name) #name,
#define I64_FIELD(type, need, name) #name,
#define I64_FIELD_OR(type, name, otherwise) #name,
#define TIME_FIELD(type, need, name) #name,
#define ENUM_FIELD(type, need, name, otherwise) #name,
#define SENDER_FIELD(type, need, name, limits)
#define TREE_FIELD(type) "tree",
#define END_FIELDS(type) NULL},
#include "engine/commands.def"
};
/* clang-format on */

#define HANDLER(name, names, call)                                        \
    static void on_##name(struct http_exchange *exchange, void *userdata) \
    {                                                                     \
        struct console *console = userdata;                               \
        const char *const *fields = (names);                              \
        (void)console;                                                    \
        (void)fields;                                                     \
        call;                                                             \
    }
#define GET(name, path, open, query, summary, call) HANDLER(name, NULL, call)
#define POST(name, path, body, body_max, summary, call) HANDLER(name, body, call)
#define SIGNAL(name, path, body, body_max, summary, call) HANDLER(name, body, call)
#include "services/console/routes.def"
#undef GET
#undef POST
#undef SIGNAL

#define GET(name, path, open, names, text, call) \
    {.method = "GET",                            \
     .pattern = (path),                          \
     .permission = HTTP_VIEW,                    \
     .handler = on_##name,                       \
     .is_open = (open),                          \
     .query = (names),                           \
     .repeats = "attribute",                     \
     .summary = (text)},
#define POST(name, path, names, bytes, text, call) \
    CHANGE(HTTP_OPERATE, NULL, name, path, names, bytes, text)
#define SIGNAL(name, path, names, bytes, text, call) \
    CHANGE(HTTP_VIEW, "for everyone, or for their groups", name, path, names, bytes, text)
#define CHANGE(needs, which, name, path, names, bytes, text)                \
    {.method = "POST",                                                      \
     .pattern = (path),                                                     \
     .permission = (needs),                                                 \
     .only = (which),                                                       \
     .handler = on_##name,                                                  \
     .is_open = is_open,                                                    \
     .query = HTTP_NO_NAMES,                                                \
     .body = (names),                                                       \
     .body_max = (bytes) > 0 ? (size_t)(bytes) : OPERATOR_COMMAND_BODY_MAX, \
     .summary = (text)},
static const struct http_route rows[] = {
#include "services/console/routes.def"
};

const struct http_routes console_api_routes = HTTP_ROUTES(rows);
