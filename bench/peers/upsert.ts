/**
 * Upsert before answering: one statement a request, no inbox. No queue and no second step, so that what is
 * acknowledged is applied; an event that comes twice is applied twice, to the same effect.
 */
import { Pool } from 'pg';
import { CREATE_DEDUCTIONS, upsertOne } from './deductions.ts';
import { serveWebhooks, setting } from './webhook.ts';

/** The library's own default. Here 5 and 64 were slower, 20 and 32 no faster. */
const CONNECTIONS = 10;

const pool = new Pool({ connectionString: setting('DATABASE_URL'), max: CONNECTIONS });
await pool.query(CREATE_DEDUCTIONS);
await serveWebhooks(
  (_eventId, event) => pool.query(upsertOne(event)),
  () => pool.end(),
);
