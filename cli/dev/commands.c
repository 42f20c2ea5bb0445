/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve dev env`, `reeve dev agent` and `reeve dev app`: next to a `reeve dev` that runs. */
#include "cli/dev/dev_internal.h"
#include "cli/output.h"
#include "platform/files.h"

#include <stdlib.h>
#include <unistd.h>

/* Of the running one; NULL: none runs, which was said. New. */
static char *find_running(struct cli *cli)
{
    int lock = -1;
    const char *folder = dev_state_folder(cli);
    char *path = realpath(folder, NULL);
    bool runs = path != NULL && files_lock(path, &lock, NULL) != ERROR_OK;
    files_unlock(lock);
    if (runs)
        return path;
    free(path);
    cli_report(cli, CODE_NOT_RUNNING,
               "no `reeve dev` runs with its state in %s: start one in this folder, or name its "
               "folder with --data-dir",
               folder);
    return NULL;
}

int dev_env(struct cli *cli)
{
    char path[PATH_MAX + 32];
    char *folder = find_running(cli);
    if (folder == NULL)
        return EXIT_CODE_UNAVAILABLE;
    snprintf(path, sizeof(path), "%s/client.properties", folder);
    fputs("export " CLI_CLIENT_CONFIG "=", cli->out);
    output_quoted(cli->out, path);
    fputc('\n', cli->out);
    free(folder);
    return EXIT_CODE_OK;
}

static int keep(struct cli *cli, const char *kind, const char *name, const char *value)
{
    struct error error = {0};
    char *folder = find_running(cli);
    if (folder == NULL)
        return EXIT_CODE_UNAVAILABLE;
    enum error_class class = dev_keep(folder, kind, name, value, &error);
    free(folder);
    return class == ERROR_OK ? EXIT_CODE_OK : cli_fail(cli, &error);
}

int dev_add_agent(struct cli *cli)
{
    struct error error = {0};
    struct dev *dev = calloc(1, sizeof(*dev));
    dev->cli = cli;
    int code = dev_take_agent(dev, cli->arguments[0], &error) == ERROR_OK
                   ? keep(cli, "agents", dev->agents[0].name, dev->agents[0].url)
                   : cli_fail(cli, &error);
    free(dev);
    return code;
}

int dev_add_app(struct cli *cli)
{
    struct error error = {0};
    struct dev *dev = calloc(1, sizeof(*dev));
    dev->cli = cli;
    int code = dev_take_app(dev, cli->arguments[0], &error) == ERROR_OK
                   ? keep(cli, "apps", dev->apps[0], "")
                   : cli_fail(cli, &error);
    free(dev);
    return code;
}
