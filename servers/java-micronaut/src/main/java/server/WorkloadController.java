package server;

import io.micronaut.http.HttpResponse;
import io.micronaut.http.MediaType;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.scheduling.TaskExecutors;
import io.micronaut.scheduling.annotation.ExecuteOn;
import io.micronaut.serde.annotation.Serdeable;
import java.io.IOException;
import java.math.BigInteger;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Pattern;

/** The workloads without a database, on the event loop. */
@Controller
class WorkloadController {
    private static final int LARGEST_X = 10_000;
    private static final Pattern WHOLE_NUMBER = Pattern.compile("[0-9]{1,5}");

    private final String page = Files.readString(Path.of(System.getenv("PACELINE_WORKLOADS"), "page.txt"));

    @Serdeable
    record Message(String message) {}

    WorkloadController() throws IOException {}

    @Get(uri = "/hello", produces = MediaType.TEXT_PLAIN)
    String hello() {
        return "Hello World\n";
    }

    @Get(uri = "/byte", produces = MediaType.TEXT_PLAIN)
    String oneByte() {
        return "x";
    }

    @Get(uri = "/page", produces = MediaType.TEXT_PLAIN)
    String page() {
        return page;
    }

    @Get("/json")
    Message json() {
        return new Message("Hello, World!");
    }

    @Get(uri = "/plaintext", produces = MediaType.TEXT_PLAIN)
    String plaintext() {
        return "Hello, World!";
    }

    @Get(uri = "/home", produces = MediaType.TEXT_PLAIN)
    String home() {
        return "OK, no problema!";
    }

    /** A large power takes milliseconds, in which the event loop could serve no other connection. */
    @Get(uri = "/tetra/{digits}", produces = MediaType.TEXT_PLAIN)
    @ExecuteOn(TaskExecutors.BLOCKING)
    HttpResponse<String> tetra(String digits) {
        if (!WHOLE_NUMBER.matcher(digits).matches() || Integer.parseInt(digits) > LARGEST_X) {
            return HttpResponse.badRequest("x must be a whole number from 0 to 10000\n");
        }
        int x = Integer.parseInt(digits);
        return HttpResponse.ok(BigInteger.valueOf(x).pow(x).toString());
    }
}
