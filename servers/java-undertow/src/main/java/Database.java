import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.regex.Pattern;

/** Rows of the database workloads, from the database that the lab has started. */
abstract class Database {
    private static final int WORLD_ROWS = 10_000;
    private static final int MOST_QUERIES = 500;
    private static final Pattern WHOLE_NUMBER = Pattern.compile("[0-9]{1,9}");

    record World(int id, int randomNumber) {}

    record Fortune(int id, String message) {}

    static boolean isNamed() {
        return System.getenv("DATABASE") != null;
    }

    /** The number of connections that the lab asks for; at most as many threads use one at the same time. */
    static int connections() {
        return Integer.parseInt(System.getenv("DATABASE_POOL"));
    }

    static Database open() {
        String kind = System.getenv("DATABASE");
        return switch (kind) {
            case "postgresql" -> SqlDatabase.open("jdbc:postgresql:", "");
            // Prepared in the database, which is not this driver's default.
            case "mariadb" -> SqlDatabase.open("jdbc:mariadb:", "?useServerPrepStmts=true");
            case "mongo-java-server" -> new DocumentDatabase();
            default -> throw new IllegalArgumentException(
                    "DATABASE is " + kind + ": set it to postgresql, mariadb or mongo-java-server");
        };
    }

    /** The parameter `queries`: 1 if it is missing or not an integer. */
    static int queriesAsked(String text) {
        if (text == null || !WHOLE_NUMBER.matcher(text).matches()) {
            return 1;
        }
        return Math.min(Math.max(Integer.parseInt(text), 1), MOST_QUERIES);
    }

    World randomWorld() throws SQLException {
        return randomWorlds(1)[0];
    }

    /** Reads each row separately. */
    abstract World[] randomWorlds(int count) throws SQLException;

    /** Reads rows, gives each a new number and stores it. */
    abstract World[] updateWorlds(int count) throws SQLException;

    abstract List<Fortune> storedFortunes() throws SQLException;

    /** The rows and the one that is added for each request, sorted by message. */
    List<Fortune> fortunes() throws SQLException {
        List<Fortune> fortunes = new ArrayList<>(storedFortunes());
        fortunes.add(new Fortune(0, "Additional fortune added at request time."));
        fortunes.sort(Comparator.comparing(Fortune::message));
        return fortunes;
    }

    /** The same rows with new numbers. Transactions that lock rows in the same order cannot deadlock. */
    static World[] changed(World[] worlds) {
        return Arrays.stream(worlds)
                .map(world -> new World(world.id(), randomNumber()))
                .sorted(Comparator.comparingInt(World::id))
                .toArray(World[]::new);
    }

    static int randomNumber() {
        return ThreadLocalRandom.current().nextInt(1, WORLD_ROWS + 1);
    }
}
