// Reads where the system's names live: /etc/tidings/notify.conf, if the administrator has written one. It has lines of
// `key = value`; '#' begins a comment:
//
//     center = notify          directory = /run/tidings       owner = 0      group = 0      mode = 0666
//     shared-directory = yes
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

#define FILE_NAME "/etc/tidings/notify.conf"

static char *trimmed(char *text) {
    while (isspace((unsigned char)*text)) text++;
    size_t length = strlen(text);
    while (length > 0 && isspace((unsigned char)text[length - 1])) text[--length] = 0;
    return text;
}

static void set(notify__place *place, const char *key, const char *value) {
    tidings_configuration *configuration = &place->configuration;
    if (strcmp(key, "center") == 0) {
        snprintf(place->center, sizeof place->center, "%s", value);
    } else if (strcmp(key, "directory") == 0) {
        snprintf(place->directory, sizeof place->directory, "%s", value);
        configuration->directory = place->directory;
    } else if (strcmp(key, "owner") == 0) {
        configuration->owner = (uint32_t)strtoul(value, NULL, 10);
        configuration->flags |= TIDINGS_OPEN_OWNER;
    } else if (strcmp(key, "group") == 0) {
        configuration->group = (uint32_t)strtoul(value, NULL, 10);
        configuration->flags |= TIDINGS_OPEN_GROUP;
    } else if (strcmp(key, "mode") == 0) {
        configuration->mode = (uint32_t)strtoul(value, NULL, 8);
    } else if (strcmp(key, "shared-directory") == 0 && strcmp(value, "yes") == 0) {
        configuration->flags |= TIDINGS_OPEN_SHARED_DIRECTORY;
    }
}

void notify__place_of_system(notify__place *place) {
    memset(place, 0, sizeof *place);
    strcpy(place->center, "default");
    // secure_getenv: a program that runs with more rights than its caller ignores the variable.
    const char *other = secure_getenv("TIDINGS_NOTIFY_CONFIGURATION");
    FILE *file = fopen(other ? other : FILE_NAME, "re");
    if (!file) return;
    char line[2048];
    while (fgets(line, sizeof line, file)) {
        char *comment = strchr(line, '#'), *equals;
        if (comment) *comment = 0;
        if (!(equals = strchr(line, '='))) continue;
        *equals = 0;
        set(place, trimmed(line), trimmed(equals + 1));
    }
    fclose(file);
    // The group matters only for creating the center, and only its owner creates it.
    if (place->configuration.flags & TIDINGS_OPEN_OWNER && place->configuration.owner != geteuid())
        place->configuration.flags &= ~(uint32_t)TIDINGS_OPEN_GROUP;
}
