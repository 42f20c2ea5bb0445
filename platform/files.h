/* SPDX-License-Identifier: Apache-2.0 */
/* Small things done to files and directories. Messages name the path and the system's reason. */
#ifndef PLATFORM_FILES_H
#define PLATFORM_FILES_H

#include "base/error.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* As mkdir -p with mode 0750; an existing directory is fine. */
enum error_class files_make_dirs(const char *path, struct error *ret_error);
/* As rm -rf of a directory, never following a symbolic link: links inside are removed, `path`
 * itself must not be one. What does not exist is fine. */
enum error_class files_remove_tree(const char *path, struct error *ret_error);
/* Readers see the old content or the new, never a part: temporary file, fsync, rename, fsync of
 * the directory. Mode 0640. */
enum error_class files_write_atomic(const char *path, struct text content, struct error *ret_error);
/* New, malloc'ed, a NUL behind its end; *ret_size leaves it out. A file over `limit` bytes is
 * refused. */
enum error_class files_read(const char *path, size_t limit, char **ret_content, size_t *ret_size,
                            struct error *ret_error);
/* Bytes that this process may still write on the file system of `path`. */
enum error_class files_free_bytes(const char *path, int64_t *ret_bytes, struct error *ret_error);
bool files_exists(const char *path);

/* Locks `directory` (which exists) for this process through <directory>/lock, which then names
 * its pid. Held by another process = FATAL, code DirectoryInUse, one clear line. The lock goes
 * with the process. */
enum error_class files_lock(const char *directory, int *ret_lock, struct error *ret_error);
/* -1 is fine. */
void files_unlock(int lock);

#endif
