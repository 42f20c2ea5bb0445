# SPDX-License-Identifier: Apache-2.0
#
# Ownership under random histories, over the broker in memory and real stores.

reeve_test(ownership-property
    SOURCES ownership_property.c ownership_world.c ownership_instance.c ownership_fold.c
        ownership_actors.c ownership_history.c ownership_poison.c ownership_sometimes.c
        ownership_route.c ownership_workflow.c ownership_yaml.c engine_random.c
    LIBS reeve-scheduler reeve-simulation
    TIMEOUT 1500)
