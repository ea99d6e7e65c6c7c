/**
 * Loaded before each test file: what the files and the executables that they start have in common is compiled once, and
 * not some hundred times. An environment that a test makes by itself takes it from `process.env`.
 */
import { enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('../../.tap/compile-cache', import.meta.url));
enableCompileCache(folder);
process.env.NODE_COMPILE_CACHE = folder;
