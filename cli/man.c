/* SPDX-License-Identifier: Apache-2.0 */
/* Pages for man(1), made from the table of nouns: reeve.1, and reeve-NOUN.1 for each noun. */
#include "cli/cli.h"

#include <string.h>

#ifndef REEVE_VERSION
#define REEVE_VERSION "unknown"
#endif

/* As man(7) wants it: a backslash escapes, '-' is a hyphen and "\-" a minus sign, and a line that
 * begins with '.' or '\'' is a request. */
static void print_text(FILE *out, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if ((i == 0 || text[i - 1] == '\n') && (text[i] == '.' || text[i] == '\''))
            fputs("\\&", out);
        if (text[i] == '\\')
            fputs("\\e", out);
        else if (text[i] == '-')
            fputs("\\-", out);
        else
            fputc(text[i], out);
    }
}

static void print_line(FILE *out, const char *text)
{
    print_text(out, text, strlen(text));
    fputc('\n', out);
}

/* reeve, or reeve-NOUN. */
static void print_name(FILE *out, const char *program, const char *noun)
{
    fputs(program, out);
    if (noun == NULL)
        return;
    fputs("\\-", out);
    print_text(out, noun, strlen(noun));
}

static void print_title(FILE *out, const char *noun, const char *summary, size_t summary_size)
{
    fputs(".\\\" Made by `reeve help --man`.\n.TH ", out);
    print_name(out, "REEVE", noun);
    fputs(" 1 \"\" \"reeve " REEVE_VERSION "\" \"reeve\"\n.SH NAME\n", out);
    print_name(out, "reeve", noun);
    fputs(" \\- ", out);
    print_text(out, summary, summary_size);
    fputc('\n', out);
}

static void print_synopsis(FILE *out, const struct cli_noun *noun, const struct cli_verb *verb)
{
    const char *words[] = {noun->name, verb->name, verb->arguments};
    fputs(".SS reeve", out);
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (words[i] == NULL)
            continue;
        fputc(' ', out);
        print_text(out, words[i], strlen(words[i]));
    }
    fputc('\n', out);
}

static void print_flag(FILE *out, const char *name, const char *value, const char *doc)
{
    fputs(".TP\n\\fB\\-\\-", out);
    print_text(out, name, strlen(name));
    fputs("\\fR", out);
    if (value != NULL) {
        fputc(' ', out);
        print_text(out, value, strlen(value));
    }
    fputc('\n', out);
    print_line(out, doc);
}

static void print_verb(FILE *out, const struct cli_noun *noun, const struct cli_verb *verb)
{
    print_synopsis(out, noun, verb);
    print_line(out, verb->summary);
    for (const struct cli_flag *flag = verb->flags; flag != NULL && flag->name != NULL; flag++)
        print_flag(out, flag->name, flag->value, flag->doc);
    if (!verb->plain) {
        print_flag(out, "output", "FORMAT", CLI_OUTPUT_HELP);
        print_flag(out, "fields", "NAME,...", CLI_FIELDS_HELP);
    }
    fputs(".PP\n.nf\n", out);
    print_line(out, verb->examples);
    fputs(".fi\n", out);
}

static void print_end(FILE *out, const struct cli_noun *const nouns[])
{
    fputs(".SH SEE ALSO\n.BR reeve (1)", out);
    for (size_t n = 0; nouns[n] != NULL; n++) {
        fputs(",\n.BR ", out);
        print_name(out, "reeve", nouns[n]->name);
        fputs(" (1)", out);
    }
    fputc('\n', out);
}

static void man_noun(FILE *out, const struct cli_noun *noun)
{
    print_title(out, noun->name, noun->summary, strcspn(noun->summary, "."));
    fputs(".SH COMMANDS\n", out);
    for (size_t i = 0; i < noun->verb_count; i++)
        print_verb(out, noun, &noun->verbs[i]);
    fputs(".SH CONFIGURATION\nKeys of the configuration are flags as well, where the command reads "
          "them:\n.B reeve config \\-\\-keys\nlists them.\n",
          out);
}

static void man_reeve(FILE *out, const struct cli_noun *const nouns[])
{
    static const char summary[] = "a workflow engine on Kafka";
    print_title(out, NULL, summary, sizeof(summary) - 1);
    fputs(".SH SYNOPSIS\n.B reeve\nCOMMAND [VERB] [ARGUMENT...] [\\-\\-FLAG VALUE...]\n"
          ".SH DESCRIPTION\nreeve carries orders through multi\\-step workflows on Kafka: each "
          "order is processed as a whole, or compensated, or it waits in Error for an operator. "
          "One program is every service and the command line.\n.SH COMMANDS\n",
          out);
    for (size_t n = 0; nouns[n] != NULL; n++) {
        fputs(".TP\n.BR ", out);
        print_name(out, "reeve", nouns[n]->name);
        fputs(" (1)\n", out);
        print_line(out, nouns[n]->summary);
    }
    fputs(".SH EXIT STATUS\n", out);
    cli_print_exit_codes(out);
    fputs(".SH ENVIRONMENT\nEach key of the configuration is a variable: REEVE_DATA_DIR is "
          "data.dir.\n.SH FILES\n.TP\n.I /etc/reeve/reeve.properties\nWhat the units of the "
          "package read.\n",
          out);
}

void cli_man(FILE *out, const struct cli_noun *const nouns[], const struct cli_noun *noun)
{
    if (noun != NULL)
        man_noun(out, noun);
    else
        man_reeve(out, nouns);
    print_end(out, nouns);
}
