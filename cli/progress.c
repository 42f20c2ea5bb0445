/* SPDX-License-Identifier: Apache-2.0 */
/* See progress.h. */
#include "cli/progress.h"

#include <inttypes.h>
#include <unistd.h>

enum { FIRST_MS = 500, TERMINAL_MS = 200, LINE_MS = 5000 };

void progress_begin(struct progress *progress, FILE *out, const struct clock *clock,
                    const char *what)
{
    int64_t now = clock_mono_ms(clock);
    bool terminal = isatty(fileno(out)) == 1;
    *progress = (struct progress){.out = out,
                                  .clock = clock,
                                  .what = what,
                                  .terminal = terminal,
                                  .began_ms = now,
                                  .next_ms = now + (terminal ? FIRST_MS : LINE_MS)};
}

void progress_duration(double seconds, char ret_text[PROGRESS_DURATION_SIZE])
{
    long total = seconds < 1e9 ? (long)(seconds + 0.5) : 1000000000L;
    if (total < 60)
        snprintf(ret_text, PROGRESS_DURATION_SIZE, "%ld s", total);
    else if (total < 3600)
        snprintf(ret_text, PROGRESS_DURATION_SIZE, "%ld min %ld s", total / 60, total % 60);
    else
        snprintf(ret_text, PROGRESS_DURATION_SIZE, "%ld h %ld min", total / 3600, total / 60 % 60);
}

void progress_show(struct progress *progress, uint64_t done, uint64_t total, double share)
{
    int64_t now = clock_mono_ms(progress->clock);
    char left[PROGRESS_DURATION_SIZE] = "";
    if (now < progress->next_ms)
        return;
    progress->next_ms = now + (progress->terminal ? TERMINAL_MS : LINE_MS);
    double seconds = (double)(now - progress->began_ms) / 1000;
    if (share < 0 && total > 0)
        share = (double)done / (double)total;
    if (share > 0)
        progress_duration(seconds * (1 - share) / share, left);
    fprintf(progress->out, "%s%" PRIu64, progress->terminal ? "\r" : "", done);
    if (total > 0)
        fprintf(progress->out, " of %" PRIu64, total);
    fprintf(progress->out, " %s, %.0f/s", progress->what, seconds > 0 ? (double)done / seconds : 0);
    if (share > 0)
        fprintf(progress->out, ", %.0f %%, %s left", 100 * share, left);
    /* Clears the rest of a longer line before. */
    fputs(progress->terminal ? "\033[K" : "\n", progress->out);
    fflush(progress->out);
    progress->shown = true;
}

double progress_end(struct progress *progress)
{
    if (progress->shown && progress->terminal)
        fputs("\r\033[K", progress->out);
    double seconds = (double)(clock_mono_ms(progress->clock) - progress->began_ms) / 1000;
    return seconds > 0.001 ? seconds : 0.001;
}
