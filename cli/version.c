/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve version`: the version of this binary, and the schemas of the records that it writes. */
#include "cli/cli.h"
#include "cli/output.h"
#include "schemas/avro/codec.h"

#include <inttypes.h>

#ifndef REEVE_VERSION
#define REEVE_VERSION "unknown"
#endif

static const struct output_column schema_columns[] = {
    {"RECORD", "record", output_value, false},
    {"FINGERPRINT", "fingerprint", output_value, false},
    {0},
};

static int run_schemas(struct cli *cli)
{
    struct codec *codec = codec_new();
    struct output *out = output_new(cli, schema_columns);
    for (int kind = 1; kind < RECORD_KIND_COUNT; kind++) {
        char fingerprint[17];
        snprintf(fingerprint, sizeof(fingerprint), "%016" PRIx64,
                 codec_fingerprint(codec, (enum record_kind)kind));
        output_row(out, json_pack("{s:s, s:s}", "record", record_kind_name((enum record_kind)kind),
                                  "fingerprint", fingerprint));
    }
    codec_free(codec);
    return output_finish(out, EXIT_CODE_OK);
}

static int run(struct cli *cli)
{
    if (cli_flag_given(cli, "schemas"))
        return run_schemas(cli);
    if (cli->output == CLI_OUTPUT_TABLE) {
        fprintf(cli->out, "reeve %s\n", REEVE_VERSION);
        return EXIT_CODE_OK;
    }
    return output_one(cli, NULL,
                      json_pack("{s:s, s:s}", "name", "reeve", "version", REEVE_VERSION));
}

static const struct cli_flag flags[] = {
    {"schemas", NULL,
     "Lists the records that this version writes, with the fingerprints of their schemas."},
    {NULL, NULL, NULL},
};

static const struct cli_verb verbs[] = {
    {
        .summary = "Shows the version.",
        .examples = "reeve version\nreeve version --schemas --output json",
        .flags = flags,
        .settings = CLI_SETTINGS_NONE,
        .run = run,
    },
};

const struct cli_noun cli_version = {"version", "The version.", verbs,
                                     sizeof(verbs) / sizeof(verbs[0])};
