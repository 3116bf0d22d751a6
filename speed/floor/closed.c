/* The closed-loop floor: a bare epoll loop that sends fixed bytes and counts the bytes that come back.
 *
 * It deliberately does not parse, check, time or record anything, and reads no clock while it runs: a timer signal ends
 * it. No generator that uses epoll and one connection per request in flight can be cheaper on the same kernel.
 *
 *   closed --port N --response-bytes N [--connections N] [--seconds S] [--depth N]
 *
 * With --depth D each connection sends D requests at once, and the next D when D responses have come back.
 * Prints one object of JSON: requests, wall, user and system seconds; connecting not counted. */
#include "floor.h"

static volatile sig_atomic_t over;

static void on_alarm(int signal) {
    (void)signal;
    over = 1;
}

static char received[RECEIVE_BYTES];
static char *requests; /* `depth` of them, one after the other */
static size_t requests_bytes;

static void prepare_requests(int port, int depth) {
    char one[256];
    int length = snprintf(one, sizeof one, "GET / HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nUser-Agent: floor\r\nAccept: */*\r\n\r\n", port);
    requests_bytes = (size_t)length * (size_t)depth;
    requests = malloc(requests_bytes);
    for (int i = 0; i < depth; i++) memcpy(requests + i * length, one, (size_t)length);
}

static void send_requests(int fd) {
    ssize_t sent = send(fd, requests, requests_bytes, MSG_NOSIGNAL);
    if (sent != (ssize_t)requests_bytes) die("send");
}

/* Receives the available bytes and returns their number. */
static uint64_t receive(int fd) {
    uint64_t total = 0;
    for (;;) {
        ssize_t length = recv(fd, received, sizeof received, 0);
        if (length < 0 && errno == EAGAIN) return total;
        if (length <= 0) die("recv");
        total += (uint64_t)length;
        /* A short read emptied the socket: epoll(7) allows to wait for the next edge. */
        if ((size_t)length < sizeof received) return total;
    }
}

/* Runs until the timer; returns the number of requests that were answered completely. */
static uint64_t drive(int epoll, uint64_t *missing, uint64_t round_bytes, uint64_t depth) {
    struct epoll_event events[EVENTS];
    uint64_t answered = 0;
    while (!over) {
        int count = epoll_wait(epoll, events, EVENTS, -1);
        for (int i = 0; i < count; i++) {
            int fd = events[i].data.fd;
            uint64_t length = receive(fd);
            if (length > missing[fd]) die("more bytes than responses have");
            missing[fd] -= length;
            if (missing[fd] == 0) {
                answered += depth;
                missing[fd] = round_bytes;
                send_requests(fd);
            }
        }
    }
    return answered;
}

int main(int argc, char **argv) {
    int port = (int)number(argc, argv, "--port", NULL);
    uint64_t response_bytes = (uint64_t)number(argc, argv, "--response-bytes", NULL);
    int connections = (int)number(argc, argv, "--connections", "64");
    double seconds = number(argc, argv, "--seconds", "4");
    uint64_t depth = (uint64_t)number(argc, argv, "--depth", "1");
    /* Bytes not yet received on each connection of the requests in flight on it, by descriptor. */
    uint64_t *missing = calloc(raise_descriptor_limit(), sizeof *missing);
    prepare_requests(port, (int)depth);
    int epoll = epoll_create1(0), *fds = malloc((size_t)connections * sizeof *fds);
    for (int i = 0; i < connections; i++) fds[i] = connect_watched(epoll, port);

    struct cost start = cost_now();
    struct sigaction action = {.sa_handler = on_alarm}; /* without SA_RESTART: epoll_wait must return */
    sigaction(SIGALRM, &action, NULL);
    /* Repeated, in case a signal arrives between the check and the wait. */
    struct itimerval timer = {.it_value = {(time_t)seconds, (suseconds_t)((seconds - (time_t)seconds) * 1e6)},
                              .it_interval = {0, 10000}};
    setitimer(ITIMER_REAL, &timer, NULL);
    for (int i = 0; i < connections; i++) {
        missing[fds[i]] = response_bytes * depth;
        send_requests(fds[i]);
    }
    uint64_t answered = drive(epoll, missing, response_bytes * depth, depth);
    print_result(answered, answered * 1e9 / (double)(now_ns() - start.at_ns), start);
    return 0;
}
