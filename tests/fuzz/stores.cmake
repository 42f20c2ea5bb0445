# SPDX-License-Identifier: Apache-2.0
#
# What topics bring to services that keep a store, and what happens to them; kept_store.c keeps it
# open.
#
# fuzz-owner CORPUS: the owner of a partition. fuzz-supervisor CORPUS: a supervisor's partition.
# fuzz-console CORPUS: the console, and requests to its API; console_http.c is in place of the HTTP
# server.

reeve_fuzz(owner SOURCES owner_fuzz.c input.c kept_store.c LIBS reeve-scheduler reeve-test-site)
reeve_fuzz(supervisor SOURCES supervisor_fuzz.c input.c kept_store.c log_writer.c
    LIBS reeve-supervisor reeve-test-site reeve-test-engine)
reeve_fuzz(console SOURCES console_fuzz.c console_http.c input.c kept_store.c log_writer.c
    LIBS reeve-console reeve-test-site reeve-test-engine)
if(TARGET fuzz-console)
    foreach(function env_new env_free open close drop commit flush)
        foreach(target owner supervisor console)
            target_link_options(fuzz-${target} PRIVATE LINKER:--wrap=store_${function})
        endforeach()
    endforeach()
    foreach(function server_route server_missing server_streams method path param query query_name
            query_next header body cross_site user gone respond respond_error respond_failure
            set_header respond_stream pendings_admit pending_wait)
        target_link_options(fuzz-console PRIVATE LINKER:--wrap=http_${function})
    endforeach()
    target_link_options(fuzz-console PRIVATE LINKER:--wrap=codec_new LINKER:--wrap=codec_free)
endif()
