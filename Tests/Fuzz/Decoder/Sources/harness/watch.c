#include "../../../Core/watch.c"
