import com.github.mustachejava.DefaultMustacheFactory
import java.io.StringWriter
import org.http4k.core.Body
import org.http4k.core.ContentType
import org.http4k.core.Method.GET
import org.http4k.core.Request
import org.http4k.core.Response
import org.http4k.core.Status.Companion.OK
import org.http4k.core.with
import org.http4k.format.Jackson.auto
import org.http4k.lens.contentType
import org.http4k.routing.RoutingHttpHandler
import org.http4k.routing.bind
import org.http4k.routing.routes

private val worldBody = Body.auto<World>().toLens()
private val worldsBody = Body.auto<List<World>>().toLens()
private val fortunesPage = DefaultMustacheFactory().compile("fortunes.mustache")

/** The routes of the database workloads; JDBC blocks the thread of its request. */
fun databaseRoutes(database: Database): RoutingHttpHandler = routes(
    "/db" bind GET to { Response(OK).with(worldBody of database.randomWorlds(1).first()) },
    "/queries" bind GET to { Response(OK).with(worldsBody of database.randomWorlds(queriesAsked(it))) },
    "/updates" bind GET to { Response(OK).with(worldsBody of database.updateWorlds(queriesAsked(it))) },
    "/fortunes" bind GET to { fortunes(database) },
)

private fun queriesAsked(request: Request): Int = Database.queriesAsked(request.query("queries"))

private fun fortunes(database: Database): Response {
    val page = StringWriter()
    fortunesPage.execute(page, mapOf("fortunes" to database.fortunes()))
    return Response(OK).contentType(ContentType.TEXT_HTML).body(page.toString())
}
