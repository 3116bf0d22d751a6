package server;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.springframework.context.annotation.Profile;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.core.RowMapper;
import org.springframework.stereotype.Repository;
import org.springframework.transaction.annotation.Transactional;

/** The tables, by Spring's JdbcTemplate. */
@Repository
@Profile("!none")
class Worlds {
    private static final int WORLD_ROWS = 10_000;
    private static final int MOST_QUERIES = 500;
    private static final Pattern WHOLE_NUMBER = Pattern.compile("[0-9]{1,9}");
    private static final RowMapper<World> WORLD = (row, index) -> new World(row.getInt(1), row.getInt(2));
    private static final RowMapper<Fortune> FORTUNE = (row, index) -> new Fortune(row.getInt(1), row.getString(2));

    private final JdbcTemplate jdbc;

    Worlds(JdbcTemplate jdbc) {
        this.jdbc = jdbc;
    }

    /** The parameter `queries`: 1 if it is missing or not an integer. */
    static int queriesAsked(String text) {
        if (text == null || !WHOLE_NUMBER.matcher(text).matches()) {
            return 1;
        }
        return Math.min(Math.max(Integer.parseInt(text), 1), MOST_QUERIES);
    }

    /** One SELECT for each row. */
    List<World> random(int count) {
        return IntStream.range(0, count).mapToObj(index -> jdbc.queryForObject(
                "SELECT id, randomNumber FROM world WHERE id = ?", WORLD, randomNumber())).toList();
    }

    @Transactional
    List<World> update(int count) {
        // Transactions that lock rows in the same order cannot deadlock.
        List<World> changed = random(count).stream()
                .map(world -> new World(world.id(), randomNumber()))
                .sorted(Comparator.comparingInt(World::id))
                .toList();
        jdbc.batchUpdate("UPDATE world SET randomNumber = ? WHERE id = ?",
                changed.stream().map(world -> new Object[] {world.randomNumber(), world.id()}).toList());
        return changed;
    }

    /** The rows and the one that is added for each request, sorted by message. */
    List<Fortune> fortunes() {
        List<Fortune> fortunes = new ArrayList<>(jdbc.query("SELECT id, message FROM fortune", FORTUNE));
        fortunes.add(new Fortune(0, "Additional fortune added at request time."));
        fortunes.sort(Comparator.comparing(Fortune::message));
        return fortunes;
    }

    private static int randomNumber() {
        return ThreadLocalRandom.current().nextInt(1, WORLD_ROWS + 1);
    }
}
