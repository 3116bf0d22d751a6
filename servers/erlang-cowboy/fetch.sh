#!/bin/sh
# Extracts Cowboy and its dependencies from Debian's RabbitMQ package into the private build folder. Installs nothing.
set -eu
cd "$PACELINE_BUILD"
rm -rf fetched plugins rabbitmq-server_*.deb
apt-get download rabbitmq-server
dpkg-deb --extract rabbitmq-server_*.deb fetched
mkdir plugins
for library in cowboy-2.8.0 cowlib-2.9.1 ranch-2.1.0 jsx-3.1.0; do
    mv fetched/usr/lib/rabbitmq/lib/rabbitmq_server-*/plugins/$library plugins/
done
rm -rf fetched rabbitmq-server_*.deb
