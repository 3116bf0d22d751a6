package server;

import io.r2dbc.spi.Readable;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.regex.Pattern;
import org.springframework.context.annotation.Profile;
import org.springframework.r2dbc.core.DatabaseClient;
import org.springframework.stereotype.Repository;
import org.springframework.transaction.annotation.Transactional;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** The tables, by Spring's DatabaseClient on R2DBC. */
@Repository
@Profile("!none")
class Worlds {
    private static final int WORLD_ROWS = 10_000;
    private static final int MOST_QUERIES = 500;
    private static final Pattern WHOLE_NUMBER = Pattern.compile("[0-9]{1,9}");

    private final DatabaseClient client;

    Worlds(DatabaseClient client) {
        this.client = client;
    }

    /** The parameter `queries`: 1 if it is missing or not an integer. */
    static int queriesAsked(String text) {
        if (text == null || !WHOLE_NUMBER.matcher(text).matches()) {
            return 1;
        }
        return Math.min(Math.max(Integer.parseInt(text), 1), MOST_QUERIES);
    }

    Mono<World> random() {
        return client.sql("SELECT id, randomNumber FROM world WHERE id = :id")
                .bind("id", randomNumber())
                .map((Readable row) -> new World(row.get(0, Integer.class), row.get(1, Integer.class)))
                .one();
    }

    /** One SELECT for each row. */
    Mono<List<World>> random(int count) {
        return Flux.range(0, count).concatMap(index -> random()).collectList();
    }

    @Transactional
    Mono<List<World>> update(int count) {
        // Transactions that lock rows in the same order cannot deadlock.
        return Flux.range(0, count)
                .concatMap(index -> random())
                .map(world -> new World(world.id(), randomNumber()))
                .sort(Comparator.comparingInt(World::id))
                .concatMap(world -> store(world).thenReturn(world))
                .collectList();
    }

    private Mono<Long> store(World world) {
        return client.sql("UPDATE world SET randomNumber = :number WHERE id = :id")
                .bind("number", world.randomNumber())
                .bind("id", world.id())
                .fetch()
                .rowsUpdated();
    }

    /** The rows and the one that is added for each request, sorted by message. */
    Mono<List<Fortune>> fortunes() {
        return client.sql("SELECT id, message FROM fortune")
                .map((Readable row) -> new Fortune(row.get(0, Integer.class), row.get(1, String.class)))
                .all()
                .concatWithValues(new Fortune(0, "Additional fortune added at request time."))
                .sort(Comparator.comparing(Fortune::message))
                .collectList();
    }

    private static int randomNumber() {
        return ThreadLocalRandom.current().nextInt(1, WORLD_ROWS + 1);
    }
}
