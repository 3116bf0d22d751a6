name := "server"
version := "1"
scalaVersion := "2.13.16"

enablePlugins(PlayScala)
libraryDependencies ++= Seq(
  guice,
  jdbc,
  "org.postgresql" % "postgresql" % "42.7.4",
  "org.mariadb.jdbc" % "mariadb-java-client" % "3.5.1"
)

// The staged folder contains only the application.
Compile / doc / sources := Seq.empty
Compile / packageDoc / publishArtifact := false
