/** Formats the metrics for Prometheus, together with prom-client's own metrics of the process. */
import { type Metric, PREFIX } from './metric.ts';

/** The content type of the Prometheus text format. */
export const EXPOSITION_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/**
 * Returns a function that formats metrics as text. prom-client is loaded at the first call, so that a sidecar
 * without a scraper does not keep it in memory; its garbage collection metrics count from then.
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
