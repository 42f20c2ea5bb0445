/* SPDX-License-Identifier: Apache-2.0 */
/* An InputShape as JSON Schema, for the editors, forms and generators of those who submit. */
#ifndef WORKFLOW_SHAPE_SCHEMA_H
#define WORKFLOW_SHAPE_SCHEMA_H

#include "base/arena.h"
#include "engine/shape.h"

/* A schema of draft 2020-12 that accepts what shape_check() accepts, as canonical JSON; `title` is
 * the workflow's name. New in `arena`; empty where it would be deeper than JSON may be: a map in
 * the shape is two in the schema. */
struct text shape_schema(const struct shape *shape, struct text title, struct arena *arena);

#endif
