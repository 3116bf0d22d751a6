import com.zaxxer.hikari.HikariConfig
import com.zaxxer.hikari.HikariDataSource
import java.sql.Connection
import java.sql.PreparedStatement
import java.util.concurrent.ThreadLocalRandom

private const val WORLD_ROWS = 10_000
private const val MOST_QUERIES = 500

/** A row of `world`, with the names of its JSON keys. */
data class World(val id: Int, val randomNumber: Int)

data class Fortune(val id: Int, val message: String)

/** Rows of the database workloads, by JDBC from PostgreSQL or MariaDB. */
class Database private constructor(private val pool: HikariDataSource) {

    /** One SELECT for each row, all on one connection. */
    fun randomWorlds(count: Int): List<World> = pool.connection.use { randomWorlds(it, count) }

    private fun randomWorlds(connection: Connection, count: Int): List<World> =
        connection.prepareStatement("SELECT id, randomNumber FROM world WHERE id = ?").use { select ->
            List(count) { selectWorld(select) }
        }

    private fun selectWorld(select: PreparedStatement): World {
        select.setInt(1, randomNumber())
        return select.executeQuery().use { rows ->
            rows.next()
            World(rows.getInt(1), rows.getInt(2))
        }
    }

    fun updateWorlds(count: Int): List<World> = pool.connection.use { connection ->
        // Transactions that lock rows in the same order cannot deadlock.
        val worlds = randomWorlds(connection, count).map { it.copy(randomNumber = randomNumber()) }.sortedBy { it.id }
        store(connection, worlds)
        worlds
    }

    /** Without a commit the pool rolls back. */
    private fun store(connection: Connection, worlds: List<World>) {
        connection.autoCommit = false
        connection.prepareStatement("UPDATE world SET randomNumber = ? WHERE id = ?").use { update ->
            for (world in worlds) {
                update.setInt(1, world.randomNumber)
                update.setInt(2, world.id)
                update.addBatch()
            }
            update.executeBatch()
        }
        connection.commit()
    }

    /** The rows and the one that is added for each request, sorted by message. */
    fun fortunes(): List<Fortune> {
        val found = mutableListOf(Fortune(0, "Additional fortune added at request time."))
        pool.connection.use { connection ->
            connection.prepareStatement("SELECT id, message FROM fortune").use { select ->
                select.executeQuery().use { rows ->
                    while (rows.next()) found += Fortune(rows.getInt(1), rows.getString(2))
                }
            }
        }
        return found.sortedBy { it.message }
    }

    companion object {
        val isNamed: Boolean get() = System.getenv("DATABASE") != null

        /** The number of connections that the lab asks for; at most as many threads use one at the same time. */
        val connections: Int get() = System.getenv("DATABASE_POOL").toInt()

        fun open(): Database {
            val config = HikariConfig()
            config.jdbcUrl = url()
            config.username = System.getenv("DATABASE_USER")
            config.password = System.getenv("DATABASE_PASSWORD")
            config.maximumPoolSize = connections
            // A request waits for a connection without limit; the default is thirty seconds.
            config.connectionTimeout = 0
            return Database(HikariDataSource(config))
        }

        private fun url(): String {
            val host = System.getenv("DATABASE_HOST")
            val address = "//$host:${System.getenv("DATABASE_PORT")}/${System.getenv("DATABASE_NAME")}"
            return when (val kind = System.getenv("DATABASE")) {
                "postgresql" -> "jdbc:postgresql:$address"
                // Prepared in the database, which is not this driver's default.
                "mariadb" -> "jdbc:mariadb:$address?useServerPrepStmts=true"
                else -> throw IllegalArgumentException("DATABASE is $kind: set it to postgresql or mariadb")
            }
        }

        /** The parameter `queries`: 1 if it is missing or not an integer. */
        fun queriesAsked(text: String?): Int = (text?.toIntOrNull() ?: 1).coerceIn(1, MOST_QUERIES)

        private fun randomNumber(): Int = ThreadLocalRandom.current().nextInt(1, WORLD_ROWS + 1)
    }
}
