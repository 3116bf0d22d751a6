import com.zaxxer.hikari.{HikariConfig, HikariDataSource}
import java.sql.{Connection, PreparedStatement}
import java.util.concurrent.ThreadLocalRandom
import scala.collection.mutable.ArrayBuffer
import scala.util.Using

/** A row of `world`, with the names of its JSON keys. */
case class World(id: Int, randomNumber: Int)

case class Fortune(id: Int, message: String)

/** Rows of the database workloads, by JDBC from PostgreSQL or MariaDB. */
class Database(pool: HikariDataSource) {
  import Database._

  /** One SELECT for each row, all on one connection. */
  def randomWorlds(count: Int): Seq[World] = Using.resource(pool.getConnection)(randomWorlds(_, count))

  private def randomWorlds(connection: Connection, count: Int): Seq[World] =
    Using.resource(connection.prepareStatement("SELECT id, randomNumber FROM world WHERE id = ?")) { select =>
      Seq.fill(count)(selectWorld(select))
    }

  private def selectWorld(select: PreparedStatement): World = {
    select.setInt(1, randomNumber())
    Using.resource(select.executeQuery()) { rows =>
      rows.next()
      World(rows.getInt(1), rows.getInt(2))
    }
  }

  def updateWorlds(count: Int): Seq[World] = Using.resource(pool.getConnection) { connection =>
    // Transactions that lock rows in the same order cannot deadlock.
    val worlds = randomWorlds(connection, count).map(_.copy(randomNumber = randomNumber())).sortBy(_.id)
    store(connection, worlds)
    worlds
  }

  /** Without a commit the pool rolls back. */
  private def store(connection: Connection, worlds: Seq[World]): Unit = {
    connection.setAutoCommit(false)
    Using.resource(connection.prepareStatement("UPDATE world SET randomNumber = ? WHERE id = ?")) { update =>
      for (world <- worlds) {
        update.setInt(1, world.randomNumber)
        update.setInt(2, world.id)
        update.addBatch()
      }
      update.executeBatch()
    }
    connection.commit()
  }

  /** The rows and the one that is added for each request, sorted by message. */
  def fortunes(): Seq[Fortune] = {
    val found = ArrayBuffer(Fortune(0, "Additional fortune added at request time."))
    Using.Manager { use =>
      val connection = use(pool.getConnection)
      val rows = use(use(connection.prepareStatement("SELECT id, message FROM fortune")).executeQuery())
      while (rows.next()) found += Fortune(rows.getInt(1), rows.getString(2))
    }.get
    found.sortBy(_.message).toSeq
  }
}

object Database {
  private val WorldRows = 10000
  private val MostQueries = 500

  def isNamed: Boolean = sys.env.contains("DATABASE")

  /** The number of connections that the lab asks for; at most as many threads use one at the same time. */
  def connections: Int = sys.env("DATABASE_POOL").toInt

  def open(): Database = {
    val config = new HikariConfig
    config.setJdbcUrl(url)
    config.setUsername(sys.env("DATABASE_USER"))
    config.setPassword(sys.env("DATABASE_PASSWORD"))
    config.setMaximumPoolSize(connections)
    // A request waits for a connection without limit; the default is thirty seconds.
    config.setConnectionTimeout(0)
    new Database(new HikariDataSource(config))
  }

  private def url: String = {
    val address = s"//${sys.env("DATABASE_HOST")}:${sys.env("DATABASE_PORT")}/${sys.env("DATABASE_NAME")}"
    sys.env("DATABASE") match {
      case "postgresql" => s"jdbc:postgresql:$address"
      // Prepared in the database, which is not this driver's default.
      case "mariadb" => s"jdbc:mariadb:$address?useServerPrepStmts=true"
      case other => throw new IllegalArgumentException(s"DATABASE is $other: set it to postgresql or mariadb")
    }
  }

  /** The parameter `queries`: 1 if it is missing or not an integer. */
  def queriesAsked(text: Option[String]): Int = text.flatMap(_.toIntOption).getOrElse(1).max(1).min(MostQueries)

  private def randomNumber(): Int = ThreadLocalRandom.current().nextInt(1, WorldRows + 1)
}
