/* SPDX-License-Identifier: Apache-2.0 */
/* Write an agent for your own remote service, in C or C++.
 *
 *     #include <reeve/agent.h>
 *
 *     static void execute(void *ctx, struct reeve_agent_call *call)
 *     {
 *         reeve_agent_call_succeed(call, "{\"tax\":\"4.20\"}");
 *     }
 *
 *     int main(int argc, char **argv)
 *     {
 *         static struct reeve_agent_ops tax;
 *         tax.name = "tax";
 *         tax.execute = execute;
 *         return reeve_agent_run(&tax, argc - 1, argv + 1);
 *     }
 *
 *     cc tax_agent.c $(pkg-config --cflags --libs reeve)
 *
 * You write what one call to your service is; the library does the rest. It reads the topic
 * <prefix>.requests.<agent> as a member of a consumer group, starts calls, repeats those that may
 * be repeated (with backoff, within the step's deadline), reports the outcome to the scheduler, and
 * commits a request once its report is in the log.
 *
 * What you can rely on
 * - No call starts after the step's deadline, by this machine's clock.
 * - Two calls of one order and step never run at once in this process, in either direction. In two
 *   processes they may for a moment, while partitions move from one to the other.
 * - A request is delivered at least once. One operation may be requested again, by another try,
 *   attempt or process, and always has the same idempotency key. Pass the key to your service.
 * - An instance remembers in its data directory what it has reported: a request that comes again
 *   gets the same answer without a second call, also after a crash. docs/use/agents.md has the
 *   bounds.
 *
 * What you have to do
 * - Finish each call exactly once, at once or later, with reeve_agent_call_succeed(),
 *   reeve_agent_call_fail() or reeve_agent_call_accept(). A call that is never finished occupies
 *   its place until the process ends. Finish late rather than never: a success is reported even
 *   after the deadline, because it is true; a failure after the deadline is dropped.
 * - Report the effect of a failure as it is: REEVE_EFFECT_NONE only if you know that the service
 *   applied nothing.
 * - Let compensate() succeed when there is nothing to undo: the operation was never done, or the
 *   service does not know the key.
 *
 * Threads: the library runs one loop on the thread that called reeve_agent_run(). It makes every
 * callback on that thread, and you call every function here on that thread; the one exception is
 * reeve_wakeup_send(). A callback that blocks stops all calls of the process. If threads of yours
 * do the work: hand the call over, return, and let the thread send a wakeup when its result is
 * ready; finish the call in the wakeup's callback. Until then any thread may read the call's texts.
 *
 * Times are in milliseconds; instants are wall clock since 1970-01-01 UTC. `const char *` arguments
 * are UTF-8 that ends in NUL, are copied, and may be NULL for "none" unless stated otherwise. In
 * C++, callbacks must not throw. */
#ifndef REEVE_AGENT_H
#define REEVE_AGENT_H

#include <reeve/types.h>

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One agent of this process; a process has one for each of its agent.names. Borrowed from start()
 * until stop() has returned. */
struct reeve_agent;
/* One call to your service: a try to execute or to undo a step. Yours from execute() or
 * compensate() until you finish it. */
struct reeve_agent_call;
/* A check whether your service is healthy. Yours from probe() until reeve_agent_probe_end(). */
struct reeve_agent_probe;

/* ---- the agent ---- */

/* A configuration key of your own. It is set like reeve's keys (flag, environment, properties
 * file), and --help lists it; reeve_agent_config() reads it. */
struct reeve_agent_key {
    /* Words of [a-z0-9], separated by dots; not a key of reeve: "tax.rates" is the flag --tax-rates
     * and the variable REEVE_TAX_RATES. If the name begins with "agent.", as "agent.rates", each
     * agent of a process may have a value of its own: agent.NAME.rates. */
    const char *name;
    const char *fallback; /* the default; NULL: "" */
    const char *doc;      /* one or two sentences for --help */
    bool secret;          /* its value is never shown */
};

/* Your callbacks. Set all to zero, then what you need; `execute` is mandatory. `ctx` is what
 * start() stored in *ret_ctx, or NULL. Borrowed until reeve_agent_run() returns. */
struct reeve_agent_ops {
    /* The agent's name in workflows, unless agent.name is set: 1 to 64 of [A-Za-z0-9._-]. NULL:
     * agent.name must be set. */
    const char *name;
    /* How many calls may run at once, unless agent.in.flight.max is set. 0 = that key's default. */
    uint32_t capacity;
    /* Configuration keys of your own. NULL: none. */
    const struct reeve_agent_key *keys;
    uint32_t key_count;
    /* Builds the agent's state before its first call. To end the process instead, call
     * reeve_agent_fail() and return false; stop() is then not called. NULL: no state. */
    bool (*start)(struct reeve_agent *agent, void **ret_ctx);
    /* Does the step. */
    void (*execute)(void *ctx, struct reeve_agent_call *call);
    /* Undoes what was done under reeve_agent_call_do_key(). NULL: requests to undo fail
     * permanently with "Agent.NoCompensate". */
    void (*compensate)(void *ctx, struct reeve_agent_call *call);
    /* The deadline of a call that runs has moved: reeve_agent_call_complete_by() is later now.
     * NULL: you ask for it when you need it. */
    void (*extended)(void *ctx, struct reeve_agent_call *call);
    /* Checks whether the service is healthy again, while the circuit is open. Answer exactly once,
     * at once or later, with reeve_agent_probe_end(). NULL: the library makes one call at a time to
     * find out. */
    void (*probe)(void *ctx, struct reeve_agent_probe *probe);
    /* Frees the state. Calls and probes that are not finished are gone: join the threads that work
     * on them, do not finish them. NULL: nothing to free. */
    void (*stop)(void *ctx);
};

/* The main function of an agent. It blocks until SIGTERM or SIGINT, and then lets running calls
 * finish for up to drain.timeout.ms.
 *
 * An agent is a service like every service of reeve: configuration from flags, environment and a
 * properties file (--help lists the keys), structured logs on stderr, and an HTTP server with
 * /livez, /readyz and /metrics. `argv` holds `argc` arguments without the program's name, and is
 * borrowed until this function returns. An argument that is neither a flag of reeve nor one of
 * ops->keys is an error.
 *
 * Returns the exit code for the process: 0 after a clean stop or --help; 64, wrong flags; 65,
 * topics are missing (`reeve topics apply`); 69, Kafka does not answer; 78, wrong configuration;
 * 70, any other failure; or the code of reeve_agent_fail(). The log has the reason. Call it from
 * the main thread before you start other threads (it blocks signals), and once per process. */
REEVE_API int reeve_agent_run(const struct reeve_agent_ops *ops, int argc, char *const argv[]);

/* The value of a configuration key, one of ops->keys or of reeve's ("instance.id"), as it was
 * written or by default, and as this agent sees it (agent.NAME.REST overrides agent.REST for the
 * agent NAME). NULL: there is no such key. Borrowed until stop() has returned. */
REEVE_API const char *reeve_agent_config(const struct reeve_agent *agent, const char *key);

/* The agent's name in workflows. Borrowed until stop() has returned. */
REEVE_API const char *reeve_agent_name(const struct reeve_agent *agent);

/* A folder that exists and that no other process of reeve uses; keep your files in a subfolder of
 * it. Borrowed until stop() has returned. */
REEVE_API const char *reeve_agent_data_dir(const struct reeve_agent *agent);

/* Why an agent ends its process, which is also its exit code. */
enum reeve_agent_error {
    REEVE_AGENT_UNAVAILABLE = 69, /* something does not answer; a later start may succeed */
    REEVE_AGENT_FATAL = 70,       /* starting again will not help */
    REEVE_AGENT_CONFIG = 78       /* the configuration is wrong; say which key, and what is right */
};

/* In start(): why it returns false. At any later time: the process logs the message, stops all its
 * agents and ends. `message` is one line of up to 600 bytes. */
REEVE_API void reeve_agent_fail(struct reeve_agent *agent, enum reeve_agent_error error,
                                const char *message);

/* ---- what a call asks for; all texts are borrowed until the call is finished ---- */

REEVE_API struct reeve_text reeve_agent_call_order_id(const struct reeve_agent_call *call);
REEVE_API struct reeve_text reeve_agent_call_step(const struct reeve_agent_call *call);
/* The action that the workflow names for this step. */
REEVE_API struct reeve_text reeve_agent_call_action(const struct reeve_agent_call *call);
/* The same for every call of this operation, and different from that of any other. */
REEVE_API struct reeve_text reeve_agent_call_idempotency_key(const struct reeve_agent_call *call);
/* The idempotency key of the forward direction: in compensate(), what is to be undone. */
REEVE_API struct reeve_text reeve_agent_call_do_key(const struct reeve_agent_call *call);
/* The attempt of the step, from 1; the scheduler starts each. */
REEVE_API uint32_t reeve_agent_call_attempt(const struct reeve_agent_call *call);
/* The try within the attempt, from 1; this process starts each. */
REEVE_API uint32_t reeve_agent_call_try_number(const struct reeve_agent_call *call);
/* The deadline of the attempt: an instant. */
REEVE_API int64_t reeve_agent_call_complete_by(const struct reeve_agent_call *call);
/* The time from the start of this call to the deadline; at least 1. */
REEVE_API int64_t reeve_agent_call_time_left_ms(const struct reeve_agent_call *call);
/* A pointer of yours; NULL when the call starts. */
REEVE_API void *reeve_agent_call_userdata(const struct reeve_agent_call *call);
REEVE_API void reeve_agent_call_set_userdata(struct reeve_agent_call *call, void *userdata);

/* What the Input of the step's workflow makes for this call: canonical JSON, so a number may have
 * more digits than a double holds. Every call of one operation gets the same text, and to undo a
 * step has the input that doing it had, unless the workflow names another. Absent if the step has
 * no Input. With it, the order of the call has no input and no lines, and the call has no outputs
 * but, in compensate(), that of the step itself. */
REEVE_API struct reeve_text reeve_agent_call_input(const struct reeve_agent_call *call);

/* ---- the order, as the customer submitted it ---- */

/* The order's input: canonical JSON of up to 262144 bytes. Absent if the order has none, or the
 * step has an Input. */
REEVE_API struct reeve_text reeve_agent_call_order_input(const struct reeve_agent_call *call);
REEVE_API struct reeve_text reeve_agent_call_workflow(const struct reeve_agent_call *call);
REEVE_API struct reeve_text reeve_agent_call_customer(const struct reeve_agent_call *call);
/* ISO 4217, like "EUR"; absent if the order has none. */
REEVE_API struct reeve_text reeve_agent_call_currency(const struct reeve_agent_call *call);
/* The W3C trace context to pass on; absent if the order has none. */
REEVE_API struct reeve_text reeve_agent_call_traceparent(const struct reeve_agent_call *call);

enum { REEVE_PRICE_UNITS = 10000, REEVE_PRICE_SIZE = 24 };

struct reeve_order_line {
    struct reeve_text sku;
    struct reeve_text description;
    int64_t quantity;   /* at least 1 */
    int64_t unit_price; /* in 1/REEVE_PRICE_UNITS of the currency's unit: 42000 is 4.20 */
};

REEVE_API uint32_t reeve_agent_call_line_count(const struct reeve_agent_call *call);
/* `index` is less than the count. */
REEVE_API struct reeve_order_line reeve_agent_call_line(const struct reeve_agent_call *call,
                                                        uint32_t index);
/* Writes the price, between -10^18 and 10^18, as a decimal number without trailing zeros, like
 * "4.2"; ends it with NUL. Returns its length. */
REEVE_API size_t reeve_price_format(int64_t price, char ret_text[REEVE_PRICE_SIZE]);

/* An attribute of the order with its value, or a step with its output. */
struct reeve_named_text {
    struct reeve_text name;
    struct reeve_text value;
};

/* Attributes, sorted by name. `index` is less than the count. */
REEVE_API uint32_t reeve_agent_call_attribute_count(const struct reeve_agent_call *call);
REEVE_API struct reeve_named_text reeve_agent_call_attribute_at(const struct reeve_agent_call *call,
                                                                uint32_t index);
/* The value of the attribute, which may be empty; absent if the order does not have it. `name` is
 * not NULL. */
REEVE_API struct reeve_text reeve_agent_call_attribute(const struct reeve_agent_call *call,
                                                       const char *name);

/* Outputs (JSON) of the steps that have been processed. `index` is less than the count. */
REEVE_API uint32_t reeve_agent_call_output_count(const struct reeve_agent_call *call);
REEVE_API struct reeve_named_text reeve_agent_call_output_at(const struct reeve_agent_call *call,
                                                             uint32_t index);
/* The output of the step; absent if the step was not processed, or had none. `step` is not NULL. */
REEVE_API struct reeve_text reeve_agent_call_output(const struct reeve_agent_call *call,
                                                    const char *step);

/* ---- finishing a call; also from inside execute() and compensate() ---- */

/* What a failed call may have done at your service. */
enum reeve_effect {
    REEVE_EFFECT_UNKNOWN = 0, /* it may have been applied: no answer, a broken connection */
    REEVE_EFFECT_NONE = 1,    /* certainly nothing */
    REEVE_EFFECT_APPLIED = 2  /* certainly something: it has to be undone */
};

/* Why a call failed. Set all to zero, then what you know. */
struct reeve_agent_failure {
    /* What ErrorEquals in a workflow matches: 1 to 64 of [A-Za-z0-9._-]; any other name is reported
     * as "Agent.Error". */
    const char *name;
    const char *message; /* for operators; cut at 1024 bytes */
    enum reeve_effect effect;
    bool retriable; /* the same call may succeed later: the library repeats it while time is left */
    /* The service itself is unhealthy: it refuses connections, breaks them off or does not answer.
     * A service that answers "no" is healthy. After many such failures the circuit opens, and this
     * instance leaves its requests to others. */
    bool service_unhealthy;
    int64_t retry_after_ms; /* do not repeat the call earlier; 0 = the library's backoff */
};

/* Each of these three finishes the call: it is invalid from then on. */

/* `output` is what your service answered: JSON of up to 262144 bytes, or NULL. The step keeps the
 * part that its Output names, or all of it, of up to 65536 bytes. Since the operation is done, it
 * is reported in any case: with {"bytes":N,"truncated":true} if the output is longer, without an
 * output if it is not JSON. */
REEVE_API void reeve_agent_call_succeed(struct reeve_agent_call *call, const char *output);
REEVE_API void reeve_agent_call_fail(struct reeve_agent_call *call,
                                     const struct reeve_agent_failure *failure);
/* Your service has accepted the request and reports its outcome later, to the URL of
 * reeve_agent_call_callback_url(). The step remains as it is until then, or until its deadline. The
 * request is remembered as accepted: no second call if it comes again. */
REEVE_API void reeve_agent_call_accept(struct reeve_agent_call *call);

/* Writes the URL to which your service may report the call's outcome, at any time and to any
 * instance of this agent; docs/use/agents.md describes what it sends. Ends it with NUL and writes
 * at most `size` bytes. Returns the URL's length: if that is `size` or more, the URL was cut. 0:
 * this instance has no address for callbacks (agent.callback.url). */
REEVE_API size_t reeve_agent_call_callback_url(const struct reeve_agent_call *call, char *ret_url,
                                               size_t size);

/* Asks for more time: until `extra_ms` (at least 1) from now. `progress` is for operators and for
 * the application that submitted the order; it is cut at 1024 bytes. The workflow limits what is
 * granted (MaxExtensionSeconds). The deadline does not move until the scheduler grants it
 * (extended()): ask early, and not often. */
REEVE_API void reeve_agent_call_extend(struct reeve_agent_call *call, int64_t extra_ms,
                                       const char *progress);

/* Finishes the probe. `why`: what is wrong, if the service is not healthy. */
REEVE_API void reeve_agent_probe_end(struct reeve_agent_probe *probe, bool healthy,
                                     const char *why);

/* ---- threads ---- */

/* Lets another thread wake the loop. */
struct reeve_wakeup;

/* New. From now on `callback` is called on the loop's thread, once for any number of sends since
 * its last call. `ctx` is borrowed. NULL: the process has no file descriptor left. */
REEVE_API struct reeve_wakeup *reeve_wakeup_new(struct reeve_agent *agent,
                                                void (*callback)(void *ctx), void *ctx);
/* From any thread, and from a signal handler. Never blocks. */
REEVE_API void reeve_wakeup_send(struct reeve_wakeup *wakeup);
/* No thread may send any more. At the latest in stop(). NULL is allowed. */
REEVE_API void reeve_wakeup_free(struct reeve_wakeup *wakeup);

#ifdef __cplusplus
}
#endif

#endif
