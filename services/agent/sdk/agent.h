/* SPDX-License-Identifier: Apache-2.0 */
/* The agent SDK: write an agent for your own remote service in C.
 *
 *     static void execute(void *ctx, struct agent_call *call)
 *     {
 *         agent_call_succeed(call, TEXT("{\"tax\":\"4.20\"}"));
 *     }
 *     static const struct agent_ops tax = {.name = "tax", .execute = execute};
 *     int main(int argc, char **argv) { return agent_run(&tax, argc - 1, argv + 1); }
 *
 * You supply what one call to your service is; the SDK does the rest. It reads
 * <prefix>.requests.<agent>, starts tries, repeats those that may be repeated (with backoff, and
 * inside the step's deadline), reports the outcome to the scheduler, and commits a request once its
 * report is acknowledged.
 *
 * What you may rely on
 * - No try starts after request->complete_by, by this machine's clock.
 * - Two tries of one order and step never run at once in this process, whatever their direction.
 *   In other processes they may, for a moment, when partitions change hands.
 * - A request comes at least once. So one deed may be asked for again, by another try, attempt or
 *   process: always with the same idempotency key. Hand the key on to your service.
 *
 * - What this instance reported is remembered (agent.memory.ms, agent.memory.mb): a request that
 *   comes again gets the same answer and no second call, also after a crash.
 *
 * What you owe
 * - Each call is finished exactly once, at once or later, by agent_call_succeed, agent_call_fail or
 *   agent_call_accept.
 *   A call that is never finished holds its place for good. Finish late rather than never: a
 *   success is reported even past the deadline, being the truth about your service; an error past
 *   it is not.
 * - Tell the truth about the effect of a failure: NONE only if you know that nothing was applied.
 *   Undoing a deed that was never done, or of an unknown key, must succeed.
 *
 * Threads: everything here happens on the loop's thread; a callback that blocks stops the agent. A
 * call that another thread works on is handed back through a loop_wakeup (platform/loop.h). */
#ifndef SERVICES_AGENT_SDK_AGENT_H
#define SERVICES_AGENT_SDK_AGENT_H

#include "engine/engine.h"
#include "replica/service_main.h"

/* One try. Yours from execute or compensate until you finish it. */
struct agent_call {
    /* What is asked for: order, step, action, keys, outputs of earlier steps, deadline. Borrowed
     * until the call is finished. An undo undoes what was done under request->do_key. */
    const struct step_request *request;
    uint32_t try_number;  /* 1, 2 ... of this attempt in this process */
    int64_t started_at;   /* wall clock */
    int64_t time_left_ms; /* from then to complete_by; at least 1 */
    void *userdata;       /* yours; NULL at the start of each try */
};

/* Why a try failed. All texts are copied. */
struct agent_failure {
    struct text name;    /* what ErrorEquals matches: [A-Za-z0-9._-], up to ERROR_NAME_BYTES_MAX */
    struct text message; /* for people; cut at MESSAGE_BYTES_MAX */
    enum effect effect;  /* what this try may have done */
    bool retriable;      /* the same try may do better later */
    /* The service itself is ill: refused, reset, broken, silent; not an answer that says no. When
     * many calls end so, the circuit opens and this instance gives its work to others. */
    bool service_ill;
    int64_t retry_after_ms; /* do not try again before; 0 = no such wish */
};

/* A question whether your service is well. */
struct agent_probe;

struct agent_ops {
    const char *name; /* the agent's name unless agent.name says otherwise */
    /* Calls at the same time unless agent.in.flight.max is set; 0 = that key's default. */
    uint32_t capacity;
    /* Builds your state from the configuration; *ret_ctx goes to the others. An error ends the
     * process. NULL = no state. */
    enum error_class (*start)(struct service_context *service, void **ret_ctx,
                              struct error *ret_error);
    /* Does the step. */
    void (*execute)(void *ctx, struct agent_call *call);
    /* Undoes it. NULL: undo requests fail for good with "Agent.NoCompensate". */
    void (*compensate)(void *ctx, struct agent_call *call);
    /* call->request->complete_by of a call that runs is later now than it was. NULL = you look at
     * it when you need it. */
    void (*extended)(void *ctx, struct agent_call *call);
    /* Looks whether the service is well again, while the circuit is open; answer once, at once or
     * later, with agent_probe_end. NULL: calls are tried, one at a time. */
    void (*probe)(void *ctx, struct agent_probe *probe);
    /* Frees your state. Calls not finished by now are void: do not finish them any more. NULL =
     * nothing to free. */
    void (*stop)(void *ctx);
};

/* Finish a call. It is invalid from then on. May be called from inside execute and compensate.
 *
 * `output` is the step's output: JSON of at most STEP_OUTPUT_BYTES_MAX bytes, or empty; copied.
 * What is too long is replaced by {"truncated":true,"bytes":N}, what is no JSON by nothing: the
 * deed is done, so it is reported in any case. */
void agent_call_succeed(struct agent_call *call, struct text output);
void agent_call_fail(struct agent_call *call, const struct agent_failure *failure);

/* Asks for more time: `extra_ms` (> 0) from now on, by this machine's clock. `progress` is for
 * people, up to MESSAGE_BYTES_MAX; the application sees it. The workflow bounds what is granted
 * (MaxExtensionSeconds). Until the grant comes (ops->extended) the deadline is as it was; if none
 * comes, there is none: ask early, and not every moment. */
void agent_call_extend(struct agent_call *call, int64_t extra_ms, struct text progress);

/* Finishes the call without an outcome: your service has taken the request and will call back
 * later. The step stays as it is until then, or until complete_by. The request is remembered as
 * accepted: no second call if it comes again. */
void agent_call_accept(struct agent_call *call);
/* Where your service may report the call's outcome later, at any time and to any instance
 * (services/agent/core/callbacks.h has what it sends there). New in the arena; empty: nobody could
 * call back, as this instance is not set up for it. */
struct text agent_call_callback(const struct agent_call *call, struct arena *arena);

/* `why`: how it is ill; copied. */
void agent_probe_end(struct agent_probe *probe, bool well, struct text why);

/* The main of an agent; argv without the program's name. Returns the exit code. Once a process. */
int agent_run(const struct agent_ops *ops, int argc, char *const argv[]);

#endif
