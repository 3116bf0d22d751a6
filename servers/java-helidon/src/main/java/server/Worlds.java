package server;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.regex.Pattern;

/** The tables in PostgreSQL or MariaDB, by JDBC. */
final class Worlds {
    private static final int WORLD_ROWS = 10_000;
    private static final int MOST_QUERIES = 500;
    private static final Pattern WHOLE_NUMBER = Pattern.compile("[0-9]{1,9}");

    private final HikariDataSource pool;

    private Worlds(HikariDataSource pool) {
        this.pool = pool;
    }

    static boolean isNamed() {
        return System.getenv("DATABASE") != null;
    }

    static Worlds open() {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(url());
        config.setUsername(System.getenv("DATABASE_USER"));
        config.setPassword(System.getenv("DATABASE_PASSWORD"));
        config.setMaximumPoolSize(Integer.parseInt(System.getenv("DATABASE_POOL")));
        // A request waits for a connection without limit; the default is thirty seconds.
        config.setConnectionTimeout(0);
        return new Worlds(new HikariDataSource(config));
    }

    private static String url() {
        String address = "//%s:%s/%s".formatted(
                System.getenv("DATABASE_HOST"), System.getenv("DATABASE_PORT"), System.getenv("DATABASE_NAME"));
        String kind = System.getenv("DATABASE");
        return switch (kind) {
            case "postgresql" -> "jdbc:postgresql:" + address;
            // Prepared in the database, which is not this driver's default.
            case "mariadb" -> "jdbc:mariadb:" + address + "?useServerPrepStmts=true";
            default -> throw new IllegalArgumentException(
                    "DATABASE is " + kind + ": set it to postgresql or mariadb");
        };
    }

    /** The parameter `queries`: 1 if it is missing or not an integer. */
    static int queriesAsked(String text) {
        if (text == null || !WHOLE_NUMBER.matcher(text).matches()) {
            return 1;
        }
        return Math.min(Math.max(Integer.parseInt(text), 1), MOST_QUERIES);
    }

    /** One SELECT for each row, all on one connection. */
    List<World> random(int count) throws SQLException {
        try (Connection connection = pool.getConnection()) {
            return random(connection, count);
        }
    }

    private static List<World> random(Connection connection, int count) throws SQLException {
        List<World> worlds = new ArrayList<>(count);
        try (PreparedStatement select =
                connection.prepareStatement("SELECT id, randomNumber FROM world WHERE id = ?")) {
            for (int i = 0; i < count; i++) {
                select.setInt(1, randomNumber());
                try (ResultSet rows = select.executeQuery()) {
                    rows.next();
                    worlds.add(new World(rows.getInt(1), rows.getInt(2)));
                }
            }
        }
        return worlds;
    }

    List<World> update(int count) throws SQLException {
        try (Connection connection = pool.getConnection()) {
            // Transactions that lock rows in the same order cannot deadlock.
            List<World> changed = random(connection, count).stream()
                    .map(world -> new World(world.id(), randomNumber()))
                    .sorted(Comparator.comparingInt(World::id))
                    .toList();
            store(connection, changed);
            return changed;
        }
    }

    /** Without a commit the pool rolls back. */
    private static void store(Connection connection, List<World> worlds) throws SQLException {
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
