# SPDX-License-Identifier: Apache-2.0
#
# The ticks of random schedules against a clock that is watched minute by minute.

reeve_test(schedule-property
    SOURCES schedule_property.c engine_random.c
    LIBS reeve-test-seed reeve-schedule)
