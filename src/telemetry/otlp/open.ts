import { errorCode, OperatorError } from "../../core/errors.ts";
import type { Otlp, OtlpOptions } from "./otlp.ts";

/** The packages needed to send spans and metrics, as under peerDependencies in package.json. */
export const PACKAGES: Readonly<Record<string, string>> = {
  "@opentelemetry/api": "1.10.x",
  "@opentelemetry/exporter-metrics-otlp-http": "0.301.x",
  "@opentelemetry/exporter-trace-otlp-http": "0.301.x",
  "@opentelemetry/resources": "3.1.x",
  "@opentelemetry/sdk-metrics": "3.1.x",
  "@opentelemetry/sdk-trace": "3.1.x",
};

/**
 * Loads OpenTelemetry's SDK if a collector is configured.
 * @param options null: none, and nothing is loaded
 * @throws OperatorError if the SDK is not installed
 */
export async function openOtlp(options: OtlpOptions | null): Promise<Otlp | null> {
  if (options === null) return null;
  try {
    const { createOtlp } = await import("./otlp.ts");
    return createOtlp(options);
  } catch (error) {
    if (errorCode(error) !== "ERR_MODULE_NOT_FOUND") throw error;
    const names = Object.entries(PACKAGES).map(([name, version]) => `${name}@${version}`);
    throw new OperatorError(
      "telemetry.endpoint (OTEL_EXPORTER_OTLP_ENDPOINT) names a collector, and what sends to it is not installed. " +
        `Install it beside Weir, or leave the endpoint out:\n\n  npm install --no-save ${names.join(" ")}`,
    );
  }
}
