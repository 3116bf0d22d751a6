import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;

/** PostgreSQL or MariaDB, by JDBC. */
final class SqlDatabase extends Database {
    private final HikariDataSource pool;

    private SqlDatabase(HikariDataSource pool) {
        this.pool = pool;
    }

    static Database open(String driver, String options) {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(driver + "//%s:%s/%s".formatted(
                System.getenv("DATABASE_HOST"), System.getenv("DATABASE_PORT"), System.getenv("DATABASE_NAME")) + options);
        config.setUsername(System.getenv("DATABASE_USER"));
        config.setPassword(System.getenv("DATABASE_PASSWORD"));
        config.setMaximumPoolSize(connections());
        // A request waits for a connection without limit; the default is thirty seconds.
        config.setConnectionTimeout(0);
        return new SqlDatabase(new HikariDataSource(config));
    }

    /** One SELECT for each row, all on one connection. */
    @Override
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

    @Override
    World[] updateWorlds(int count) throws SQLException {
        try (Connection connection = pool.getConnection()) {
            World[] worlds = changed(randomWorlds(connection, count));
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

    @Override
    List<Fortune> storedFortunes() throws SQLException {
        List<Fortune> fortunes = new ArrayList<>();
        try (Connection connection = pool.getConnection();
                PreparedStatement select = connection.prepareStatement("SELECT id, message FROM fortune");
                ResultSet rows = select.executeQuery()) {
            while (rows.next()) {
                fortunes.add(new Fortune(rows.getInt(1), rows.getString(2)));
            }
        }
        return fortunes;
    }
}
