/** Loaded before tap's own modules, in each test file and its threads. */
import { useBundles } from './loading.ts';

// Otherwise tap reads each module a second time to record it for coverage, which is off.
process.env._TAPJS_PROCESSINFO_EXCLUDE_ = '/./';
// Processes that tests start do without this file.
delete process.env.NODE_OPTIONS;
await useBundles();
