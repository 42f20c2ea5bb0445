/* SPDX-License-Identifier: Apache-2.0 */
#include "replica/service/settings.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Test(settings, has_unique_and_documented_keys)
{
    for (size_t i = 0; i < settings_schema.key_count; i++) {
        const struct config_key *key = &settings_schema.keys[i];
        cr_assert(key->readers != 0 && (key->readers & ~(unsigned)SETTINGS_ALL) == 0, "%s",
                  key->name);
        cr_assert(key->doc[0] != '\0' && key->doc[strlen(key->doc) - 1] == '.', "%s", key->name);
        for (size_t k = 0; k < i; k++)
            cr_assert(strcmp(key->name, settings_schema.keys[k].name) != 0, "%s", key->name);
    }
}

Test(settings, names_every_key_in_help_and_docs)
{
    char *help = NULL, *markdown = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&help, &size);
    config_help(&settings_schema, out, SETTINGS_ALL);
    fclose(out);
    out = open_memstream(&markdown, &size);
    config_markdown(&settings_schema, out, SETTINGS_ALL);
    fclose(out);
    for (size_t i = 0; i < settings_schema.key_count; i++)
        cr_assert(strstr(markdown, settings_schema.keys[i].name) != NULL);
    for (const char *line = help; *line != '\0'; line += strcspn(line, "\n") + 1)
        cr_assert(strcspn(line, "\n") <= 80, "%.100s", line);
    free(help);
    free(markdown);
}

Test(settings, generates_a_new_instance_id_at_each_start)
{
    struct config *first = config_new(&settings_schema);
    struct config *second = config_new(&settings_schema);
    cr_assert(config_load(first, 0, NULL, NULL, NULL) == ERROR_OK);
    cr_assert(config_load(second, 0, NULL, NULL, NULL) == ERROR_OK);
    cr_assert(strlen(config_string(first, "instance.id")) > 10);
    cr_assert(strcmp(config_string(first, "instance.id"), config_string(second, "instance.id")) !=
              0);
    config_free(first);
    config_free(second);
}

Test(settings, keeps_a_configured_instance_id)
{
    struct config *config = config_new(&settings_schema);
    char *argv[] = {"--instance-id=a"};
    cr_assert(config_load(config, 1, argv, NULL, NULL) == ERROR_OK);
    cr_assert_str_eq(config_string(config, "instance.id"), "a");
    config_free(config);
}

Test(settings, passes_kafka_settings_to_librdkafka)
{
    struct config *config = config_new(&settings_schema);
    struct error error = {0};
    char *argv[] = {"--set", "kafka.acks=1"};
    cr_assert(config_load(config, 2, argv, NULL, &error) == ERROR_REJECT);
    cr_assert_str_eq(error.message, "kafka.acks (--set) cannot be set: a Decision counts only when "
                                    "all replicas have it");
    config_free(config);
}
