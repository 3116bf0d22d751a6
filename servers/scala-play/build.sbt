name := "server"
version := "1"
scalaVersion := "2.13.16"

enablePlugins(PlayScala)
libraryDependencies += guice

// Nothing but the application goes into the staged folder.
Compile / doc / sources := Seq.empty
Compile / packageDoc / publishArtifact := false
