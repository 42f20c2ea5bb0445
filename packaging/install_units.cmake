# SPDX-License-Identifier: Apache-2.0
#
# Part of `cmake --install`: units and a configuration that name the places of this prefix, which
# may have been chosen just now. Below /usr the configuration is in /etc.

set(bindir ${CMAKE_INSTALL_PREFIX}/bin)
if(CMAKE_INSTALL_PREFIX STREQUAL "/usr")
    set(sysconfdir /etc)
else()
    set(sysconfdir ${CMAKE_INSTALL_PREFIX}/etc)
endif()
set(system_service "@system-service") # not a variable

# unit(SERVICE PORT DESCRIPTION)
function(unit service port description)
    configure_file(${CMAKE_CURRENT_LIST_DIR}/systemd/reeve.service.in
        ${made}/reeve-${service}.service @ONLY)
    file(INSTALL ${made}/reeve-${service}.service ${CMAKE_CURRENT_LIST_DIR}/systemd/reeve.target
        DESTINATION ${CMAKE_INSTALL_PREFIX}/lib/systemd/system)
endfunction()
unit(submission 8081 "takes in orders by HTTP and Kafka")
unit(scheduler 8082 "decides what happens to orders")
unit(supervisor 8083 "asks for recovery of what timed out")
unit(agent 8084 "calls remote services")
unit(console 8080 "shows orders to operators and carries out their commands")
configure_file(${CMAKE_CURRENT_LIST_DIR}/reeve.properties.in ${made}/reeve.properties @ONLY)

# What an administrator wrote stays; packages leave that to dpkg.
if(CMAKE_INSTALL_PREFIX STREQUAL "/usr"
        OR NOT EXISTS "$ENV{DESTDIR}${sysconfdir}/reeve/reeve.properties")
    file(INSTALL ${made}/reeve.properties DESTINATION ${sysconfdir}/reeve)
endif()
