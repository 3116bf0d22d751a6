package server;

import com.github.mustachejava.DefaultMustacheFactory;
import com.github.mustachejava.Mustache;
import io.micronaut.context.annotation.Requires;
import io.micronaut.core.annotation.Nullable;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.QueryValue;
import io.micronaut.scheduling.TaskExecutors;
import io.micronaut.scheduling.annotation.ExecuteOn;
import io.micronaut.transaction.annotation.Transactional;
import java.io.StringWriter;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import java.util.regex.Pattern;
import java.util.stream.IntStream;

/** The database workloads. JDBC blocks: they run in virtual threads. */
@Controller
@ExecuteOn(TaskExecutors.BLOCKING)
@Requires(property = "datasources.default.url")
class DatabaseController {
    private static final int WORLD_ROWS = 10_000;
    private static final int MOST_QUERIES = 500;
    private static final Pattern WHOLE_NUMBER = Pattern.compile("[0-9]{1,9}");

    private final WorldRepository worlds;
    private final FortuneRepository fortunes;
    private final Mustache fortunesPage = new DefaultMustacheFactory().compile("fortunes.mustache");

    DatabaseController(WorldRepository worlds, FortuneRepository fortunes) {
        this.worlds = worlds;
        this.fortunes = fortunes;
    }

    @Get("/db")
    World one() {
        return worlds.findById(randomNumber()).orElseThrow();
    }

    @Get("/queries")
    List<World> many(@Nullable @QueryValue String queries) {
        return random(queriesAsked(queries));
    }

    @Get("/updates")
    @Transactional
    List<World> updated(@Nullable @QueryValue String queries) {
        // Transactions that lock rows in the same order cannot deadlock.
        List<World> changed = random(queriesAsked(queries)).stream()
                .map(world -> new World(world.id(), randomNumber()))
                .sorted(Comparator.comparingInt(World::id))
                .toList();
        worlds.updateAll(changed);
        return changed;
    }

    @Get(uri = "/fortunes", produces = "text/html;charset=utf-8")
    String sortedFortunes() {
        List<Fortune> rows = new ArrayList<>(fortunes.findAll());
        rows.add(new Fortune(0, "Additional fortune added at request time."));
        rows.sort(Comparator.comparing(Fortune::message));
        StringWriter page = new StringWriter();
        fortunesPage.execute(page, Map.of("fortunes", rows));
        return page.toString();
    }

    /** One SELECT for each row. */
    private List<World> random(int count) {
        return IntStream.range(0, count).mapToObj(index -> one()).toList();
    }

    /** The parameter `queries`: 1 if it is missing or not an integer. */
    private static int queriesAsked(String text) {
        if (text == null || !WHOLE_NUMBER.matcher(text).matches()) {
            return 1;
        }
        return Math.min(Math.max(Integer.parseInt(text), 1), MOST_QUERIES);
    }

    private static int randomNumber() {
        return ThreadLocalRandom.current().nextInt(1, WORLD_ROWS + 1);
    }
}
