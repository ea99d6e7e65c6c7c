/** Holds the serve lock of a database until it is killed. */
import { holdServeLock } from '../../src/database/open.ts';

holdServeLock(process.argv[2] as string);
console.log('held');
setInterval(() => {}, 60_000);
