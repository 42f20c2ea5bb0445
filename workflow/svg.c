/* SPDX-License-Identifier: Apache-2.0 */
/* A workflow's graph as SVG: a column for each level, from left to right. Colors are attributes, so
 * that a page's style sheet, or none, can decide. */
#include "workflow/picture.h"

#include <assert.h>

#define BIT(index) (UINT64_C(1) << (index))

/* In pixels; a character of the 13 px font is at most this wide. */
enum {
    CHARACTER = 8,
    PADDING = 12,
    BOX_HEIGHT = 58,
    BOX_WIDTH_MIN = 110,
    LABEL_MAX = 28, /* characters; longer ones are cut, and whole in the step's title */
    COLUMN_GAP = 56,
    ROW_GAP = 22,
    MARGIN = 16
};

struct layout {
    uint32_t levels[WORKFLOW_STEPS_MAX];
    uint32_t level_count;
    uint32_t column_width[WORKFLOW_STEPS_MAX]; /* by level */
    uint32_t column_x[WORKFLOW_STEPS_MAX];     /* by level */
    uint32_t row[WORKFLOW_STEPS_MAX];          /* by step, in its column */
    uint32_t rows[WORKFLOW_STEPS_MAX];         /* by level */
    uint32_t width;
    uint32_t height;
};

static uint32_t box_width(const struct workflow_step *step)
{
    uint32_t longest = step->name.size;
    if (step->agents[0].size > longest)
        longest = step->agents[0].size;
    if (step->has_compensate && step->compensate.action.size + 6 > longest)
        longest = step->compensate.action.size + 6;
    if (longest > LABEL_MAX)
        longest = LABEL_MAX;
    uint32_t width = longest * CHARACTER + 2 * PADDING;
    return width < BOX_WIDTH_MIN ? (uint32_t)BOX_WIDTH_MIN : width;
}

static void lay_out(const struct workflow *workflow, struct layout *layout)
{
    uint32_t rows_max = 0;
    *layout = (struct layout){.width = MARGIN};
    layout->level_count = workflow_levels(workflow, layout->levels);
    for (uint32_t i = 0; i < workflow->step_count; i++) {
        uint32_t level = layout->levels[i];
        uint32_t width = box_width(&workflow->steps[i]);
        layout->row[i] = layout->rows[level]++;
        if (layout->rows[level] > rows_max)
            rows_max = layout->rows[level];
        if (width > layout->column_width[level])
            layout->column_width[level] = width;
    }
    for (uint32_t level = 0; level < layout->level_count; level++) {
        layout->column_x[level] = layout->width;
        layout->width += layout->column_width[level] + COLUMN_GAP;
    }
    layout->width -= COLUMN_GAP - MARGIN;
    layout->height = 2 * MARGIN + rows_max * (BOX_HEIGHT + ROW_GAP) - ROW_GAP;
    assert(rows_max >= 1 && layout->level_count >= 1);
}

static uint32_t x_of(const struct layout *layout, uint32_t step)
{
    return layout->column_x[layout->levels[step]];
}

/* Columns are centered. */
static uint32_t y_of(const struct layout *layout, uint32_t step)
{
    uint32_t rows = layout->rows[layout->levels[step]];
    uint32_t column = rows * (BOX_HEIGHT + ROW_GAP) - ROW_GAP;
    return (layout->height - column) / 2 + layout->row[step] * (BOX_HEIGHT + ROW_GAP);
}

/* ---- what is drawn ---- */

/* An arrow from the right side of `from` to the left side of `to`. */
static void put_edge(struct picture *picture, const struct layout *layout, uint32_t from,
                     uint32_t to)
{
    uint32_t x1 = x_of(layout, from) + layout->column_width[layout->levels[from]];
    uint32_t y1 = y_of(layout, from) + BOX_HEIGHT / 2;
    uint32_t x2 = x_of(layout, to);
    uint32_t y2 = y_of(layout, to) + BOX_HEIGHT / 2;
    uint32_t bend = COLUMN_GAP / 2;
    assert(x1 < x2);
    picture_format(picture, "<path class=\"edge\" d=\"M%u %uC%u %u %u %u %u %u\"/>\n", x1, y1,
                   x1 + bend, y1, x2 - bend - 6, y2, x2 - 6, y2);
    picture_format(picture, "<path class=\"arrow\" d=\"M%u %ul-8 -4v8z\" fill=\"#64748b\"/>\n", x2,
                   y2);
}

static void put_edges(struct picture *picture, const struct workflow *workflow,
                      const struct layout *layout)
{
    picture_put(picture, TEXT("<g fill=\"none\" stroke=\"#64748b\" stroke-width=\"1.5\">\n"));
    for (uint32_t i = 0; i < workflow->step_count; i++) {
        for (uint32_t j = 0; j < workflow->step_count; j++) {
            if ((workflow->steps[i].after & BIT(j)) != 0)
                put_edge(picture, layout, j, i);
        }
    }
    picture_put(picture, TEXT("</g>\n"));
}

/* A line of a box, cut to its width. */
static void put_label(struct picture *picture, uint32_t x, uint32_t y, const char *attributes,
                      const char *prefix, struct text text)
{
    uint32_t room = LABEL_MAX - text_of(prefix).size;
    bool cut = text.size > room;
    picture_format(picture, "<text x=\"%u\" y=\"%u\"%s>%s", x, y, attributes, prefix);
    picture_put_xml(picture, cut ? (struct text){text.data, room - 1} : text);
    picture_put(picture, cut ? TEXT("\u2026</text>\n") : TEXT("</text>\n"));
}

static void put_step_title(struct picture *picture, const struct workflow *workflow,
                           const struct workflow_step *step)
{
    picture_put(picture, TEXT("<title>"));
    picture_put_xml(picture, step->name);
    for (uint32_t i = 0; i < step->agent_count; i++) {
        picture_put(picture, i > 0 ? TEXT(", ") : TEXT(": agent "));
        picture_put_xml(picture, step->agents[i]);
    }
    const char *before = "; after ";
    for (uint32_t j = 0; j < workflow->step_count; j++) {
        if ((step->after & BIT(j)) == 0)
            continue;
        picture_put(picture, text_of(before));
        picture_put_xml(picture, workflow->steps[j].name);
        before = ", ";
    }
    if (step->has_compensate) {
        picture_put(picture, TEXT("; undone by "));
        picture_put_xml(picture, step->compensate.action);
    }
    picture_put(picture, step->pivot ? TEXT("; pivot</title>\n") : TEXT("</title>\n"));
}

static void put_step(struct picture *picture, const struct workflow *workflow,
                     const struct layout *layout, uint32_t index)
{
    const struct workflow_step *step = &workflow->steps[index];
    uint32_t width = layout->column_width[layout->levels[index]];
    uint32_t x = x_of(layout, index);
    uint32_t y = y_of(layout, index);
    picture_format(picture, "<g class=\"%s\" data-step=\"", step->pivot ? "step pivot" : "step");
    picture_put_xml(picture, step->name);
    picture_put(picture, TEXT("\">\n"));
    put_step_title(picture, workflow, step);
    picture_format(picture,
                   "<rect x=\"%u\" y=\"%u\" width=\"%u\" height=\"%d\" rx=\"8\" fill=\"#f8fafc\" "
                   "stroke=\"#334155\" stroke-width=\"%s\"/>\n",
                   x, y, width, BOX_HEIGHT, step->pivot ? "3" : "1.5");
    x += PADDING;
    put_label(picture, x, y + 20, " font-weight=\"600\"", "", step->name);
    put_label(picture, x, y + 36, " class=\"agent\"", "", step->agents[0]);
    if (step->has_compensate)
        put_label(picture, x, y + 51, " class=\"undo\" font-size=\"11\"",
                  "undo: ", step->compensate.action);
    else if (step->pivot)
        put_label(picture, x, y + 51, " class=\"undo\" font-size=\"11\"", "pivot",
                  (struct text){0});
    picture_put(picture, TEXT("</g>\n"));
}

void picture_svg(struct picture *picture, const struct workflow *workflow)
{
    struct layout layout;
    lay_out(workflow, &layout);
    picture_format(picture,
                   "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"workflow\" role=\"img\" "
                   "aria-labelledby=\"workflow-title workflow-desc\" width=\"%u\" height=\"%u\" ",
                   layout.width, layout.height);
    picture_format(picture, "viewBox=\"0 0 %u %u\">\n<title id=\"workflow-title\">", layout.width,
                   layout.height);
    picture_put_xml(picture, workflow->name);
    picture_format(picture,
                   " version %u</title>\n<desc id=\"workflow-desc\">%u steps: ", workflow->version,
                   workflow->step_count);
    for (uint32_t i = 0; i < workflow->step_count; i++) {
        picture_put(picture, i > 0 ? TEXT(", ") : (struct text){0});
        picture_put_xml(picture, workflow->steps[i].name);
    }
    picture_put(picture, TEXT("</desc>\n"));
    put_edges(picture, workflow, &layout);
    picture_put(picture, TEXT("<g font-family=\"system-ui, sans-serif\" font-size=\"13\" "
                              "fill=\"#0f172a\">\n"));
    for (uint32_t i = 0; i < workflow->step_count; i++)
        put_step(picture, workflow, &layout, i);
    picture_put(picture, TEXT("</g>\n</svg>\n"));
}
