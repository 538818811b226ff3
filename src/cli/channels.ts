import {
  formatChannels,
  listChannel,
  type ListedChannel,
  sortChannels,
} from "../admin/reports/channel-list.ts";
import type { Config } from "../config/config.ts";
import type { ChannelOrder } from "../core/listings.ts";
import { usableTokens } from "../context/usage.ts";
import { openModels } from "../llm/model-provider.ts";
import type { ChannelRow } from "../store/channels/channels.ts";
import type { ChannelOverview } from "../store/channels/overview.ts";
import type { Store } from "../store/store.ts";
import { counted } from "../text/text.ts";
import { budgetOf } from "../turn/agent.ts";
import { type CommonOptions, type Io, say, sayJson } from "./shared/io.ts";
import { assertHasRun, firstTimeFormat, onlyLooking, withStore } from "./shared/open.ts";
import { readConfigToLook } from "./shared/readable-config.ts";

type ChannelsOptions = CommonOptions & {
  readonly json?: boolean;
  readonly limit: number;
  readonly sort: ChannelOrder;
};

/** `weir channels`: one line a channel. It asks no daemon. */
export async function showChannels(io: Io, options: ChannelsOptions): Promise<void> {
  const config = readConfigToLook(io, options);
  await assertHasRun(config);
  await withStore(io, config, async (store) => {
    const overviews = await store.overview.channels();
    const listed = await listChannels(config, store, overviews);
    const shown = sortChannels(listed, options.sort).slice(0, options.limit);
    const messages = await store.overview.messages(shown.map(({ row }) => row));
    const counts = shown.map(({ row, ...one }) => ({ ...one, messages: messages.get(row.id) ?? 0 }));
    if (options.json === true) {
      for (const one of counts) sayJson(io, one);
      return;
    }
    if (listed.length === 0) return say(io, "Nothing has been said anywhere yet.");
    for (const line of formatChannels(counts, firstTimeFormat(config))) say(io, line);
    const left = listed.length - shown.length;
    if (left > 0) say(io, `${counted(left, "channel")} more: --limit ${listed.length} shows all.`);
  });
}

/** Longest wait for a server's window sizes, ms. */
const WINDOWS_MS = 2000;

/** The channels with their levels, by the windows that the models have now. */
export async function listChannels(
  config: Config,
  store: Pick<Store, "learnedModels">,
  overviews: readonly ChannelOverview[],
): Promise<(ListedChannel & { readonly row: ChannelOverview["channel"] })[]> {
  await using models = await openModels(config.llm, { learned: onlyLooking(store) });
  await models.recallLearned();
  const signal = AbortSignal.timeout(WINDOWS_MS);
  // A server that does not answer leaves what is known without it.
  await Promise.allSettled(config.agents.map(async ({ model }) => models.resolve(model, signal)));
  const [first] = config.agents;
  const usableOf = ({ agent: id }: ChannelRow, model: string): number => {
    const agent = config.agents.find((one) => one.id === id) ?? first;
    return agent === undefined ? 0 : usableTokens(budgetOf({ config: agent, models }, model));
  };
  return overviews.map((one) => ({ ...listChannel(one, usableOf), row: one.channel }));
}
