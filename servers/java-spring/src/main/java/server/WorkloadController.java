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
    String hello() {
        return "Hello World\n";
    }

    @GetMapping(path = "/byte", produces = TEXT)
    String oneByte() {
        return "x";
    }

    @GetMapping(path = "/page", produces = TEXT)
    String page() {
        return page;
    }

    @GetMapping("/json")
    Message json() {
        return new Message("Hello, World!");
    }

    @GetMapping(path = "/plaintext", produces = TEXT)
    String plaintext() {
        return "Hello, World!";
    }

    @GetMapping(path = "/home", produces = TEXT)
    String home() {
        return "OK, no problema!";
    }

    @GetMapping(path = "/tetra/{digits}", produces = TEXT)
    ResponseEntity<String> tetra(@PathVariable String digits) {
        if (!WHOLE_NUMBER.matcher(digits).matches() || Integer.parseInt(digits) > LARGEST_X) {
            return ResponseEntity.status(HttpStatus.BAD_REQUEST).body("x must be a whole number from 0 to 10000\n");
        }
        int x = Integer.parseInt(digits);
        return ResponseEntity.ok(BigInteger.valueOf(x).pow(x).toString());
    }
}
