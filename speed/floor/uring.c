/* The closed-loop floor on io_uring: the maximum gain of a second transport.
 *
 * Multishot receives into a ring of provided buffers, one ring per thread, completions processed on request
 * (DEFER_TASKRUN): the setup that its authors call cheapest. Like the other floor it does not parse, check or record.
 * The decision it supports is in docs/reference/performance.md; the generator itself uses epoll.
 *
 *   uring --port N --response-bytes N [--connections N] [--seconds S] [--depth N]
 *
 * Options and output are those of `closed`. Built only where liburing is installed. */
#include "floor.h"
#include <liburing.h>

/* Buffers the kernel may fill before we look; a power of two. */
#define BUFFERS 4096
#define BUFFER_BYTES 4096
#define ENTRIES 4096
/* Marks the completion of a send, in addition to the connection's descriptor. */
#define SEND (1ull << 32)

static struct io_uring ring;
static struct io_uring_buf_ring *buffers;
static char *memory, *requests;
static size_t requests_bytes;

static void prepare_requests(int port, int depth) {
    char one[256];
    int length = snprintf(one, sizeof one, "GET / HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nUser-Agent: floor\r\nAccept: */*\r\n\r\n", port);
    requests_bytes = (size_t)length * (size_t)depth;
    requests = malloc(requests_bytes);
    for (int i = 0; i < depth; i++) memcpy(requests + i * length, one, (size_t)length);
}

static struct io_uring_sqe *entry(void) {
    struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);
    if (sqe) return sqe;
    io_uring_submit(&ring);
    sqe = io_uring_get_sqe(&ring);
    if (!sqe) die("no submission entry");
    return sqe;
}

static void send_requests(int fd) {
    struct io_uring_sqe *sqe = entry();
    io_uring_prep_send(sqe, fd, requests, requests_bytes, MSG_NOSIGNAL);
    /* A successful send needs no completion. */
    sqe->flags |= IOSQE_CQE_SKIP_SUCCESS;
    sqe->user_data = SEND | (uint64_t)fd;
}

static void receive_for_ever(int fd) {
    struct io_uring_sqe *sqe = entry();
    io_uring_prep_recv_multishot(sqe, fd, NULL, 0, 0);
    sqe->flags |= IOSQE_BUFFER_SELECT;
    sqe->buf_group = 0;
    sqe->user_data = (uint64_t)fd;
}

static void give_back(unsigned id) {
    io_uring_buf_ring_add(buffers, memory + (size_t)id * BUFFER_BYTES, BUFFER_BYTES, (unsigned short)id, BUFFERS - 1, 0);
    io_uring_buf_ring_advance(buffers, 1);
}

static void set_up(void) {
    struct io_uring_params params = {.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN};
    if (io_uring_queue_init_params(ENTRIES, &ring, &params)) die("io_uring (DEFER_TASKRUN needs Linux 6.1)");
    memory = aligned_alloc(4096, (size_t)BUFFERS * BUFFER_BYTES);
    buffers = aligned_alloc(4096, BUFFERS * sizeof(struct io_uring_buf));
    io_uring_buf_ring_init(buffers);
    struct io_uring_buf_reg registration = {.ring_addr = (uint64_t)(uintptr_t)buffers, .ring_entries = BUFFERS};
    if (io_uring_register_buf_ring(&ring, &registration, 0)) die("register buffers");
    for (unsigned id = 0; id < BUFFERS; id++) give_back(id);
}

/* Runs until the time is over; returns the number of requests that were answered completely. The clock is read once for
 * many completions. */
static uint64_t drive(uint64_t *missing, uint64_t round_bytes, uint64_t depth, uint64_t end_ns) {
    uint64_t answered = 0;
    while (now_ns() < end_ns) {
        if (io_uring_submit_and_wait(&ring, 1) < 0 && errno != EINTR) die("io_uring_enter");
        struct io_uring_cqe *cqe;
        unsigned head, seen = 0;
        io_uring_for_each_cqe(&ring, head, cqe) {
            seen++;
            int fd = (int)(uint32_t)cqe->user_data;
            if (cqe->res <= 0 && cqe->res != -ENOBUFS) die("completion");
            if (cqe->flags & IORING_CQE_F_BUFFER) give_back(cqe->flags >> IORING_CQE_BUFFER_SHIFT);
            if (!(cqe->flags & IORING_CQE_F_MORE) && !(cqe->user_data & SEND)) receive_for_ever(fd);
            uint64_t length = cqe->res > 0 && !(cqe->user_data & SEND) ? (uint64_t)cqe->res : 0;
            if (length > missing[fd]) die("more bytes than responses have");
            missing[fd] -= length;
            if (length && missing[fd] == 0) {
                answered += depth;
                missing[fd] = round_bytes;
                send_requests(fd);
            }
        }
        io_uring_cq_advance(&ring, seen);
    }
    return answered;
}

int main(int argc, char **argv) {
    int port = (int)number(argc, argv, "--port", NULL);
    uint64_t response_bytes = (uint64_t)number(argc, argv, "--response-bytes", NULL);
    int connections = (int)number(argc, argv, "--connections", "64");
    double seconds = number(argc, argv, "--seconds", "4");
    uint64_t depth = (uint64_t)number(argc, argv, "--depth", "1");
    uint64_t *missing = calloc(raise_descriptor_limit(), sizeof *missing);
    prepare_requests(port, (int)depth);
    set_up();
    int epoll = epoll_create1(0), *fds = malloc((size_t)connections * sizeof *fds);
    for (int i = 0; i < connections; i++) fds[i] = connect_watched(epoll, port);
    close(epoll);

    struct cost start = cost_now();
    for (int i = 0; i < connections; i++) {
        missing[fds[i]] = response_bytes * depth;
        receive_for_ever(fds[i]);
        send_requests(fds[i]);
    }
    uint64_t end_ns = start.at_ns + (uint64_t)(seconds * 1e9);
    uint64_t answered = drive(missing, response_bytes * depth, depth, end_ns);
    print_result(answered, answered * 1e9 / (double)(now_ns() - start.at_ns), start);
    return 0;
}
