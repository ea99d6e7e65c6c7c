/** Run by tap once, before the first test file. */
import { unpackedBrowser } from './browser.ts';
import { bundlePackages } from './loading.ts';
import { removeEndedRuns } from './shared.ts';

// Several files need it, and they start at the same time.
await unpackedBrowser();
await bundlePackages();
removeEndedRuns();
