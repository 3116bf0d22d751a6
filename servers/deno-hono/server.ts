// Answers Paceline's workloads with Hono, served by `deno serve`.
import { Hono } from 'hono';
import { addDatabaseRoutes } from './database_routes.ts';
import { named } from './named.ts';
import { power, WRONG_X } from './power.ts';

const page = Deno.readTextFileSync(`${Deno.env.get('PACELINE_WORKLOADS')}/page.txt`);
const app = new Hono();

app.get('/hello', (context) => context.text('Hello World\n'));
app.get('/byte', (context) => context.text('x'));
app.get('/page', (context) => context.text(page));
app.get('/json', named, (context) => context.json({ message: 'Hello, World!' }));
app.get('/plaintext', named, (context) => context.text('Hello, World!'));
app.get('/home', (context) => context.text('OK, no problema!'));
app.get('/tetra/:x', (context) => {
  const digits = power(context.req.param('x'));
  return digits ? context.text(digits) : context.text(WRONG_X, 400);
});
if (Deno.env.get('DATABASE')) await addDatabaseRoutes(app);

// A client may never finish its request, but the process must end.
Deno.addSignalListener('SIGTERM', () => Deno.unrefTimer(setTimeout(() => Deno.exit(0), 2000)));

export default app satisfies Deno.ServeDefaultExport;
