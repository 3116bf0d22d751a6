#!/bin/sh
# Fills in nginx.conf.in for this run, then executes nginx. Several can run at once, each on its own port.
set -eu
mkdir -p "$PACELINE_BUILD/temporary"
configuration=$PACELINE_BUILD/$PACELINE_PORT.conf
sed -e "s|@BUILD@|$PACELINE_BUILD|g" -e "s|@WORKLOADS@|$PACELINE_WORKLOADS|" -e "s|@STATIC@|$PACELINE_STATIC|" \
    -e "s|@WORKERS@|$WORKERS|" -e "s|@HOST@|$PACELINE_HOST|" -e "s|@PORT@|$PACELINE_PORT|g" \
    -e "s|@HTTP2_PORT@|$PACELINE_HTTP2_PORT|" nginx.conf.in > "$configuration"
exec /usr/sbin/nginx -e stderr -p "$PACELINE_BUILD" -c "$configuration"
