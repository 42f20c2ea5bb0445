/* SPDX-License-Identifier: Apache-2.0 */
/* The files that the console serves, which embed_assets.py compiles in: those of its pages, from
 * services/console/web/assets/, and the description of its API, from docs/reference/openapi/. */
#ifndef SERVICES_CONSOLE_WEB_ASSETS_H
#define SERVICES_CONSOLE_WEB_ASSETS_H

#include <stddef.h>
#include <stdint.h>

enum { ASSETS_BYTES_MAX = 256 * 1024 /* of all files together, uncompressed */ };

struct asset {
    const char *name; /* "app.js" */
    const char *content_type;
    const char *tag; /* hash of the content, in hexadecimal digits */
    const unsigned char *plain;
    uint32_t plain_size;
    const unsigned char *gzip;
    uint32_t gzip_size;
};

extern const struct asset assets[]; /* of the pages, by name */
extern const uint32_t asset_count;
extern const struct asset descriptions[]; /* console.yaml */

#endif
