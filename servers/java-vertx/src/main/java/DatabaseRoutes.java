import com.github.mustachejava.DefaultMustacheFactory;
import com.github.mustachejava.Mustache;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import io.vertx.ext.web.Route;
import io.vertx.ext.web.RoutingContext;
import java.io.StringWriter;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/** The routes of the database workloads. JDBC blocks, so each is served by a worker thread. */
final class DatabaseRoutes {
    private final Database database = Database.open();
    private final Mustache fortunesPage = new DefaultMustacheFactory().compile("fortunes.mustache");

    /** A handler that may throw exceptions of JDBC. */
    private interface Answer {
        void to(RoutingContext context) throws SQLException;
    }

    void addTo(Function<String, Route> get) {
        onWorker(get.apply("/db"), context -> context.json(json(database.randomWorld())));
        onWorker(get.apply("/queries"), context -> context.json(json(database.randomWorlds(queriesAsked(context)))));
        onWorker(get.apply("/updates"), context -> context.json(json(database.updateWorlds(queriesAsked(context)))));
        onWorker(get.apply("/fortunes"), this::fortunes);
    }

    /** An error is answered with 500, and logged by the router. */
    private static void onWorker(Route route, Answer answer) {
        route.blockingHandler(context -> {
            try {
                answer.to(context);
            } catch (SQLException error) {
                context.fail(error);
            }
        }, false);
    }

    private static int queriesAsked(RoutingContext context) {
        return Database.queriesAsked(context.queryParams().get("queries"));
    }

    private static JsonObject json(Database.World world) {
        return new JsonObject().put("id", world.id()).put("randomNumber", world.randomNumber());
    }

    private static JsonArray json(Database.World[] worlds) {
        JsonArray array = new JsonArray();
        for (Database.World world : worlds) {
            array.add(json(world));
        }
        return array;
    }

    private void fortunes(RoutingContext context) throws SQLException {
        List<Database.Fortune> fortunes = database.fortunes();
        StringWriter page = new StringWriter();
        fortunesPage.execute(page, Map.of("fortunes", fortunes));
        context.response().putHeader("Content-Type", "text/html; charset=utf-8").end(page.toString());
    }
}
