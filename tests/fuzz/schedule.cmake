# SPDX-License-Identifier: Apache-2.0
#
# fuzz-schedule CORPUS: untrusted files of schedules, and files of time zones.

reeve_fuzz(schedule SOURCES schedule_fuzz.c LIBS reeve-schedule)
