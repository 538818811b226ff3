import { formatUsage, parseSince, reportUsage } from "../admin/reports/usage-report.ts";
import { OperatorError } from "../core/errors.ts";
import { openModels } from "../llm/model-provider.ts";
import type { UsageKey } from "../core/listings.ts";
import { type CommonOptions, type Io, say, sayJson } from "./shared/io.ts";
import { assertHasRun, onlyLooking, withStore } from "./shared/open.ts";
import { readConfigToLook } from "./shared/readable-config.ts";

type UsageOptions = CommonOptions & {
  readonly by: UsageKey;
  readonly since: string;
  readonly json?: boolean;
};

/** How long a server may take to list its prices, ms. */
const PRICES_MS = 2000;

/**
 * `weir usage`: the cost of model calls, by the prices of today. It asks no daemon.
 * @throws OperatorError if `since` is no time
 */
export async function showUsage(io: Io, options: UsageOptions): Promise<void> {
  const since = parseSince(options.since, new Date());
  if (since === null)
    throw new OperatorError(
      `--since takes a length of time, such as 7d or 12h, or a day, such as 2026-11-01. ${JSON.stringify(options.since.slice(0, 60))} is neither.`,
    );
  const config = readConfigToLook(io, options);
  await assertHasRun(config);
  await withStore(io, config, async (store) => {
    await using models = await openModels(config.llm, { learned: onlyLooking(store) });
    const timeZone = config.agents[0]?.timeZone ?? "UTC";
    const [usages] = await Promise.all([
      store.usage.by(options.by, { since }, timeZone),
      models.askPrices(AbortSignal.timeout(PRICES_MS)).catch(() => undefined),
    ]);
    const report = reportUsage(options.by, since, usages, (model) => models.priceOf(model));
    if (options.json === true) sayJson(io, report, 2);
    else say(io, formatUsage(report));
  });
}
