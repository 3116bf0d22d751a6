import io.ktor.http.ContentType
import io.ktor.http.HttpStatusCode
import io.ktor.serialization.kotlinx.json.json
import io.ktor.server.application.Application
import io.ktor.server.application.install
import io.ktor.server.engine.connector
import io.ktor.server.engine.embeddedServer
import io.ktor.server.netty.Netty
import io.ktor.server.plugins.autohead.AutoHeadResponse
import io.ktor.server.plugins.contentnegotiation.ContentNegotiation
import io.ktor.server.plugins.defaultheaders.DefaultHeaders
import io.ktor.server.response.respond
import io.ktor.server.response.respondBytes
import io.ktor.server.response.respondText
import io.ktor.server.routing.RoutingContext
import io.ktor.server.routing.get
import io.ktor.server.routing.routing
import java.math.BigInteger
import java.nio.file.Files
import java.nio.file.Path
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.withContext
import kotlinx.serialization.Serializable

private const val LARGEST_X = 10_000
private val WHOLE_NUMBER = Regex("[0-9]{1,5}")

/** The answer to `/json`. */
@Serializable
data class Message(val message: String)

/** Answers Paceline's workloads with Ktor on Netty. */
fun main() {
    embeddedServer(
        Netty,
        configure = {
            connector {
                host = System.getenv("PACELINE_HOST")
                port = System.getenv("PACELINE_PORT").toInt()
            }
            enableH2c = true
            // On SIGTERM requests have two seconds to end; a client may never read its answer.
            shutdownGracePeriod = 0
            shutdownTimeout = 2000
        },
        module = Application::module,
    ).start(wait = true)
}

private fun Application.module() {
    install(DefaultHeaders)
    install(AutoHeadResponse)
    install(ContentNegotiation) { json() }
    workloads(Files.readAllBytes(Path.of(System.getenv("PACELINE_WORKLOADS"), "page.txt")))
    if (Database.isNamed) databaseWorkloads(Database.open())
}

private fun Application.workloads(page: ByteArray) {
    routing {
        get("/hello") { call.respondText("Hello World\n") }
        get("/byte") { call.respondText("x") }
        get("/page") { call.respondBytes(page, ContentType.Text.Plain) }
        get("/json") { call.respond(Message("Hello, World!")) }
        get("/plaintext") { call.respondText("Hello, World!") }
        get("/home") { call.respondText("OK, no problema!") }
        get("/tetra/{x}") { tetra() }
    }
}

private suspend fun RoutingContext.tetra() {
    val digits = call.parameters["x"].orEmpty()
    if (!WHOLE_NUMBER.matches(digits) || digits.toInt() > LARGEST_X) {
        call.respondText("x must be a whole number from 0 to 10000\n", status = HttpStatusCode.BadRequest)
        return
    }
    val x = digits.toInt()
    // A large power takes milliseconds, in which the event loop could serve no other connection.
    call.respondText(withContext(Dispatchers.Default) { BigInteger.valueOf(x.toLong()).pow(x).toString() })
}
