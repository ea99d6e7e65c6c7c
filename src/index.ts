/** The public face: what a program that embeds the sidecar imports. */
export type { CensusFunction, GivenCensus } from './census/source.ts';
export { type Config, readConfig } from './config.ts';
export type { Census } from './contract/census.ts';
export type { Deduction } from './contract/deduction.ts';
export type { Employee } from './contract/employee.ts';
export type { CompensationChange, Demographic, NewHire, Termination } from './contract/employment.ts';
export { createSidecar, type Sidecar, type SidecarOptions } from './runtime/sidecar.ts';
export { createLog, type Log } from './telemetry/log.ts';
