// TechEmpower's tests require a `Server` header, which neither Hono nor Deno sends.
import type { Context, Next } from 'hono';

export async function named(context: Context, next: Next) {
  context.header('Server', 'Hono');
  await next();
}
