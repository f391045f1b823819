// A live center whose memory a hostile peer changes at any time, also between two reads of one word.
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

size_t fuzz_program(const uint8_t *data, size_t size) { return (void)data, (void)size, 0; }

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    input in = {data, data + size};
    script_run(&in);
    fuzz_empty_directory();
    return 0;
}
