#include "fuzz.h"

uint8_t input_byte(input *in) { return in->at < in->end ? *in->at++ : 0; }

uint64_t input_number(input *in, unsigned bytes) {
    uint64_t number = 0;
    for (unsigned i = 0; i < bytes; i++) number |= (uint64_t)input_byte(in) << 8 * i;
    return number;
}
