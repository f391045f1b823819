#include "../../../Core/words.c"
