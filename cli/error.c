/* SPDX-License-Identifier: Apache-2.0 */
/* How a command reports an error: see cli.h. */
#include "cli/output.h"

#include <stdarg.h>
#include <string.h>

enum { MESSAGE_SIZE = 1024 };

static bool reports_objects(const struct cli *cli)
{
    return cli->output == CLI_OUTPUT_JSON || cli->output == CLI_OUTPUT_JSONL ||
           cli->output == CLI_OUTPUT_YAML;
}

/* `kind` is "error" or "warning". */
static void print(const struct cli *cli, const char *kind, const char *code, const char *message)
{
    if (!reports_objects(cli)) {
        bool warning = strcmp(kind, "warning") == 0;
        fputs(warning ? "reeve: warning: " : "reeve: ", cli->err);
        output_text(cli->err, message, 0);
        fputc('\n', cli->err);
        return;
    }
    json_t *text = json_string(message);
    /* A message that quotes bytes which are not UTF-8. */
    if (text == NULL)
        text = json_string("the message is not UTF-8");
    json_t *object = json_pack("{s:{s:s, s:o}}", kind, "code", code, "detail", text);
    json_dumpf(object, cli->err, JSON_ENSURE_ASCII | JSON_COMPACT);
    fputc('\n', cli->err);
    json_decref(object);
}

static void print_formatted(const struct cli *cli, const char *kind, const char *code,
                            const char *format, va_list args)
{
    char message[MESSAGE_SIZE];
    vsnprintf(message, sizeof(message), format, args);
    print(cli, kind, code, message);
}

int cli_fail(const struct cli *cli, const struct error *error)
{
    print(cli, "error", error_name_of(error), error->message);
    if (error->code == CODE_USAGE)
        return EXIT_CODE_USAGE;
    return exit_code_of(error);
}

int cli_usage(const struct cli *cli, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print_formatted(cli, "error", error_code_name(CODE_USAGE), format, args);
    va_end(args);
    if (reports_objects(cli))
        return EXIT_CODE_USAGE;
    bool has_verb = cli->verb != NULL && cli->verb->name != NULL;
    fprintf(cli->err, "Try: reeve%s%s%s%s --help\n", cli->noun != NULL ? " " : "",
            cli->noun != NULL ? cli->noun->name : "", has_verb ? " " : "",
            has_verb ? cli->verb->name : "");
    return EXIT_CODE_USAGE;
}

void cli_report(const struct cli *cli, enum error_code code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print_formatted(cli, "error", error_code_name(code), format, args);
    va_end(args);
}

void cli_report_named(const struct cli *cli, const char *code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print_formatted(cli, "error", code, format, args);
    va_end(args);
}

void cli_warn(const struct cli *cli, enum error_code code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print_formatted(cli, "warning", error_code_name(code), format, args);
    va_end(args);
}
