/* SPDX-License-Identifier: Apache-2.0 */
/* Parsing Canonical Form and CRC-64-AVRO, as the Avro specification has them. */
#include "schemas/avro/schema.h"

/* Written twice: first to learn the size (`to` NULL), then into `to`. */
struct printer {
    char *to;
    size_t size;
    const struct avro_type **written; /* named types that were written out in full */
    uint32_t written_count;
};

static void put(struct printer *printer, const char *string)
{
    size_t size = strlen(string);
    if (printer->to != NULL)
        memcpy(printer->to + printer->size, string, size);
    printer->size += size;
}

static void put_quoted(struct printer *printer, const char *string)
{
    /* Names and symbols are checked: nothing in them needs an escape. */
    put(printer, "\"");
    put(printer, string);
    put(printer, "\"");
}

static void put_number(struct printer *printer, uint32_t number)
{
    char digits[11] = {0};
    int at = 10;
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    put(printer, digits + at);
}

static void print(struct printer *printer, const struct avro_type *type);

static void print_record(struct printer *printer, const struct avro_type *type)
{
    put(printer, ",\"fields\":[");
    for (uint32_t i = 0; i < type->count; i++) {
        put(printer, i == 0 ? "{\"name\":" : ",{\"name\":");
        put_quoted(printer, type->fields[i].name);
        put(printer, ",\"type\":");
        print(printer, type->fields[i].type);
        put(printer, "}");
    }
    put(printer, "]}");
}

static void print_enum(struct printer *printer, const struct avro_type *type)
{
    put(printer, ",\"symbols\":[");
    for (uint32_t i = 0; i < type->count; i++) {
        put(printer, i == 0 ? "" : ",");
        put_quoted(printer, type->symbols[i]);
    }
    put(printer, "]}");
}

static void print_named(struct printer *printer, const struct avro_type *type)
{
    for (uint32_t i = 0; i < printer->written_count; i++) {
        if (printer->written[i] == type) {
            put_quoted(printer, type->name);
            return;
        }
    }
    printer->written[printer->written_count++] = type;
    put(printer, "{\"name\":");
    put_quoted(printer, type->name);
    put(printer, ",\"type\":");
    put_quoted(printer, avro_kind_name(type->kind));
    if (type->kind == AVRO_KIND_RECORD) {
        print_record(printer, type);
    } else if (type->kind == AVRO_KIND_ENUM) {
        print_enum(printer, type);
    } else {
        put(printer, ",\"size\":");
        put_number(printer, type->size);
        put(printer, "}");
    }
}

static void print(struct printer *printer, const struct avro_type *type)
{
    if (type->name != NULL) {
        print_named(printer, type);
    } else if (type->kind == AVRO_KIND_UNION) {
        put(printer, "[");
        for (uint32_t i = 0; i < type->count; i++) {
            put(printer, i == 0 ? "" : ",");
            print(printer, type->members[i]);
        }
        put(printer, "]");
    } else if (type->kind == AVRO_KIND_ARRAY || type->kind == AVRO_KIND_MAP) {
        bool array = type->kind == AVRO_KIND_ARRAY;
        put(printer, array ? "{\"type\":\"array\",\"items\":" : "{\"type\":\"map\",\"values\":");
        print(printer, type->members[0]);
        put(printer, "}");
    } else {
        put_quoted(printer, avro_kind_name(type->kind));
    }
}

struct text avro_schema_canonical(const struct avro_type *type, struct arena *arena)
{
    const struct avro_type **written =
        ARENA_ARRAY(arena, const struct avro_type *, type->type_count);
    struct printer printer = {.written = written};
    print(&printer, type);
    char *text = arena_bytes(arena, printer.size);
    printer = (struct printer){.to = text, .written = written};
    print(&printer, type);
    return (struct text){text, (uint32_t)printer.size};
}

uint64_t avro_crc64(struct text bytes)
{
    const uint64_t empty = UINT64_C(0xc15d213aa4d7a795);
    uint64_t crc = empty;
    for (uint32_t i = 0; i < bytes.size; i++) {
        crc ^= (uint8_t)bytes.data[i];
        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ (empty & -(crc & 1));
    }
    return crc;
}

uint64_t avro_schema_fingerprint(const struct avro_type *type, struct arena *arena)
{
    return avro_crc64(avro_schema_canonical(type, arena));
}
