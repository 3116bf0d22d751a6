import io.vertx.core.DeploymentOptions;
import io.vertx.core.Future;
import io.vertx.core.VerticleBase;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.json.JsonObject;
import io.vertx.ext.web.Route;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import java.math.BigInteger;
import java.nio.file.Path;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Locale;
import java.util.regex.Pattern;

/** Answers Paceline's workloads with Vert.x and its router; one instance of this verticle per event loop. */
public final class Server extends VerticleBase {
    private static final int LARGEST_X = 10_000;
    private static final Pattern WHOLE_NUMBER = Pattern.compile("[0-9]{1,5}");

    /** RFC 9110, section 5.6.7: the day has two digits, which Java's RFC_1123_DATE_TIME does not guarantee. */
    private static final DateTimeFormatter HTTP_DATE =
            DateTimeFormatter.ofPattern("EEE, dd MMM yyyy HH:mm:ss 'GMT'", Locale.ENGLISH).withZone(ZoneOffset.UTC);

    private final DatabaseRoutes databaseRoutes;
    private String date;

    /** Without a database the routes are null. */
    private Server(DatabaseRoutes databaseRoutes) {
        this.databaseRoutes = databaseRoutes;
    }

    public static void main(String[] arguments) {
        int loops = Integer.parseInt(System.getenv("EVENT_LOOPS"));
        VertxOptions options = new VertxOptions().setEventLoopPoolSize(loops).setPreferNativeTransport(true);
        DatabaseRoutes databaseRoutes = null;
        if (Database.isNamed()) {
            databaseRoutes = new DatabaseRoutes();
            // A worker uses at most one connection: with fewer workers some connections would never be used.
            options.setWorkerPoolSize(Math.max(options.getWorkerPoolSize(), Database.connections()));
        }
        start(Vertx.vertx(options), loops, databaseRoutes);
    }

    private static void start(Vertx vertx, int loops, DatabaseRoutes databaseRoutes) {
        if (!vertx.isNativeTransportEnabled()) {
            throw new IllegalStateException("no native transport", vertx.unavailableNativeTransportCause());
        }
        vertx.deployVerticle(() -> new Server(databaseRoutes), new DeploymentOptions().setInstances(loops)).onFailure(cause -> {
            cause.printStackTrace();
            System.exit(1);
        });
        Runtime.getRuntime().addShutdownHook(new Thread(() -> vertx.close().await()));
    }

    @Override
    public Future<?> start() {
        setDate();
        vertx.setPeriodic(1000, timer -> setDate());
        Buffer page = vertx.fileSystem().readFileBlocking(
                Path.of(System.getenv("PACELINE_WORKLOADS"), "page.txt").toString());
        int port = Integer.parseInt(System.getenv("PACELINE_PORT"));
        return vertx.createHttpServer().requestHandler(routes(page)).listen(port, System.getenv("PACELINE_HOST"));
    }

    private Router routes(Buffer page) {
        Router router = Router.router(vertx);
        get(router, "/hello").handler(context -> text(context, "Hello World\n"));
        get(router, "/byte").handler(context -> text(context, "x"));
        get(router, "/page").handler(context -> {
            context.response().putHeader("Content-Type", "text/plain").end(page);
        });
        get(router, "/json").handler(context -> {
            named(context).json(new JsonObject().put("message", "Hello, World!"));
        });
        get(router, "/plaintext").handler(context -> text(named(context), "Hello, World!"));
        get(router, "/home").handler(context -> text(context, "OK, no problema!"));
        // A large power takes milliseconds: "don't block the event loop".
        get(router, "/tetra/:x").blockingHandler(Server::tetra, false);
        get(router, "/tetra/").handler(context -> context.fail(404));
        if (databaseRoutes != null) {
            // The date belongs to the event loop, so it is set before the request moves to a worker.
            databaseRoutes.addTo(path -> get(router, path).handler(context -> named(context).next()));
        }
        return router;
    }

    /** Vert.x leaves out the body of an answer to HEAD. */
    private static Route get(Router router, String path) {
        return router.route(path).method(HttpMethod.GET).method(HttpMethod.HEAD);
    }

    private void setDate() {
        date = HTTP_DATE.format(Instant.now());
    }

    /** Adds `Server` and `Date`. */
    private RoutingContext named(RoutingContext context) {
        context.response().putHeader("Server", "Vert.x").putHeader("Date", date);
        return context;
    }

    private static void tetra(RoutingContext context) {
        String digits = context.pathParam("x");
        if (!WHOLE_NUMBER.matcher(digits).matches() || Integer.parseInt(digits) > LARGEST_X) {
            context.response().setStatusCode(400);
            text(context, "x must be a whole number from 0 to 10000\n");
            return;
        }
        int x = Integer.parseInt(digits);
        text(context, BigInteger.valueOf(x).pow(x).toString());
    }

    private static void text(RoutingContext context, String body) {
        context.response().putHeader("Content-Type", "text/plain; charset=utf-8").end(body);
    }
}
