import { spawn } from 'node:child_process';
import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';

const key = Buffer.from(process.env.NOTIFY_SECRET.slice('whsec_'.length), 'base64');
const mailed = new Set();
createServer(async (request, response) => {
  const body = Buffer.concat(await request.toArray()).toString();
  const { 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': signatures = '' } = request.headers;
  const expected = Buffer.from(
    `v1,${createHmac('sha256', key).update(`${id}.${at}.${body}`).digest('base64')}`,
  );
  const isOurs = (given) => given.length === expected.length && timingSafeEqual(given, expected);
  const isSigned = signatures.split(' ').some((signature) => isOurs(Buffer.from(signature)));
  if (!isSigned || Math.abs(Date.now() / 1000 - Number(at)) > 300) return response.writeHead(401).end();
  if (mailed.has(id)) return response.writeHead(204).end();
  const mail = spawn('sendmail', ['-i', 'payroll@example.com'], { stdio: ['pipe', 'inherit', 'inherit'] });
  mail.on('error', () => response.writeHead(503).end());
  mail.on('exit', (code) => response.writeHead(code === 0 ? mailed.add(id) && 204 : 503).end());
  mail.stdin.on('error', () => {}).end(`Subject: benefits-sidecar\n\n${JSON.parse(body).text}\n`);
}).listen(9000, '127.0.0.1');
