import com.fasterxml.jackson.databind.ObjectMapper;
import com.github.mustachejava.DefaultMustacheFactory;
import com.github.mustachejava.Mustache;
import io.undertow.server.HttpHandler;
import io.undertow.server.HttpServerExchange;
import io.undertow.server.RoutingHandler;
import io.undertow.server.handlers.BlockingHandler;
import io.undertow.util.Headers;
import java.io.IOException;
import java.io.StringWriter;
import java.nio.ByteBuffer;
import java.sql.SQLException;
import java.util.Deque;
import java.util.List;
import java.util.Map;

/** The routes of the database workloads. JDBC blocks, so each is served by a worker thread. */
final class DatabaseRoutes {
    private static final ObjectMapper JSON = new ObjectMapper();

    private final Database database = Database.open();
    private final Mustache fortunesPage = new DefaultMustacheFactory().compile("fortunes.mustache");

    void addTo(RoutingHandler routes) {
        routes.get("/db", onWorker(exchange -> json(exchange, database.randomWorld())))
                .get("/queries", onWorker(exchange -> json(exchange, database.randomWorlds(queriesAsked(exchange)))))
                .get("/updates", onWorker(exchange -> json(exchange, database.updateWorlds(queriesAsked(exchange)))))
                .get("/fortunes", onWorker(this::fortunes));
    }

    private static HttpHandler onWorker(HttpHandler handler) {
        return new BlockingHandler(handler);
    }

    private static int queriesAsked(HttpServerExchange exchange) {
        Deque<String> values = exchange.getQueryParameters().get("queries");
        return Database.queriesAsked(values == null ? null : values.peekFirst());
    }

    private static void json(HttpServerExchange exchange, Object rows) throws IOException {
        exchange.getResponseHeaders().put(Headers.CONTENT_TYPE, "application/json");
        exchange.getResponseSender().send(ByteBuffer.wrap(JSON.writeValueAsBytes(rows)));
    }

    private void fortunes(HttpServerExchange exchange) throws SQLException {
        List<Database.Fortune> fortunes = database.fortunes();
        StringWriter page = new StringWriter();
        fortunesPage.execute(page, Map.of("fortunes", fortunes));
        exchange.getResponseHeaders().put(Headers.CONTENT_TYPE, "text/html; charset=utf-8");
        exchange.getResponseSender().send(page.toString());
    }
}
