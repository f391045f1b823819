// Names: long ones, odd ones, ones that nearly meet, and where they live.
#include "../../CShim/notify/src/internal.h"
#include "peer.h"

void names_up_to_511_bytes_are_told_apart(void) {
    char names[3][512];
    for (size_t length = 1; length < 512; length++) {
        for (int i = 0; i < 3; i++) {
            memset(names[i], 'n', length);
            names[i][length] = 0;
        }
        names[1][length - 1] = 'm';  // the last byte
        names[2][0] = 'm';           // the first
        int tokens[3];
        for (int i = 0; i < (length > 1 ? 3 : 2); i++) {
            tokens[i] = check_of(names[i]);
            CHECK(is_new(tokens[i]), "first");
        }
        for (int i = 0; i < (length > 1 ? 3 : 2); i++) {
            OK(notify_post(names[i]));
            for (int k = 0; k < (length > 1 ? 3 : 2); k++)
                CHECK(is_new(tokens[k]) == (i == k), "length %zu, posted %d, token %d", length, i, k);
        }
        OK(notify_set_state(tokens[0], length));
        uint64_t a, b;
        OK(notify_get_state(tokens[0], &a));
        OK(notify_get_state(tokens[1], &b));
        CHECK(a == length && b == 0, "length %zu: states %llu, %llu", length, (unsigned long long)a,
              (unsigned long long)b);
        OK(notify_set_state(tokens[0], 0));
        for (int i = 0; i < (length > 1 ? 3 : 2); i++) OK(notify_cancel(tokens[i]));
    }
}

void odd_names_are_names(void) {
    const char *names[] = {"\xff\xfe",
                           "\xc0\xaf",
                           "caf\xc3\xa9",
                           "caf\xe9",
                           "tidings.notify#",
                           "tidings.notify.state/com.example.a",
                           "a\nb",
                           " ",
                           "\xed\xa0\x80",
                           "\xf4\x90\x80\x80",
                           "self",
                           "user.uid",
                           "user.uid-",
                           "selfish",
                           "com.apple.systematic"};
    const size_t count = sizeof names / sizeof names[0];
    int tokens[sizeof names / sizeof names[0]];
    for (size_t i = 0; i < count; i++) {
        tokens[i] = check_of(names[i]);
        CHECK(is_new(tokens[i]), "first");
    }
    for (size_t i = 0; i < count; i++) {
        OK(notify_post(names[i]));
        for (size_t k = 0; k < count; k++) CHECK(is_new(tokens[k]) == (i == k), "posted %zu, token %zu", i, k);
    }
    // States are stored under names that no token has.
    const int plain = check_of("com.example.a");
    CHECK(is_new(plain), "first");
    OK(notify_set_state(plain, 5));
    for (size_t k = 0; k < count; k++) CHECK(!is_new(tokens[k]), "a state was set, token %zu", k);
    CHECK(!is_new(plain), "setting a state is no post");
}

void no_post_is_taken_for_another_among_many_names(void) {
    enum { COUNT = SANITIZED ? 2000 : 20000 };
    int *tokens = calloc(COUNT, sizeof *tokens);
    char name[64];
    for (int i = 0; i < COUNT; i++) {
        snprintf(name, sizeof name, "com.example.%d", i);
        tokens[i] = check_of(name);
        CHECK(is_new(tokens[i]), "first");
    }
    for (int round = 0; round < 20; round++) {
        const int one = (int)random_below(COUNT);
        snprintf(name, sizeof name, "com.example.%d", one);
        OK(notify_post(name));
        snprintf(name, sizeof name, "com.example.%d", COUNT + one);
        OK(notify_post(name));
        for (int i = 0; i < COUNT; i++) CHECK(is_new(tokens[i]) == (i == one), "posted %d, token of %d", one, i);
    }
    free(tokens);
}

// What our table hashes to the same place: another first word, and a second one that takes back the difference.
static bool of_same_hash(const char *name, char *other) {
    uint64_t first, second, changed;
    memcpy(&first, name, 8);
    memcpy(&second, name + 8, 8);
    memcpy(&changed, other, 8);
    // With no second word the hash of eight bytes is almost that of the first: what is mixed in after it is the same
    // for both.
    const uint64_t factor = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t a = (16 * factor ^ first) * factor, b = (16 * factor ^ changed) * factor;
    a ^= a >> 32;
    b ^= b >> 32;
    second ^= a ^ b;
    memcpy(other + 8, &second, 8);
    other[16] = 0;
    for (int i = 8; i < 16; i++)
        if (other[i] <= 0) return false;
    return true;
}

void names_of_one_hash_are_told_apart(void) {
    char name[17] = "com.example.hash", other[17];
    for (int round = 0; round < (SANITIZED ? 10 : 50); round++) {
        int tokens[2];
        uint64_t states[2];
        do {
            for (int i = 0; i < 8; i++) other[i] = (char)('a' + random_below(26));
        } while (!of_same_hash(name, other));
        CHECK(strcmp(name, other) != 0 && notify__hash(name, 16) == notify__hash(other, 16),
              "the scenario is out of date with the hash");
        tokens[0] = check_of(name);
        tokens[1] = check_of(other);
        CHECK(is_new(tokens[0]) && is_new(tokens[1]), "first");
        OK(notify_post(name));
        CHECK(is_new(tokens[0]) && !is_new(tokens[1]), "one");
        OK(notify_post(other));
        CHECK(!is_new(tokens[0]) && is_new(tokens[1]), "the other");
        OK(notify_set_state(tokens[1], 7));
        OK(notify_get_state(tokens[0], &states[0]));
        OK(notify_get_state(tokens[1], &states[1]));
        CHECK(states[0] == 0 && states[1] == 7, "%llu, %llu", (unsigned long long)states[0],
              (unsigned long long)states[1]);
        OK(notify_set_state(tokens[1], 0));
        OK(notify_cancel(tokens[0]));
        OK(notify_cancel(tokens[1]));
    }
}

// Against another implementation's answers, around the lengths at which a block more is needed; the standard's own
// example; and that the center knows a long name by this and by nothing shorter.
void a_long_name_is_its_sha_256_in_the_center(void) {
    static const struct {
        size_t length;
        const char *digest;
    } of_ns[] = {
        {0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {1, "1b16b1df538ba12dc3f97edbb85caa7050d46c148134290feba80f8236c83db9"},
        {55, "35c2be7bb61383090f02988162fe1a95a388ac250eaf795220b6189989d48394"},
        {56, "dc5ba4cf08bdb3fe63a3bbc0ee6f944fc109af2c7ac0ec45e774ea5246b3bfcf"},
        {63, "73dcf996417209ec5e321446ab2feb0d8b8da00e4a276e8c99ebe2ae22356f1f"},
        {64, "ce068a195ab380a813c713035ed74921acee4d3bd1c4ede24c11cba02c3ca985"},
        {119, "487fbff4f8d640c80c333b5b72712b2d35e84544bdd4393cbcdd2c8dab260728"},
        {120, "0467d94850c02097a74df81b12268b9c39e4b8a2e86cbea12aa2335199211fe7"},
        {128, "dd2411b970d6f3272b9824bdc649c6d76b895162b4a81db40477239c7b61dc0b"},
        {256, "342aaaf5a0fcb18cba413f00ff46ffc9bcaa496b545e0998a81056cc7bec6aea"},
        {511, "9ef6faedc7fe987a08d780a20028f5781e882290a868852bf8b341c367aa5ffe"},
    };
    char name[512], hex[65] = {0};
    memset(name, 'n', sizeof name);
    for (size_t i = 0; i < sizeof of_ns / sizeof of_ns[0]; i++) {
        notify__digest(name, of_ns[i].length, hex);
        CHECK(strcmp(hex, of_ns[i].digest) == 0, "%zu bytes: %s", of_ns[i].length, hex);
    }
    notify__digest("abc", 3, hex);
    CHECK(strcmp(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad") == 0, "abc: %s", hex);
    name[511] = 0;
    tidings_center *center = default_center();
    (void)check_of(name);
    tidings_name_info info;
    char expected[80];
    snprintf(expected, sizeof expected, "tidings.notify#%s", of_ns[sizeof of_ns / sizeof of_ns[0] - 1].digest);
    bool found = false;
    for (uint32_t i = 0; tidings_name(center, i, &info) != -ERANGE; i++) found |= strcmp(info.name, expected) == 0;
    CHECK(found, "no \"%s\" in the center", expected);
    tidings_close(center);
}

static channel ready, go;
static void listens_to_self(void) {
    const int token = check_of("self.a"), inherited_is_shared = check_of("com.example.a");
    CHECK(is_new(token) && is_new(inherited_is_shared), "first");
    tell(&ready);
    told(&go);
    CHECK(!is_new(token), "another process's");
    CHECK(is_new(inherited_is_shared), "shared by all processes");
    OK(notify_post("self.a"));
    CHECK(is_new(token), "its own");
}

void names_of_self_stay_in_the_process(void) {
    OK(notify_post("self.without.a.token"));
    ready = channel_open(), go = channel_open();
    const pid_t pid = start(listens_to_self);
    told(&ready);
    const int token = check_of("self.a");
    CHECK(is_new(token) && !is_new(token), "first");
    OK(notify_post("self.a"));
    OK(notify_post("com.example.a"));
    CHECK(is_new(token), "own");
    uint64_t state;
    OK(notify_set_state(token, 77));
    OK(notify_get_state(token, &state));
    CHECK(state == 77, "%llu", (unsigned long long)state);
    tell(&go);
    ends_well(pid);
    CHECK(!is_new(token), "the other's");
    // Nothing of it is in the center that all share.
    tidings_center *center = default_center();
    tidings_name_info info;
    for (uint32_t i = 0; tidings_name(center, i, &info) != -ERANGE; i++)
        CHECK(strncmp(info.name, "self.", 5) != 0, "\"%s\"", info.name);
    tidings_close(center);
}

void a_users_names_are_in_that_users_center(void) {
    char name[64];
    snprintf(name, sizeof name, "user.uid.%u.a", (unsigned)geteuid());
    const int token = check_of(name);
    CHECK(is_new(token) && !is_new(token), "first");
    OK(notify_post(name));
    CHECK(is_new(token), "posted");
    snprintf(name, sizeof name, "user.uid.%u", (unsigned)geteuid());
    const int whole = check_of(name);
    CHECK(is_new(whole), "the name itself");
    // That user has no center: no process can hear the post, and none can be heard.
    snprintf(name, sizeof name, "user.uid.%u.a", (unsigned)geteuid() + 7);
    int none;
    OK(notify_post(name));
    EXPECT(NOTIFY_STATUS_SERVER_NOT_FOUND, notify_register_check(name, &none));
}

void an_invalid_configuration_is_not_said_of_the_name(void) {
    char path[512];
    snprintf(path, sizeof path, "%s/notify.conf", getenv("TIDINGS_DIRECTORY"));
    FILE *file = fopen(path, "w");
    CHECK(file != NULL, "errno %d", errno);
    fprintf(file, "center = a/b\n");
    fclose(file);
    setenv("TIDINGS_NOTIFY_CONFIGURATION", path, 1);
    int token;
    EXPECT(NOTIFY_STATUS_FAILED, notify_post("com.example.a"));
    EXPECT(NOTIFY_STATUS_FAILED, notify_register_check("com.example.a", &token));
    CHECK(strstr(tidings_last_error(), "a/b"), "%s", tidings_last_error());
}

void names_of_no_user_are_not_authorized(void) {
    const char *const names[] = {
        "user.uid.",      "user.uid.x",  "user.uid..a", "user.uid.0a",         "user.uid.00",
        "user.uid.007.a", "user.uid.-1", "user.uid. 0", "user.uid.4294967295", "user.uid.99999999999.a"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        int token, descriptor;
        EXPECT(NOTIFY_STATUS_NOT_AUTHORIZED, notify_post(names[i]));
        EXPECT(NOTIFY_STATUS_NOT_AUTHORIZED, notify_register_check(names[i], &token));
        EXPECT(NOTIFY_STATUS_NOT_AUTHORIZED, notify_register_plain(names[i], &token));
        EXPECT(NOTIFY_STATUS_NOT_AUTHORIZED, notify_register_file_descriptor(names[i], &descriptor, 0, &token));
        CHECK(token == NOTIFY_TOKEN_INVALID && strstr(tidings_last_error(), names[i]), "token %d", token);
    }
}
