package server;

import io.agroal.api.AgroalDataSource;
import io.quarkus.arc.InjectableInstance;
import jakarta.enterprise.inject.Any;
import jakarta.inject.Singleton;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.regex.Pattern;

/** The tables, by JDBC and Quarkus's pool (Agroal). */
@Singleton
public class Worlds {
    private static final int WORLD_ROWS = 10_000;
    private static final int MOST_QUERIES = 500;
    private static final Pattern WHOLE_NUMBER = Pattern.compile("[0-9]{1,9}");

    private final AgroalDataSource source;

    Worlds(@Any InjectableInstance<AgroalDataSource> sources) {
        source = System.getenv("DATABASE") == null ? null : sources.getActive();
    }

    boolean isOpen() {
        return source != null;
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
        try (Connection connection = source.getConnection()) {
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
        try (Connection connection = source.getConnection()) {
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
        try (Connection connection = source.getConnection();
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
