/* SPDX-License-Identifier: Apache-2.0 */
/* Files and directories. See files.h. */
#include "platform/files.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { TREE_DEPTH_MAX = 64, LOCK_TEXT_SIZE = 32 };

static enum error_class fail(struct error *ret_error, const char *what, const char *path)
{
    int code = errno;
    return error_set(ret_error, CODE_FILE_SYSTEM, "cannot %s %s: %s", what, path, strerror(code));
}

bool files_exists(const char *path)
{
    struct stat info;
    return lstat(path, &info) == 0;
}

static enum error_class make_dir(const char *path, struct error *ret_error)
{
    struct stat info;
    if (mkdir(path, 0750) == 0)
        return ERROR_OK;
    if (errno != EEXIST)
        return fail(ret_error, "create directory", path);
    if (stat(path, &info) != 0)
        return fail(ret_error, "read", path);
    if (S_ISDIR(info.st_mode))
        return ERROR_OK;
    errno = ENOTDIR;
    return fail(ret_error, "create directory", path);
}

enum error_class files_make_dirs(const char *path, struct error *ret_error)
{
    char copy[PATH_MAX];
    size_t size = strlen(path);
    if (size == 0 || size >= sizeof(copy)) {
        errno = size == 0 ? ENOENT : ENAMETOOLONG;
        return fail(ret_error, "create directory", path);
    }
    memcpy(copy, path, size + 1);
    for (char *at = copy + 1; *at != '\0'; at++) {
        if (*at != '/')
            continue;
        *at = '\0';
        enum error_class class = make_dir(copy, ret_error);
        *at = '/';
        if (class != ERROR_OK)
            return class;
    }
    return make_dir(copy, ret_error);
}

/* ---- removing ---- */

static int remove_entries(int dir_fd, int depth);

/* 0 or an errno. */
static int remove_entry(int dir_fd, const char *name, int depth)
{
    if (unlinkat(dir_fd, name, 0) == 0 || errno == ENOENT)
        return 0;
    if (errno != EISDIR && errno != EPERM)
        return errno;
    int child = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (child < 0)
        return errno;
    int rc = remove_entries(child, depth + 1);
    if (rc == 0 && unlinkat(dir_fd, name, AT_REMOVEDIR) != 0)
        rc = errno;
    return rc;
}

/* Steals dir_fd. 0 or an errno. */
static int remove_entries(int dir_fd, int depth)
{
    DIR *dir = depth < TREE_DEPTH_MAX ? fdopendir(dir_fd) : NULL;
    if (dir == NULL) {
        int rc = depth < TREE_DEPTH_MAX ? errno : ELOOP;
        close(dir_fd);
        return rc;
    }
    int rc = 0;
    struct dirent *entry;
    while (rc == 0 && (errno = 0, entry = readdir(dir)) != NULL) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            rc = remove_entry(dirfd(dir), entry->d_name, depth);
    }
    if (rc == 0)
        rc = errno;
    closedir(dir);
    return rc;
}

enum error_class files_remove_tree(const char *path, struct error *ret_error)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return ERROR_OK;
    if (fd < 0)
        return fail(ret_error, "remove", path);
    int rc = remove_entries(fd, 0);
    if (rc == 0 && rmdir(path) != 0)
        rc = errno;
    errno = rc;
    return rc == 0 ? ERROR_OK : fail(ret_error, "remove", path);
}

uint64_t files_tree_bytes(const char *path)
{
    char *const paths[] = {(char *)(uintptr_t)path, NULL};
    FTS *tree = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    uint64_t bytes = 0;
    for (const FTSENT *entry; tree != NULL && (entry = fts_read(tree)) != NULL;) {
        if (entry->fts_info == FTS_F)
            bytes += (uint64_t)entry->fts_statp->st_size;
    }
    if (tree != NULL)
        fts_close(tree);
    return bytes;
}

/* ---- reading and writing ---- */

static bool write_all(int fd, struct text content)
{
    size_t written = 0;
    while (written < content.size) {
        ssize_t count = write(fd, content.data + written, content.size - written);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return false;
        written += (size_t)count;
    }
    return true;
}

/* Best effort: after a power failure the old content may be back, but never a part of the new. */
static void sync_directory_of(const char *path)
{
    char copy[PATH_MAX];
    const char *slash = strrchr(path, '/');
    size_t size = slash != NULL ? (size_t)(slash - path) : 0;
    if (size >= sizeof(copy))
        return;
    memcpy(copy, path, size);
    copy[size] = '\0';
    const char *directory = slash == NULL ? "." : size == 0 ? "/" : copy;
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
}

/* The owner first: a change of it takes bits of the mode away. NULL: the present user's. */
static bool own(int fd, const struct files_owner *owner)
{
    if (owner == NULL)
        return fchmod(fd, 0640) == 0;
    return fchown(fd, owner->user, owner->group) == 0 && fchmod(fd, owner->mode) == 0;
}

enum error_class files_write_atomic_for(const char *path, struct text content,
                                        const struct files_owner *owner, struct error *ret_error)
{
    char temporary[PATH_MAX];
    int size = snprintf(temporary, sizeof(temporary), "%s.XXXXXX", path);
    if (size < 0 || (size_t)size >= sizeof(temporary)) {
        errno = ENAMETOOLONG;
        return fail(ret_error, "write", path);
    }
    int fd = mkostemp(temporary, O_CLOEXEC);
    if (fd < 0)
        return fail(ret_error, "write", path);
    bool written = own(fd, owner) && write_all(fd, content) && fsync(fd) == 0;
    int code = errno;
    if (close(fd) != 0 && written) {
        written = false;
        code = errno;
    }
    if (written && rename(temporary, path) != 0) {
        written = false;
        code = errno;
    }
    if (!written) {
        unlink(temporary);
        errno = code;
        return fail(ret_error, "write", path);
    }
    sync_directory_of(path);
    return ERROR_OK;
}

enum error_class files_write_atomic(const char *path, struct text content, struct error *ret_error)
{
    return files_write_atomic_for(path, content, NULL, ret_error);
}

/* The whole of `fd`, at most `limit` bytes. NULL with errno (EFBIG = longer). Reads pipes
 * and the files of /proc, whose size is 0. */
static char *read_all(int fd, size_t limit, size_t *ret_size)
{
    size_t capacity = 4096;
    size_t size = 0;
    char *content = malloc(capacity);
    assert(content != NULL);
    for (;;) {
        ssize_t count = read(fd, content + size, capacity - size - 1);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0 || size + (size_t)count > limit) {
            errno = count < 0 ? errno : EFBIG;
            free(content);
            return NULL;
        }
        if (count == 0)
            break;
        size += (size_t)count;
        if (capacity - size < 2) {
            capacity *= 2;
            content = realloc(content, capacity);
            assert(content != NULL);
        }
    }
    content[size] = '\0';
    *ret_size = size;
    return content;
}

/* Closes `fd`. */
static enum error_class read_and_close(int fd, const char *path, size_t limit, char **ret_content,
                                       size_t *ret_size, struct error *ret_error)
{
    size_t size = 0;
    char *content = read_all(fd, limit, &size);
    int code = errno;
    close(fd);
    errno = code;
    if (content == NULL && code == EFBIG)
        return error_set(ret_error, CODE_FILE_SYSTEM, "cannot read %s: the limit is %zu bytes",
                         path, limit);
    if (content == NULL)
        return fail(ret_error, "read", path);
    *ret_content = content;
    *ret_size = size;
    return ERROR_OK;
}

enum error_class files_read(const char *path, size_t limit, char **ret_content, size_t *ret_size,
                            struct error *ret_error)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return fail(ret_error, "read", path);
    return read_and_close(fd, path, limit, ret_content, ret_size, ret_error);
}

static const char *not_plain(const struct stat *info)
{
    if (!S_ISREG(info->st_mode))
        return "is not a file";
    return info->st_nlink > 1 ? "has another name: it is one of several hard links" : NULL;
}

enum error_class files_read_owned(const char *path, bool plain, size_t limit, char **ret_content,
                                  size_t *ret_size, struct files_owner *ret_owner,
                                  struct error *ret_error)
{
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | (plain ? O_NOFOLLOW : 0));
    if (fd < 0 && plain && errno == ELOOP)
        return error_set(ret_error, CODE_FILE_SYSTEM, "%s is a symbolic link: name the file itself",
                         path);
    if (fd < 0)
        return fail(ret_error, "read", path);
    int rc = fstat(fd, &info);
    const char *wrong = rc == 0 && plain ? not_plain(&info) : NULL;
    if (rc != 0 || wrong != NULL) {
        int code = errno;
        close(fd);
        errno = code;
        return wrong == NULL ? fail(ret_error, "read", path)
                             : error_set(ret_error, CODE_FILE_SYSTEM, "%s %s", path, wrong);
    }
    *ret_owner = (struct files_owner){info.st_uid, info.st_gid, info.st_mode & 07777};
    return read_and_close(fd, path, limit, ret_content, ret_size, ret_error);
}

bool files_changed(const char *path, struct files_version *seen)
{
    struct stat info;
    struct files_version now = {0};
    if (stat(path, &info) == 0)
        now = (struct files_version){.inode = info.st_ino,
                                     .size = info.st_size,
                                     .changed_ns = info.st_ctim.tv_sec * INT64_C(1000000000) +
                                                   info.st_ctim.tv_nsec};
    bool changed =
        now.inode != seen->inode || now.size != seen->size || now.changed_ns != seen->changed_ns;
    *seen = now;
    return changed;
}

enum error_class files_free_bytes(const char *path, int64_t *ret_bytes, struct error *ret_error)
{
    struct statvfs info;
    if (statvfs(path, &info) != 0)
        return fail(ret_error, "read the free space of", path);
    uint64_t bytes = 0;
    if (__builtin_mul_overflow((uint64_t)info.f_bavail, (uint64_t)info.f_frsize, &bytes) ||
        bytes > INT64_MAX)
        bytes = INT64_MAX;
    *ret_bytes = (int64_t)bytes;
    return ERROR_OK;
}

/* ---- the lock of a data directory ---- */

static enum error_class in_use(int fd, const char *directory, struct error *ret_error)
{
    char holder[LOCK_TEXT_SIZE] = "";
    ssize_t size = pread(fd, holder, sizeof(holder) - 1, 0);
    holder[size > 0 ? size : 0] = '\0';
    holder[strcspn(holder, "\n")] = '\0';
    return error_set(
        ret_error, CODE_DIRECTORY_IN_USE,
        "%s is in use by another process (pid %s): stop it or choose another directory", directory,
        holder[0] != '\0' ? holder : "unknown");
}

enum error_class files_lock(const char *directory, int *ret_lock, struct error *ret_error)
{
    char path[PATH_MAX];
    char pid[LOCK_TEXT_SIZE];
    int size = snprintf(path, sizeof(path), "%s/lock", directory);
    if (size < 0 || (size_t)size >= sizeof(path)) {
        errno = ENAMETOOLONG;
        return fail(ret_error, "lock", directory);
    }
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640);
    if (fd < 0)
        return fail(ret_error, "open", path);
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        enum error_class class =
            errno == EWOULDBLOCK ? in_use(fd, directory, ret_error) : fail(ret_error, "lock", path);
        close(fd);
        return class;
    }
    int pid_size = snprintf(pid, sizeof(pid), "%ld\n", (long)getpid());
    /* Written before it is cut: the first line is a pid at any time, the old one or the new one. */
    if (pwrite(fd, pid, (size_t)pid_size, 0) != pid_size || ftruncate(fd, pid_size) != 0) {
        /* The lock holds without its text, which is for operators only. */
        errno = 0;
    }
    *ret_lock = fd;
    return ERROR_OK;
}

void files_unlock(int lock)
{
    /* The file stays: removing it would let two processes lock two files of the same name. */
    if (lock >= 0)
        close(lock);
}
