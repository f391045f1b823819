#include "../../../Core/process.c"
