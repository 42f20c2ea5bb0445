/* SPDX-License-Identifier: Apache-2.0 */
/* See rejects.h. */
#include "cli/import/rejects.h"

#include "cli/import/csv.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

enum error_class rejects_init(struct rejects *rejects, const char *file, struct error *ret_error)
{
    *rejects = (struct rejects){0};
    int size = asprintf(&rejects->path, "%s.rejects.csv", file);
    assert(size > 0);
    if (unlink(rejects->path) == 0 || errno == ENOENT)
        return ERROR_OK;
    return error_set(ret_error, CODE_REJECTS, "cannot replace %s: %s", rejects->path,
                     strerror(errno));
}

/* A spreadsheet takes what begins like this for a formula: an apostrophe makes it text. */
static void write_text(FILE *out, struct text text)
{
    bool formula = text.size > 0 && memchr("=+-@\t\r", text.data[0], 6) != NULL;
    if (formula)
        fputc('\'', out);
    csv_write_field(out, text);
}

enum error_class rejects_add(struct rejects *rejects, int64_t line, struct text order_id,
                             const char *reason, struct error *ret_error)
{
    if (rejects->out == NULL) {
        rejects->out = fopen(rejects->path, "wxe");
        if (rejects->out == NULL)
            return error_set(ret_error, CODE_REJECTS, "cannot write %s: %s", rejects->path,
                             strerror(errno));
        fputs("line,order_id,reason\n", rejects->out);
    }
    fprintf(rejects->out, "%" PRId64 ",", line);
    write_text(rejects->out, order_id);
    fputc(',', rejects->out);
    write_text(rejects->out, text_of(reason));
    fputc('\n', rejects->out);
    rejects->rows++;
    return ERROR_OK;
}

enum error_class rejects_close(struct rejects *rejects, struct error *ret_error)
{
    enum error_class class = ERROR_OK;
    if (rejects->out != NULL && (ferror(rejects->out) != 0 || fflush(rejects->out) != 0))
        class = error_set(ret_error, CODE_REJECTS, "cannot write %s: %s", rejects->path,
                          strerror(errno));
    if (rejects->out != NULL)
        fclose(rejects->out);
    free(rejects->path);
    *rejects = (struct rejects){0};
    return class;
}
