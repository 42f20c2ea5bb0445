/* SPDX-License-Identifier: Apache-2.0 */
/* See tokens.h. */
#include "platform/http/tokens.h"

#include "base/enum_names.h"
#include "base/rfc3339.h"
#include "platform/http/access_lines.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <gnutls/crypto.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define HASH_PREFIX "sha256:"
#define LINE_EXPECTED "expected NAME ROLE sha256:HEX CREATED [EXPIRES] [KEY=VALUE ...]"

enum {
    FIELDS_MAX = 5 + HTTP_BINDING_COUNT,
    LINE_SIZE = 256 + HTTP_BINDING_COUNT * (HTTP_BINDING_SIZE + 16)
};

static const char *const role_table[] = {"viewer", "operator", "submitter", "agent"};
static const struct enum_names role_names = ENUM_NAMES(role_table);
_Static_assert(sizeof(role_table) / sizeof(role_table[0]) == HTTP_ROLE_COUNT, "one for each");

const char *http_role_name(enum http_role role)
{
    return enum_name(&role_names, (uint32_t)role);
}

bool http_role_parse(struct text text, enum http_role *ret_role)
{
    uint32_t value = 0;
    if (!enum_names_find(&role_names, text, &value))
        return false;
    *ret_role = (enum http_role)value;
    return true;
}

static bool name_is_valid(struct text name)
{
    if (name.size == 0 || name.size > HTTP_TOKEN_NAME_MAX)
        return false;
    for (uint32_t i = 0; i < name.size; i++) {
        unsigned char byte = (unsigned char)name.data[i];
        if (!isalnum(byte) && (byte == '\0' || strchr("._-@+", byte) == NULL))
            return false;
    }
    return true;
}

/* ---- reading ---- */

static int hex_digit(char digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

static bool read_hash(struct text text, uint8_t ret_hash[HTTP_TOKEN_HASH_SIZE])
{
    struct text prefix = TEXT(HASH_PREFIX);
    if (text.size != prefix.size + 2 * HTTP_TOKEN_HASH_SIZE ||
        memcmp(text.data, prefix.data, prefix.size) != 0)
        return false;
    for (uint32_t i = 0; i < HTTP_TOKEN_HASH_SIZE; i++) {
        int high = hex_digit(text.data[prefix.size + 2 * i]);
        int low = hex_digit(text.data[prefix.size + 2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        ret_hash[i] = (uint8_t)(high * 16 + low);
    }
    return true;
}

/* More fields than FIELDS_MAX count as FIELDS_MAX + 1. */
static size_t split(struct text line, struct text ret_fields[FIELDS_MAX])
{
    size_t count = 0;
    struct text field = access_field_take(&line);
    for (; !text_empty(field) && count <= FIELDS_MAX; field = access_field_take(&line)) {
        if (count < FIELDS_MAX)
            ret_fields[count] = field;
        count++;
    }
    return count;
}

static bool fits_role(enum http_binding binding, enum http_role role)
{
    return role == (binding == HTTP_BOUND_AGENTS ? HTTP_ROLE_AGENT : HTTP_ROLE_SUBMITTER);
}

/* NULL, or what is wrong. */
static const char *check_bindings(const struct http_bindings *bindings, enum http_role role)
{
    for (int binding = 0; binding < HTTP_BINDING_COUNT; binding++) {
        if (bindings->to[binding][0] != '\0' && !fits_role((enum http_binding)binding, role))
            return "reply-to and id-prefix are for submitters, agents is for the role agent";
    }
    return NULL;
}

static bool is_binding(struct text field)
{
    return memchr(field.data, '=', field.size) != NULL;
}

static const char *read_bindings(const struct text *fields, size_t count,
                                 struct http_token *ret_token)
{
    const char *wrong = NULL;
    for (size_t i = 0; i < count && wrong == NULL; i++)
        wrong = is_binding(fields[i]) ? http_binding_read(&ret_token->bindings, fields[i])
                                      : LINE_EXPECTED;
    return wrong != NULL ? wrong : check_bindings(&ret_token->bindings, ret_token->role);
}

static const char *read_token(struct text line, struct http_token *ret_token)
{
    struct text fields[FIELDS_MAX];
    size_t count = split(line, fields);
    if (count < 4 || count > FIELDS_MAX)
        return LINE_EXPECTED;
    bool expires = count > 4 && !is_binding(fields[4]);
    if (!name_is_valid(fields[0]))
        return "the name must be " HTTP_TOKEN_NAME_EXPECTED;
    memcpy(ret_token->name, fields[0].data, fields[0].size);
    if (!http_role_parse(fields[1], &ret_token->role))
        return "the role must be viewer, operator, submitter or agent";
    if (!read_hash(fields[2], ret_token->hash))
        return "the hash must be sha256: and 64 hexadecimal digits in lower case";
    if (!rfc3339_parse(fields[3], &ret_token->created_ms) ||
        (expires && !rfc3339_parse(fields[4], &ret_token->expires_ms)))
        return "times must be like 2010-12-01T08:26:00Z";
    size_t first = expires ? 5 : 4;
    return read_bindings(fields + first, count - first, ret_token);
}

static const struct http_token *by_hash(const struct http_tokens *tokens,
                                        const uint8_t hash[HTTP_TOKEN_HASH_SIZE])
{
    for (size_t i = 0; i < tokens->count; i++) {
        if (memcmp(tokens->of[i].hash, hash, HTTP_TOKEN_HASH_SIZE) == 0)
            return &tokens->of[i];
    }
    return NULL;
}

static const struct http_token *by_name(const struct http_tokens *tokens, struct text name)
{
    for (size_t i = 0; i < tokens->count; i++) {
        if (text_equal(name, text_of(tokens->of[i].name)))
            return &tokens->of[i];
    }
    return NULL;
}

static enum error_class parse(const char *path, struct text content, struct http_tokens *tokens,
                              struct error *ret_error)
{
    for (unsigned number = 1; content.size > 0; number++) {
        struct text line = access_line_take(&content);
        struct http_token token = {.expires_ms = 0};
        if (access_line_is_skipped(line))
            continue;
        const char *wrong = read_token(line, &token);
        if (wrong == NULL && by_name(tokens, text_of(token.name)) != NULL)
            wrong = "another line has the same name";
        if (wrong == NULL && by_hash(tokens, token.hash) != NULL)
            wrong = "another line has the same hash: every token has one name and one role";
        if (wrong == NULL && tokens->count == HTTP_TOKENS_MAX)
            wrong = "there are more than 1000 tokens";
        if (wrong != NULL)
            return error_set(ret_error, CODE_CONFIG, "%s, line %u: %s", path, number, wrong);
        tokens->of = reallocarray(tokens->of, tokens->count + 1, sizeof(token));
        assert(tokens->of != NULL);
        tokens->of[tokens->count++] = token;
    }
    return ERROR_OK;
}
_Static_assert(HTTP_TOKENS_MAX == 1000, "as in the message");

static const struct access_lines_kind token_lines = {HTTP_TOKEN_FILE_MAX, "any role"};

enum error_class http_tokens_read(const char *path, struct http_tokens *ret_tokens,
                                  struct error *ret_error)
{
    struct http_tokens tokens = {0};
    struct files_owner owner;
    char *content = NULL;
    size_t size = 0;
    if (access_lines_read(&token_lines, path, false, &content, &size, &owner, ret_error) !=
        ERROR_OK)
        return ERROR_REJECT;
    enum error_class class =
        parse(path, (struct text){content, (uint32_t)size}, &tokens, ret_error);
    free(content);
    if (class == ERROR_OK)
        *ret_tokens = tokens;
    else
        http_tokens_deinit(&tokens);
    return class;
}

void http_tokens_deinit(struct http_tokens *tokens)
{
    free(tokens->of);
    *tokens = (struct http_tokens){0};
}

/* ---- looking up ---- */

bool http_token_can_be_sent(const char *token)
{
    size_t size = strlen(token);
    for (size_t i = 0; i < size; i++) {
        if (!isalnum((unsigned char)token[i]) && strchr("-._~+/=", token[i]) == NULL)
            return false;
    }
    return size <= HTTP_BEARER_MAX;
}

void http_token_hash(struct text token, uint8_t ret_hash[HTTP_TOKEN_HASH_SIZE])
{
    int rc = gnutls_hash_fast(GNUTLS_DIG_SHA256, token.data, token.size, ret_hash);
    assert(rc == 0); /* fails only for an algorithm that is not there */
}

const struct http_token *http_tokens_find(const struct http_tokens *tokens,
                                          const uint8_t hash[HTTP_TOKEN_HASH_SIZE], int64_t now_ms)
{
    const struct http_token *found = NULL;
    for (size_t i = 0; i < tokens->count; i++) {
        if (gnutls_memcmp(tokens->of[i].hash, hash, HTTP_TOKEN_HASH_SIZE) == 0)
            found = &tokens->of[i];
    }
    bool expired = found != NULL && found->expires_ms != 0 && found->expires_ms <= now_ms;
    return expired ? NULL : found;
}

bool http_tokens_agree(const struct http_tokens *one, const struct http_tokens *other,
                       const uint8_t hash[HTTP_TOKEN_HASH_SIZE])
{
    const struct http_token *before = by_hash(one, hash);
    const struct http_token *after = by_hash(other, hash);
    return before != NULL && after != NULL && strcmp(before->name, after->name) == 0;
}

/* ---- changing the file ---- */

/* One process at a time changes a file; the lock is on its directory, since the file is replaced.
 * -1 with *ret_error. */
static int lock_directory(const char *path, struct error *ret_error)
{
    char copy[PATH_MAX];
    if ((size_t)snprintf(copy, sizeof(copy), "%s", path) >= sizeof(copy)) {
        error_set(ret_error, CODE_CONFIG, "the path of the tokens' file is too long");
        return -1;
    }
    const char *directory = dirname(copy);
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0 && flock(fd, LOCK_EX) == 0)
        return fd;
    error_set(ret_error, CODE_CONFIG, "%s: %s", directory, strerror(errno));
    if (fd >= 0)
        close(fd);
    return -1;
}

static void new_token(char ret_token[HTTP_TOKEN_SIZE])
{
    uint8_t bytes[HTTP_TOKEN_BYTES];
    size_t prefix = sizeof(HTTP_TOKEN_PREFIX) - 1;
    int rc = gnutls_rnd(GNUTLS_RND_KEY, bytes, sizeof(bytes));
    assert(rc == 0);
    memcpy(ret_token, HTTP_TOKEN_PREFIX, prefix);
    base64_encode((struct text){(const char *)bytes, sizeof(bytes)}, ret_token + prefix);
    assert(strlen(ret_token) == HTTP_TOKEN_SIZE - 1);
}

static void format_line(const struct http_token *token, char ret_line[LINE_SIZE])
{
    char hash[2 * HTTP_TOKEN_HASH_SIZE + 1];
    char created[RFC3339_TEXT_SIZE];
    char expires[RFC3339_TEXT_SIZE] = "";
    for (int i = 0; i < HTTP_TOKEN_HASH_SIZE; i++)
        snprintf(hash + 2 * i, 3, "%02x", token->hash[i]);
    rfc3339_format(token->created_ms, created);
    if (token->expires_ms != 0)
        rfc3339_format(token->expires_ms, expires);
    int size = snprintf(ret_line, LINE_SIZE, "%s %s " HASH_PREFIX "%s %s%s%s", token->name,
                        http_role_name(token->role), hash, created, expires[0] != '\0' ? " " : "",
                        expires);
    for (int i = 0; i < HTTP_BINDING_COUNT; i++) {
        if (token->bindings.to[i][0] != '\0')
            size += snprintf(ret_line + size, LINE_SIZE - (size_t)size, " %s=%s",
                             http_binding_key((enum http_binding)i), token->bindings.to[i]);
    }
    size += snprintf(ret_line + size, LINE_SIZE - (size_t)size, "\n");
    assert(size > 0 && size < LINE_SIZE);
}

/* The file with `line` at its end, or without the line of the token `leave_out`. New. */
static char *edited(struct text content, const char *line, struct text leave_out)
{
    size_t capacity = content.size + strlen(line) + 2;
    char *text = malloc(capacity);
    size_t size = 0;
    assert(text != NULL);
    while (content.size > 0) {
        struct text old = access_line_take(&content);
        struct text fields[FIELDS_MAX];
        bool leaves = leave_out.size > 0 && !access_line_is_skipped(old) &&
                      split(old, fields) > 0 && text_equal(fields[0], leave_out);
        if (!leaves)
            size += (size_t)snprintf(text + size, capacity - size, "%.*s\n", TEXT_ARG(old));
    }
    snprintf(text + size, capacity - size, "%s", line);
    return text;
}

/* The file that is changed, under the lock. */
struct token_change {
    const char *path;
    int lock;
    bool exists;
    struct files_owner owner;
    char *content;
    struct http_tokens tokens;
};

/* In any case followed by end_change(). A file that does not exist yet is an empty one if
 * `create`. */
static enum error_class begin_change(const char *path, bool create, struct token_change *change,
                                     struct error *ret_error)
{
    size_t size = 0;
    *change = (struct token_change){.path = path, .lock = lock_directory(path, ret_error)};
    if (change->lock < 0)
        return ERROR_REJECT;
    change->exists = !create || files_exists(path);
    if (!change->exists) {
        change->content = calloc(1, 1);
        assert(change->content != NULL);
        return ERROR_OK;
    }
    if (access_lines_read(&token_lines, path, true, &change->content, &size, &change->owner,
                          ret_error) != ERROR_OK)
        return ERROR_REJECT;
    return parse(path, (struct text){change->content, (uint32_t)size}, &change->tokens, ret_error);
}

/* The service that reads the file may run as another user than the one who changes it. */
static enum error_class write_change(const struct token_change *change, const char *line,
                                     struct text leave_out, struct error *ret_error)
{
    char *text = edited(text_of(change->content), line, leave_out);
    enum error_class class = files_write_atomic_for(
        change->path, text_of(text), change->exists ? &change->owner : NULL, ret_error);
    free(text);
    return class;
}

static void end_change(struct token_change *change)
{
    http_tokens_deinit(&change->tokens);
    free(change->content);
    if (change->lock >= 0)
        close(change->lock);
}

static enum error_class check_new(const struct http_tokens *tokens, const char *path,
                                  struct text name, struct error *ret_error)
{
    if (!name_is_valid(name))
        return error_set(ret_error, CODE_BAD_NAME, "the name must be " HTTP_TOKEN_NAME_EXPECTED);
    if (by_name(tokens, name) != NULL)
        return error_set(ret_error, CODE_EXISTS, "%s has a token of the name %.*s: revoke it first",
                         path, TEXT_ARG(name));
    if (tokens->count == HTTP_TOKENS_MAX)
        return error_set(ret_error, CODE_TOO_MANY, "%s holds %d tokens: revoke some", path,
                         HTTP_TOKENS_MAX);
    return ERROR_OK;
}

enum error_class http_tokens_add_bound(const char *path, struct text name, enum http_role role,
                                       const struct http_bindings *bindings, int64_t now_ms,
                                       int64_t expires_ms, char ret_token[HTTP_TOKEN_SIZE],
                                       struct error *ret_error)
{
    struct token_change change;
    struct http_token token = {
        .role = role, .created_ms = now_ms, .expires_ms = expires_ms, .bindings = *bindings};
    char text[HTTP_TOKEN_SIZE];
    char line[LINE_SIZE];
    const char *wrong = check_bindings(bindings, role);
    if (wrong != NULL)
        return error_set(ret_error, CODE_BAD_BINDING, "%s", wrong);
    enum error_class class = begin_change(path, true, &change, ret_error);
    if (class == ERROR_OK)
        class = check_new(&change.tokens, path, name, ret_error);
    if (class == ERROR_OK) {
        memcpy(token.name, name.data, name.size);
        new_token(text);
        http_token_hash(text_of(text), token.hash);
        format_line(&token, line);
        class = write_change(&change, line, TEXT(""), ret_error);
    }
    if (class == ERROR_OK)
        memcpy(ret_token, text, sizeof(text));
    end_change(&change);
    return class;
}

enum error_class http_tokens_add(const char *path, struct text name, enum http_role role,
                                 int64_t now_ms, int64_t expires_ms,
                                 char ret_token[HTTP_TOKEN_SIZE], struct error *ret_error)
{
    static const struct http_bindings none;
    return http_tokens_add_bound(path, name, role, &none, now_ms, expires_ms, ret_token, ret_error);
}

enum error_class http_tokens_revoke(const char *path, struct text name, struct error *ret_error)
{
    struct token_change change;
    enum error_class class = begin_change(path, false, &change, ret_error);
    if (class == ERROR_OK && by_name(&change.tokens, name) == NULL)
        class = error_set(ret_error, CODE_NOT_FOUND, "%s has no token of the name %.*s", path,
                          TEXT_ARG(name));
    if (class == ERROR_OK)
        class = write_change(&change, "", name, ret_error);
    end_change(&change);
    return class;
}
