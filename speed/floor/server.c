/* The floor server: the minimum work of a keep-alive server. One send for the requests of each recv.
 *
 * It deliberately does not parse: a request ends at an empty line (or after --request-bytes), and every request gets the
 * same bytes back. No bodies in requests, no dates, no timeouts, no logs.
 *
 *   server --body FILE [--port N] [--processes N] [--request-bytes N] [--say-keep-alive 1]
 *          [--freeze-every S --freeze S]
 *
 * Prints one line of JSON once it listens: {"port":N,"response_bytes":N}. */
#include "floor.h"

/* Pipelined requests answered by one send, where the responses are small. */
#define BATCH 64
#define BATCH_BYTES_MOST (256 * 1024)

struct connection {
    uint64_t owed;    /* bytes of responses still to send */
    uint32_t offset;  /* where in a response the next byte is */
    uint32_t partial; /* bytes of a request of fixed length already seen, or of its ending: 0 to 3 */
    char tail[4];     /* the last three bytes seen, while they may be part of an ending */
};

static struct connection *connections;
static char *responses; /* the same response, `batch` times */
static size_t response_bytes, batch;
static size_t request_bytes; /* 0: requests are counted by their ending */

static void prepare_response(const char *body_file, int say_keep_alive) {
    FILE *file = fopen(body_file, "rb");
    if (!file) die(body_file);
    fseek(file, 0, SEEK_END);
    size_t body_bytes = (size_t)ftell(file);
    rewind(file);
    char head[256];
    int head_bytes = snprintf(head, sizeof head,
                              "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\nContent-Type: text/plain\r\n%s\r\n", body_bytes,
                              say_keep_alive ? "Connection: keep-alive\r\n" : "");
    response_bytes = (size_t)head_bytes + body_bytes;
    batch = response_bytes * BATCH <= BATCH_BYTES_MOST ? BATCH : 1;
    responses = malloc(response_bytes * batch);
    memcpy(responses, head, (size_t)head_bytes);
    if (fread(responses + head_bytes, 1, body_bytes, file) != body_bytes) die(body_file);
    fclose(file);
    for (size_t i = 1; i < batch; i++) memcpy(responses + i * response_bytes, responses, response_bytes);
}

/* Counts the endings (empty lines) in `bytes`, of which the first three may have been seen before. An ending that ends
 * at i..i+3 has CR or LF at i: so only one byte in four is checked. */
static uint64_t count_endings(const char *bytes, size_t length, size_t *after_last) {
    uint64_t count = 0;
    size_t i = 3;
    *after_last = 0;
    while (i < length) {
        if (bytes[i] != '\n' && bytes[i] != '\r') {
            i += 4;
        } else if (bytes[i] == '\n' && memcmp(bytes + i - 3, "\r\n\r", 3) == 0) {
            count++;
            *after_last = i + 1;
            i += 4;
        } else {
            i++;
        }
    }
    return count;
}

/* Counts the requests that ended in these bytes. `seen` has space for three more bytes before it. */
static uint64_t count_requests(struct connection *c, char *seen, size_t length) {
    if (request_bytes) {
        uint64_t total = c->partial + length;
        c->partial = (uint32_t)(total % request_bytes);
        return total / request_bytes;
    }
    char *from = seen - c->partial;
    memcpy(from, c->tail, c->partial);
    length += c->partial;
    size_t after_last;
    uint64_t count = count_endings(from, length, &after_last);
    c->partial = (uint32_t)(length - after_last < 3 ? length - after_last : 3);
    memcpy(c->tail, from + length - c->partial, c->partial);
    return count;
}

/* Sends the outstanding bytes until the socket is full; the rest follows when it is writable again. */
static int send_owed(int fd, struct connection *c) {
    while (c->owed) {
        size_t length = response_bytes * batch - c->offset;
        if (length > c->owed) length = c->owed;
        ssize_t sent = send(fd, responses + c->offset, length, MSG_NOSIGNAL);
        if (sent < 0) return errno == EAGAIN ? 0 : -1;
        c->owed -= (uint64_t)sent;
        c->offset = (uint32_t)((c->offset + (size_t)sent) % response_bytes);
    }
    return 0;
}

/* 0, or -1 when the connection is over. */
static int serve(int fd, uint32_t events) {
    static char buffer[3 + 16384];
    struct connection *c = &connections[fd];
    while (events & EPOLLIN) {
        ssize_t received = recv(fd, buffer + 3, sizeof buffer - 3, 0);
        if (received < 0 && errno == EAGAIN) break;
        if (received <= 0) return -1;
        c->owed += count_requests(c, buffer + 3, (size_t)received) * response_bytes;
        /* A short read emptied the socket: epoll(7) allows to wait for the next edge. */
        if ((size_t)received < sizeof buffer - 3) break;
    }
    return send_owed(fd, c);
}

static void accept_all(int epoll, int listener, size_t descriptors) {
    int fd, one = 1;
    while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
        if ((size_t)fd >= descriptors) die("more descriptors than planned");
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        memset(&connections[fd], 0, sizeof connections[fd]);
        struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data.fd = fd};
        if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event)) die("epoll_ctl");
    }
    if (errno == EMFILE || errno == ENFILE) die("accept");
}

static int listen_on(int *port) {
    struct sockaddr_in address = loopback(*port);
    socklen_t length = sizeof address;
    int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof one);
    if (bind(fd, (struct sockaddr *)&address, sizeof address)) die("bind");
    if (listen(fd, 65535)) die("listen");
    getsockname(fd, (struct sockaddr *)&address, &length);
    *port = ntohs(address.sin_port);
    return fd;
}

/* Sleeps if a freeze is due; returns the time until the next one in milliseconds, or -1 if there is none. */
static int freeze_if_due(uint64_t *next_ns, uint64_t every_ns, uint64_t freeze_ns) {
    if (!every_ns) return -1;
    uint64_t now = now_ns();
    if (now >= *next_ns) {
        uint64_t end = *next_ns + freeze_ns;
        struct timespec until = {(time_t)(end / 1000000000u), (long)(end % 1000000000u)};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
        *next_ns += every_ns;
        now = now_ns();
    }
    /* Rounded down, so that a freeze is not late by up to a millisecond; the last millisecond polls. */
    return now < *next_ns ? (int)((*next_ns - now) / 1000000u) : 0;
}

static void serve_for_ever(int listener, uint64_t every_ns, uint64_t freeze_ns, uint64_t next_ns) {
    size_t descriptors = raise_descriptor_limit();
    connections = calloc(descriptors, sizeof *connections);
    int epoll = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = listener}, events[EVENTS];
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event)) die("epoll_ctl");
    for (;;) {
        int wait_ms = freeze_if_due(&next_ns, every_ns, freeze_ns);
        int count = epoll_wait(epoll, events, EVENTS, wait_ms);
        for (int i = 0; i < count; i++) {
            int fd = events[i].data.fd;
            if (fd == listener) accept_all(epoll, listener, descriptors);
            else if (serve(fd, events[i].events)) close(fd);
        }
    }
}

int main(int argc, char **argv) {
    const char *body = option(argc, argv, "--body", NULL);
    if (!body) return fprintf(stderr, "--body FILE is needed\n"), 2;
    int port = (int)number(argc, argv, "--port", "0");
    int processes = (int)number(argc, argv, "--processes", "1");
    request_bytes = (size_t)number(argc, argv, "--request-bytes", "0");
    uint64_t every_ns = (uint64_t)(number(argc, argv, "--freeze-every", "0") * 1e9);
    uint64_t freeze_ns = (uint64_t)(number(argc, argv, "--freeze", "0") * 1e9);
    prepare_response(body, number(argc, argv, "--say-keep-alive", "0") != 0);
    signal(SIGPIPE, SIG_IGN);
    /* The first freeze is in the middle of its period, so that a run of whole periods has whole freezes. */
    uint64_t next_ns = now_ns() + (every_ns - freeze_ns) / 2;
    int own = listen_on(&port);
    for (int i = 1; i < processes; i++) {
        /* Bound before the fork, so that every process listens before the port is printed. */
        int listener = listen_on(&port);
        pid_t parent = getpid(), child = fork();
        if (child < 0) die("fork");
        if (child == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (getppid() != parent) return 0;
            close(own);
            serve_for_ever(listener, every_ns, freeze_ns, next_ns);
        }
        close(listener);
    }
    printf("{\"port\":%d,\"response_bytes\":%zu}\n", port, response_bytes);
    fflush(stdout);
    serve_for_ever(own, every_ns, freeze_ns, next_ns);
}
