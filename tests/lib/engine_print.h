/* SPDX-License-Identifier: Apache-2.0 */
/* Decisions, orders and effects as one compact line each. */
#ifndef TESTS_LIB_ENGINE_PRINT_H
#define TESTS_LIB_ENGINE_PRINT_H

#include "engine/engine.h"

#include <stddef.h>

/* A line that grows; zero-initialized is empty, free with free(line.text). */
struct line {
    char *text;
    size_t size;
};

void line_add(struct line *line, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* "OrderAccepted OrderStarted StepStarted(ReserveStock do 1)" */
void line_add_decision(struct line *line, const struct decision *decision);
/* "Processing A=Processed B=Processing(do 1) W=Processing(do 1)[shtfx]": items that are submitted,
 * held, to do, final, failed */
void line_add_order(struct line *line, const struct order *order);
/* "recover(A)+11000 start(B)+500 order+60000", relative to `now`; "none" */
void line_add_deadlines(struct line *line, const struct order *order, int64_t now);
/* "A(do 1 o-1/A/do/0) B(undo 1 o-1/B/undo/0 of o-1/B/do/0)"; "none" */
void line_add_requests(struct line *line, const struct effects *effects);
/* "StepChanged(code) A=Processed(do 1) B=Pending(do 1 Declined)"; "none" */
void line_add_status(struct line *line, const struct effects *effects);
/* "submit o-1~W~0 with 0, undo o-1~W~1 held, report failed Declined of o-0~W~2"; "none" */
void line_add_messages(struct line *line, const struct effects *effects);
/* "raised(Declined A)", "closed(Cancelled)"; "none" */
void line_add_alert(struct line *line, const struct effects *effects);

#endif
