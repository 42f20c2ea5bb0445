/* SPDX-License-Identifier: Apache-2.0 */
/* How many commands of its own a service keeps on their way to the owner of one partition, so that
 * the commands of others do not wait behind them: timers that a supervisor requests, StartSteps of
 * queued steps.
 *
 * A command waits in <p>.commands for all before it, so how long the commands of others wait says
 * whether ours are too many. Their Decisions say it: decided_at less command_time. The rule is that
 * of TCP's congestion avoidance (RFC 5681) with a delay as its signal, as in CoDel (RFC 8289): once
 * a round trip, half as many if the others waited for longer than the target, else one more. With
 * no other command there is no one to be considerate of, and the window doubles. One that holds
 * nothing back does not grow, and one that was idle begins again with a few, as in RFC 5681, 4.1.
 *
 * Pure: all times are arguments, `now` is monotonic. */
#ifndef REPLICA_COMMAND_WINDOW_H
#define REPLICA_COMMAND_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

enum {
    COMMAND_WINDOW_MIN = 2,
    COMMAND_WINDOW_OVERDUE = 8, /* at least, while something is overdue by OVERDUE_MS */
    COMMAND_WINDOW_FIRST = 16,
    COMMAND_WINDOW_MAX = 512,
    COMMAND_WINDOW_OVERDUE_MS = 5000,
    COMMAND_WINDOW_TARGET_MS = 5,  /* or twice the shortest wait of the last 10 s */
    COMMAND_WINDOW_ALONE_MS = 100, /* without a command of others */
    COMMAND_WINDOW_IDLE_MS = 1000,
    COMMAND_WINDOW_SECONDS = 10
};

struct command_window {
    uint32_t size;
    bool fair;          /* never smaller than what others had decided in the last round trip */
    uint32_t fair_size; /* that many */
    uint64_t sent;      /* commands, since the beginning */
    uint64_t round_end; /* the round trip is over when more than this many have arrived */
    int64_t sent_at;    /* the last of them */
    bool limited;       /* it held something back in this round */
    /* What others waited in this round: */
    int64_t waited_ms;
    uint32_t others;
    int64_t other_at; /* when the last of them was decided */
    /* The shortest wait of others in each of the last seconds. */
    struct {
        int64_t second;
        int64_t wait_ms;
    } shortest[COMMAND_WINDOW_SECONDS];
};

/* `fair`: for each command of others that is decided in a round trip, one of ours may be on its
 * way, however long they wait: for commands on which those of others depend in turn. */
void command_window_init(struct command_window *ret_window, bool fair);
/* Another's command was decided, which waited for so long. The clocks of two machines may differ: a
 * negative wait counts as none. */
void command_window_saw(struct command_window *window, int64_t wait_ms, int64_t now);
/* One of ours is on its way from now on. */
void command_window_sent(struct command_window *window, int64_t now);
/* Of ours, `on_their_way` are sent and not yet decided, and the first that is due is late by
 * `overdue_ms`. Adjusts the window when a round trip is over. True: one more may be sent; otherwise
 * the caller calls command_window_limited() if one more is due. */
bool command_window_permits(struct command_window *window, uint32_t on_their_way,
                            int64_t overdue_ms, int64_t now);
void command_window_limited(struct command_window *window);
/* How long the commands of others may wait. */
int64_t command_window_target_ms(const struct command_window *window, int64_t now);

#endif
