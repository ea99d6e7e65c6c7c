import t from 'tap';
import { negotiated } from '../../src/api/headers.ts';

const OFFERED = ['application/json', 'text/csv', 'application/x-ndjson'] as const;

t.test('the response has the type that the client prefers', async (t) => {
  const liked: Record<string, string> = {
    '': 'application/json',
    '*/*': 'application/json',
    'text/csv': 'text/csv',
    'TEXT/CSV; charset=utf-8': 'text/csv',
    'text/*': 'text/csv',
    'application/*': 'application/json',
    'application/x-ndjson': 'application/x-ndjson',
    'text/csv, */*': 'text/csv',
    '*/*, text/csv': 'text/csv',
    'text/csv, application/json': 'text/csv',
    'application/json;q=0.5, text/csv;q=0.4': 'application/json',
    'application/json;q=0.4, text/csv;q=0.5': 'text/csv',
    'text/html, application/xhtml+xml, */*;q=0.8': 'application/json',
    'application/json;q=0, */*': 'text/csv',
    'text/html;level=1, text/csv;header=present;q=0.1': 'text/csv',
  };
  for (const [header, type] of Object.entries(liked)) t.equal(negotiated(header, OFFERED), type, header);
  t.equal(negotiated(undefined, OFFERED), 'application/json', 'no header');
});

t.test('an unavailable type is rejected with the available ones', async (t) => {
  for (const header of ['text/html', 'application/xml', 'text/csv;q=0', 'csv', 'text/csv;q=x', ',']) {
    t.throws(() => negotiated(header, OFFERED), {
      code: 'NOT_ACCEPTABLE',
      message: 'This operation responds with application/json or text/csv or application/x-ndjson.',
    });
  }
});
