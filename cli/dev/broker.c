/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve broker`: the embedded broker in a process of its own, for trials without Kafka. */
#include "cli/cli.h"
#include "kafka/embedded/embedded.h"
#include "platform/files.h"
#include "platform/loop.h"

static void on_signal(struct loop *loop, int signal, void *userdata)
{
    (void)signal;
    (void)userdata;
    loop_stop(loop);
}

static void on_report(void *ctx, const char *line)
{
    struct cli *cli = ctx;
    fprintf(cli->err, "reeve: %s\n", line);
}

static enum error_class open_broker(struct cli *cli, struct embedded **ret_embedded,
                                    struct error *ret_error)
{
    int64_t port = 0;
    int64_t megabytes = 0;
    struct embedded_options options = {
        .directory = cli_flag_value(cli, "state"), .report = on_report, .ctx = cli};
    enum error_class class = cli_flag_int(cli, "port", 0, 0, UINT16_MAX, &port, ret_error);
    if (class == ERROR_OK)
        class = cli_flag_int(cli, "partition-mb", EMBEDDED_PARTITION_BYTES_MAX >> 20, 1, INT32_MAX,
                             &megabytes, ret_error);
    if (class == ERROR_OK && options.directory != NULL)
        class = files_make_dirs(options.directory, ret_error);
    options.port = (int)port;
    options.partition_bytes_max = (uint64_t)megabytes << 20;
    return class == ERROR_OK ? embedded_new(&options, ret_embedded, ret_error) : class;
}

static int run(struct cli *cli)
{
    struct error error;
    struct loop *loop = NULL;
    struct embedded *embedded = NULL;
    const char *file = cli_flag_value(cli, "bootstrap-file");
    enum error_class class = loop_new(clock_real(), &loop, &error);
    if (class == ERROR_OK)
        class = loop_on_signals(loop, on_signal, NULL, &error);
    if (class == ERROR_OK)
        class = open_broker(cli, &embedded, &error);
    if (class == ERROR_OK && file != NULL)
        class = files_write_atomic(file, text_of(embedded_bootstrap(embedded)), &error);
    if (class == ERROR_OK) {
        fprintf(cli->out, "%s\n", embedded_bootstrap(embedded));
        fflush(cli->out);
        loop_run(loop);
    }
    embedded_free(embedded);
    loop_free(loop);
    return class == ERROR_OK ? EXIT_CODE_OK : cli_fail(cli, &error);
}

static const struct cli_flag flags[] = {
    {"state", "DIR", "Keeps topics, records and offsets in DIR; without it they end with it."},
    {"port", "PORT", "Listens there if that port is free, else on any; any by default."},
    {"partition-mb", "N", "What a partition may hold before it accepts nothing more; 4096."},
    {"bootstrap-file", "FILE", "Writes the address of the broker to FILE once it listens."},
    {NULL, NULL, NULL}};

static const struct cli_verb verbs[] = {
    {.summary = "Runs the embedded broker until SIGTERM: one node on 127.0.0.1, for trials only.",
     .examples = "reeve broker --port 9092\n"
                 "# its topics and its clients, as on any Kafka\n"
                 "reeve topics apply --kafka-bootstrap-servers 127.0.0.1:9092 --agent stock\n"
                 "reeve run scheduler --kafka-bootstrap-servers 127.0.0.1:9092\n",
     .flags = flags,
     .plain = true,
     .run = run}};

const struct cli_noun cli_broker = {
    .name = "broker", .summary = "The embedded broker.", .verbs = verbs, .verb_count = 1};
