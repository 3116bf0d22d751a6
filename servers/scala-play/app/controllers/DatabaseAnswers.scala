package controllers

import javax.inject.{Inject, Singleton}
import models.Rows
import play.api.libs.json.Json
import play.api.mvc.{AbstractController, Action, AnyContent, ControllerComponents}
import scala.concurrent.ExecutionContext

/** The routes of `conf/database.routes`. */
@Singleton
class DatabaseAnswers @Inject() (rows: Rows, components: ControllerComponents)(implicit executor: ExecutionContext)
    extends AbstractController(components) {
  private val MostQueries = 500

  def one: Action[AnyContent] = Action.async(rows.randomWorlds(1).map(worlds => Ok(Json.toJson(worlds.head))))

  def several(queries: Option[String]): Action[AnyContent] =
    Action.async(rows.randomWorlds(asked(queries)).map(worlds => Ok(Json.toJson(worlds))))

  def updates(queries: Option[String]): Action[AnyContent] =
    Action.async(rows.updateWorlds(asked(queries)).map(worlds => Ok(Json.toJson(worlds))))

  def fortunes: Action[AnyContent] = Action.async(rows.fortunes().map(found => Ok(views.html.fortunes(found))))

  /** The parameter `queries`: 1 if it is missing or not an integer. */
  private def asked(queries: Option[String]): Int =
    queries.flatMap(_.toIntOption).getOrElse(1).max(1).min(MostQueries)
}
