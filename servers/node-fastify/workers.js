// Runs a server in one process, or with Node's cluster module in one process per core.
'use strict';

const cluster = require('node:cluster');

const WORKERS = Number(process.env.WORKERS ?? 1);

function runWorkers(serve) {
  if (WORKERS > 1 && cluster.isPrimary) supervise();
  else serve();
}

function supervise() {
  let stopping = false;
  for (let i = 0; i < WORKERS; i++) cluster.fork();
  cluster.on('exit', () => {
    // A silent restart of a worker would hide a crash from the measurement.
    if (!stopping) process.exit(1);
  });
  process.on('SIGTERM', () => {
    stopping = true;
    for (const worker of Object.values(cluster.workers)) worker.process.kill('SIGTERM');
  });
}

// On SIGTERM `close` ends what is idle; `server` is Node's http server.
function stopOnSignal(server, close) {
  process.on('SIGTERM', () => {
    close();
    // A connection that has not sent a complete request does not count as idle, so the wait has a limit.
    setTimeout(() => server.closeAllConnections(), 2000).unref();
  });
}

// DATABASE_POOL is the size for the whole server.
const poolOfProcess = () => Math.max(1, Math.floor(Number(process.env.DATABASE_POOL) / WORKERS));

module.exports = { runWorkers, stopOnSignal, poolOfProcess };
