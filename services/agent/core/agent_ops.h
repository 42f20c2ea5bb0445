/* SPDX-License-Identifier: Apache-2.0 */
/* The interface between core/ and an agent's own code: callbacks that make one call to the remote
 * service, and functions that finish it. The ready-made agents (kinds/) and the public SDK (sdk/)
 * use it; include/reeve/agent.h documents the contract. Everything happens on the loop's thread. */
#ifndef SERVICES_AGENT_CORE_AGENT_OPS_H
#define SERVICES_AGENT_CORE_AGENT_OPS_H

#include "engine/engine.h"
#include "replica/service/service.h"

/* One try. Yours from execute or compensate until you finish it. */
struct agent_call {
    /* Order, step, action, keys, outputs of earlier steps, deadline. Borrowed until the call is
     * finished. An undo undoes the operation of request->do_key. */
    const struct step_request *request;
    uint32_t try_number;  /* 1, 2 ... of this attempt in this process */
    int64_t started_at;   /* wall clock */
    int64_t time_left_ms; /* from then to complete_by; at least 1 */
    void *userdata;       /* yours; NULL at the start of each try */
};

/* Why a try failed. All texts are copied. */
struct agent_failure {
    struct text name;    /* what ErrorEquals matches: [A-Za-z0-9._-], up to ERROR_NAME_BYTES_MAX */
    struct text message; /* for operators; cut at MESSAGE_BYTES_MAX */
    enum effect effect;  /* what this try may have done */
    bool retriable;      /* a later try may succeed */
    /* The service itself is unhealthy: refused, reset, broken, silent; not an answer that refuses.
     * When many calls end like this, the circuit opens and this instance leaves its requests to
     * others. */
    bool service_unhealthy;
    int64_t retry_after_ms; /* no further try before; 0 = as configured */
};

/* A check whether the service is healthy. */
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
    /* Undoes it. NULL: undo requests fail permanently with "Agent.NoCompensate". */
    void (*compensate)(void *ctx, struct agent_call *call);
    /* call->request->complete_by of a running call is later now. NULL = you read it when you need
     * it. */
    void (*extended)(void *ctx, struct agent_call *call);
    /* Checks whether the service is healthy again, while the circuit is open; end it once, at once
     * or later, with agent_probe_end. NULL: one call at a time is made instead. */
    void (*probe)(void *ctx, struct agent_probe *probe);
    /* Frees your state. Calls not finished by now are void: do not finish them any more. NULL =
     * nothing to free. */
    void (*stop)(void *ctx);
};

/* Finish a call. It is invalid from then on. May be called from inside execute and compensate.
 *
 * `output` is what the service answered: JSON of at most REPORT_OUTPUT_BYTES_MAX bytes, or empty;
 * copied. A longer output is replaced by {"bytes":N,"truncated":true}, an invalid one by nothing:
 * the operation is done, so it is reported in any case. */
void agent_call_succeed(struct agent_call *call, struct text output);
void agent_call_fail(struct agent_call *call, const struct agent_failure *failure);

/* Asks for more time: `extra_ms` (> 0) from now on, by this machine's clock. `progress` is a text
 * for operators, up to MESSAGE_BYTES_MAX; the application sees it. The workflow bounds the grant
 * (MaxExtensionSeconds). The deadline stays as it is until the grant comes (ops->extended), which
 * may be never: ask early, and not often. */
void agent_call_extend(struct agent_call *call, int64_t extra_ms, struct text progress);

/* Finishes the call without an outcome: your service has taken the request and will call back
 * later. The step stays as it is until then, or until complete_by. The request is remembered as
 * accepted: no second call if it comes again. */
void agent_call_accept(struct agent_call *call);
/* Where your service may report the call's outcome later, at any time and to any instance
 * (core/callbacks.h describes the body). New in the arena; empty: this
 * instance is not set up for callbacks. */
struct text agent_call_callback(const struct agent_call *call, struct arena *arena);

/* `why`: what is wrong, if it is not healthy; copied. */
void agent_probe_end(struct agent_probe *probe, bool healthy, struct text why);

/* Chooses the callbacks of an agent by its configuration. */
typedef const struct agent_ops *(*agent_ops_of)(const struct config *config);

/* The main of an agent; argv without the program's name. `schema`: its keys, NULL = reeve's.
 * Returns the exit code. Once a process. */
int agent_service_main(agent_ops_of ops_of, const struct config_schema *schema, int argc,
                       char *const argv[]);

#endif
