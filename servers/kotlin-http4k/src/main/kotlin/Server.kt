import java.math.BigInteger
import java.nio.ByteBuffer
import java.nio.file.Files
import java.nio.file.Path
import java.time.Duration
import org.eclipse.jetty.server.Server
import org.eclipse.jetty.server.ServerConnector
import org.eclipse.jetty.util.thread.QueuedThreadPool
import org.http4k.core.Body
import org.http4k.core.ContentType
import org.http4k.core.Method.GET
import org.http4k.core.Request
import org.http4k.core.Response
import org.http4k.core.Status
import org.http4k.core.Status.Companion.BAD_REQUEST
import org.http4k.core.Status.Companion.OK
import org.http4k.core.with
import org.http4k.format.Jackson.auto
import org.http4k.lens.contentType
import org.http4k.routing.RoutingHttpHandler
import org.http4k.routing.bind
import org.http4k.routing.path
import org.http4k.routing.routes
import org.http4k.server.Jetty
import org.http4k.server.ServerConfig.StopMode.Graceful
import org.http4k.server.asServer

private const val LARGEST_X = 10_000
private val WHOLE_NUMBER = Regex("[0-9]{1,5}")

/** Jetty's default, and the threads that it needs besides those that use a connection. */
private const val THREADS = 200
private const val THREADS_OF_JETTY = 16

/** The answer to `/json`. */
data class Message(val message: String)

private val messageBody = Body.auto<Message>().toLens()

/** Answers Paceline's workloads with http4k on Jetty. */
fun main() {
    val database = if (Database.isNamed) listOf(databaseRoutes(Database.open())) else emptyList()
    val port = System.getenv("PACELINE_PORT").toInt()
    // On SIGTERM requests have two seconds to end; a client may never read its answer.
    val server = routes(database + workloads()).asServer(Jetty(port, Graceful(Duration.ofSeconds(2)), jetty(port)))
    Runtime.getRuntime().addShutdownHook(Thread { server.stop() })
    server.start()
}

private fun jetty(port: Int): Server {
    // A thread uses at most one connection: with fewer threads some connections would never be used.
    val threads = if (Database.isNamed) maxOf(THREADS, Database.connections + THREADS_OF_JETTY) else THREADS
    val jetty = Server(QueuedThreadPool(threads))
    val connector = ServerConnector(jetty)
    connector.host = System.getenv("PACELINE_HOST")
    connector.port = port
    jetty.addConnector(connector)
    return jetty
}

private fun workloads(): RoutingHttpHandler {
    val page = ByteBuffer.wrap(Files.readAllBytes(Path.of(System.getenv("PACELINE_WORKLOADS"), "page.txt")))
    return routes(
        "/hello" bind GET to { text("Hello World\n") },
        "/byte" bind GET to { text("x") },
        "/page" bind GET to { Response(OK).contentType(ContentType.TEXT_PLAIN).body(Body(page.duplicate())) },
        "/json" bind GET to { Response(OK).with(messageBody of Message("Hello, World!")) },
        "/plaintext" bind GET to { text("Hello, World!") },
        "/home" bind GET to { text("OK, no problema!") },
        "/tetra/{x}" bind GET to ::tetra,
    )
}

private fun tetra(request: Request): Response {
    val digits = request.path("x").orEmpty()
    if (!WHOLE_NUMBER.matches(digits) || digits.toInt() > LARGEST_X) {
        return text("x must be a whole number from 0 to 10000\n", BAD_REQUEST)
    }
    val x = digits.toInt()
    return text(BigInteger.valueOf(x.toLong()).pow(x).toString())
}

private fun text(body: String, status: Status = OK): Response =
    Response(status).contentType(ContentType.TEXT_PLAIN).body(body)
