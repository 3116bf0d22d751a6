package models

import java.sql.{Connection, PreparedStatement}
import java.util.concurrent.ThreadLocalRandom
import javax.inject.{Inject, Singleton}
import org.apache.pekko.actor.ActorSystem
import play.api.db.Database
import play.api.libs.concurrent.CustomExecutionContext
import play.api.libs.json.{Json, OWrites}
import scala.collection.mutable.ArrayBuffer
import scala.concurrent.Future
import scala.util.Using

/** A row of `world`, with the names of its JSON keys. */
final case class World(id: Int, randomNumber: Int)

object World {
  implicit val writes: OWrites[World] = Json.writes[World]
}

final case class Fortune(id: Int, message: String)

/** The threads on which JDBC blocks. */
@Singleton
class DatabaseThreads @Inject() (system: ActorSystem) extends CustomExecutionContext(system, "database.dispatcher")

/** Rows of the database workloads, by Play's JDBC from PostgreSQL or MariaDB. */
@Singleton
class Rows @Inject() (database: Database, threads: DatabaseThreads) {
  private val WorldRows = 10000

  /** One SELECT for each row, all on one connection. */
  def randomWorlds(count: Int): Future[Seq[World]] = Future(database.withConnection(randomWorlds(_, count)))(threads)

  def updateWorlds(count: Int): Future[Seq[World]] = Future {
    val found = database.withConnection(randomWorlds(_, count))
    // Transactions that lock rows in the same order cannot deadlock.
    val worlds = found.map(_.copy(randomNumber = randomNumber())).sortBy(_.id)
    database.withTransaction(store(_, worlds))
    worlds
  }(threads)

  /** The rows and the one that is added for each request, sorted by message. */
  def fortunes(): Future[Seq[Fortune]] = Future(database.withConnection { connection =>
    val found = ArrayBuffer(Fortune(0, "Additional fortune added at request time."))
    Using.resource(connection.prepareStatement("SELECT id, message FROM fortune")) { select =>
      Using.resource(select.executeQuery()) { rows =>
        while (rows.next()) found += Fortune(rows.getInt(1), rows.getString(2))
      }
    }
    found.sortBy(_.message).toSeq
  })(threads)

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

  private def store(connection: Connection, worlds: Seq[World]): Unit =
    Using.resource(connection.prepareStatement("UPDATE world SET randomNumber = ? WHERE id = ?")) { update =>
      for (world <- worlds) {
        update.setInt(1, world.randomNumber)
        update.setInt(2, world.id)
        update.addBatch()
      }
      update.executeBatch()
    }

  private def randomNumber(): Int = ThreadLocalRandom.current().nextInt(1, WorldRows + 1)
}
