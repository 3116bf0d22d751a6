import java.nio.file.{Files, Path}
import org.json4s.{DefaultFormats, Formats}
import org.scalatra.{BadRequest, NotFound, ScalatraServlet}
import org.scalatra.json.JacksonJsonSupport

/** The answer to `/json`. */
case class Message(message: String)

/** The routes. */
class Answers extends ScalatraServlet with JacksonJsonSupport {
  protected implicit lazy val jsonFormats: Formats = DefaultFormats

  private val LargestX = 10000
  private val WholeNumber = "([0-9]{1,5})".r
  private val page = Files.readAllBytes(Path.of(sys.env("PACELINE_WORKLOADS"), "page.txt"))

  before() {
    contentType = "text/plain"
  }

  get("/hello")("Hello World\n")

  get("/byte")("x")

  get("/page")(page)

  get("/json") {
    contentType = formats("json")
    Message("Hello, World!")
  }

  get("/plaintext")("Hello, World!")

  get("/home")("OK, no problema!")

  get("/tetra/:x") {
    params("x") match {
      case WholeNumber(digits) if digits.toInt <= LargestX => BigInt(digits.toInt).pow(digits.toInt).toString
      case _ => BadRequest("x must be a whole number from 0 to 10000\n")
    }
  }

  notFound(NotFound("no such page\n"))
}
