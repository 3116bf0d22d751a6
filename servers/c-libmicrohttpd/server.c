/* Answers Paceline's workloads with GNU libmicrohttpd: a daemon on epoll in each thread, driven by this file's loop. */
#include <cjson/cJSON.h>
#include <gmp.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>

enum { LARGEST_X = 10000, MILLION = 1000000, CONNECTIONS_MAX = 65536, THREADS_MAX = 1024 };
static char page[4096];
static struct sockaddr_in address = { .sin_family = AF_INET };
static int terminated; /* readable after SIGTERM, and never read, so that all threads see it */

/* Queues `response` with the headers that all answers have, and releases it. */
static enum MHD_Result answer(struct MHD_Connection *connection, unsigned status, const char *type,
                              struct MHD_Response *response) {
  if (response == NULL) return MHD_NO; /* out of memory: the connection is closed */
  MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
  MHD_add_response_header(response, MHD_HTTP_HEADER_SERVER, "libmicrohttpd");
  enum MHD_Result result = MHD_queue_response(connection, status, response);
  MHD_destroy_response(response);
  return result;
}

static enum MHD_Result text(struct MHD_Connection *connection, unsigned status, const char *body) {
  return answer(connection, status, "text/plain",
                MHD_create_response_from_buffer(strlen(body), (void *)body, MHD_RESPMEM_PERSISTENT));
}

static enum MHD_Result json(struct MHD_Connection *connection) {
  cJSON *object = cJSON_CreateObject();
  cJSON_AddStringToObject(object, "message", "Hello, World!");
  char *body = cJSON_PrintUnformatted(object);
  cJSON_Delete(object);
  if (body == NULL) return MHD_NO;
  return answer(connection, MHD_HTTP_OK, "application/json",
                MHD_create_response_from_buffer(strlen(body), body, MHD_RESPMEM_MUST_FREE));
}

static enum MHD_Result power(struct MHD_Connection *connection, unsigned long x) {
  mpz_t value;
  mpz_init(value);
  mpz_ui_pow_ui(value, x, x);
  char *digits = mpz_get_str(NULL, 10, value); /* from malloc */
  mpz_clear(value);
  return answer(connection, MHD_HTTP_OK, "text/plain",
                MHD_create_response_from_buffer(strlen(digits), digits, MHD_RESPMEM_MUST_FREE));
}

static enum MHD_Result tetra(struct MHD_Connection *connection, const char *digits) {
  size_t length = strspn(digits, "0123456789");
  unsigned long x = strtoul(digits, NULL, 10); /* ULONG_MAX on overflow */
  if (length == 0 || digits[length] || x > LARGEST_X)
    return text(connection, MHD_HTTP_BAD_REQUEST, "x must be a whole number from 0 to 10000\n");
  return power(connection, x);
}

static enum MHD_Result on_request(void *none, struct MHD_Connection *connection, const char *path, const char *method,
                                  const char *version, const char *body, size_t *body_size, void **seen) {
  if (*seen == NULL) { /* the first call has only the headers and must not answer yet */
    *seen = page;
    return MHD_YES;
  }
  if (*body_size > 0) { /* an unexpected request body is skipped */
    *body_size = 0;
    return MHD_YES;
  }
  if (strcmp(method, MHD_HTTP_METHOD_GET) && strcmp(method, MHD_HTTP_METHOD_HEAD))
    return text(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "Method Not Allowed\n");
  if (!strcmp(path, "/hello")) return text(connection, MHD_HTTP_OK, "Hello World\n");
  if (!strcmp(path, "/byte")) return text(connection, MHD_HTTP_OK, "x");
  if (!strcmp(path, "/page")) return text(connection, MHD_HTTP_OK, page);
  if (!strcmp(path, "/json")) return json(connection);
  if (!strcmp(path, "/plaintext")) return text(connection, MHD_HTTP_OK, "Hello, World!");
  if (!strcmp(path, "/home")) return text(connection, MHD_HTTP_OK, "OK, no problema!");
  if (!strcmp(path, "/tetra-million")) return power(connection, MILLION);
  if (!strncmp(path, "/tetra/", 7)) return tetra(connection, path + 7);
  return text(connection, MHD_HTTP_NOT_FOUND, "Not Found\n");
}

/* Keeps escapes in a path: a decoded zero byte would truncate it. */
static size_t keep_escapes(void *none, struct MHD_Connection *connection, char *text) { return strlen(text); }

/* Runs one daemon, with a separate listening socket if there are `others`. The library handles what is ready; this loop
   waits, as its manual describes for an application with its own loop. */
static void *serve(void *others) {
  struct MHD_OptionItem share[] = { { others ? MHD_OPTION_LISTENING_ADDRESS_REUSE : MHD_OPTION_END, 1, NULL },
                                    { MHD_OPTION_END, 0, NULL } };
  struct MHD_Daemon *daemon = MHD_start_daemon(
      MHD_USE_EPOLL | MHD_USE_ERROR_LOG, 0, NULL, NULL, on_request, NULL, MHD_OPTION_SOCK_ADDR, &address,
      MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS_MAX, MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes, NULL,
      MHD_OPTION_ARRAY, share, MHD_OPTION_END);
  if (daemon == NULL) exit(1);
  int ready = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
  struct pollfd waits[] = { { .fd = ready, .events = POLLIN }, { .fd = terminated, .events = POLLIN } };
  while (waits[1].revents == 0) {
    MHD_UNSIGNED_LONG_LONG milliseconds;
    poll(waits, 2, MHD_get_timeout(daemon, &milliseconds) == MHD_YES ? (int)milliseconds : -1);
    MHD_run(daemon);
  }
  MHD_stop_daemon(daemon);
  return NULL;
}

int main(int count, char **arguments) { /* HOST PORT THREADS, and the page as standard input */
  if (count != 4) return 2;
  if (fread(page, 1, sizeof page - 1, stdin) == 0) return 2;
  int threads = atoi(arguments[3]);
  if (threads < 1 || threads > THREADS_MAX) return 2;
  address.sin_port = htons(atoi(arguments[2]));
  if (inet_pton(AF_INET, arguments[1], &address.sin_addr) != 1) return 2;

  sigset_t terminate;
  sigemptyset(&terminate);
  sigaddset(&terminate, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &terminate, NULL); /* in every thread */
  terminated = signalfd(-1, &terminate, SFD_CLOEXEC);
  if (terminated < 0) return 1;

  void *others = threads > 1 ? page : NULL; /* anything but NULL */
  pthread_t started[THREADS_MAX];
  for (int i = 1; i < threads; i++)
    if (pthread_create(&started[i], NULL, serve, others)) return 1;
  serve(others);
  for (int i = 1; i < threads; i++) pthread_join(started[i], NULL);
  return 0;
}
