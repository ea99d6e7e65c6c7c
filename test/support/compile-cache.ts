/**
 * Loaded before each test file: modules that the files and the executables share are compiled once instead of
 * hundreds of times. An environment that a test creates takes the setting from `process.env`.
 */
import { enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('../../.tap/compile-cache', import.meta.url));
enableCompileCache(folder);
process.env.NODE_COMPILE_CACHE = folder;
