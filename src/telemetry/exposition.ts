/** The metrics as Prometheus reads them, together with those that prom-client has of any process. */
import { type Metric, PREFIX } from './metric.ts';

/** The content type of the Prometheus text format. */
export const EXPOSITION_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/**
 * Answers how to write metrics as text. prom-client is loaded when the first are read, so that a sidecar that nobody
 * scrapes doesn't keep it in memory; what it tells of garbage collection counts from then.
 */
export function createExposition(): (own: readonly Metric[]) => Promise<string> {
  let loading: Promise<(own: readonly Metric[]) => Promise<string>> | null = null;
  return async (own) => {
    loading ??= load();
    return (await loading)(own);
  };
}

async function load(): Promise<(own: readonly Metric[]) => Promise<string>> {
  const { AggregatorRegistry, collectDefaultMetrics, Registry } = await import('prom-client');
  const register = new Registry();
  collectDefaultMetrics({ register, prefix: PREFIX });
  return async (own) => AggregatorRegistry.aggregate([[...own], await register.getMetricsAsJSON()]).metrics();
}
