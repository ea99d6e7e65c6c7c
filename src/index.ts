/** The public face: what a program that embeds the sidecar imports. */
export type { CensusFunction, GivenCensus } from './census/source-function.ts';
export { type Config, readConfig } from './config.ts';
export type { Census } from './contract/census.ts';
export type { CompensationChange } from './contract/compensation-change.ts';
export type { Deduction } from './contract/deduction.ts';
export type { Demographic } from './contract/demographic.ts';
export type { Employee } from './contract/employee.ts';
export type { NewHire } from './contract/new-hire.ts';
export type { Termination } from './contract/termination.ts';
export { createSidecar, type Sidecar, type SidecarOptions } from './runtime/sidecar.ts';
export { createLog, type Log } from './telemetry/log.ts';
