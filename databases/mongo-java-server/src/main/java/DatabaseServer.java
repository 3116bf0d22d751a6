import de.bwaldvogel.mongo.MongoCollection;
import de.bwaldvogel.mongo.MongoDatabase;
import de.bwaldvogel.mongo.MongoServer;
import de.bwaldvogel.mongo.bson.Document;
import io.netty.channel.Channel;
import io.netty.channel.embedded.EmbeddedChannel;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * mongo-java-server for one launch, and a second port on which its manifest's commands load rows and read counters:
 * a line with a command in, lines out.
 */
public final class DatabaseServer {
    private final CountingBackend backend = new CountingBackend();
    /** Commands need a client; this one has no connection, and its operations are not counted. */
    private final Channel itself = new EmbeddedChannel();
    private final String name = System.getenv("DATABASE_NAME");

    public static void main(String[] arguments) throws IOException {
        new DatabaseServer().serve();
    }

    private void serve() throws IOException {
        InetAddress loopback = InetAddress.getByName("127.0.0.1");
        int port = Integer.parseInt(System.getenv("DATABASE_PORT"));
        new MongoServer(backend).bind(new InetSocketAddress(System.getProperty("listen", "127.0.0.1"), port));
        try (ServerSocket control = new ServerSocket(0, 16, loopback)) {
            // Written atomically: `ready` may read the file at any moment.
            Path unfinished = Path.of("control.new");
            Files.writeString(unfinished, Integer.toString(control.getLocalPort()));
            Files.move(unfinished, Path.of("control"), StandardCopyOption.ATOMIC_MOVE);
            while (true) {
                try (Socket client = control.accept()) {
                    answer(client);
                } catch (IOException | RuntimeException error) {
                    // The command fails because it gets no answer; the cause is in the log.
                    error.printStackTrace();
                }
            }
        }
    }

    private void answer(Socket client) throws IOException {
        String command = new BufferedReader(new InputStreamReader(client.getInputStream())).readLine();
        if (command == null) {
            return; // `ready` only connects
        }
        String printed = switch (command) {
            case "load" -> load();
            case "statistics" -> backend.statistics();
            case "world" -> world();
            default -> "unknown command\n";
        };
        client.getOutputStream().write(printed.getBytes(StandardCharsets.UTF_8));
    }

    /** Documents as in TechEmpower's tests: the number is in `_id` and in `id`. */
    private String load() throws IOException {
        backend.dropDatabase(name);
        insert("world", row -> new Document("_id", Integer.valueOf(row[0])).append("id", Integer.valueOf(row[0]))
                .append("randomNumber", Integer.valueOf(row[1])));
        insert("fortune", row -> new Document("_id", Integer.valueOf(row[0])).append("id", Integer.valueOf(row[0]))
                .append("message", row[1]));
        return "loaded\n";
    }

    private void insert(String collection, Function<String[], Document> document) throws IOException {
        MongoDatabase database = backend.resolveDatabase(name);
        database.handleCommand(itself, "createIndexes", new Document("createIndexes", collection).append("indexes", List.of(
                new Document("name", "id").append("key", new Document("id", 1)).append("unique", true))), null, null);
        MongoCollection<?> documents = database.resolveCollection(collection, true);
        try (Stream<String> rows = Files.lines(Path.of(collection + ".tsv"))) {
            rows.forEach(row -> documents.addDocument(document.apply(row.split("\t", 2))));
        }
    }

    private String world() {
        return backend.resolveDatabase(name).resolveCollection("world", true).queryAllAsStream()
                .sorted((a, b) -> Integer.compare(number(a, "id"), number(b, "id")))
                .map(row -> number(row, "id") + "\t" + number(row, "randomNumber") + "\n")
                .collect(Collectors.joining());
    }

    /** A client may have stored it as another numeric type. */
    private static int number(Document row, String field) {
        return ((Number) row.get(field)).intValue();
    }
}
