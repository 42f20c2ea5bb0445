# SPDX-License-Identifier: Apache-2.0
#
# What the CLI makes of the console's API before and after asking.

reeve_test(cli-console SOURCES cli_console_test.c LIBS reeve-cli)
