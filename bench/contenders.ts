/** The contenders: how each is started and how its applied events are counted. README.md describes them. */
import type { PostgresServer } from '../test/support/postgres.ts';
import { newPostgres, newSqlite, type Scratch } from './databases.ts';
import { type Server, startServer, startSidecar } from './server.ts';

export type Running = {
  ports: readonly number[];
  /** The number of acknowledged events that are not applied yet. */
  waiting(acknowledged: number): Promise<number>;
  /** The number of stored deductions; each event has its own. Null if nothing is stored. */
  applied(): Promise<number | null>;
  peakMiB(): number;
  stop(): Promise<void>;
};

export type Contender = {
  /** For `--only`. */
  name: string;
  title: string;
  /** Events per round: five to ten seconds' worth, so that the time at the end counts little. */
  events: number;
  /** For a peer: written as its documentation shows, or gathering requests as the sidecar does. */
  peer: 'as documented' | 'gathering' | null;
  start(): Promise<Running>;
};

export function contendersOf(postgres: PostgresServer): Contender[] {
  const sidecars = (count: number) => async () => {
    const database = await newPostgres(postgres);
    const all = Array.from({ length: count }, (_, nth) => startSidecar(database.url, nth));
    return sidecarOn(database, await Promise.all(all));
  };
  const peerOf =
    (file: string, ...args: string[]) =>
    async () => {
      const database = await newPostgres(postgres);
      return peerOn(database, await startServer([`bench/peers/${file}`, ...args], database.url));
    };
  return [
    {
      name: 'ceiling',
      title: 'ceiling: verifies and answers, stores nothing',
      events: 60_000,
      peer: null,
      start: startCeiling,
    },
    {
      name: 'sqlite',
      title: 'sidecar on SQLite',
      events: 60_000,
      peer: null,
      async start() {
        const database = await newSqlite();
        return sidecarOn(database, [await startSidecar(database.url)]);
      },
    },
    {
      name: 'postgres',
      title: 'sidecar on PostgreSQL, one process',
      events: 40_000,
      peer: null,
      start: sidecars(1),
    },
    {
      name: 'postgres-2',
      title: 'sidecar on PostgreSQL, two processes',
      events: 40_000,
      peer: null,
      start: sidecars(2),
    },
    {
      name: 'upsert',
      title: 'upsert before answering',
      events: 30_000,
      peer: 'as documented',
      start: peerOf('upsert.ts'),
    },
    {
      name: 'pg-boss',
      title: 'pg-boss, one job per request',
      events: 10_000,
      peer: 'as documented',
      start: peerOf('pg-boss.ts'),
    },
    {
      name: 'pg-boss-gathered',
      title: 'pg-boss, jobs gathered',
      events: 30_000,
      peer: 'gathering',
      start: peerOf('pg-boss.ts', 'gathered'),
    },
    {
      name: 'graphile-worker',
      title: 'graphile-worker, one job per request',
      events: 4_000,
      peer: 'as documented',
      start: peerOf('graphile-worker.ts'),
    },
    {
      name: 'graphile-worker-gathered',
      title: 'graphile-worker, jobs gathered',
      events: 20_000,
      peer: 'gathering',
      start: peerOf('graphile-worker.ts', 'gathered'),
    },
  ];
}

async function startCeiling(): Promise<Running> {
  const server = await startServer(['bench/ceiling.ts']);
  return {
    ports: [server.port],
    waiting: async () => 0,
    applied: async () => null,
    peakMiB: () => server.memory().peakMiB,
    stop: () => server.stop(),
  };
}

export function sidecarOn(database: Scratch, servers: readonly Server[]): Running {
  return {
    ...storing(database, servers),
    waiting: () => database.number("select count(*) from inbox where state = 'pending'"),
  };
}

function peerOn(database: Scratch, server: Server): Running {
  const running = storing(database, [server]);
  return {
    ...running,
    // Counted by applied events, because some jobs are marked as completed only later.
    waiting: async (acknowledged) => Math.max(0, acknowledged - (await running.applied())),
  };
}

function storing(database: Scratch, servers: readonly Server[]) {
  return {
    ports: servers.map(({ port }) => port),
    applied: () => database.number('select count(*) from deductions'),
    peakMiB: () => servers.reduce((sum, server) => sum + server.memory().peakMiB, 0),
    async stop() {
      await Promise.all(servers.map((server) => server.stop()));
      await database.remove();
    },
  };
}
