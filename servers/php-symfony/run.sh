#!/bin/sh
# Starts PHP-FPM, then nginx in front of it, and stops both on SIGTERM.
set -eu

run=$PACELINE_BUILD/run-$PACELINE_PORT
mkdir -p "$run"
ulimit -n "$(ulimit -Hn)" # nginx needs two descriptors per connection: the client's and PHP's
rm -f "$run/fpm.sock"

children=$((WORKERS * 5))
# With a database each child keeps one connection, so the number of children is the pool's size.
if [ -n "${DATABASE:-}" ]; then children=$DATABASE_POOL; fi

for template in php-fpm.conf nginx.conf; do
  sed -e "s|@USER@|$(id -un)|" -e "s|@RUN@|$run|" -e "s|@FOLDER@|$PWD|" \
    -e "s|@HOST@|$PACELINE_HOST|" -e "s|@PORT@|$PACELINE_PORT|" \
    -e "s|@WORKERS@|$WORKERS|" -e "s|@CHILDREN@|$children|" "$template" > "$run/$template"
done

# Symfony's settings for production. Only as root PHP wants to know as whom it loads classes in advance.
set -- -d opcache.memory_consumption=256 -d opcache.max_accelerated_files=20000 -d opcache.validate_timestamps=0 \
  -d realpath_cache_size=4096K -d realpath_cache_ttl=600 \
  -d "opcache.preload=$PACELINE_BUILD/cache/App_KernelProdContainer.preload.php"
if [ "$(id -u)" = 0 ]; then set -- "$@" -d opcache.preload_user=root; fi

/usr/sbin/php-fpm8.2 --nodaemonize --allow-to-run-as-root --fpm-config "$run/php-fpm.conf" "$@" &
fpm=$!
# Without the socket nginx would answer 502.
while [ ! -S "$run/fpm.sock" ] && kill -0 "$fpm"; do sleep 0.01; done
/usr/sbin/nginx -c "$run/nginx.conf" &
nginx=$!

# PHP-FPM leaves the process group it was started in, so a signal to that group does not reach it.
trap 'kill "$nginx" "$fpm" 2> /dev/null || true' TERM INT
wait "$nginx" || true
kill "$fpm" 2> /dev/null || true
wait "$fpm" || true
