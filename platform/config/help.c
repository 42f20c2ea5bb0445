/* SPDX-License-Identifier: Apache-2.0 */
/* Help and documentation of the keys, and the effective values. */
#include "platform/config/internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { HELP_WIDTH = 78, HELP_INDENT = 6 };

static const char *const type_names[] = {"text",   "name",   "integer", "bool", "duration",
                                         "number", "choice", "secret",  "list"};
_Static_assert(sizeof(type_names) / sizeof(type_names[0]) == CONFIG_TYPE_COUNT,
               "every type has a name");

/* ---- help ---- */

static void print_wrapped(FILE *out, const char *text)
{
    size_t column = 0;
    while (*text != '\0') {
        size_t word = strcspn(text, " ");
        if (column == 0 || column + 1 + word > HELP_WIDTH) {
            fprintf(out, "%s%*s", column == 0 ? "" : "\n", HELP_INDENT, "");
            column = HELP_INDENT;
        } else {
            fputc(' ', out);
            column++;
        }
        fwrite(text, 1, word, out);
        column += word;
        text += word;
        text += strspn(text, " ");
    }
    fputc('\n', out);
}

static const char *type_text(const struct config_key *key)
{
    return key->choices != NULL ? key->choices : type_names[key->type];
}

void config_help(const struct config_schema *schema, FILE *out, unsigned readers)
{
    for (size_t i = 0; i < schema->key_count; i++) {
        const struct config_key *key = &schema->keys[i];
        if ((key->readers & readers) == 0)
            continue;
        fprintf(out, "  --");
        for (const char *at = key->name; *at != '\0'; at++)
            fputc(*at == '.' ? '-' : *at, out);
        fprintf(out, " (%s%s%s)\n", type_text(key), key->fallback[0] != '\0' ? ", default " : "",
                key->fallback);
        print_wrapped(out, key->doc);
    }
}

static void print_readers(const struct config_schema *schema, FILE *out, unsigned bits)
{
    const char *separator = "";
    for (size_t i = 0; i < schema->reader_count; i++) {
        if (schema->readers[i].bits == bits) {
            fputs(schema->readers[i].name, out);
            return;
        }
    }
    for (size_t i = 0; i < schema->reader_count; i++) {
        unsigned own = schema->readers[i].bits;
        if ((own & (own - 1)) == 0 && (own & bits) != 0) {
            fprintf(out, "%s%s", separator, schema->readers[i].name);
            separator = ", ";
        }
    }
}

/* '|' would end the cell; what looks like a tag would vanish. */
static void print_cell(FILE *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '|')
            fputs("\\|", out);
        else if (*text == '<')
            fputs("&lt;", out);
        else
            fputc(*text, out);
    }
}

void config_markdown(const struct config_schema *schema, FILE *out, unsigned readers)
{
    fputs("| Key | Type | Default | Read by | Meaning |\n|---|---|---|---|---|\n", out);
    for (size_t i = 0; i < schema->key_count; i++) {
        const struct config_key *key = &schema->keys[i];
        if ((key->readers & readers) == 0)
            continue;
        fprintf(out, "| `%s` | ", key->name);
        print_cell(out, type_text(key));
        fprintf(out, " | %s%s%s | ", key->fallback[0] != '\0' ? "`" : "", key->fallback,
                key->fallback[0] != '\0' ? "`" : "");
        print_readers(schema, out, key->readers);
        fputs(" | ", out);
        print_cell(out, key->doc);
        fputs(" |\n", out);
    }
}

/* The user info of each URL may hold a password, and its query a key:
 * http://(hidden)@host/path?(hidden). New. */
static char *shown_value(const char *text)
{
    char *shown = NULL;
    size_t size = 0;
    const char *rest = text;
    const char *query = NULL;
    FILE *out = open_memstream(&shown, &size);
    assert(out != NULL);
    for (char *scheme = strstr(text, "://"); scheme != NULL && query == NULL;) {
        const char *host = scheme + 3;
        const char *at = memrchr(host, '@', strcspn(host, "/?#"));
        fprintf(out, "%.*s%s", (int)(host - rest), rest, at != NULL ? "(hidden)" : "");
        rest = at != NULL ? at : host;
        scheme = strstr(rest, "://");
        query = strchr(rest, '?');
        if (query != NULL && scheme != NULL && query > scheme)
            query = NULL; /* of a later one */
    }
    if (query != NULL)
        fprintf(out, "%.*s(hidden)", (int)(query - rest) + 1, rest);
    else
        fputs(rest, out);
    fclose(out);
    return shown;
}

void config_each(const struct config *config, unsigned readers,
                 void (*visit)(void *ctx, const char *name, const char *value, const char *origin),
                 void *ctx)
{
    for (size_t i = 0; i < config->count; i++) {
        const struct config_entry *entry = &config->entries[i];
        if (entry->key != NULL && (entry->key->readers & readers) == 0)
            continue;
        if (entry->key == NULL && entry->rank == CONFIG_RANK_DEFAULT)
            continue;
        bool hidden = config_is_secret(config, entry) && entry->text[0] != '\0';
        char *shown = shown_value(hidden ? "(hidden)" : entry->text);
        visit(ctx, entry->name, shown, entry->origin);
        free(shown);
    }
}

void config_each_flag(const struct config *config,
                      void (*visit)(void *ctx, const char *name, const char *value), void *ctx)
{
    char name[2 * CONFIG_NAME_SIZE];
    for (size_t i = 0; i < config->count; i++) {
        const struct config_entry *entry = &config->entries[i];
        if (entry->file != NULL && entry->file_rank == CONFIG_RANK_FLAG) {
            snprintf(name, sizeof(name), "%s" CONFIG_FILE_SUFFIX, entry->name);
            visit(ctx, name, entry->file);
        } else if (entry->rank == CONFIG_RANK_FLAG) {
            visit(ctx, entry->name, entry->text);
        }
    }
}

static void show_entry(void *ctx, const char *name, const char *value, const char *origin)
{
    fprintf(ctx, "%s = %s   # %s\n", name, value, origin);
}

void config_show(const struct config *config, FILE *out, unsigned readers)
{
    config_each(config, readers, show_entry, out);
}
