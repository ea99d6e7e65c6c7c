/** Keeps signed heads of the audit chain outside the database: in the log, or appended to a file. */
import { open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '../clock.ts';
import type { AuditHeads, DataKey } from '../config.ts';
import { syncFile } from '../database/files.ts';
import type { Db } from '../database/tables.ts';
import { configError } from '../environment.ts';
import { codeOf } from '../errors.ts';
import { readHead } from '../security/audit-chain.ts';
import { type SignedHead, signHead } from '../security/signed-heads.ts';
import type { Log } from '../telemetry/log.ts';

const EVERY_MS = 60_000;

/** Only the owner may read the file and append to it. */
const FILE_MODE = 0o600;

type KeeperParts = { db: Db; now: Clock; log: Log; auditHeads: AuditHeads; dataKeys: readonly DataKey[] };

/** Creates what signs the head with the first data key, and writes it if it changed since it was written last. */
export function createHeadKeeper({ db, now, log, auditHeads, dataKeys }: KeeperParts) {
  let last = 0;
  let writing: Promise<void> = Promise.resolve();

  async function write(): Promise<void> {
    if (auditHeads.to === 'off') return;
    try {
      const head = await readHead(db);
      if (head.record_id === last) return;
      const signed = signHead(head, now(), dataKeys[0] as DataKey);
      if (auditHeads.to === 'log') log.info(signed, 'the head of the audit records');
      else await appendHead(auditHeads.path, signed);
      last = head.record_id;
    } catch (error) {
      log.error({ code: codeOf(error) }, 'the head of the audit records could not be written to AUDIT_HEADS');
    }
  }

  /** Resolves when the head is written. Never rejects: a file that cannot be written stops no payroll. */
  const keep = (): Promise<void> => {
    writing = writing.then(write);
    return writing;
  };
  return {
    keep,
    /** Writes the head now, then once a minute, until the signal aborts. */
    async run(signal: AbortSignal): Promise<void> {
      while (!signal.aborted) {
        await keep();
        await delay(EVERY_MS, null, { signal }).catch(() => {});
      }
    },
  };
}

/** Appends a head to a file and syncs it. */
export async function appendHead(path: string, signed: SignedHead): Promise<void> {
  const file = await open(path, 'a', FILE_MODE);
  try {
    const isNew = (await file.stat()).size === 0;
    await file.appendFile(`${JSON.stringify(signed)}\n`);
    await file.sync();
    if (isNew) syncFile(dirname(path));
  } finally {
    await file.close();
  }
}

/** Throws CONFIG if the file of AUDIT_HEADS cannot be appended to. */
export async function assertAppendable(auditHeads: AuditHeads): Promise<void> {
  if (auditHeads.to !== 'file') return;
  try {
    await (await open(auditHeads.path, 'a', FILE_MODE)).close();
  } catch (error) {
    throw configError('AUDIT_HEADS', `names a file that cannot be appended to: ${codeOf(error)}`);
  }
}
