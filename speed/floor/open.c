/* The open-loop floor: sends fixed bytes at a constant rate over free connections, and counts what comes back.
 *
 * It deliberately does not parse, check or record anything, not even times. It reads the clock once per iteration of its
 * loop, because a schedule needs a clock. It sleeps in the kernel until the next send is due (epoll_pwait2, timer slack
 * 1 ns), and never sends early. A request without a free connection waits for one.
 *
 *   open --port N --response-bytes N --rate N [--connections N] [--seconds S]
 *
 * Prints one object of JSON: requests, achieved rate, wall, user and system seconds; connecting not counted. */
#include "floor.h"

/* How long to wait at the end for responses on their way. */
#define DRAIN_NS 1000000000u

static char received[RECEIVE_BYTES];
static char request[256];
static int request_bytes;

/* The free connections, in the order in which they became free. */
static int *ring;
static size_t ring_size, ring_first, ring_count;

static void put_free(int fd) {
    ring[(ring_first + ring_count++) % ring_size] = fd;
}

static int take_free(void) {
    int fd = ring[ring_first];
    ring_first = (ring_first + 1) % ring_size;
    ring_count--;
    return fd;
}

/* Bytes still to come on each connection, by descriptor. */
static uint64_t *missing;

/* Receives the available bytes. Returns 1 at the end of a response. */
static int receive(int fd) {
    for (;;) {
        ssize_t length = recv(fd, received, sizeof received, 0);
        if (length < 0 && errno == EAGAIN) break;
        if (length <= 0) die("recv");
        if ((uint64_t)length > missing[fd]) die("more bytes than responses have");
        missing[fd] -= (uint64_t)length;
        if ((size_t)length < sizeof received) break;
    }
    return missing[fd] == 0;
}

struct schedule {
    uint64_t start_ns, total, sent, completed, completed_in_time;
    double gap_ns;
};

static uint64_t due_ns(const struct schedule *s) {
    return s->start_ns + (uint64_t)((double)s->sent * s->gap_ns);
}

/* Sends all requests that are due, while there are free connections. */
static void send_due(struct schedule *s, uint64_t now, uint64_t response_bytes) {
    while (s->sent < s->total && ring_count && due_ns(s) <= now) {
        int fd = take_free();
        missing[fd] = response_bytes;
        if (send(fd, request, (size_t)request_bytes, MSG_NOSIGNAL) != request_bytes) die("send");
        s->sent++;
    }
}

/* Waits until bytes can be received or the next send is due; returns the ready connections. */
static int wait_events(int epoll, struct epoll_event *events, const struct schedule *s, uint64_t end_ns) {
    uint64_t until = s->sent < s->total && ring_count ? due_ns(s) : end_ns;
    uint64_t now = now_ns(), gap = until > now ? until - now : 0;
    struct timespec timeout = {(time_t)(gap / 1000000000u), (long)(gap % 1000000000u)};
    return epoll_pwait2(epoll, events, EVENTS, &timeout, NULL);
}

static void drive(int epoll, struct schedule *s, double seconds, uint64_t response_bytes) {
    struct epoll_event events[EVENTS];
    uint64_t window_end_ns = s->start_ns + (uint64_t)(seconds * 1e9), end_ns = window_end_ns + DRAIN_NS;
    for (;;) {
        uint64_t now = now_ns();
        if (s->completed == s->total || now >= end_ns) return;
        send_due(s, now, response_bytes);
        int count = wait_events(epoll, events, s, end_ns);
        uint64_t before = s->completed;
        for (int i = 0; i < count; i++) {
            int fd = events[i].data.fd;
            if (receive(fd)) {
                s->completed++;
                put_free(fd);
            }
        }
        if (now < window_end_ns) s->completed_in_time += s->completed - before;
    }
}

int main(int argc, char **argv) {
    int port = (int)number(argc, argv, "--port", NULL);
    uint64_t response_bytes = (uint64_t)number(argc, argv, "--response-bytes", NULL);
    int connections = (int)number(argc, argv, "--connections", "10000");
    double rate = number(argc, argv, "--rate", NULL), seconds = number(argc, argv, "--seconds", "10");
    if (rate == 0 || connections == 0) return fprintf(stderr, "a rate and connections are above 0\n"), 2;
    prctl(PR_SET_TIMERSLACK, 1);
    missing = calloc(raise_descriptor_limit(), sizeof *missing);
    ring_size = (size_t)connections;
    ring = malloc(ring_size * sizeof *ring);
    request_bytes = snprintf(request, sizeof request, "GET / HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nUser-Agent: floor\r\nAccept: */*\r\n\r\n", port);
    int epoll = epoll_create1(0);
    for (int i = 0; i < connections; i++) put_free(connect_watched(epoll, port));

    struct cost start = cost_now();
    struct schedule schedule = {.start_ns = now_ns(), .total = (uint64_t)(rate * seconds), .gap_ns = 1e9 / rate};
    drive(epoll, &schedule, seconds, response_bytes);
    print_result(schedule.completed, (double)schedule.completed_in_time / seconds, start);
    return 0;
}
