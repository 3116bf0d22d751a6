package controllers

import java.nio.file.{Files, Path}
import javax.inject.{Inject, Singleton}
import play.api.libs.json.{Json, OWrites}
import play.api.mvc.{AbstractController, Action, AnyContent, ControllerComponents}

/** The answer to `/json`. */
final case class Message(message: String)

object Message {
  implicit val writes: OWrites[Message] = Json.writes[Message]
}

/** The routes of `conf/routes`. */
@Singleton
class Answers @Inject() (components: ControllerComponents) extends AbstractController(components) {
  private val LargestX = 10000
  private val WholeNumber = "([0-9]{1,5})".r
  private val pageText = Files.readString(Path.of(sys.env("PACELINE_WORKLOADS"), "page.txt"))

  def hello: Action[AnyContent] = Action { Ok("Hello World\n") }

  def byte: Action[AnyContent] = Action { Ok("x") }

  def page: Action[AnyContent] = Action { Ok(pageText) }

  def json: Action[AnyContent] = Action { Ok(Json.toJson(Message("Hello, World!"))) }

  def plaintext: Action[AnyContent] = Action { Ok("Hello, World!") }

  def home: Action[AnyContent] = Action { Ok("OK, no problema!") }

  def tetra(x: String): Action[AnyContent] = Action {
    x match {
      case WholeNumber(digits) if digits.toInt <= LargestX => Ok(BigInt(digits.toInt).pow(digits.toInt).toString)
      case _ => BadRequest("x must be a whole number from 0 to 10000\n")
    }
  }
}
