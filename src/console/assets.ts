/** What pages load: one stylesheet, one script of ours, htmx. All from this listener; no page works with an outside address. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { FastifyInstance } from 'fastify';

const require = createRequire(import.meta.url);
/** Beside `src` and `dist`, which both lie at this depth. */
const FOLDER = new URL('../../assets/', import.meta.url);
/** A name changes with its content, so that a browser never asks twice and never keeps an old one after an upgrade. */
const KEPT = 'public, max-age=31536000, immutable';

const STYLE = assetOf('console', 'css', readFileSync(new URL('console.css', FOLDER)));
const SCRIPT = assetOf('console', 'js', readFileSync(new URL('console.js', FOLDER)));
const HTMX = assetOf('htmx', 'js', readFileSync(require.resolve('htmx.org/dist/htmx.min.js')));

export const STYLES: readonly string[] = [STYLE.path];
export const SCRIPTS: readonly string[] = [HTMX.path, SCRIPT.path];

type Asset = { readonly path: string; readonly type: string; readonly bytes: Buffer };

function assetOf(name: string, kind: 'css' | 'js', bytes: Buffer): Asset {
  const hash = createHash('sha256').update(bytes).digest('hex').slice(0, 12);
  const type = kind === 'css' ? 'text/css; charset=utf-8' : 'text/javascript; charset=utf-8';
  return { path: `/assets/${name}.${hash}.${kind}`, type, bytes };
}

/** Public: they hold nothing of anybody, and the page to sign in needs them. */
export function assetRoutes(app: FastifyInstance): void {
  for (const { path, type, bytes } of [STYLE, SCRIPT, HTMX]) {
    app.get(path, { config: { scope: 'public' }, schema: { hide: true } }, (_request, reply) =>
      reply.header('cache-control', KEPT).type(type).send(bytes),
    );
  }
}
