/* SPDX-License-Identifier: Apache-2.0 */
/* Who sends commands in a random history. Each function sends one, or none when there is nothing to
 * send. */
#ifndef TESTS_PROPERTY_ENGINE_SENDERS_H
#define TESTS_PROPERTY_ENGINE_SENDERS_H

#include "tests/property/engine_history.h"

/* Mostly the same content. */
struct order_details senders_submission(void);
void senders_customer(void); /* submits again, or cancels */
/* `step` empty: all; `new_generation`: it is known that nothing was applied; `timeout_ms` 0: the
 * workflow's. */
void senders_resubmit(struct text step, bool new_generation, int64_t timeout_ms);
void senders_compensate(void);
void senders_pause(bool pause); /* else: resume */
void senders_migrate(void);
void senders_amend(void);
void senders_complete(uint32_t index, struct text output); /* by hand */
void senders_end_a_step(void);                             /* by hand, in any way */
void senders_operator(void);     /* any of these, mostly one that makes sense */
void senders_any_operator(void); /* any command of operators, at any step */
void senders_ask(const struct deadline *deadline);
void senders_supervisor(bool early);
/* The owner serves its queue. Only the owner starts steps that are queued without a time. */
void senders_owner(bool all);
void senders_agent(void);     /* asks for more time, mostly for a running attempt */
void senders_services(void);  /* a remote service goes on, and its agent may report */
void senders_retention(void); /* an order that has ended leaves after a while */
/* An old command: a duplicate, or a very late one. Its texts are those of the workflow. */
void senders_repeat(void);
void senders_garbage(void);

#endif
