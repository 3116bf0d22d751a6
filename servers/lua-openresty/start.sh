#!/bin/sh
# Fills in the template of the configuration, which cannot contain variables, and starts OpenResty.
set -eu

sed -e "s|@HOST@|$HOST|" -e "s|@PORT@|$PORT|" -e "s|@WORKERS@|$WORKERS|" /app/nginx.conf.in >/tmp/nginx.conf
exec openresty -p /tmp -e stderr -c /tmp/nginx.conf
