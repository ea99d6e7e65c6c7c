/** Compares the chain of audit records with signed heads that were kept in a file or in a log. */
import type { KeyObject } from 'node:crypto';
import type { Db } from '../database/tables.ts';
import { isSignedBy, readSignedHead } from '../security/signed-heads.ts';
import { type Continuation, compareHead, hashesOf } from '../security/verify-audit.ts';

const LINES_AT_ONCE = 1_000;
/** Heads that are named. All are counted. */
const NAMED = 100;

export type HeadsVerified = {
  /** The signed heads that were read. */
  heads: number;
  newest: string | null;
  /** The worst result of a head. Null without a head whose signature is valid. */
  result: Continuation | null;
  /** Heads without a valid signature by a known key. */
  unsigned: number;
  /** Heads with a valid signature that the chain does not continue. */
  differing: number;
  /** Lines that should be heads, and cannot be read. */
  damaged: number;
  named: string[];
};

/**
 * Verifies the signed heads in the lines of a file of heads, or of a log, whose other lines are ignored. The chain itself must have
 * been verified.
 */
export async function verifyHeads(
  db: Db,
  lines: AsyncIterable<string>,
  publicKeys: readonly KeyObject[],
): Promise<HeadsVerified> {
  const verified: HeadsVerified = {
    ...{ heads: 0, newest: null, result: null, unsigned: 0, differing: 0, damaged: 0, named: [] },
  };
  let batch: Numbered[] = [];
  let number = 0;
  let isLog = false;
  /** Lines that are damaged unless the file is a log. */
  const unread: number[] = [];
  for await (const line of lines) {
    number += 1;
    const signed = readSignedHead(line);
    if (signed !== null) batch.push({ ...signed, number });
    else if (PART_OF_HEAD.test(line)) nameDamaged(number, verified);
    else if (LINE_OF_LOG.test(line)) isLog = true;
    else if (line.trim() !== '') unread.push(number);
    if (batch.length < LINES_AT_ONCE) continue;
    await verifyBatch(db, batch, publicKeys, verified);
    batch = [];
  }
  await verifyBatch(db, batch, publicKeys, verified);
  if (!isLog) for (const line of unread) nameDamaged(line, verified);
  return verified;
}

const LINE_OF_LOG = /"level":/;
const PART_OF_HEAD = /"(audit_head|signature)":/;

function nameDamaged(line: number, verified: HeadsVerified): void {
  verified.damaged += 1;
  if (verified.named.length < NAMED)
    verified.named.push(`line ${line}: is damaged: a signed head cannot be read from it`);
}

type Numbered = NonNullable<ReturnType<typeof readSignedHead>> & { number: number };

async function verifyBatch(
  db: Db,
  batch: readonly Numbered[],
  publicKeys: readonly KeyObject[],
  verified: HeadsVerified,
): Promise<void> {
  const name = (signed: Numbered, problem: string): void => {
    if (verified.named.length < NAMED)
      verified.named.push(`line ${signed.number}: ${signed.audit_head}: ${problem}`);
  };
  const hashes = await hashesOf(
    db,
    batch.map(({ head }) => head.record_id),
  );
  for (const signed of batch) {
    const { head } = signed;
    verified.heads += 1;
    if (!isSignedBy(signed, publicKeys)) {
      verified.unsigned += 1;
      name(signed, `the signature is not valid by a known key (${signed.key_id})`);
      continue;
    }
    verified.newest = signed.audit_head;
    if (hashes.get(head.record_id) === head.hash) {
      verified.result ??= 'continues';
      continue;
    }
    const { result, because } = await compareHead(db, head);
    verified.differing += 1;
    name(signed, `${result}: ${because}`);
    if (verified.result !== 'altered') verified.result = result;
  }
}
