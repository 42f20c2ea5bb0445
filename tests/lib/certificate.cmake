# SPDX-License-Identifier: Apache-2.0
#
# Certificates for tests of TLS.

reeve_library(reeve-test-certificate SOURCES certificate.c LIBS PkgConfig::CRYPTO
    PkgConfig::CRITERION)
