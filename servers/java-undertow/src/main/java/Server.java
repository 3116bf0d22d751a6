import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.undertow.Handlers;
import io.undertow.Undertow;
import io.undertow.UndertowOptions;
import io.undertow.server.HttpHandler;
import io.undertow.server.HttpServerExchange;
import io.undertow.server.RoutingHandler;
import io.undertow.server.handlers.GracefulShutdownHandler;
import io.undertow.util.Headers;
import io.undertow.util.PathTemplateMatch;
import io.undertow.util.StatusCodes;
import java.io.IOException;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Pattern;

/** Answers Paceline's workloads with Undertow's core and its routing handler. */
public final class Server {
    private static final int LARGEST_X = 10_000;
    private static final Pattern WHOLE_NUMBER = Pattern.compile("[0-9]{1,5}");

    /** Undertow's default: eight workers for each I/O thread. */
    private static final int WORKERS_PER_IO_THREAD = 8;

    private static final ObjectMapper JSON = new ObjectMapper();

    private record Message(String message) {}

    public static void main(String[] arguments) throws IOException {
        int ioThreads = Integer.parseInt(System.getenv("IO_THREADS"));
        RoutingHandler routes = routes();
        int workers = ioThreads * WORKERS_PER_IO_THREAD;
        if (Database.isNamed()) {
            new DatabaseRoutes().addTo(routes);
            // A worker uses at most one connection: with fewer workers some connections would never be used.
            workers = Math.max(workers, Database.connections());
        }
        GracefulShutdownHandler handler = Handlers.gracefulShutdown(routes);
        Undertow server = Undertow.builder()
                .addHttpListener(Integer.parseInt(System.getenv("PACELINE_PORT")), System.getenv("PACELINE_HOST"))
                .setServerOption(UndertowOptions.ENABLE_HTTP2, true)
                .setIoThreads(ioThreads)
                .setWorkerThreads(workers)
                .setHandler(Handlers.header(handler, Headers.SERVER_STRING, "Undertow"))
                .build();
        server.start();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> shutDown(server, handler)));
    }

    /** Lets requests in progress end, with a limit: a client may never read its answer. */
    private static void shutDown(Undertow server, GracefulShutdownHandler handler) {
        handler.shutdown();
        try {
            handler.awaitShutdown(2000);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
        server.stop();
    }

    private static RoutingHandler routes() throws IOException {
        ByteBuffer page = ByteBuffer.wrap(Files.readAllBytes(Path.of(System.getenv("PACELINE_WORKLOADS"), "page.txt")));
        return Handlers.routing()
                .get("/hello", exchange -> text(exchange, "Hello World\n"))
                .get("/byte", exchange -> text(exchange, "x"))
                .get("/page", exchange -> {
                    exchange.getResponseHeaders().put(Headers.CONTENT_TYPE, "text/plain; charset=utf-8");
                    exchange.getResponseSender().send(page.duplicate());
                })
                .get("/json", Server::json)
                .get("/plaintext", exchange -> text(exchange, "Hello, World!"))
                .get("/home", exchange -> text(exchange, "OK, no problema!"))
                .get("/tetra/{x}", onWorker(Server::tetra));
    }

    private static void json(HttpServerExchange exchange) throws JsonProcessingException {
        exchange.getResponseHeaders().put(Headers.CONTENT_TYPE, "application/json");
        exchange.getResponseSender().send(ByteBuffer.wrap(JSON.writeValueAsBytes(new Message("Hello, World!"))));
    }

    /** A large power takes milliseconds, in which the I/O thread could serve no other connection. */
    private static HttpHandler onWorker(HttpHandler handler) {
        return exchange -> exchange.dispatch(handler);
    }

    private static void tetra(HttpServerExchange exchange) {
        String digits = exchange.getAttachment(PathTemplateMatch.ATTACHMENT_KEY).getParameters().get("x");
        if (!WHOLE_NUMBER.matcher(digits).matches() || Integer.parseInt(digits) > LARGEST_X) {
            exchange.setStatusCode(StatusCodes.BAD_REQUEST);
            text(exchange, "x must be a whole number from 0 to 10000\n");
            return;
        }
        int x = Integer.parseInt(digits);
        text(exchange, BigInteger.valueOf(x).pow(x).toString());
    }

    private static void text(HttpServerExchange exchange, String body) {
        exchange.getResponseHeaders().put(Headers.CONTENT_TYPE, "text/plain; charset=utf-8");
        exchange.getResponseSender().send(body);
    }
}
