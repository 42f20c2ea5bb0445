/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of an emitter, for emitter.c (the log: live and read again), target.c (what
 * each target takes and acknowledges) and dead_letter.c (giving up, dead letters). */
#ifndef SERVICES_SCHEDULER_EMITTER_INTERNAL_H
#define SERVICES_SCHEDULER_EMITTER_INTERNAL_H

#include "platform/hash_table.h"
#include "services/scheduler/emitter/emitter.h"

#include <utlist.h>

enum {
    SHARE_EFFECTS = 2048, /* of one target, with the producer or listed */
    SHARE_UNPROVEN = 32,  /* before it has acknowledged anything */
    SHARE_CROWDED = 64,   /* while many targets hold much */
    QUIET_MS = 10 * 1000, /* a target that acknowledges nothing for so long gets nothing more */
    GIVE_UP_MS = 15 * 60 * 1000,
    LOOK_UP_MS = 50,       /* again, how many partitions a topic has */
    RESUME_MS = 30 * 1000, /* without an acknowledgement: everything may have been away */
    PACE_MS = 10,          /* in which a partition of `commands` takes no more than */
    PACE_MESSAGES = 64
};
/* What is over the pace waits here with this many bytes, and beyond that in the log. */
#define PACED_BYTES ((size_t)256 * 1024)
#define SHARE_BYTES ((size_t)8 * 1024 * 1024)
#define SHARE_BYTES_CROWDED ((size_t)256 * 1024)
/* Of a process: the producer takes 500,000 records. */
#define CROWDED_EFFECTS 250000U
#define CROWDED_BYTES ((size_t)512 * 1024 * 1024)

/* A place in the stream of effects: a Decision, and which of its effects. */
struct effect_place {
    int64_t offset;
    int64_t decided_at;
    int64_t before; /* the admitted Decision before that one; -1: none */
    uint32_t ordinal;
};

enum effect_state {
    EFFECT_PACED,         /* waits, as do all that follow it on its target */
    EFFECT_SENT,          /* to its target */
    EFFECT_REFUSED,       /* is to become a dead letter */
    EFFECT_DEAD_LETTERED, /* the dead letter is with the producer */
    EFFECT_DONE
};

/* Why an effect becomes a dead letter, and of what. */
struct effect_dead_letter {
    char code[ERROR_NAME_BYTES_MAX + 1];
    char message[ERROR_MESSAGE_SIZE];
    const char *topic;
    int64_t offset;
    int64_t timestamp;
    struct dead_letter_cut cut;
    bool without_value; /* the whole one was refused */
};

/* One effect, from being sent to being acknowledged. Its bytes are kept for a dead letter. */
struct emission {
    struct emission *next; /* in its target's list, in log order; or unused */
    struct emitter *emitter;
    struct effect_target *target;
    struct effect_place place;
    enum effect_state state;
    bool listed;         /* false: it no longer counts, and waits only for what is pending */
    uint32_t pending;    /* acknowledgements that name this struct */
    struct buffer bytes; /* the key, then the value */
    uint32_t key_size;
    bool json;                              /* the value is JSON, as the headers then say */
    struct effect_dead_letter *dead_letter; /* NULL until it is refused */
    uint64_t attempt;                       /* of a StepRequest: emitter_attempt() */
};

/* One partition of a topic. */
struct effect_target {
    struct effect_target *next; /* of the emitter */
    struct emission *first;     /* not emitted yet, in log order */
    struct emission *last;
    uint32_t count; /* of them */
    uint32_t held;  /* with the producer, of any claim */
    size_t held_bytes;
    int64_t quiet_since; /* the last acknowledgement, or the first effect after all were; 0: none
                            is outstanding */
    int64_t retry_at;
    bool proven;      /* has acknowledged lately */
    bool requests;    /* StepRequests go here */
    bool messages;    /* of orders to other orders */
    bool statuses;    /* StatusUpdates go here */
    uint32_t in_pace; /* messages since in_pace_since */
    int64_t in_pace_since;
    struct emission *paced; /* of those listed, the first that waits for the pace; NULL: none */
    size_t paced_bytes;
    bool behind;   /* does not follow; it is read again from `from` */
    bool reading;  /* behind, and part of the present reading */
    bool sweep;    /* behind with requests: their attempts may be over */
    bool given_up; /* what is older than GIVE_UP_MS becomes a dead letter */
    struct effect_place from;
    int32_t partition; /* -1: of the topic's target while their number is unknown */
    const char *topic;
};

/* A topic that effects go to. */
struct effect_topic {
    UT_hash_handle hh;
    int32_t count; /* of its partitions; 0: unknown, and then its effects wait in the log */
    struct effect_target *unknown;
    struct effect_target **targets; /* by partition; NULL: nothing went there yet */
    char name[TOPIC_BYTES_MAX + 1];
};

struct emitter {
    struct cluster *cluster;
    int32_t partition;
    struct view *view;
    struct partition_alerts *alerts;
    emitter_settled settled;
    void *ctx;
    bool running;
    int64_t acknowledged; /* the last Decision that may be emitted */
    int64_t taken;        /* the last one that every target has taken, or is behind for */
    bool live;            /* offered Decisions are taken at once; else they are read */
    int64_t through;
    bool through_stale;
    struct effect_topic *topics;        /* by name */
    struct effect_target *targets;      /* of all topics */
    struct effect_target *dead_letters; /* of dead letters */
    uint32_t unknown;                   /* topics with effects, of which it is not known how many
                                      partitions they have */
    uint32_t listed;                    /* effects, of all targets */
    uint32_t behind;                    /* targets */
    uint32_t reading;                   /* of them */
    uint32_t refused;                   /* effects that wait for a dead letter */
    struct emission *unused;
    uint32_t unused_count;
    /* who acknowledges */
    const struct effect_target *acked; /* last */
    int64_t acked_ms;
    int64_t others_acked_ms; /* the last one of another target than `acked` */
    int64_t resumed_ms;      /* the first one after a time without any */
    int64_t lead_ms;         /* from the loop's time to that of the log: at least */
    /* reading again */
    struct broker_reader *reader;
    struct checkpoint admission;
    bool admission_begun;
    int64_t read_last; /* the last admitted Decision read */
    struct heap_arena scratch;
    struct heap_arena bytes;
    struct loop_timer timer;
    uint64_t outstanding; /* acknowledgements that still name this struct */
    bool freed;
};

/* What is sent. */
struct effect_record {
    struct effect_place place;
    bool is_read; /* from the log, not offered */
    struct text key;
    struct text value; /* or, to be encoded: */
    enum record_kind kind;
    const void *record;
    uint64_t attempt;
    const struct decision *decision;
};

/* emitter.c */
/* A target has made progress: it may have room for what waits in the log. */
void emitter_progressed(struct emitter *emitter, struct effect_target *target);
/* The last acknowledgement of a freed emitter has come. */
void emitter_destroy(struct emitter *emitter);

/* target.c */
/* Where an effect with this key goes. */
struct effect_target *emitter_target(struct emitter *emitter, const char *topic, struct text key);
/* New, of no topic in the table. `topic` is borrowed. */
struct effect_target *emitter_target_new(struct emitter *emitter, const char *topic,
                                         int32_t partition);
/* Looks how many partitions the topics have whose number is unknown, or, where no effect is under
 * way, all of them. */
void emitter_look_up_topics(struct emitter *emitter, bool all);
void emitter_free_topics(struct emitter *emitter);
/* Whether emitter_take() would do anything. */
bool emitter_is_due(const struct effect_target *target, const struct effect_record *record,
                    bool follows);
/* The target takes the effect, or falls behind. `follows`: the Decision is the next one of all. */
void emitter_take(struct emitter *emitter, struct effect_target *target,
                  const struct effect_record *record, bool follows);
/* It has acknowledged nothing for a while. */
bool emitter_target_quiet(const struct emitter *emitter, const struct effect_target *target);
bool emitter_target_has_room(const struct emitter *emitter, const struct effect_target *target);
/* Its statuses wait in the log: they cannot be encoded until the schema registry has answered. */
bool emitter_target_held_up(const struct emitter *emitter, const struct effect_target *target);
/* Behind, and could take something now. */
bool emitter_target_ready(const struct emitter *emitter, const struct effect_target *target);
/* Sends what has waited for the pace, as far as it may go now. */
void emitter_send_paced(struct emitter *emitter, struct effect_target *target);
/* The first effect that waits is not sent any more. */
void emitter_drop_paced(struct emission *effect);
void emitter_unlist_all(struct emitter *emitter, struct effect_target *target);
/* Takes off the list what is done at its beginning. */
void emitter_pop_done(struct emitter *emitter, struct effect_target *target);
void emitter_acknowledged(struct emitter *emitter, struct effect_target *target);
/* The producer holds the effect, or its dead letter, on the account of `holder`. */
void emitter_hold(struct emission *effect, struct effect_target *holder);
/* It no longer does. False: the effect no longer matters and may be gone. */
bool emitter_let_go(struct emission *effect, struct effect_target *holder);

/* dead_letter.c */
/* The effect becomes a dead letter, as soon as one can be sent. */
void emitter_refuse(struct emission *effect, const struct error *error);
/* Sends the dead letter of a command. What is kept to send it again lacks the headers: after a
 * failure, the whole is read again from the log. */
enum error_class emitter_append_command(struct emission *effect, const struct decision *decision,
                                        broker_appended done);
void emitter_give_up(struct emission *effect);
/* A hash of step, direction and attempt: indexes of steps change with the workflow's version. */
uint64_t emitter_attempt(const struct attempt_ref *ref);
/* Sends the dead letters that wait. */
void emitter_send_dead_letters(struct emitter *emitter);
/* A message that nothing acknowledges, and that its order has made again by now. */
bool emitter_is_stale(const struct emitter *emitter, const struct effect_target *target,
                      const struct effect_place *place);
/* It was decided so long ago that it is given up. */
bool emitter_is_given_up(const struct emitter *emitter, const struct effect_target *target,
                         const struct effect_place *place);
/* Called from time to time: looks for targets that do not acknowledge. */
void emitter_check_targets(struct emitter *emitter);
void emitter_target_recovered(struct emitter *emitter, struct effect_target *target,
                              const char *message);

#endif
