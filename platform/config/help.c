/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration for people: help, docs, effective values, "did you mean". */
#include "platform/config/internal.h"

#include <assert.h>
#include <string.h>

enum { NAME_MAX_COMPARED = 64, HELP_WIDTH = 78, HELP_INDENT = 6 };

static const char *const type_names[] = {"text", "name",   "integer", "bool",   "duration",
                                         "size", "number", "choice",  "secret", "list"};
_Static_assert(sizeof(type_names) / sizeof(type_names[0]) == CONFIG_TYPE_COUNT,
               "every type has a name");

const char *config_type_name(enum config_type type)
{
    return (unsigned)type < CONFIG_TYPE_COUNT ? type_names[type] : "?";
}

/* ---- suggestions ---- */

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`. */
static size_t edit_distance(const char *a, const char *b)
{
    size_t a_size = strlen(a), b_size = strlen(b);
    size_t rows[3][NAME_MAX_COMPARED + 1];
    if (a_size > NAME_MAX_COMPARED || b_size > NAME_MAX_COMPARED)
        return SIZE_MAX;
    for (size_t j = 0; j <= b_size; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a_size; i++) {
        size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *above2 = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= b_size; j++) {
            size_t replaced = above[j - 1] + (a[i - 1] != b[j - 1]);
            row[j] = least(least(above[j], row[j - 1]) + 1, replaced);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = least(row[j], above2[j - 2] + 1);
        }
    }
    return rows[a_size % 3][b_size];
}

const char *config_nearest(const char *name, const char *const candidates[], size_t count)
{
    size_t size = strlen(name);
    size_t nearest_distance = 1 + size / 4 + 1; /* farther ones are no help */
    const char *nearest = NULL;
    for (size_t i = 0; i < count; i++) {
        size_t distance = edit_distance(name, candidates[i]);
        if (distance < nearest_distance) {
            nearest_distance = distance;
            nearest = candidates[i];
        }
    }
    /* A name that was left unfinished, or whose first part was left out. */
    for (size_t i = 0; i < count && nearest == NULL && size >= 4; i++) {
        size_t candidate_size = strlen(candidates[i]);
        if (candidate_size > size && (memcmp(candidates[i], name, size) == 0 ||
                                      strcmp(candidates[i] + candidate_size - size, name) == 0))
            nearest = candidates[i];
    }
    return nearest;
}

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
    return key->choices != NULL ? key->choices : config_type_name(key->type);
}

void config_help(FILE *out, unsigned services)
{
    for (size_t i = 0; i < config_keys_count; i++) {
        const struct config_key *key = &config_keys[i];
        if ((key->services & services) == 0)
            continue;
        fprintf(out, "  --");
        for (const char *at = key->name; *at != '\0'; at++)
            fputc(*at == '.' ? '-' : *at, out);
        fprintf(out, " (%s%s%s)\n", type_text(key), key->fallback[0] != '\0' ? ", default " : "",
                key->fallback);
        print_wrapped(out, key->doc);
    }
}

static void print_services(FILE *out, unsigned services)
{
    static const char *const names[] = {"submission", "scheduler", "agent",
                                        "supervisor", "console",   "CLI"};
    const char *separator = "";
    if ((services & CONFIG_ALL) == CONFIG_ALL) {
        fputs("all", out);
        return;
    }
    if (services == CONFIG_SERVICES) {
        fputs("all services", out);
        return;
    }
    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if ((services & 1u << i) != 0) {
            fprintf(out, "%s%s", separator, names[i]);
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

void config_markdown(FILE *out, unsigned services)
{
    fputs("| Key | Type | Default | Read by | Meaning |\n|---|---|---|---|---|\n", out);
    for (size_t i = 0; i < config_keys_count; i++) {
        const struct config_key *key = &config_keys[i];
        if ((key->services & services) == 0)
            continue;
        fprintf(out, "| `%s` | ", key->name);
        print_cell(out, type_text(key));
        fprintf(out, " | %s%s%s | ", key->fallback[0] != '\0' ? "`" : "", key->fallback,
                key->fallback[0] != '\0' ? "`" : "");
        print_services(out, key->services);
        fputs(" | ", out);
        print_cell(out, key->doc);
        fputs(" |\n", out);
    }
}

void config_show(const struct config *config, FILE *out, unsigned services)
{
    for (size_t i = 0; i < config->count; i++) {
        const struct config_entry *entry = &config->entries[i];
        if (entry->key != NULL && (entry->key->services & services) == 0)
            continue;
        if (entry->key == NULL && entry->rank == CONFIG_RANK_DEFAULT)
            continue;
        bool hidden = config_is_secret(entry->key, entry->name) && entry->text[0] != '\0';
        fprintf(out, "%s = %s   # %s\n", entry->name, hidden ? "(hidden)" : entry->text,
                entry->source);
    }
}
