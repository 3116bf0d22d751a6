import java.sql.SQLException
import org.scalatra.{InternalServerError, ScalatraServlet}
import org.scalatra.json.JacksonJsonSupport

/** The routes of the database workloads. */
trait DatabaseRoutes extends ScalatraServlet with JacksonJsonSupport {
  private val database = Database.open()

  get("/db")(json(database.randomWorlds(1).head))

  get("/queries")(json(database.randomWorlds(queries)))

  get("/updates")(json(database.updateWorlds(queries)))

  get("/fortunes") {
    contentType = formats("html")
    "<!DOCTYPE html>" + page(database.fortunes())
  }

  error { case failure: SQLException =>
    System.err.println(failure.getMessage)
    InternalServerError("the database did not answer as it should\n")
  }

  private def queries: Int = Database.queriesAsked(params.get("queries"))

  private def json(rows: AnyRef): AnyRef = {
    contentType = formats("json")
    rows
  }

  /** Scala escapes the values in an XML literal. */
  private def page(fortunes: Seq[Fortune]) =
    <html><head><title>Fortunes</title></head><body><table><tr><th>id</th><th>message</th></tr>{
      fortunes.map(fortune => <tr><td>{fortune.id}</td><td>{fortune.message}</td></tr>)
    }</table></body></html>
}
