/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/command.h"

#include <assert.h>

struct text command_asker(const struct command *cmd)
{
    assert((unsigned)cmd->kind < COMMAND_KIND_COUNT);
    switch (cmd->kind) {
    case COMMAND_CANCEL_ORDER:
        return cmd->cancel_order.by;
    case COMMAND_RECOVER_STEP:
        return cmd->recover_step.by;
    case COMMAND_START_STEP:
        return cmd->start_step.by;
    case COMMAND_TIME_OUT_ORDER:
        return cmd->time_out_order.by;
    case COMMAND_COMPENSATE_ORDER:
        return cmd->compensate_order.by;
    case COMMAND_RESUBMIT_STEP:
        return cmd->resubmit_step.by;
    case COMMAND_REPORT_STEP:
        return cmd->report_step.instance;
    case COMMAND_EXTEND_STEP:
        return cmd->extend_step.instance;
    case COMMAND_COMPLETE_STEP:
        return cmd->complete_step.by;
    case COMMAND_SKIP_STEP:
        return cmd->skip_step.by;
    case COMMAND_FAIL_STEP:
        return cmd->fail_step.by;
    case COMMAND_PAUSE_ORDER:
        return cmd->pause_order.by;
    case COMMAND_RESUME_ORDER:
        return cmd->resume_order.by;
    case COMMAND_MIGRATE_ORDER:
        return cmd->migrate_order.by;
    case COMMAND_SUBMIT_ORDER: /* the topic does not record its writers */
    case COMMAND_UNDECODABLE:
    case COMMAND_KIND_COUNT:
        break;
    }
    return (struct text){0};
}
