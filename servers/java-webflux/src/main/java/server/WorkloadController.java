package server;

import java.io.IOException;
import java.math.BigInteger;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Pattern;
import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RestController;
import reactor.core.publisher.Mono;

/** The workloads without a database. */
@RestController
class WorkloadController {
    private static final int LARGEST_X = 10_000;
    private static final Pattern WHOLE_NUMBER = Pattern.compile("[0-9]{1,5}");
    private static final String TEXT = MediaType.TEXT_PLAIN_VALUE;

    private final String page = Files.readString(Path.of(System.getenv("PACELINE_WORKLOADS"), "page.txt"));

    record Message(String message) {}

    WorkloadController() throws IOException {}

    @GetMapping(path = "/hello", produces = TEXT)
    Mono<String> hello() {
        return Mono.just("Hello World\n");
    }

    @GetMapping(path = "/byte", produces = TEXT)
    Mono<String> oneByte() {
        return Mono.just("x");
    }

    @GetMapping(path = "/page", produces = TEXT)
    Mono<String> page() {
        return Mono.just(page);
    }

    @GetMapping("/json")
    Mono<Message> json() {
        return Mono.fromSupplier(() -> new Message("Hello, World!"));
    }

    @GetMapping(path = "/plaintext", produces = TEXT)
    Mono<String> plaintext() {
        return Mono.just("Hello, World!");
    }

    @GetMapping(path = "/home", produces = TEXT)
    Mono<String> home() {
        return Mono.just("OK, no problema!");
    }

    @GetMapping(path = "/tetra/{digits}", produces = TEXT)
    Mono<ResponseEntity<String>> tetra(@PathVariable String digits) {
        if (!WHOLE_NUMBER.matcher(digits).matches() || Integer.parseInt(digits) > LARGEST_X) {
            return Mono.just(ResponseEntity.status(HttpStatus.BAD_REQUEST).body("x must be a whole number from 0 to 10000\n"));
        }
        int x = Integer.parseInt(digits);
        return Mono.fromSupplier(() -> ResponseEntity.ok(BigInteger.valueOf(x).pow(x).toString()));
    }
}
