import java.net.InetSocketAddress
import org.eclipse.jetty.server.{HttpConnectionFactory, Server => Jetty, ServerConnector}
import org.eclipse.jetty.servlet.{ServletContextHandler, ServletHolder}
import org.eclipse.jetty.util.thread.QueuedThreadPool

/** Starts the application in an embedded Jetty, as Scalatra's guide deploys it standalone. */
object Server {

  /** Jetty needs at least four threads besides those that answer: acceptor, selector, and spare threads for both. */
  private val ThreadsLeast = 8

  def main(arguments: Array[String]): Unit = {
    val cores = sys.env("CORES").toInt
    // A thread uses at most one connection: with fewer threads some connections would never be used.
    val threads = ThreadsLeast * cores + (if (Database.isNamed) Database.connections else 0)
    val jetty = new Jetty(new QueuedThreadPool(threads))
    val connector = new ServerConnector(jetty, 1, cores)
    connector.setHost(sys.env("PACELINE_HOST"))
    connector.setPort(sys.env("PACELINE_PORT").toInt)
    connector.setAcceptQueueSize(4096)
    // "Server: Jetty(version)" and "Date" in every answer, which are Jetty's defaults.
    connector.getConnectionFactory(classOf[HttpConnectionFactory]).getHttpConfiguration.setSendDateHeader(true)
    jetty.addConnector(connector)

    val context = new ServletContextHandler(jetty, "/", ServletContextHandler.NO_SESSIONS)
    val answers = if (Database.isNamed) new Answers with DatabaseRoutes else new Answers
    context.addServlet(new ServletHolder(answers), "/*")
    jetty.setStopAtShutdown(true)
    jetty.setStopTimeout(2000)
    jetty.start()
    jetty.join()
  }
}
