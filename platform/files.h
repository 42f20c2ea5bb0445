/* SPDX-License-Identifier: Apache-2.0 */
/* Files and directories. Error messages name the path and the system's reason. */
#ifndef PLATFORM_FILES_H
#define PLATFORM_FILES_H

#include "base/error.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* As mkdir -p with mode 0750; an existing directory is not an error. */
enum error_class files_make_dirs(const char *path, struct error *ret_error);
/* As rm -rf of a directory, never following a symbolic link: it removes links inside, and
 * `path` itself must not be one. A path that does not exist is not an error. */
enum error_class files_remove_tree(const char *path, struct error *ret_error);
/* What all files below a directory hold together. Links are not followed; what cannot be read, or
 * is gone meanwhile, holds nothing. */
uint64_t files_tree_bytes(const char *path);
/* Readers see the old content or the new, never a part: temporary file, fsync, rename, fsync of
 * the directory. Mode 0640. */
enum error_class files_write_atomic(const char *path, struct text content, struct error *ret_error);
/* The owner of a file, and its permissions. */
struct files_owner {
    uint32_t user;
    uint32_t group;
    uint32_t mode; /* the permissions */
};

/* The same with an owner, which the file has before anyone can find it under its name. */
enum error_class files_write_atomic_for(const char *path, struct text content,
                                        const struct files_owner *owner, struct error *ret_error);
/* New, malloc'ed, with a NUL after its end that *ret_size does not count. A file larger than
 * `limit` bytes is an error. */
enum error_class files_read(const char *path, size_t limit, char **ret_content, size_t *ret_size,
                            struct error *ret_error);
/* Also says who has it. With `plain`, the file must be a regular one without another name: neither
 * a symbolic link nor one of several hard links. */
enum error_class files_read_owned(const char *path, bool plain, size_t limit, char **ret_content,
                                  size_t *ret_size, struct files_owner *ret_owner,
                                  struct error *ret_error);
/* Bytes that this process may still write on the file system of `path`. */
enum error_class files_free_bytes(const char *path, int64_t *ret_bytes, struct error *ret_error);
bool files_exists(const char *path);

/* What tells one version of a file from the next: also its owner and mode, which may make it
 * readable. Zeroed = none. */
struct files_version {
    uint64_t inode;
    int64_t size;
    int64_t changed_ns;
};

/* Whether the file at `path` is another one than `seen`, which becomes that of now. A file that
 * does not exist has a version too. */
bool files_changed(const char *path, struct files_version *seen);

/* Locks `directory` (which exists) for this process through <directory>/lock, which then holds its
 * pid. FATAL, code DirectoryInUse, if another process holds the lock. It ends with the process. */
enum error_class files_lock(const char *directory, int *ret_lock, struct error *ret_error);
/* -1 does nothing. */
void files_unlock(int lock);

#endif
