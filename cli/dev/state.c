/* SPDX-License-Identifier: Apache-2.0 */
/* The folder of `reeve dev`, as dev_internal.h describes it. */
#include "cli/dev/dev_internal.h"
#include "platform/files.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

const char *dev_state_folder(const struct cli *cli)
{
    const char *set = config_string(cli->config, "data.dir");
    return *set != '\0' ? set : DEV_FOLDER;
}

static bool is_empty(const char *path)
{
    bool empty = true;
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder != NULL && empty && (entry = readdir(folder)) != NULL;)
        empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
                strcmp(entry->d_name, "lock") == 0;
    if (folder != NULL)
        closedir(folder);
    return empty;
}

static enum error_class lock(struct dev *dev, struct error *ret_error)
{
    struct error why = {0};
    enum error_class class = files_lock(dev->directory, &dev->lock, &why);
    if (class != ERROR_OK && why.code == CODE_DIRECTORY_IN_USE)
        return error_wrap(ret_error, &why,
                          "reeve dev runs already: %.400s; `reeve dev env` reaches it",
                          why.message);
    if (class != ERROR_OK)
        *ret_error = why;
    return class;
}

/* Never deletes what another program has made. */
static enum error_class start_fresh(struct dev *dev, struct error *ret_error)
{
    char mark[PATH_MAX + 32];
    snprintf(mark, sizeof(mark), "%s/" DEV_MARK, dev->directory);
    if (!files_exists(mark) && !is_empty(dev->directory))
        return error_set(ret_error, CODE_USAGE,
                         "--fresh deletes only what reeve dev has made, and %.300s is something "
                         "else: name another folder with --data-dir",
                         dev->directory);
    enum error_class class = files_remove_tree(dev->directory, ret_error);
    files_unlock(dev->lock);
    dev->lock = -1;
    if (class == ERROR_OK)
        class = files_make_dirs(dev->directory, ret_error);
    return class == ERROR_OK ? lock(dev, ret_error) : class;
}

static enum error_class open_temporary(struct dev *dev, struct error *ret_error)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(dev->directory, sizeof(dev->directory), "%s/reeve-dev-XXXXXX",
             tmp != NULL && *tmp != '\0' ? tmp : "/tmp");
    if (mkdtemp(dev->directory) == NULL)
        return error_set(ret_error, CODE_NO_DIRECTORY, "cannot make %.200s: %s", dev->directory,
                         strerror(errno));
    dev->directory_is_temporary = true;
    return ERROR_OK;
}

static enum error_class mark(const struct dev *dev, struct error *ret_error)
{
    char path[PATH_MAX + 32];
    snprintf(path, sizeof(path), "%s/" DEV_MARK, dev->directory);
    return files_exists(path)
               ? ERROR_OK
               : files_write_atomic(
                     path, TEXT("The state of `reeve dev`, which --fresh deletes.\n"), ret_error);
}

enum error_class dev_open_state(struct dev *dev, struct error *ret_error)
{
    if (cli_flag_given(dev->cli, "in-memory"))
        return open_temporary(dev, ret_error);
    snprintf(dev->directory, sizeof(dev->directory), "%s", dev_state_folder(dev->cli));
    enum error_class class = files_make_dirs(dev->directory, ret_error);
    if (class == ERROR_OK)
        class = lock(dev, ret_error);
    if (class == ERROR_OK && cli_flag_given(dev->cli, "fresh"))
        class = start_fresh(dev, ret_error);
    return class == ERROR_OK ? mark(dev, ret_error) : class;
}

void dev_close_state(struct dev *dev)
{
    files_unlock(dev->lock);
    if (dev->directory_is_temporary)
        files_remove_tree(dev->directory, NULL);
}

/* ---- what is added while it runs ---- */

enum error_class dev_keep(const char *folder, const char *kind, const char *name, const char *value,
                          struct error *ret_error)
{
    char path[PATH_MAX + 2 * NAME_BYTES_MAX];
    snprintf(path, sizeof(path), "%s/%s", folder, kind);
    enum error_class class = files_make_dirs(path, ret_error);
    snprintf(path, sizeof(path), "%s/%s/%s", folder, kind, name);
    return class == ERROR_OK ? files_write_atomic(path, text_of(value), ret_error) : class;
}

typedef enum error_class (*take_kept)(struct dev *dev, const char *name, const char *value,
                                      bool *ret_added, struct error *ret_error);

static enum error_class take_kept_agent(struct dev *dev, const char *name, const char *value,
                                        bool *ret_added, struct error *ret_error)
{
    char pair[NAME_BYTES_MAX + URL_SIZE + 2];
    const struct dev_agent *agent = dev_find_agent(dev, text_of(name));
    if (agent != NULL && strcmp(agent->url, value) == 0)
        return ERROR_OK;
    if (agent != NULL && agent->given && !dev->announced)
        return dev_keep(dev->directory, "agents", name, agent->url, ret_error);
    snprintf(pair, sizeof(pair), "%.64s=%.1023s", name, value);
    *ret_added = true;
    return dev_take_agent(dev, pair, ret_error);
}

static enum error_class take_kept_app(struct dev *dev, const char *name, const char *value,
                                      bool *ret_added, struct error *ret_error)
{
    (void)value;
    for (size_t i = 0; i < dev->app_count; i++) {
        if (strcmp(dev->apps[i], name) == 0)
            return ERROR_OK;
    }
    *ret_added = true;
    return dev_take_app(dev, name, ret_error);
}

static enum error_class take_file(struct dev *dev, const char *kind, const char *name,
                                  take_kept take, bool *ret_added, struct error *ret_error)
{
    char path[PATH_MAX + 2 * NAME_MAX];
    char *value = NULL;
    size_t size = 0;
    if (!name_valid_new(text_of(name)))
        return ERROR_OK; /* a temporary file */
    snprintf(path, sizeof(path), "%s/%s/%s", dev->directory, kind, name);
    if (files_read(path, URL_SIZE - 1, &value, &size, NULL) != ERROR_OK)
        return ERROR_OK; /* it is gone again */
    enum error_class class = take(dev, name, value, ret_added, ret_error);
    free(value);
    return class;
}

static enum error_class take_all(struct dev *dev, const char *kind, take_kept take, bool *ret_added,
                                 struct error *ret_error)
{
    char path[PATH_MAX + 32];
    enum error_class class = ERROR_OK;
    snprintf(path, sizeof(path), "%s/%s", dev->directory, kind);
    DIR *folder = opendir(path);
    for (struct dirent *entry;
         folder != NULL && class == ERROR_OK && (entry = readdir(folder)) != NULL;)
        class = take_file(dev, kind, entry->d_name, take, ret_added, ret_error);
    if (folder != NULL)
        closedir(folder);
    return class;
}

enum error_class dev_take_kept(struct dev *dev, bool *ret_added, struct error *ret_error)
{
    enum error_class class = take_all(dev, "agents", take_kept_agent, ret_added, ret_error);
    return class == ERROR_OK ? take_all(dev, "apps", take_kept_app, ret_added, ret_error) : class;
}
