#!/bin/sh
# Downloads the modules and the toolchain that go.mod requires. Go before 1.21 cannot download a toolchain.
set -eu
# Outside this folder, so that no go.mod selects another Go.
found=$(cd / && go env GOVERSION)
case $found in
"" | go1.[0-9] | go1.[0-9].* | go1.1[0-9] | go1.1[0-9].* | go1.20 | go1.20.*)
    echo "grpc-go needs Go 1.21 or later, which downloads 1.25 automatically; found ${found:-an older version}" >&2
    exit 1
    ;;
esac
GOMODCACHE=$PACELINE_BUILD/modules go mod download -modcacherw
