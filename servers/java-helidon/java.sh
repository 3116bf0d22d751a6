#!/bin/sh
# Runs a command with the newest JDK that Debian or its vendor has installed, 21 or later: virtual threads need it.
set -eu
JAVA_HOME=
for home in /usr/lib/jvm/*-2?-* /usr/lib/jvm/*-2?; do
    if [ -x "$home/bin/javac" ]; then JAVA_HOME=$home; fi
done
if [ -z "$JAVA_HOME" ]; then
    echo "a JDK of version 21 or later is needed in /usr/lib/jvm: install one, for example openjdk-21-jdk-headless" >&2
    exit 1
fi
export JAVA_HOME PATH="$JAVA_HOME/bin:$PATH"
exec "$@"
