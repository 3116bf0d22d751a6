#!/bin/sh
# Runs sbt on a copy of the application in the private folder, where sbt's own files are too: sbt.sh [OPTION|TASK]...
set -eu
rm -rf "$PACELINE_BUILD/play/app" "$PACELINE_BUILD/play/conf"
mkdir -p "$PACELINE_BUILD/play/project"
cp -r app conf build.sbt "$PACELINE_BUILD/play/"
cp project/plugins.sbt project/build.properties project/repositories "$PACELINE_BUILD/play/project/"
cd "$PACELINE_BUILD/play"
# sbt makes a socket below the folder for temporary files, in `.sbt`: in /tmp, that belongs to the first user who ran
# sbt. Below the private folder, the socket's path could be longer than a socket's may be (108 bytes).
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
export XDG_RUNTIME_DIR="$temporary"
java -Xmx1g -Djava.io.tmpdir="$temporary" -Duser.home="$PACELINE_BUILD/sbt/home" \
    -Dsbt.override.build.repos=true -Dsbt.repository.config=project/repositories \
    -Dsbt.global.base="$PACELINE_BUILD/sbt/global" -Dsbt.boot.directory="$PACELINE_BUILD/sbt/boot" \
    -Dsbt.coursier.home="$PACELINE_BUILD/sbt/coursier" -Dsbt.ivy.home="$PACELINE_BUILD/sbt/ivy" \
    -Dsbt.server.autostart=false -Dsbt.supershell=false \
    -jar "$PACELINE_BUILD/sbt/sbt-launch-1.10.11.jar" -Dsbt.log.noformat=true "$@" </dev/null
