# SPDX-License-Identifier: Apache-2.0
#
# schedule: cron, time zones, ticks, and the files.

reeve_test(schedule
    SOURCES cron_test.c registry_test.c schedule_file_test.c ticks_test.c zone_test.c
    LIBS reeve-schedule)
