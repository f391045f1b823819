#include "../../../Core/input.c"
