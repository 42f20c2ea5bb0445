/* SPDX-License-Identifier: Apache-2.0 */
/* The codec for test_schemas.py.
 *
 *     schemas-tool write FOLDER           each sample to FOLDER/<name>.bin
 *     schemas-tool recode FOLDER NAME...  reads FOLDER/<name>.bin, after learning
 * FOLDER/<name>.avsc if there is one, and writes what was read to FOLDER/<name>.out
 *
 * Says on standard error what could not be read; exit code 1. */
#include "base/heap_arena.h"
#include "tests/unit/schemas/samples.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

enum { FILE_BYTES_MAX = 1 << 22 };

static void path_of(const char *folder, const char *name, const char *suffix, char ret_path[512])
{
    int size = snprintf(ret_path, 512, "%s/%s%s", folder, name, suffix);
    assert(size > 0 && size < 512);
}

/* Empty: there is no such file. */
static struct text file_read(const char *path, struct arena *arena)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return (struct text){0};
    char *bytes = arena_bytes(arena, FILE_BYTES_MAX);
    size_t size = fread(bytes, 1, FILE_BYTES_MAX, file);
    fclose(file);
    assert(size < FILE_BYTES_MAX);
    return (struct text){bytes, (uint32_t)size};
}

static void file_write(const char *path, const struct buffer *buffer)
{
    FILE *file = fopen(path, "wb");
    assert(file != NULL);
    size_t written = fwrite(buffer->data, 1, buffer->size, file);
    assert(written == buffer->size);
    fclose(file);
}

static void write_samples(struct codec *codec, const char *folder)
{
    for (uint32_t i = 0; i < sample_count; i++) {
        char path[512];
        struct buffer buffer = {0};
        codec_encode(codec, samples[i].kind, samples[i].record, &buffer);
        path_of(folder, samples[i].name, ".bin", path);
        file_write(path, &buffer);
        buffer_deinit(&buffer);
    }
}

static bool recode(struct codec *codec, const char *folder, const char *name, struct arena *arena)
{
    char path[512];
    struct error error;
    struct record record;
    path_of(folder, name, ".avsc", path);
    struct text avsc = file_read(path, arena);
    path_of(folder, name, ".bin", path);
    struct text bytes = file_read(path, arena);
    if ((avsc.size > 0 && codec_learn(codec, avsc, NULL, &error) != ERROR_OK) ||
        codec_decode(codec, bytes, true, arena, &record, &error) != ERROR_OK) {
        fprintf(stderr, "%s: %s: %s\n", name, error_name_of(&error), error.message);
        return false;
    }
    struct buffer buffer = {0};
    codec_encode(codec, record.kind, &record.command, &buffer);
    path_of(folder, name, ".out", path);
    file_write(path, &buffer);
    buffer_deinit(&buffer);
    return true;
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: schemas-tool write|recode FOLDER [NAME ...]\n");
        return 2;
    }
    struct codec *codec = codec_new();
    bool ok = true;
    if (strcmp(argv[1], "write") == 0)
        write_samples(codec, argv[2]);
    for (int i = 3; i < argc; i++) {
        struct heap_arena memory;
        heap_arena_init(&memory, 16 * 1024);
        ok = recode(codec, argv[2], argv[i], &memory.arena) && ok;
        heap_arena_deinit(&memory);
    }
    codec_free(codec);
    return ok ? 0 : 1;
}
