// Tokens through descriptors.
#include <fcntl.h>
#include <sys/stat.h>

#include "peer.h"

void a_descriptor_gets_the_token_for_each_post(void) {
    int token, other;
    const int descriptor = descriptor_of("com.example.a", &token);
    const int again = descriptor_of("com.example.a", &other);
    CHECK(again != descriptor && token != other, "two registrations");
    CHECK(fcntl(descriptor, F_GETFD) == FD_CLOEXEC, "an executed program gets it");
    for (int i = 0; i < 50; i++) OK(notify_post("com.example.a"));
    for (int i = 0; i < 50; i++) CHECK(read_token(descriptor) == token && read_token(again) == other, "post %d", i);
    OK(notify_cancel(token));
    OK(notify_post("com.example.a"));
    CHECK(read_token(again) == other, "the other goes on");
    CHECK(fcntl(descriptor, F_GETFD) == -1 && errno == EBADF, "it is closed");
}

void a_reused_descriptor_is_open_until_its_last_token_goes(void) {
    int first, second, third;
    int descriptor = descriptor_of("com.example.a", &first), same = descriptor;
    OK(notify_register_file_descriptor("com.example.b", &same, NOTIFY_REUSE, &second));
    OK(notify_register_file_descriptor("com.example.b", &same, NOTIFY_REUSE, &third));
    CHECK(same == descriptor, "%d", same);
    OK(notify_post("com.example.a"));
    CHECK(read_token(descriptor) == first, "a");
    OK(notify_post("com.example.b"));
    const int one = read_token(descriptor), two = read_token(descriptor);
    CHECK((one == second && two == third) || (one == third && two == second), "%d, %d", one, two);
    OK(notify_cancel(first));
    OK(notify_cancel(third));
    OK(notify_post("com.example.a"));
    OK(notify_post("com.example.b"));
    CHECK(read_token(descriptor) == second, "still open");
    OK(notify_cancel(second));
    CHECK(fcntl(descriptor, F_GETFD) == -1, "closed with the last");
    EXPECT(NOTIFY_STATUS_INVALID_FILE, notify_register_file_descriptor("com.example.b", &same, NOTIFY_REUSE, &third));
}

void a_full_pipe_coalesces_and_loses_nothing(void) {
    int token, second, third;
    int descriptor = descriptor_of("com.example.a", &token);
    OK(notify_register_file_descriptor("com.example.b", &descriptor, NOTIFY_REUSE, &second));
    const int other = descriptor_of("com.example.a", &third);
    CHECK(fcntl(descriptor, F_SETPIPE_SZ, 4096) == 4096, "errno %d", errno);
    // More than it holds, in rounds that the other descriptor shows to have been delivered.
    for (int i = 0; i < 3000; i++) {
        OK(notify_post("com.example.a"));
        CHECK(read_token(other) == third, "post %d", i);
    }
    OK(notify_post("com.example.b"));
    OK(notify_post("com.example.a"));
    CHECK(read_token(other) == third, "the last");
    // The other's token is behind all those of the first, and comes; so does one more of the first.
    int got_a = 0, got_b = 0;
    while (got_b == 0) {
        const int one = read_token(descriptor);
        CHECK(one == token || one == second, "%d", one);
        if (one == token)
            got_a++;
        else
            got_b++;
    }
    CHECK(got_a >= 1024, "%d", got_a);
    OK(notify_cancel(second));
    OK(notify_post("com.example.a"));
    CHECK(read_token(descriptor) == token, "the registration lives");
}

void each_of_very_many_full_pipes_continues_once_it_is_read(void) {
    enum { PIPES = 300, HOLDS = 1024 };
    int tokens[PIPES], descriptors[PIPES], last;
    for (int i = 0; i < PIPES; i++) {
        descriptors[i] = descriptor_of("com.example.a", &tokens[i]);
        CHECK(fcntl(descriptors[i], F_SETPIPE_SZ, 4096) == 4096, "errno %d", errno);
    }
    const int other = descriptor_of("com.example.a", &last);
    // Many more than a pipe holds: meanwhile the thread that waits for room has begun to sleep.
    for (int i = 0; i < HOLDS + 300; i++) {
        OK(notify_post("com.example.a"));
        CHECK(read_token(other) == last, "post %d", i);
    }
    // Deliveries are made under a lock that a suspension takes: after it, each token waits for room.
    OK(notify_suspend(last));
    for (int i = 0; i < PIPES; i += PIPES - 1)
        for (int k = 0; k < HOLDS + 1; k++) CHECK(read_token(descriptors[i]) == tokens[i], "pipe %d, token %d", i, k);
}

void a_descriptor_closed_by_the_program_faults_no_process(void) {
    int token, other;
    const int descriptor = descriptor_of("com.example.a", &token), second = descriptor_of("com.example.a", &other);
    close(descriptor);
    const int file = open("/dev/null", O_RDONLY);
    CHECK(file == descriptor, "%d is not %d", file, descriptor);
    OK(notify_post("com.example.a"));
    OK(notify_post("com.example.a"));
    CHECK(read_token(second) == other && read_token(second) == other, "the other's");
    int reuse = descriptor, third;
    EXPECT(NOTIFY_STATUS_INVALID_FILE, notify_register_file_descriptor("com.example.b", &reuse, NOTIFY_REUSE, &third));
    OK(notify_cancel(token));
    CHECK(fcntl(file, F_GETFD) >= 0, "what has its number now was closed");
}

// The thread that resumes the token writes it, and has SIGPIPE unblocked.
void resuming_a_token_whose_descriptor_is_closed_ends_no_process(void) {
    int token, other;
    const int descriptor = descriptor_of("com.example.a", &token), second = descriptor_of("com.example.a", &other);
    OK(notify_suspend(token));
    close(descriptor);
    OK(notify_post("com.example.a"));
    // The dispatcher delivers in order, so the suspended token is due now.
    CHECK(read_token(second) == other, "the other token");
    OK(notify_resume(token));
    OK(notify_cancel(token));
}
