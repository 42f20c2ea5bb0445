/* SPDX-License-Identifier: Apache-2.0 */
/* Calls the console's API (docs/reference/console-api.md). Blocking: a command waits for its
 * answer. */
#ifndef CLI_CONSOLE_CONSOLE_CLIENT_H
#define CLI_CONSOLE_CONSOLE_CLIENT_H

#include "cli/cli.h"
#include "cli/http_call.h"
#include "cli/output.h"

#include <jansson.h>

enum {
    CONSOLE_BASE_SIZE = 2048,
    CONSOLE_PATH_SIZE = 16384, /* a filter's longest attribute, percent-encoded */
    CONSOLE_WAIT_SECONDS = 40,
    DATA_AGE_MAX_MS = 5000 /* of answers without a warning */
};

/* For a verb's table of flags. */
#define CONSOLE_FLAG                                                       \
    {                                                                      \
        "console", "URL", "The console's address; console.url by default." \
    }
extern const struct cli_flag console_flags[]; /* that one alone */

/* Where the console is: --console, console.url, the URL that one wrote to http.url in DIR/console,
 * DIR/dev/console or DIR with DIR = data.dir or reeve-data, else http://127.0.0.1:8080, which gets
 * no token. */
struct console_client {
    char base[CONSOLE_BASE_SIZE]; /* without a slash at its end */
    struct service_credentials credentials;
    bool withholds_token; /* there is one, but not for this address */
};
/* REJECT "Usage" or "Config". Borrows strings of the configuration. */
enum error_class console_client_init(struct cli *cli, struct console_client *ret_client,
                                     struct error *ret_error);

/* A path with its query. */
struct console_path {
    char text[CONSOLE_PATH_SIZE];
    size_t size;
    bool has_query;
    bool is_too_long;
    bool has_empty_segment; /* an operand that names nothing */
};
void console_path_add(struct console_path *path, const char *literal);
/* One segment, percent-encoded. An empty one is refused by console_query(). */
void console_path_add_segment(struct console_path *path, const char *segment);
/* ?name=value; nothing if `value` is NULL. */
void console_path_add_query(struct console_path *path, const char *name, const char *value);

enum console_token { CONSOLE_TOKEN_NONE, CONSOLE_TOKEN_SENT, CONSOLE_TOKEN_WITHHELD };

struct console_answer {
    int status;
    json_t *json;             /* an object */
    enum console_token token; /* whether the console got one */
};
void console_answer_deinit(struct console_answer *answer);

/* `body` NULL: GET, else POST. RETRY "NoConsole" when nothing answers, REJECT "Config" when a
 * certificate is not right, FATAL "NotAConsole" when another program answers. Any status is an
 * answer: see console_refused(). */
enum error_class console_query(const struct console_client *client, const struct console_path *path,
                               const json_t *body, struct console_answer *ret_answer,
                               struct error *ret_error);

/* Reports why an answer is not 200, about `subject` (may be NULL), and returns the exit code: 1 for
 * 404 and 409, 64 for 400 and 413, 77 for 401, 403 and wrong tokens, 69 for 429, 503 and 504, else
 * 70. */
int console_refused(const struct cli *cli, const struct console_answer *answer,
                    const char *subject);

/* Warns about partitions that an answer lacks. */
void console_warn_incomplete(const struct cli *cli, const json_t *body);
/* Warns, in one line, about commands that wait: the list lacks the orders that they submit. */
void console_warn_waiting(const struct cli *cli, const json_t *body);

/* GETs the path and prints the answer: a table with `print`, which returns the exit code, and any
 * other format as it came. Warns about partitions that it lacks. Returns the exit code. */
int console_show(struct cli *cli, const struct console_path *path,
                 int (*print)(struct cli *cli, const json_t *body));

/* An answer that is a list and what belongs to all of it. */
struct console_list {
    const char *name; /* of the list in the answer */
    const char *good; /* true in each row, or the exit code is EXIT_CODE_NEGATIVE */
    const struct output_column *columns;
    enum error_code
        none_code; /* of the warning `none` that there are no rows; NULL: there is none */
    const char *none;
};

/* Likewise: its rows, except that JSON and YAML without --fields show the whole answer. */
int console_show_list(struct cli *cli, const struct console_path *path,
                      const struct console_list *list);

/* GET, with its errors reported. False: *ret_code is the exit code. */
bool console_get(struct cli *cli, const struct console_path *path,
                 struct console_answer *ret_answer, int *ret_code);
/* Likewise the page of a list that begins at *cursor (NULL: the first), which moves on to the next
 * one, or is null where there is none. Owned by the caller. */
bool console_get_page(struct cli *cli, struct console_path *path, json_t **cursor,
                      struct console_answer *ret_answer, int *ret_code);

#endif
