package server;

import com.github.mustachejava.DefaultMustacheFactory;
import com.github.mustachejava.Mustache;
import io.helidon.http.Header;
import io.helidon.http.HeaderNames;
import io.helidon.http.HeaderValues;
import io.helidon.webserver.http.HttpRules;
import io.helidon.webserver.http.HttpService;
import io.helidon.webserver.http.ServerRequest;
import io.helidon.webserver.http.ServerResponse;
import java.io.StringWriter;
import java.sql.SQLException;
import java.util.Map;

/** The routes of the database workloads. JDBC blocks only the virtual thread of its request. */
final class DatabaseService implements HttpService {
    private static final Header HTML = HeaderValues.createCached(HeaderNames.CONTENT_TYPE, "text/html; charset=utf-8");

    private final Worlds worlds;
    private final Mustache fortunesPage = new DefaultMustacheFactory().compile("fortunes.mustache");

    DatabaseService(Worlds worlds) {
        this.worlds = worlds;
    }

    @Override
    public void routing(HttpRules rules) {
        rules.get("/db", (request, response) -> response.send(worlds.random(1).getFirst()))
                .get("/queries", (request, response) -> response.send(worlds.random(queriesAsked(request))))
                .get("/updates", (request, response) -> response.send(worlds.update(queriesAsked(request))))
                .get("/fortunes", this::fortunes);
    }

    private static int queriesAsked(ServerRequest request) {
        return Worlds.queriesAsked(request.query().first("queries").orElse(null));
    }

    private void fortunes(ServerRequest request, ServerResponse response) throws SQLException {
        StringWriter page = new StringWriter();
        fortunesPage.execute(page, Map.of("fortunes", worlds.fortunes()));
        response.header(HTML);
        response.send(page.toString());
    }
}
