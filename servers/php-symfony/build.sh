#!/bin/sh
# Makes the table of classes and compiles the application's services, routes and templates.
set -eu

rm -rf "$PACELINE_BUILD/cache" "$PACELINE_BUILD/vendor"
export COMPOSER_VENDOR_DIR="$PACELINE_BUILD/vendor" COMPOSER_HOME="$PACELINE_BUILD/composer" COMPOSER_ALLOW_SUPERUSER=1
/usr/bin/php8.2 /usr/bin/composer install --no-dev --classmap-authoritative --no-interaction --no-progress
/usr/bin/php8.2 bin/console cache:warmup
