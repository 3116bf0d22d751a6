/* Shared by the floor programs: options, connecting, and their cost.
 *
 * The floor programs are the reference in every table of docs/reference/performance.md: they move the same bytes through the same
 * kernel, and parse, check and record nothing. This code is not on the path of a request. */
#ifndef FLOOR_H
#define FLOOR_H

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Events taken from the kernel in one call. */
#define EVENTS 512
/* Bytes taken from a socket in one call: large enough that a 1 MB body costs few calls, small enough for a cache. */
#define RECEIVE_BYTES (128 * 1024)

static void die(const char *what) {
    fprintf(stderr, "%s: %s\n", what, errno ? strerror(errno) : "unexpected");
    exit(1);
}

/* The text after `--name`, or the default. */
static const char *option(int argc, char **argv, const char *name, const char *otherwise) {
    for (int i = 1; i + 1 < argc; i++)
        if (strcmp(argv[i], name) == 0) return argv[i + 1];
    return otherwise;
}

static double number(int argc, char **argv, const char *name, const char *otherwise) {
    const char *text = option(argc, argv, name, otherwise);
    char *end;
    double value = text ? strtod(text, &end) : -1;
    if (!text || *end || value < 0) {
        fprintf(stderr, "%s needs a number\n", name);
        exit(2);
    }
    return value;
}

static inline uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Raises the soft limit of open files to the hard limit and returns it: the size of arrays indexed by descriptor. */
static size_t raise_descriptor_limit(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit)) die("getrlimit");
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit)) die("setrlimit");
    /* If the hard limit is unlimited, the array would be unlimited too. */
    return limit.rlim_cur < (1u << 20) ? limit.rlim_cur : 1u << 20;
}

static inline struct sockaddr_in loopback(int port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

/* A connected socket that does not block, watched edge-triggered; registered once, never again. */
static inline int connect_watched(int epoll, int port) {
    struct sockaddr_in address = loopback(port);
    int one = 1, fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0) die("socket");
    if (connect(fd, (struct sockaddr *)&address, sizeof address)) die("connect");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    fcntl(fd, F_SETFL, O_NONBLOCK);
    struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.fd = fd};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event)) die("epoll_ctl");
    return fd;
}

struct cost {
    double user_s, system_s;
    uint64_t at_ns;
};

static inline struct cost cost_now(void) {
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (struct cost){u.ru_utime.tv_sec + u.ru_utime.tv_usec / 1e6,
                         u.ru_stime.tv_sec + u.ru_stime.tv_usec / 1e6, now_ns()};
}

/* Prints one JSON object: the work since `start`, without connecting. */
static inline void print_result(uint64_t requests, double achieved_per_s, struct cost start) {
    struct cost end = cost_now();
    printf("{\"requests\":%llu,\"achieved_per_s\":%.3f,\"wall_s\":%.6f,\"user_s\":%.6f,\"system_s\":%.6f}\n",
           (unsigned long long)requests, achieved_per_s, (end.at_ns - start.at_ns) / 1e9,
           end.user_s - start.user_s, end.system_s - start.system_s);
}

#endif
