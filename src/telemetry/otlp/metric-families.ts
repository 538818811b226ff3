import { type Attributes, type HrTime, ValueType } from "@opentelemetry/api";
import { resourceFromAttributes } from "@opentelemetry/resources";
import {
  AggregationTemporality,
  type DataPoint,
  DataPointType,
  type Histogram,
  type MetricData,
  type MetricProducer,
} from "@opentelemetry/sdk-metrics";
import { errorMessage } from "../../core/errors.ts";

interface Sample {
  readonly value: number;
  readonly labels: Readonly<Record<string, string | number>>;
  /** Of a histogram's sample: with `_bucket`, `_sum` or `_count` at its end. */
  readonly metricName?: string;
}

/** A metric with its samples, as a Prometheus registry holds them. */
export interface MetricFamily {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly values: readonly Sample[];
}

/**
 * Sends a Prometheus registry by OTLP under the same names, so that a dashboard reads either.
 * @param read reads the registry; if it fails, nothing of it is sent this time
 */
export function producerOf(
  read: () => Promise<readonly MetricFamily[]>,
  scope: { readonly name: string; readonly version: string },
): MetricProducer {
  const startTime = hrTime(Date.now());
  return {
    async collect() {
      const resource = resourceFromAttributes({});
      try {
        const endTime = hrTime(Date.now());
        const families = await read();
        const metrics = families.flatMap((family) => metricOf(family, { startTime, endTime }) ?? []);
        return { resourceMetrics: { resource, scopeMetrics: [{ scope, metrics }] }, errors: [] };
      } catch (error) {
        return { resourceMetrics: { resource, scopeMetrics: [] }, errors: [errorMessage(error)] };
      }
    },
  };
}

interface Times {
  readonly startTime: HrTime;
  readonly endTime: HrTime;
}

/** @returns null: it has no samples, or a type that OTLP lacks */
function metricOf({ name, help, type, values }: MetricFamily, times: Times): MetricData | null {
  if (values.length === 0) return null;
  const common = {
    descriptor: { name, description: help, unit: "", valueType: ValueType.DOUBLE },
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
  };
  const dataPoints = values.map(({ value, labels }) => ({ ...times, value, attributes: { ...labels } }));
  switch (type) {
    case "counter":
      return { ...common, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints };
    case "gauge":
      return { ...common, dataPointType: DataPointType.GAUGE, dataPoints };
    case "histogram":
      return { ...common, dataPointType: DataPointType.HISTOGRAM, dataPoints: histograms(values, times) };
    default:
      return null;
  }
}

/** One point for each set of labels. A bucket of Prometheus includes those below it; one of OTLP does not. */
function histograms(values: readonly Sample[], times: Times): DataPoint<Histogram>[] {
  const groups = Map.groupBy(values, ({ labels }) => JSON.stringify(withoutBound(labels)));
  return [...groups.values()].map((samples) => {
    const ending = (end: string): Sample[] =>
      samples.filter(({ metricName = "" }) => metricName.endsWith(end));
    const cumulative = ending("_bucket");
    const attributes = withoutBound(samples[0]?.labels ?? {});
    const boundaries = cumulative.map(({ labels: { le } }) => Number(le)).filter((le) => Number.isFinite(le));
    const counts = cumulative.map(({ value }, index) => value - (cumulative[index - 1]?.value ?? 0));
    const count = ending("_count")[0]?.value ?? 0;
    const sum = ending("_sum")[0]?.value ?? 0;
    return { ...times, attributes, value: { buckets: { boundaries, counts }, sum, count } };
  });
}

function withoutBound(labels: Sample["labels"]): Attributes {
  return Object.fromEntries(Object.entries(labels).filter(([label]) => label !== "le"));
}

function hrTime(ms: number): HrTime {
  return [Math.floor(ms / 1000), (ms % 1000) * 1_000_000];
}
