package server;

import io.helidon.http.Header;
import io.helidon.http.HeaderNames;
import io.helidon.http.HeaderValues;
import io.helidon.http.Status;
import io.helidon.webserver.WebServer;
import io.helidon.webserver.http.HttpRouting;
import io.helidon.webserver.http.ServerRequest;
import io.helidon.webserver.http.ServerResponse;
import java.io.IOException;
import java.math.BigInteger;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.regex.Pattern;

/** Answers Paceline's workloads with Helidon's WebServer; each request is handled in a virtual thread. */
public final class Server {
    private static final int LARGEST_X = 10_000;
    private static final Pattern WHOLE_NUMBER = Pattern.compile("[0-9]{1,5}");

    /** TechEmpower's tests require `Server`; Helidon sends `Date`. */
    private static final Header SERVER = HeaderValues.createCached(HeaderNames.SERVER, "Helidon");

    /** The answer to `/json`. */
    public record Message(String message) {}

    public static void main(String[] arguments) throws IOException {
        HttpRouting.Builder routing = routing();
        if (Worlds.isNamed()) {
            routing.register(new DatabaseService(Worlds.open()));
        }
        WebServer.builder()
                .host(System.getenv("PACELINE_HOST"))
                .port(Integer.parseInt(System.getenv("PACELINE_PORT")))
                // On SIGTERM requests have this time to end; a client may never read its answer.
                .shutdownGracePeriod(Duration.ofSeconds(2))
                .routing(routing)
                .build()
                .start();
    }

    private static HttpRouting.Builder routing() throws IOException {
        byte[] page = Files.readAllBytes(Path.of(System.getenv("PACELINE_WORKLOADS"), "page.txt"));
        return HttpRouting.builder()
                .addFilter((chain, request, response) -> {
                    response.header(SERVER);
                    chain.proceed();
                })
                .get("/hello", (request, response) -> text(response, "Hello World\n"))
                .get("/byte", (request, response) -> text(response, "x"))
                .get("/page", (request, response) -> {
                    response.header(HeaderValues.CONTENT_TYPE_TEXT_PLAIN);
                    response.send(page);
                })
                .get("/json", (request, response) -> response.send(new Message("Hello, World!")))
                .get("/plaintext", (request, response) -> text(response, "Hello, World!"))
                .get("/home", (request, response) -> text(response, "OK, no problema!"))
                .get("/tetra/{x}", Server::tetra);
    }

    private static void tetra(ServerRequest request, ServerResponse response) {
        String digits = request.path().pathParameters().get("x");
        if (!WHOLE_NUMBER.matcher(digits).matches() || Integer.parseInt(digits) > LARGEST_X) {
            response.status(Status.BAD_REQUEST_400);
            text(response, "x must be a whole number from 0 to 10000\n");
            return;
        }
        int x = Integer.parseInt(digits);
        text(response, BigInteger.valueOf(x).pow(x).toString());
    }

    private static void text(ServerResponse response, String body) {
        response.header(HeaderValues.CONTENT_TYPE_TEXT_PLAIN);
        response.send(body);
    }
}
