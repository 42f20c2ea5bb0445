/* SPDX-License-Identifier: Apache-2.0 */
/* Help, made from the table of nouns, and the command `help`. Examples come first: most readers
 * look for one that is nearly what they want. */
#include "cli/cli.h"

#include <string.h>

enum { SUMMARY_COLUMN = 28, HELP_COLUMNS = 96 };

static void print_examples(FILE *out, const char *examples)
{
    fputs("Examples:\n", out);
    while (*examples != '\0') {
        size_t size = strcspn(examples, "\n");
        fprintf(out, "  %.*s\n", (int)size, examples);
        examples += size + (examples[size] == '\n');
    }
}

static void print_synopsis(FILE *out, const struct cli_noun *noun, const struct cli_verb *verb)
{
    fprintf(out, "reeve %s%s%s%s%s", noun->name, verb->name != NULL ? " " : "",
            verb->name != NULL ? verb->name : "", verb->arguments != NULL ? " " : "",
            verb->arguments != NULL ? verb->arguments : "");
}

/* `text` in lines that fit HELP_COLUMNS. `out` is at column `indent`, where all lines begin. */
static void print_wrapped(FILE *out, const char *text, size_t indent)
{
    size_t column = indent;
    while (*text != '\0') {
        size_t word = strcspn(text, " ");
        if (column > indent && column + 1 + word > HELP_COLUMNS) {
            fprintf(out, "\n%*s", (int)indent, "");
            column = indent;
        }
        fprintf(out, "%s%.*s", column > indent ? " " : "", (int)word, text);
        column += word + (column > indent);
        text += word + strspn(text + word, " ");
    }
    fputc('\n', out);
}

static void print_row(FILE *out, const char *left, const char *right)
{
    if (strlen(left) + 4 > SUMMARY_COLUMN)
        fprintf(out, "  %s\n%*s", left, SUMMARY_COLUMN, "");
    else
        fprintf(out, "  %-*s", SUMMARY_COLUMN - 2, left);
    print_wrapped(out, right, SUMMARY_COLUMN);
}

size_t cli_first_sentence(const char *text)
{
    const char *end = strstr(text, ". ");
    return end != NULL ? (size_t)(end + 1 - text) : strlen(text);
}

static void print_verb_row(FILE *out, const struct cli_noun *noun, const struct cli_verb *verb)
{
    char left[128];
    char summary[256];
    snprintf(left, sizeof(left), "%s%s%s%s%s", noun->name, verb->name != NULL ? " " : "",
             verb->name != NULL ? verb->name : "", verb->arguments != NULL ? " " : "",
             verb->arguments != NULL ? verb->arguments : "");
    /* The help of the verb has all sentences. */
    snprintf(summary, sizeof(summary), "%.*s", (int)cli_first_sentence(verb->summary),
             verb->summary);
    print_row(out, left, summary);
}

static void print_flags(FILE *out, const struct cli_verb *verb)
{
    char left[128];
    fputs("\nFlags:\n", out);
    for (const struct cli_flag *flag = verb->flags; flag != NULL && flag->name != NULL; flag++) {
        snprintf(left, sizeof(left), "--%s%s%s", flag->name, flag->value != NULL ? " " : "",
                 flag->value != NULL ? flag->value : "");
        print_row(out, left, flag->doc);
    }
    if (!verb->plain) {
        print_row(out, "--output FORMAT", CLI_OUTPUT_HELP);
        print_row(out, "--fields NAME,...", CLI_FIELDS_HELP);
    }
    print_row(out, "--help", "Prints this help.");
}

/* Where the configuration is listed: each of its keys is a flag of the verb as well. */
static void print_config_line(FILE *out, const struct cli_verb *verb)
{
    if (verb->settings == CLI_SETTINGS_NONE)
        return;
    fprintf(out, "\nEvery configuration key is also a flag: `reeve config --keys%s` lists them.\n",
            verb->settings == CLI_SETTINGS_OF_CLI ? " cli" : "");
}

void cli_help_verb(FILE *out, const struct cli_noun *noun, const struct cli_verb *verb)
{
    print_examples(out, verb->examples);
    fputs("\n", out);
    print_synopsis(out, noun, verb);
    fputs("\n  ", out);
    print_wrapped(out, verb->summary, 2);
    print_flags(out, verb);
    print_config_line(out, verb);
}

void cli_help_noun(FILE *out, const struct cli_noun *noun)
{
    print_examples(out, noun->verbs[0].examples);
    fprintf(out, "\n%s: %s\n\nCommands:\n", noun->name, noun->summary);
    for (size_t i = 0; i < noun->verb_count; i++)
        print_verb_row(out, noun, &noun->verbs[i]);
    fprintf(out, "\n`reeve %s COMMAND --help` explains one of them.\n", noun->name);
}

void cli_print_exit_codes(FILE *out)
{
    fputs("0 success; 1 the answer is no; 64 command line; 65 input; 69 Kafka or a service does\n"
          "not answer; 70 internal; 77 not permitted; 78 configuration.\n",
          out);
}

void cli_help_all(FILE *out, const struct cli_noun *const nouns[])
{
    print_examples(out, "reeve dev examples/workflows/three-steps.yaml\n"
                        "reeve submit order.json\n"
                        "reeve help import");
    fputs("\nreeve carries orders through multi-step workflows on Kafka: each order is processed "
          "as a "
          "whole,\nor compensated, or it waits in Error for an operator.\n\nCommands:\n",
          out);
    for (size_t n = 0; nouns[n] != NULL; n++) {
        for (size_t i = 0; i < nouns[n]->verb_count; i++)
            print_verb_row(out, nouns[n], &nouns[n]->verbs[i]);
    }
    fputs("\nExit codes: ", out);
    cli_print_exit_codes(out);
    fputs("`reeve help COMMAND` explains one command, with examples.\n", out);
}

static void markdown_flags(FILE *out, const struct cli_verb *verb)
{
    for (const struct cli_flag *flag = verb->flags; flag != NULL && flag->name != NULL; flag++)
        fprintf(out, "- `--%s%s%s`: %s\n", flag->name, flag->value != NULL ? " " : "",
                flag->value != NULL ? flag->value : "", flag->doc);
    if (!verb->plain)
        fputs("- `--output FORMAT`: " CLI_OUTPUT_HELP "\n- `--fields NAME,...`: " CLI_FIELDS_HELP
              "\n",
              out);
}

/* All commands, for docs/. */
static void write_markdown(FILE *out, const struct cli_noun *const nouns[])
{
    for (size_t n = 0; nouns[n] != NULL; n++) {
        for (size_t i = 0; i < nouns[n]->verb_count; i++) {
            const struct cli_verb *verb = &nouns[n]->verbs[i];
            fputs("### `", out);
            print_synopsis(out, nouns[n], verb);
            fprintf(out, "`\n\n%s\n\n```sh\n%s\n```\n\n", verb->summary, verb->examples);
            markdown_flags(out, verb);
            fputs("\n", out);
        }
    }
}

/* ---- the command ---- */

static int run(struct cli *cli)
{
    if (cli_flag_given(cli, "markdown")) {
        write_markdown(cli->out, cli->nouns);
        return EXIT_CODE_OK;
    }
    const struct cli_noun *noun =
        cli->argument_count > 0 ? cli_find_noun(cli->nouns, cli->arguments[0]) : NULL;
    if (cli->argument_count > 0 && noun == NULL)
        return cli_usage(cli, "unknown command \"%.60s\": `reeve help` lists all",
                         cli->arguments[0]);
    if (cli_flag_given(cli, "man")) {
        cli_man(cli->out, cli->nouns, noun);
        return EXIT_CODE_OK;
    }
    if (noun == NULL) {
        cli_help_all(cli->out, cli->nouns);
        return EXIT_CODE_OK;
    }
    const char *name = cli->argument_count > 1 ? cli->arguments[1] : NULL;
    const struct cli_verb *verb = cli_find_verb(noun, name);
    if (verb == NULL && name != NULL)
        return cli_usage(cli, "unknown command \"%s %.60s\"", noun->name, name);
    if (verb == NULL)
        cli_help_noun(cli->out, noun);
    else
        cli_help_verb(cli->out, noun, verb);
    return EXIT_CODE_OK;
}

static const struct cli_flag flags[] = {
    {"markdown", NULL, "Prints all commands as Markdown."},
    {"man", NULL, "Prints the page for man(1) of the command, or of reeve itself."},
    {NULL, NULL, NULL},
};

static const struct cli_verb verbs[] = {
    {
        .arguments = "[COMMAND [VERB]]",
        .summary = "Lists all commands, or explains one.",
        .examples = "reeve help\nreeve help import\nreeve help workflow deploy",
        .flags = flags,
        .plain = true,
        .settings = CLI_SETTINGS_NONE,
        .of_commands = true,
        .run = run,
    },
};

const struct cli_noun cli_help = {"help", "Explains commands.", verbs,
                                  sizeof(verbs) / sizeof(verbs[0])};
