import play.api.{ApplicationLoader, Configuration}
import play.api.inject.guice.{GuiceApplicationBuilder, GuiceApplicationLoader}

/** Configures `db.default`, its threads and its routes if the environment names a database. */
class DatabaseLoader extends GuiceApplicationLoader {
  override def builder(context: ApplicationLoader.Context): GuiceApplicationBuilder = {
    val database = sys.env.get("DATABASE").fold(Configuration.empty)(configuration)
    super.builder(context).loadConfig(database.withFallback(context.initialConfiguration))
  }

  private def configuration(kind: String): Configuration = {
    val connections = sys.env("DATABASE_POOL").toInt
    Configuration(
      "db.default.driver" -> driver(kind),
      "db.default.url" -> url(kind),
      "db.default.username" -> sys.env("DATABASE_USER"),
      "db.default.password" -> sys.env("DATABASE_PASSWORD"),
      "db.default.hikaricp.maximumPoolSize" -> connections,
      "database.dispatcher.thread-pool-executor.fixed-pool-size" -> connections,
      "play.http.router" -> "database.Routes"
    )
  }

  private def driver(kind: String): String = kind match {
    case "postgresql" => "org.postgresql.Driver"
    case "mariadb" => "org.mariadb.jdbc.Driver"
    case other => throw new IllegalArgumentException(s"DATABASE is $other: set it to postgresql or mariadb")
  }

  private def url(kind: String): String = {
    // Prepared in the database, which is not the default of MariaDB's driver.
    val options = if (kind == "mariadb") "?useServerPrepStmts=true" else ""
    s"jdbc:$kind://${sys.env("DATABASE_HOST")}:${sys.env("DATABASE_PORT")}/${sys.env("DATABASE_NAME")}$options"
  }
}
