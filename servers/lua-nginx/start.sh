#!/bin/sh
# Fills in nginx.conf.in for this run, then executes nginx. Several can run at once, each on its own port.
set -eu
mkdir -p "$PACELINE_BUILD/temporary"
configuration=$PACELINE_BUILD/$PACELINE_PORT.conf
sed -e "s|@BUILD@|$PACELINE_BUILD|g" -e "s|@FOLDER@|$PWD|" -e "s|@WORKERS@|$WORKERS|" \
    -e "s|@HOST@|$PACELINE_HOST|" -e "s|@PORT@|$PACELINE_PORT|g" nginx.conf.in > "$configuration"
exec /usr/sbin/nginx -e stderr -p "$PACELINE_BUILD" -c "$configuration"
