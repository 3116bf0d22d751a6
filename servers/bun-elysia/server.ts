// Answers Paceline's workloads with Elysia on Bun, and in one process per core with Bun's node:cluster.
import cluster from 'node:cluster';
import { Elysia } from 'elysia';
import { databaseRoutes } from './database_routes';
import { power, WRONG_X } from './power';

const WORKERS = Number(process.env.WORKERS ?? 1);

if (WORKERS > 1 && cluster.isPrimary) supervise();
else await serve();

function supervise() {
  let stopping = false;
  for (let i = 0; i < WORKERS; i++) cluster.fork();
  cluster.on('exit', () => {
    // A silent restart of a worker would hide a crash from the measurement.
    if (!stopping) process.exit(1);
  });
  process.on('SIGTERM', () => {
    stopping = true;
    for (const worker of Object.values(cluster.workers ?? {})) worker?.process.kill('SIGTERM');
  });
}

async function serve() {
  const page = await Bun.file(`${process.env.PACELINE_WORKLOADS}/page.txt`).text();
  // Only the exact paths: not `/hello/`.
  const app = new Elysia({ strictPath: true })
    .get('/hello', () => 'Hello World\n')
    .get('/byte', () => 'x')
    .get('/page', () => page)
    .get('/json', ({ set }) => {
      set.headers.server = 'Elysia';
      return { message: 'Hello, World!' };
    })
    .get('/plaintext', ({ set }) => {
      set.headers.server = 'Elysia';
      return 'Hello, World!';
    })
    .get('/home', () => 'OK, no problema!')
    .get('/tetra/:x', ({ params, status }) => power(params.x) ?? status(400, WRONG_X));
  if (process.env.DATABASE) app.use(databaseRoutes(WORKERS));

  app.listen({
    hostname: process.env.PACELINE_HOST,
    port: Number(process.env.PACELINE_PORT),
    // The kernel distributes connections over the processes.
    reusePort: WORKERS > 1,
  });
  process.on('SIGTERM', async () => {
    // A client may never finish its request, but the process must end.
    setTimeout(() => process.exit(0), 2000);
    await app.stop();
    process.exit(0);
  });
}
