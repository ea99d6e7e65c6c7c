import { createTemplate, startPostgres } from './postgres.ts';
import type { Resource } from './shared.ts';

export async function start(): Promise<Resource> {
  // Every test file may have several pools open.
  const server = await startPostgres(['max_connections=400']);
  await createTemplate(server);
  return { address: server.url('postgres'), stop: server.remove };
}
