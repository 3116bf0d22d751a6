/* Answers Paceline's workloads with libh2o on its own event loop: one loop per thread, all on one listening socket. */
#include <arpa/inet.h>
#include <cjson/cJSON.h>
#include <gmp.h>
#include <h2o.h>
#include <h2o/http1.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>

enum { LARGEST_X = 10000, MILLION = 1000000, THREADS_MAX = 256, POLL_MS = 100, STOP_LIMIT_MS = 2000 };
typedef struct {
  h2o_handler_t handler; /* first, so that a pointer to the library's handler is also a pointer to this struct */
  const char *body;
} text_handler;
static char page[4096];
static h2o_globalconf_t config;
static int listening;
static volatile sig_atomic_t stopping;

/* The library treats registered paths as prefixes: returns whether `request` is for exactly that path. */
static int is_whole(h2o_req_t *request) {
  return request->path_normalized.len == request->pathconf->path.len;
}

static int answer(h2o_req_t *request, h2o_iovec_t type, const char *body, size_t length) {
  request->res.status = 200;
  request->res.reason = "OK";
  request->res.content_length = length; /* without it an HTTP/1.0 client cannot find the end of the body */
  h2o_add_header(&request->pool, &request->res.headers, H2O_TOKEN_CONTENT_TYPE, NULL, type.base, type.len);
  h2o_send_inline(request, body, length);
  return 0;
}

static int on_text(h2o_handler_t *self, h2o_req_t *request) {
  const char *body = ((text_handler *)self)->body;
  return is_whole(request) ? answer(request, h2o_iovec_init(H2O_STRLIT("text/plain")), body, strlen(body)) : -1;
}

static int on_json(h2o_handler_t *self, h2o_req_t *request) {
  if (!is_whole(request)) return -1;
  cJSON *object = cJSON_CreateObject();
  cJSON_AddStringToObject(object, "message", "Hello, World!");
  char *body = cJSON_PrintUnformatted(object);
  cJSON_Delete(object);
  if (body == NULL) h2o_send_error_503(request, "Out of Memory", "Out of Memory", 0);
  else answer(request, h2o_iovec_init(H2O_STRLIT("application/json")), body, strlen(body));
  cJSON_free(body);
  return 0;
}

static int power(h2o_req_t *request, unsigned long x) {
  mpz_t value;
  mpz_init(value);
  mpz_ui_pow_ui(value, x, x);
  char *digits = mpz_get_str(h2o_mem_alloc_pool(&request->pool, mpz_sizeinbase(value, 10) + 2), 10, value);
  mpz_clear(value);
  return answer(request, h2o_iovec_init(H2O_STRLIT("text/plain")), digits, strlen(digits));
}

static int on_tetra(h2o_handler_t *self, h2o_req_t *request) {
  h2o_iovec_t path = request->path_normalized, prefix = request->pathconf->path;
  const char *digits = path.base + prefix.len, *end = path.base + path.len;
  unsigned long x = 0;
  for (; digits < end && *digits >= '0' && *digits <= '9' && x <= LARGEST_X; digits++) x = x * 10 + *digits - '0';
  if (digits == end && path.len > prefix.len && x <= LARGEST_X) return power(request, x);
  h2o_send_error_400(request, "Bad Request", "x must be a whole number from 0 to 10000\n", 0);
  return 0;
}

static int on_million(h2o_handler_t *self, h2o_req_t *request) {
  return is_whole(request) ? power(request, MILLION) : -1;
}

static text_handler *route(h2o_hostconf_t *host, const char *path, int (*on_request)(h2o_handler_t *, h2o_req_t *)) {
  h2o_handler_t *handler = h2o_create_handler(h2o_config_register_path(host, path, 0), sizeof(text_handler));
  handler->on_req = on_request;
  return (text_handler *)handler;
}

static void configure(void) {
  h2o_config_init(&config);
  h2o_hostconf_t *host = h2o_config_register_host(&config, h2o_iovec_init(H2O_STRLIT("default")), 65535);
  route(host, "/hello", on_text)->body = "Hello World\n";
  route(host, "/byte", on_text)->body = "x";
  route(host, "/page", on_text)->body = page;
  route(host, "/plaintext", on_text)->body = "Hello, World!";
  route(host, "/home", on_text)->body = "OK, no problema!";
  route(host, "/json", on_json);
  route(host, "/tetra/", on_tetra);
  route(host, "/tetra-million", on_million);
}

static void on_connection(h2o_socket_t *listener, const char *error) {
  h2o_accept_ctx_t *accepting = listener->data;
  h2o_socket_t *socket = error == NULL ? h2o_evloop_socket_accept(listener) : NULL;
  if (socket != NULL) h2o_accept(accepting, socket);
}

static void *run(void *unused) {
  h2o_context_t context;
  h2o_context_init(&context, h2o_evloop_create(), &config);
  h2o_accept_ctx_t accepting = { .ctx = &context, .hosts = config.hosts };
  h2o_socket_t *listener = h2o_evloop_socket_create(context.loop, dup(listening), H2O_SOCKET_FLAG_DONT_READ);
  listener->data = &accepting;
  h2o_socket_read_start(listener, on_connection);
  while (!stopping && h2o_evloop_run(context.loop, POLL_MS) == 0) {}
  h2o_socket_close(listener);
  h2o_context_request_shutdown(&context);
  uint64_t limit = h2o_now(context.loop) + STOP_LIMIT_MS;
  while (!h2o_linklist_is_empty(&context.http1._conns) && h2o_now(context.loop) < limit)
    h2o_evloop_run(context.loop, POLL_MS);
  return NULL;
}

int main(int count, char **arguments) { /* HOST PORT THREADS, and the page as standard input */
  if (count != 4 || fread(page, 1, sizeof page - 1, stdin) == 0) return 2;
  struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(atoi(arguments[2])) };
  int threads = atoi(arguments[3]), on = 1, number;
  if (threads > THREADS_MAX || inet_pton(AF_INET, arguments[1], &address.sin_addr) != 1) return 2;
  listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  setsockopt(listening, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(listening, (struct sockaddr *)&address, sizeof address) || listen(listening, SOMAXCONN)) {
    perror("listen");
    return 1;
  }
  configure();
  sigset_t terminate;
  sigemptyset(&terminate);
  sigaddset(&terminate, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &terminate, NULL); /* in every thread: the main one waits for it */
  signal(SIGPIPE, SIG_IGN);
  pthread_t running[THREADS_MAX];
  for (int i = 0; i < threads; i++) pthread_create(&running[i], NULL, run, NULL);
  sigwait(&terminate, &number);
  stopping = 1;
  for (int i = 0; i < threads; i++) pthread_join(running[i], NULL);
  return 0;
}
