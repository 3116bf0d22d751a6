// Answers Paceline's workloads of gRPC with grpc-js, and with Node's cluster module on several cores.
'use strict';

const cluster = require('node:cluster');
const { readFileSync } = require('node:fs');
const grpc = require('@grpc/grpc-js');
const loader = require('@grpc/proto-loader');

const WORKERS = Number(process.env.WORKERS ?? 1);

if (WORKERS > 1 && cluster.isPrimary) supervise();
else serve();

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

async function serve() {
  const definition = loader.loadSync(`${process.env.PACELINE_WORKLOADS}/benchmark.proto`);
  const { benchmark } = grpc.loadPackageDefinition(definition);
  const identity = {
    cert_chain: readFileSync(process.env.PACELINE_TLS_CERT),
    private_key: readFileSync(process.env.PACELINE_TLS_KEY),
  };
  const secure = await listen(benchmark, 'PACELINE_TLS_PORT', grpc.ServerCredentials.createSsl(null, [identity]));
  const plain = await listen(benchmark, 'PACELINE_PORT', grpc.ServerCredentials.createInsecure());

  process.on('SIGTERM', () => {
    // A stream may be long, so the wait has a limit.
    setTimeout(() => process.exit(0), 2000).unref();
    secure.forceShutdown();
    plain.tryShutdown(() => process.exit(0));
  });
}

function listen(benchmark, port, credentials) {
  const server = new grpc.Server();
  server.addService(benchmark.BenchmarkService.service, { getSum, streamSum });
  return new Promise((resolve, reject) => {
    server.bindAsync(`${process.env.PACELINE_HOST}:${process.env[port]}`, credentials, (error) => {
      if (error) reject(error);
      else resolve(server);
    });
  });
}

function getSum({ request }, callback) {
  callback(null, { result: request.a + request.b });
}

async function streamSum(call) {
  const { a, b, count } = call.request;
  if (count < 0) {
    call.emit('error', { code: grpc.status.INVALID_ARGUMENT, details: 'count must not be negative' });
    return;
  }
  for (let i = 0; i < count && !call.cancelled; i++) {
    // A full buffer is written before the next message is made.
    if (!call.write({ result: a + b })) await new Promise((resolve) => call.once('drain', resolve));
  }
  call.end();
}
