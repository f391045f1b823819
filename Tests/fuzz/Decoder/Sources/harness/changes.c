#include "../../../Core/changes.c"
