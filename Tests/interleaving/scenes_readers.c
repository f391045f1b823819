// Scenes with observers that may only read.
#include "stage.h"

void readers(void) {
    mode = 0644;
    open_center();
    add_poster("poster A", "n", 2);
    add_poster("poster B", "m", 1);
    add_reader("reader X", "n", false);
    add_watcher("observer Y", NULL);
}

void one_reader(void) {
    mode = 0644;
    open_center();
    add_poster("poster A", "n", 1);
    add_reader("reader X", "n", false);
}

void lapped_readers(void) {
    mode = 0644;
    open_center();
    prefill("n", SLOTS - 1);
    add_poster("poster A", "n", 3);
    add_poster("poster B", "m", 3);
    add_reader("reader X", "n", false);
    add_reader("reader Y", NULL, false);
}

void new_readers(void) {
    mode = 0644;
    open_center();
    prefill("n", 2);
    add_poster("poster A", "n", 2);
    add_poster("poster B", "n", 1);
    add_reader("reader X", "n", true);
    add_reader("reader Y", "m", true);
}

void dead_poster_of_readers(void) {
    mode = 0644;
    open_center();
    add_poster("poster A", "n", 2)->fiber->mortal = true;
    add_poster("poster B", "n", 2);
    add_reader("reader X", "n", false);
}
