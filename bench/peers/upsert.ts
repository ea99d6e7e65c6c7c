/**
 * Upsert before the response: one statement per request, no inbox, no queue. Acknowledged events are applied; a duplicate
 * is applied again, with the same effect.
 */
import { Pool } from 'pg';
import { CREATE_DEDUCTIONS, upsertOne } from './deductions.ts';
import { serveWebhooks, setting } from './webhook.ts';

/** The library's default. Here 5 and 64 were slower, 20 and 32 not faster. */
const CONNECTIONS = 10;

const pool = new Pool({ connectionString: setting('DATABASE_URL'), max: CONNECTIONS });
await pool.query(CREATE_DEDUCTIONS);
await serveWebhooks(
  (_eventId, event) => pool.query(upsertOne(event)),
  () => pool.end(),
);
