/* SPDX-License-Identifier: Apache-2.0 */
/* The folder of `reeve dev`. It belongs to the process that has its lock.
 *
 *     lock               the pid of the process that runs on it
 *     reeve-dev          its mark: which broker and which prefix of topics it is about
 *     client.properties  for clients; written when everything is ready
 *     broker/            the embedded broker's topics and records
 *     kafka/             those of a real one (kafka.c)
 *     services           where the console finds the others
 *     agents/            a file for each agent that was added (agents.c)
 *     NAME/              of each service: its stores, its log, its port */
#include "cli/dev/dev_internal.h"

#include "base/numbers.h"
#include "replica/service/settings.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#define MARK "reeve-dev"
#define LOCK "lock"
#define CLIENT "client.properties"

enum { MARK_BYTES_MAX = 4096, PATH_SIZE = PATH_MAX + NAME_MAX + 2 };

const char *dev_state_directory(const struct cli *cli)
{
    const char *set = config_string(cli->config, "data.dir");
    return *set != '\0' ? set : DEV_DIRECTORY;
}

static enum error_class cannot(const char *what, const char *path, struct error *ret_error)
{
    return error_set(ret_error, CODE_NO_DIRECTORY, "cannot %s %.200s: %s", what, path,
                     strerror(errno));
}

/* ---- whose it is ---- */

static long read_pid(const char *directory)
{
    char path[PATH_SIZE];
    char *content = NULL;
    size_t size;
    int64_t pid = 0;
    snprintf(path, sizeof(path), "%s/" LOCK, directory);
    if (files_read(path, 32, &content, &size, NULL) != ERROR_OK)
        return 0;
    number_parse((struct text){content, (uint32_t)strcspn(content, "\n")}, 1, INT32_MAX, &pid);
    free(content);
    return (long)pid;
}

/* Takes the lock for a moment, shared: a `reeve dev` that starts at that moment is refused. */
bool dev_state_is_used(const char *directory, long *ret_pid)
{
    char path[PATH_SIZE];
    snprintf(path, sizeof(path), "%s/" LOCK, directory);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return false;
    bool used = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    close(fd);
    *ret_pid = used ? read_pid(directory) : 0;
    return used;
}

static enum error_class lock(struct dev *dev, struct error *ret_error)
{
    struct error error;
    char who[32] = "";
    if (files_lock(dev->directory, &dev->lock, &error) == ERROR_OK)
        return ERROR_OK;
    dev->lock = -1;
    long pid = read_pid(dev->directory);
    if (pid != 0)
        snprintf(who, sizeof(who), " (pid %ld)", pid);
    if (error.code == CODE_DIRECTORY_IN_USE)
        return error_set(ret_error, CODE_DIRECTORY_IN_USE,
                         "`reeve dev` runs already on %.200s%s: stop it, or name another folder "
                         "with --data-dir",
                         dev->directory, who);
    *ret_error = error;
    return error.class;
}

/* What a folder has that may be taken: nothing, the lock, and what a file system has of its own. */
static bool is_of_any_folder(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || strcmp(name, LOCK) == 0 ||
           strcmp(name, "lost+found") == 0;
}

static enum error_class is_foreign(const char *directory, bool *ret_foreign,
                                   struct error *ret_error)
{
    bool marked = false;
    size_t others = 0;
    const struct dirent *entry;
    DIR *dir = opendir(directory);
    if (dir == NULL)
        return cannot("read", directory, ret_error);
    while ((entry = readdir(dir)) != NULL) {
        marked = marked || strcmp(entry->d_name, MARK) == 0;
        others += !is_of_any_folder(entry->d_name);
    }
    closedir(dir);
    *ret_foreign = !marked && others > 0;
    return ERROR_OK;
}

static enum error_class refuse_foreign(const char *directory, struct error *ret_error)
{
    bool foreign = false;
    enum error_class class = is_foreign(directory, &foreign, ret_error);
    return class == ERROR_OK && foreign
               ? error_set(ret_error, CODE_CONFIG,
                           "%.200s holds files that are not of `reeve dev`: name an empty or a new "
                           "folder with --data-dir",
                           directory)
               : class;
}

/* ---- what it is about ---- */

static void write_mark(const struct dev *dev, char ret_mark[MARK_BYTES_MAX])
{
    const struct config *config = dev->cli->config;
    const char *broker = config_is_set(config, "kafka.bootstrap.servers")
                             ? config_string(config, "kafka.bootstrap.servers")
                         : dev->kafka != NULL ? "kafka"
                                              : "embedded";
    snprintf(ret_mark, MARK_BYTES_MAX, "%s %s\n", broker, dev->topics.prefix);
}

/* The stores hold one log: with another one they would have to be folded again. */
static enum error_class check_mark(const struct dev *dev, struct error *ret_error)
{
    char path[PATH_SIZE], mark[MARK_BYTES_MAX];
    char *content = NULL;
    size_t size;
    write_mark(dev, mark);
    snprintf(path, sizeof(path), "%s/" MARK, dev->directory);
    if (!files_exists(path))
        return files_write_atomic(path, text_of(mark), ret_error);
    enum error_class class = files_read(path, MARK_BYTES_MAX, &content, &size, ret_error);
    if (class != ERROR_OK)
        return class;
    if (strcmp(content, mark) != 0)
        class = error_set(ret_error, CODE_CONFIG,
                          "%.200s is of another broker or prefix of topics (%.*s), not of (%.*s): "
                          "name another folder with --data-dir, or empty it with --fresh",
                          dev->directory, (int)strcspn(content, "\n"), content,
                          (int)strcspn(mark, "\n"), mark);
    free(content);
    return class;
}

/* All but the lock and, until the rest is gone, the mark: what an interrupted call leaves is still
 * ours. */
static enum error_class empty(const struct dev *dev, struct error *ret_error)
{
    char path[PATH_SIZE];
    const struct dirent *entry;
    enum error_class class = ERROR_OK;
    DIR *dir = opendir(dev->directory);
    if (dir == NULL)
        return cannot("read", dev->directory, ret_error);
    while (class == ERROR_OK && (entry = readdir(dir)) != NULL) {
        if (is_of_any_folder(entry->d_name) || strcmp(entry->d_name, MARK) == 0)
            continue;
        snprintf(path, sizeof(path), "%s/%s", dev->directory, entry->d_name);
        if (unlink(path) == 0 || errno == ENOENT)
            continue;
        class = errno == EISDIR || errno == EPERM ? files_remove_tree(path, ret_error)
                                                  : cannot("remove", path, ret_error);
    }
    closedir(dir);
    snprintf(path, sizeof(path), "%s/" MARK, dev->directory);
    if (class == ERROR_OK && unlink(path) != 0 && errno != ENOENT)
        class = cannot("remove", path, ret_error);
    return class;
}

/* The port at which clients found the broker last. The file is removed, since it is not
 * true any more. */
static void take_client_config(struct dev *dev)
{
    char path[PATH_SIZE];
    struct error error;
    int64_t port = 0;
    struct config *config = config_new(&settings_schema);
    snprintf(path, sizeof(path), "%s/" CLIENT, dev->directory);
    if (files_exists(path) && config_load_file(config, path, &error) == ERROR_OK) {
        const char *colon = strrchr(config_text(config, "kafka.bootstrap.servers"), ':');
        if (colon != NULL)
            number_parse(text_of(colon + 1), 1, UINT16_MAX, &port);
    }
    config_free(config);
    unlink(path);
    dev->last_broker_port = (int)port;
}

/* ---- opening ---- */

static enum error_class make_temporary(struct dev *dev, struct error *ret_error)
{
    const char *tmp = getenv("TMPDIR");
    if (config_is_set(dev->cli->config, "data.dir"))
        return error_set(ret_error, CODE_USAGE,
                         "--in-memory keeps nothing: leave out data.dir (%.100s)",
                         config_origin(dev->cli->config, "data.dir"));
    snprintf(dev->directory, sizeof(dev->directory), "%s/reeve-dev-XXXXXX",
             tmp != NULL && *tmp != '\0' ? tmp : "/tmp");
    if (mkdtemp(dev->directory) == NULL)
        return cannot("make", dev->directory, ret_error);
    dev->directory_is_temporary = true;
    return ERROR_OK;
}

static enum error_class make_directory(struct dev *dev, struct error *ret_error)
{
    if (cli_flag_given(dev->cli, "in-memory"))
        return make_temporary(dev, ret_error);
    int size =
        snprintf(dev->directory, sizeof(dev->directory), "%s", dev_state_directory(dev->cli));
    if (size >= (int)sizeof(dev->directory))
        return error_set(ret_error, CODE_CONFIG, "data.dir is longer than %d bytes", PATH_MAX);
    return files_make_dirs(dev->directory, ret_error);
}

enum error_class dev_open_state(struct dev *dev, struct error *ret_error)
{
    enum error_class class = make_directory(dev, ret_error);
    if (class == ERROR_OK)
        class = refuse_foreign(dev->directory, ret_error);
    if (class == ERROR_OK)
        class = lock(dev, ret_error);
    if (class == ERROR_OK && cli_flag_given(dev->cli, "fresh"))
        class = empty(dev, ret_error);
    if (class == ERROR_OK)
        class = check_mark(dev, ret_error);
    if (class == ERROR_OK)
        take_client_config(dev);
    return class;
}

void dev_close_state(struct dev *dev)
{
    if (dev->directory_is_temporary)
        files_remove_tree(dev->directory, NULL);
    files_unlock(dev->lock);
}
