import io.ktor.server.application.Application
import io.ktor.server.html.respondHtml
import io.ktor.server.response.respond
import io.ktor.server.routing.RoutingContext
import io.ktor.server.routing.get
import io.ktor.server.routing.routing
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.withContext
import kotlinx.html.HTML
import kotlinx.html.body
import kotlinx.html.head
import kotlinx.html.table
import kotlinx.html.td
import kotlinx.html.th
import kotlinx.html.title
import kotlinx.html.tr

/** The routes of the database workloads. JDBC blocks, so they run on other threads than the event loops. */
fun Application.databaseWorkloads(database: Database) {
    val blocking = Dispatchers.IO.limitedParallelism(Database.connections)
    routing {
        get("/db") { call.respond(withContext(blocking) { database.randomWorlds(1).first() }) }
        get("/queries") { call.respond(withContext(blocking) { database.randomWorlds(queriesAsked()) }) }
        get("/updates") { call.respond(withContext(blocking) { database.updateWorlds(queriesAsked()) }) }
        get("/fortunes") {
            val fortunes = withContext(blocking) { database.fortunes() }
            call.respondHtml { page(fortunes) }
        }
    }
}

private fun RoutingContext.queriesAsked(): Int = Database.queriesAsked(call.request.queryParameters["queries"])

private fun HTML.page(fortunes: List<Fortune>) {
    head { title("Fortunes") }
    body {
        table {
            tr {
                th { +"id" }
                th { +"message" }
            }
            for (fortune in fortunes) {
                tr {
                    td { +fortune.id.toString() }
                    td { +fortune.message }
                }
            }
        }
    }
}
