# SPDX-License-Identifier: Apache-2.0
#
# The world of ownership.cmake with tools that run in it: commands of `reeve`, and a console.

reeve_test(tools-property
    SOURCES
        tools_commands.c
        tools_console.c
        tools_fold.c
        tools_property.c
        tools_run.c
        tools_world.c
    LIBS reeve-test-ownership reeve-cli
    TIMEOUT 900)
# tools_run.c
target_link_options(test-tools-property PRIVATE
    LINKER:--wrap=cli_session_open LINKER:--wrap=cli_session_close
    LINKER:--wrap=verify_live_read LINKER:--wrap=verify_fold_run)
