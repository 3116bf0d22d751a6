import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.regex.Pattern;

/** Rows of the database workloads, by JDBC from PostgreSQL or MariaDB. */
final class Database {
    private static final int WORLD_ROWS = 10_000;
    private static final int MOST_QUERIES = 500;
    private static final Pattern WHOLE_NUMBER = Pattern.compile("[0-9]{1,9}");

    record World(int id, int randomNumber) {}

    record Fortune(int id, String message) {}

    private final HikariDataSource pool;

    private Database(HikariDataSource pool) {
        this.pool = pool;
    }

    static boolean isNamed() {
        return System.getenv("DATABASE") != null;
    }

    /** As many connections as the lab asks for, and as many threads can use one at a time. */
    static int connections() {
        return Integer.parseInt(System.getenv("DATABASE_POOL"));
    }

    static Database open() {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(url());
        config.setUsername(System.getenv("DATABASE_USER"));
        config.setPassword(System.getenv("DATABASE_PASSWORD"));
        config.setMaximumPoolSize(connections());
        // A request waits for a connection as long as its client does, not for thirty seconds.
        config.setConnectionTimeout(0);
        return new Database(new HikariDataSource(config));
    }

    private static String url() {
        String kind = System.getenv("DATABASE");
        String address = "//%s:%s/%s".formatted(
                System.getenv("DATABASE_HOST"), System.getenv("DATABASE_PORT"), System.getenv("DATABASE_NAME"));
        return switch (kind) {
            case "postgresql" -> "jdbc:postgresql:" + address;
            // Prepared in the database, which is not this driver's default.
            case "mariadb" -> "jdbc:mariadb:" + address + "?useServerPrepStmts=true";
            default -> throw new IllegalArgumentException("DATABASE is " + kind + ": set it to postgresql or mariadb");
        };
    }

    /** The parameter `queries`: 1 where it is missing or no whole number. */
    static int queriesAsked(String text) {
        if (text == null || !WHOLE_NUMBER.matcher(text).matches()) {
            return 1;
        }
        return Math.min(Math.max(Integer.parseInt(text), 1), MOST_QUERIES);
    }

    World randomWorld() throws SQLException {
        return randomWorlds(1)[0];
    }

    /** One SELECT for each row, all on one connection. */
    World[] randomWorlds(int count) throws SQLException {
        try (Connection connection = pool.getConnection()) {
            return randomWorlds(connection, count);
        }
    }

    private static World[] randomWorlds(Connection connection, int count) throws SQLException {
        World[] worlds = new World[count];
        try (PreparedStatement select =
                connection.prepareStatement("SELECT id, randomNumber FROM world WHERE id = ?")) {
            for (int i = 0; i < count; i++) {
                select.setInt(1, randomNumber());
                try (ResultSet rows = select.executeQuery()) {
                    rows.next();
                    worlds[i] = new World(rows.getInt(1), rows.getInt(2));
                }
            }
        }
        return worlds;
    }

    World[] updateWorlds(int count) throws SQLException {
        try (Connection connection = pool.getConnection()) {
            World[] worlds = randomWorlds(connection, count);
            Arrays.setAll(worlds, i -> new World(worlds[i].id(), randomNumber()));
            // Transactions that lock rows in one order cannot deadlock.
            Arrays.sort(worlds, Comparator.comparingInt(World::id));
            store(connection, worlds);
            return worlds;
        }
    }

    /** Without a commit the pool rolls back. */
    private static void store(Connection connection, World[] worlds) throws SQLException {
        connection.setAutoCommit(false);
        try (PreparedStatement update =
                connection.prepareStatement("UPDATE world SET randomNumber = ? WHERE id = ?")) {
            for (World world : worlds) {
                update.setInt(1, world.randomNumber());
                update.setInt(2, world.id());
                update.addBatch();
            }
            update.executeBatch();
        }
        connection.commit();
    }

    /** The rows and the one that is added for each request, sorted by message. */
    List<Fortune> fortunes() throws SQLException {
        List<Fortune> fortunes = new ArrayList<>();
        try (Connection connection = pool.getConnection();
                PreparedStatement select = connection.prepareStatement("SELECT id, message FROM fortune");
                ResultSet rows = select.executeQuery()) {
            while (rows.next()) {
                fortunes.add(new Fortune(rows.getInt(1), rows.getString(2)));
            }
        }
        fortunes.add(new Fortune(0, "Additional fortune added at request time."));
        fortunes.sort(Comparator.comparing(Fortune::message));
        return fortunes;
    }

    private static int randomNumber() {
        return ThreadLocalRandom.current().nextInt(1, WORLD_ROWS + 1);
    }
}
