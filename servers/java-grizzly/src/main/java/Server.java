import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.glassfish.grizzly.http.Method;
import org.glassfish.grizzly.http.server.HttpHandler;
import org.glassfish.grizzly.http.server.HttpServer;
import org.glassfish.grizzly.http.server.NetworkListener;
import org.glassfish.grizzly.http.server.Request;
import org.glassfish.grizzly.http.server.Response;
import org.glassfish.grizzly.threadpool.ThreadPoolConfig;

/** Answers Paceline's workloads with Grizzly's HTTP server. */
public final class Server extends HttpHandler {
    private static final int LARGEST_X = 10_000;
    private static final Pattern POWER = Pattern.compile("/tetra/([0-9]{1,5})");
    private static final ObjectMapper JSON = new ObjectMapper();

    private final byte[] page;

    private record Message(String message) {}

    private Server(byte[] page) {
        super("paceline");
        this.page = page;
    }

    public static void main(String[] arguments) throws IOException, InterruptedException {
        byte[] page = Files.readAllBytes(Path.of(System.getenv("PACELINE_WORKLOADS"), "page.txt"));
        int threads = Integer.parseInt(System.getenv("THREADS"));
        NetworkListener listener = new NetworkListener(
                "paceline", System.getenv("PACELINE_HOST"), Integer.parseInt(System.getenv("PACELINE_PORT")));
        listener.getTransport().setSelectorRunnersCount(threads);
        listener.getTransport().setServerConnectionBackLog(4096);
        // Two per core, and never fewer than selectors: Grizzly's own ratio.
        listener.getTransport().setWorkerThreadPoolConfig(
                ThreadPoolConfig.defaultConfig().setCorePoolSize(2 * threads).setMaxPoolSize(2 * threads));
        listener.getKeepAlive().setMaxRequestsCount(-1);
        HttpServer server = new HttpServer();
        server.addListener(listener);
        server.getServerConfiguration().addHttpHandler(new Server(page), "/");
        server.getServerConfiguration().setHttpServerName("Grizzly");
        server.start();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> server.shutdown(2, TimeUnit.SECONDS)));
        // Grizzly's threads are daemons: they do not keep the JVM running.
        Thread.currentThread().join();
    }

    @Override
    public void service(Request request, Response response) throws IOException {
        // Grizzly leaves out the body of an answer to HEAD.
        if (!request.getMethod().equals(Method.GET) && !request.getMethod().equals(Method.HEAD)) {
            answer(response, 405, "text/plain", new byte[0]);
            return;
        }
        String path = request.getRequestURI();
        switch (path) {
            case "/hello" -> text(response, 200, "Hello World\n");
            case "/byte" -> text(response, 200, "x");
            case "/page" -> answer(response, 200, "text/plain", page);
            case "/json" -> {
                name(response);
                answer(response, 200, "application/json", JSON.writeValueAsBytes(new Message("Hello, World!")));
            }
            case "/plaintext" -> {
                name(response);
                text(response, 200, "Hello, World!");
            }
            case "/home" -> text(response, 200, "OK, no problema!");
            default -> other(path, response);
        }
    }

    /** Adds `Server` and `Date`, which Grizzly does not send by default. */
    private static void name(Response response) {
        response.setHeader("Server", "Grizzly");
        response.addDateHeader("Date", System.currentTimeMillis());
    }

    private static void other(String path, Response response) throws IOException {
        if (!path.startsWith("/tetra/")) {
            text(response, 404, "no such page\n");
            return;
        }
        var match = POWER.matcher(path);
        if (!match.matches() || Integer.parseInt(match.group(1)) > LARGEST_X) {
            text(response, 400, "x must be a whole number from 0 to 10000\n");
            return;
        }
        int x = Integer.parseInt(match.group(1));
        text(response, 200, BigInteger.valueOf(x).pow(x).toString());
    }

    private static void text(Response response, int status, String body) throws IOException {
        answer(response, status, "text/plain; charset=utf-8", body.getBytes(StandardCharsets.UTF_8));
    }

    private static void answer(Response response, int status, String type, byte[] body) throws IOException {
        response.setStatus(status);
        response.setContentType(type);
        response.setContentLength(body.length);
        response.getOutputStream().write(body);
    }
}
