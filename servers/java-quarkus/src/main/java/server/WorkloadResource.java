package server;

import io.smallrye.common.annotation.NonBlocking;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.Response;
import java.io.IOException;
import java.math.BigInteger;
import java.nio.file.Files;
import java.util.regex.Pattern;

/** The workloads without a database. Those that do not wait or compute are answered on the event loop. */
@Path("/")
@Produces(MediaType.TEXT_PLAIN)
public class WorkloadResource {
    private static final int LARGEST_X = 10_000;
    private static final Pattern WHOLE_NUMBER = Pattern.compile("[0-9]{1,5}");

    private final String page =
            Files.readString(java.nio.file.Path.of(System.getenv("PACELINE_WORKLOADS"), "page.txt"));

    public record Message(String message) {}

    public WorkloadResource() throws IOException {}

    @GET
    @Path("hello")
    @NonBlocking
    public String hello() {
        return "Hello World\n";
    }

    @GET
    @Path("byte")
    @NonBlocking
    public String oneByte() {
        return "x";
    }

    @GET
    @Path("page")
    @NonBlocking
    public String page() {
        return page;
    }

    @GET
    @Path("json")
    @Produces(MediaType.APPLICATION_JSON)
    @NonBlocking
    public Message json() {
        return new Message("Hello, World!");
    }

    @GET
    @Path("plaintext")
    @NonBlocking
    public String plaintext() {
        return "Hello, World!";
    }

    @GET
    @Path("home")
    @NonBlocking
    public String home() {
        return "OK, no problema!";
    }

    /** A large power takes milliseconds: on a worker thread, the default of methods that return a value. */
    @GET
    @Path("tetra/{digits}")
    public Response tetra(String digits) {
        if (!WHOLE_NUMBER.matcher(digits).matches() || Integer.parseInt(digits) > LARGEST_X) {
            return Response.status(400).entity("x must be a whole number from 0 to 10000\n").build();
        }
        int x = Integer.parseInt(digits);
        return Response.ok(BigInteger.valueOf(x).pow(x).toString()).build();
    }
}
