#!/bin/sh
# Fetches the modules, and with them the toolchain that go.mod asks for. A Go before 1.21 cannot do that.
set -eu
# Outside this folder, where no go.mod has another Go answer.
found=$(cd / && go env GOVERSION)
case $found in
"" | go1.[0-9] | go1.[0-9].* | go1.1[0-9] | go1.1[0-9].* | go1.20 | go1.20.*)
    echo "pgx needs Go 1.21 or later, which fetches 1.25 by itself; this is ${found:-an older one}" >&2
    exit 1
    ;;
esac
GOMODCACHE=$PACELINE_BUILD/modules go mod download -modcacherw
