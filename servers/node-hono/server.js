// Serves the application by Hono's adapter for Node.
'use strict';

const { serve } = require('@hono/node-server');
const { makeApp } = require('./app');
const { runWorkers, stopOnSignal } = require('./workers');

runWorkers(() => {
  const server = serve({
    fetch: makeApp().fetch,
    hostname: process.env.PACELINE_HOST,
    port: Number(process.env.PACELINE_PORT),
  });
  stopOnSignal(server, () => {
    server.close(() => process.exit(0));
    server.closeIdleConnections();
  });
});
