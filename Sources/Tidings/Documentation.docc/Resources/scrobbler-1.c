// Counts the tracks that the host plays, and tells it the count. In C, and without any name or path.
#include <stdio.h>
#include <string.h>
#include <tidings_extension.h>

static int failed(void) { return fprintf(stderr, "scrobbler: %s\n", tidings_last_error()), 1; }

int main(void) {
    tidings_extension *host;
    if (tidings_extension_open(NULL, &host) < 0) return failed();
    if (tidings_extension_ready(host) < 0) return failed();
    tidings_extension_close(host);
    return 0;
}
