/* Answers Paceline's workloads with libuv and http_parser: one loop per process, one write per read. */
#include <cjson/cJSON.h>
#include <gmp.h>
#include <http_parser.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

enum { LARGEST_X = 10000, MILLION = 1000000, DIGITS_MAX = 6000001, HEAD_MAX = 512, FLUSH_AT = 65536 };
typedef struct {
  uv_tcp_t tcp; /* first, so that a pointer to the loop's handle is also a pointer to this struct */
  http_parser parser;
  char url[256];
  int url_length, last; /* last: close after everything is written */
} connection;
typedef struct { uv_write_t request; char bytes[]; } pending;
static char page[4096], in[4096], out[FLUSH_AT + HEAD_MAX + DIGITS_MAX]; /* out: answers to what is in `in` */
static size_t out_length;

static void end(connection *c) { if (!uv_is_closing((uv_handle_t *)c)) uv_close((uv_handle_t *)c, (uv_close_cb)free); }
static void on_room(uv_handle_t *handle, size_t wanted, uv_buf_t *room) { *room = uv_buf_init(in, sizeof in); }
static void on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *bytes);
static void on_written(uv_write_t *request, int status) {
  uv_stream_t *stream = request->handle;
  free(request);
  if (stream->write_queue_size > 0 && status == 0) return;
  if (status < 0 || ((connection *)stream)->last) end((connection *)stream);
  else uv_read_start(stream, on_room, on_read); /* which on_read may have stopped */
}
static void flush(connection *c) {
  pending *p = malloc(sizeof *p + out_length);
  if (p == NULL) { end(c); return; }
  uv_buf_t bytes = uv_buf_init(memcpy(p->bytes, out, out_length), out_length);
  out_length = 0;
  if (uv_write(&p->request, (uv_stream_t *)c, &bytes, 1, on_written) < 0) { free(p); end(c); }
}

static void answer(connection *c, const char *status, const char *type, const char *body) {
  static char date[32]; /* RFC 9110, section 6.6.1; formatted once a second */
  static time_t now;
  time_t before = now;
  size_t length = strlen(body);
  if (time(&now) != before) strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", gmtime(&now));
  out_length += snprintf(out + out_length, HEAD_MAX,
      "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\nServer: libuv\r\nDate: %s\r\n%s\r\n", status, type, length,
      date, c->last ? "Connection: close\r\n" : c->parser.http_minor > 0 ? "" : "Connection: keep-alive\r\n");
  if (c->parser.method == HTTP_HEAD) length = 0;
  memcpy(out + out_length, body, length);
  out_length += length;
  if (out_length > FLUSH_AT) flush(c);
}
static void text(connection *c, const char *status, const char *body) { answer(c, status, "text/plain", body); }

static void json(connection *c) {
  char body[64];
  cJSON *object = cJSON_CreateObject();
  cJSON_AddStringToObject(object, "message", "Hello, World!");
  if (cJSON_PrintPreallocated(object, body, sizeof body, 0)) answer(c, "200 OK", "application/json", body);
  else text(c, "500 Internal Server Error", "Out of memory\n");
  cJSON_Delete(object);
}
static void power(connection *c, unsigned long x) {
  static char digits[DIGITS_MAX + 2]; /* mpz_get_str needs room for a sign and the terminating zero */
  mpz_t value;
  mpz_init(value);
  mpz_ui_pow_ui(value, x, x);
  text(c, "200 OK", mpz_get_str(digits, 10, value));
  mpz_clear(value);
}
static void tetra(connection *c, const char *digits) {
  size_t length = strspn(digits, "0123456789");
  unsigned long x = strtoul(digits, NULL, 10); /* ULONG_MAX on overflow */
  if (length == 0 || digits[length] || x > LARGEST_X) text(c, "400 Bad Request", "Bad Request\n");
  else power(c, x);
}

static int on_url(http_parser *parser, const char *piece, size_t length) {
  connection *c = parser->data;
  if (length >= sizeof c->url - c->url_length) return 1; /* longer than any path of the workloads */
  memcpy(c->url + c->url_length, piece, length);
  c->url[c->url_length += length] = 0;
  return 0;
}
static int on_request(http_parser *parser) {
  connection *c = parser->data;
  if (c->last) return 0; /* sent after a request that asked to close */
  c->last = parser->upgrade || !http_should_keep_alive(parser); /* an upgrade is ignored and ends parsing */
  c->url[strcspn(c->url, "?")] = c->url_length = 0;
  if (parser->method != HTTP_GET && parser->method != HTTP_HEAD)
    text(c, "405 Method Not Allowed\r\nAllow: GET, HEAD", "Method Not Allowed\n");
  else if (!strcmp(c->url, "/hello")) text(c, "200 OK", "Hello World\n");
  else if (!strcmp(c->url, "/byte")) text(c, "200 OK", "x");
  else if (!strcmp(c->url, "/page")) text(c, "200 OK", page);
  else if (!strcmp(c->url, "/plaintext")) text(c, "200 OK", "Hello, World!");
  else if (!strcmp(c->url, "/home")) text(c, "200 OK", "OK, no problema!");
  else if (!strcmp(c->url, "/json")) json(c);
  else if (!strcmp(c->url, "/tetra-million")) power(c, MILLION);
  else if (!strncmp(c->url, "/tetra/", 7)) tetra(c, c->url + 7);
  else text(c, "404 Not Found", "Not Found\n");
  return 0;
}
static void on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *bytes) {
  static const http_parser_settings settings = { .on_url = on_url, .on_message_complete = on_request };
  connection *c = (connection *)stream;
  if (count < 0) { end(c); return; }
  http_parser_execute(&c->parser, &settings, bytes->base, count);
  if (HTTP_PARSER_ERRNO(&c->parser) != HPE_OK && !c->last) { c->last = 1; text(c, "400 Bad Request", "Bad Request\n"); }
  if (out_length > 0) flush(c);
  if (c->last || stream->write_queue_size > 0) uv_read_stop(stream); /* read more only after the client has read its answers */
}
static void on_connection(uv_stream_t *listener, int status) {
  connection *c = status < 0 ? NULL : calloc(1, sizeof *c);
  if (c == NULL) return;
  uv_tcp_init(listener->loop, &c->tcp);
  http_parser_init(&c->parser, HTTP_REQUEST);
  c->parser.data = c;
  if (uv_accept(listener, (uv_stream_t *)c) < 0) { end(c); return; }
  uv_tcp_nodelay(&c->tcp, 1);
  uv_read_start((uv_stream_t *)c, on_room, on_read);
}
static void on_terminate(uv_signal_t *terminate, int number) { uv_stop(terminate->loop); }

int main(int count, char **arguments) { /* HOST PORT PROCESSES, and the page as standard input */
  if (count != 4) return 2;
  fread(page, 1, sizeof page - 1, stdin);
  int processes = atoi(arguments[3]), shared = processes > 1, fd;
  pid_t child = 1;
  while (--processes > 0 && child > 0) child = fork();
  if (child == 0) prctl(PR_SET_PDEATHSIG, SIGTERM); /* a child ends with its parent */
  signal(SIGPIPE, SIG_IGN);
  uv_loop_t *loop = uv_default_loop();
  uv_signal_t terminate;
  uv_signal_init(loop, &terminate);
  uv_signal_start(&terminate, on_terminate, SIGTERM);
  struct sockaddr_in address;
  connection *listener = calloc(1, sizeof *listener);
  uv_tcp_init_ex(loop, &listener->tcp, AF_INET);
  uv_fileno((uv_handle_t *)listener, &fd);
  if (shared) setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &shared, sizeof shared);
  int error = uv_ip4_addr(arguments[1], atoi(arguments[2]), &address);
  if (!error) error = uv_tcp_bind(&listener->tcp, (struct sockaddr *)&address, 0);
  if (!error) error = uv_listen((uv_stream_t *)listener, SOMAXCONN, on_connection);
  if (error) { fprintf(stderr, "listen: %s\n", uv_strerror(error)); return 1; }
  uv_run(loop, UV_RUN_DEFAULT);
  return 0;
}
