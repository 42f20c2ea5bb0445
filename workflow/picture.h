/* SPDX-License-Identifier: Apache-2.0 */
/* What the formats of a workflow's graph share; nothing outside workflow/ includes this. */
#ifndef WORKFLOW_PICTURE_H
#define WORKFLOW_PICTURE_H

#include "workflow/graph.h"

/* Bytes that go on where the buffer ends are counted, not written. */
struct picture {
    char *data;
    size_t capacity;
    size_t size;
};

void picture_put(struct picture *picture, struct text text);
void picture_format(struct picture *picture, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Characters of XML text and attributes, or of a DOT string in quotes: what has a meaning there is
 * escaped, what cannot stand there is a '?'. */
void picture_put_xml(struct picture *picture, struct text text);
void picture_put_quoted(struct picture *picture, struct text text);

/* svg.c */
void picture_svg(struct picture *picture, const struct workflow *workflow);

#endif
