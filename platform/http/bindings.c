/* SPDX-License-Identifier: Apache-2.0 */
/* See bindings.h. */
#include "platform/http/bindings.h"

#include "base/names.h"

#include <assert.h>
#include <string.h>

static const char *const keys[] = {"reply-to", "id-prefix", "agents"};
_Static_assert(sizeof(keys) / sizeof(keys[0]) == HTTP_BINDING_COUNT, "one for each");

const char *http_binding_key(enum http_binding binding)
{
    assert((unsigned)binding < HTTP_BINDING_COUNT);
    return keys[binding];
}

/* The next name of a list that is separated by commas. */
static struct text take_name(struct text *rest)
{
    const char *comma = memchr(rest->data, ',', rest->size);
    uint32_t size = comma != NULL ? (uint32_t)(comma - rest->data) : rest->size;
    struct text name = {rest->data, size};
    *rest = text_from(*rest, size + (comma != NULL));
    return name;
}

static bool is_list_of_names(struct text value)
{
    bool valid = value.size > 0 && value.data[value.size - 1] != ',';
    while (valid && value.size > 0)
        valid = name_valid_new(take_name(&value));
    return valid;
}

const char *http_binding_set(struct http_bindings *bindings, enum http_binding binding,
                             struct text value)
{
    char *to = bindings->to[binding];
    if (to[0] != '\0')
        return "a token is bound once to a reply topic, to an id prefix and to agents";
    if (value.size >= HTTP_BINDING_SIZE)
        return "a binding has at most 249 bytes";
    if (binding == HTTP_BOUND_AGENTS ? !is_list_of_names(value)
                                     : value.size == 0 || !name_characters_valid(value))
        return binding == HTTP_BOUND_AGENTS
                   ? "agents must be names, separated by commas"
                   : "a reply topic and an id prefix have letters, digits, '.', '_' and '-'";
    memcpy(to, value.data, value.size);
    to[value.size] = '\0';
    return NULL;
}
_Static_assert(HTTP_BINDING_SIZE == 250, "as in the message");

const char *http_binding_read(struct http_bindings *bindings, struct text field)
{
    for (int binding = 0; binding < HTTP_BINDING_COUNT; binding++) {
        uint32_t size = (uint32_t)strlen(keys[binding]);
        if (field.size > size && memcmp(field.data, keys[binding], size) == 0 &&
            field.data[size] == '=')
            return http_binding_set(bindings, (enum http_binding)binding,
                                    text_from(field, size + 1));
    }
    return "a token is bound by reply-to=TOPIC, id-prefix=PREFIX and agents=NAME,NAME";
}

static bool has_name(struct text list, struct text name)
{
    bool found = false;
    while (!found && list.size > 0)
        found = text_equal(take_name(&list), name);
    return found;
}

bool http_binding_permits(const struct http_bindings *bindings, enum http_binding binding,
                          struct text value)
{
    struct text to = text_of(bindings->to[binding]);
    if (text_empty(to) || text_empty(value))
        return true;
    switch (binding) {
    case HTTP_BOUND_REPLY_TO:
        return text_equal(to, value);
    case HTTP_BOUND_ID_PREFIX:
        return value.size >= to.size && memcmp(value.data, to.data, to.size) == 0;
    case HTTP_BOUND_AGENTS:
        return has_name(to, value);
    case HTTP_BINDING_COUNT:
        break;
    }
    return false;
}
