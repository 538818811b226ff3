import { createAgents } from "../agents.ts";
import { sceneOf } from "../channel/turns/turn-channel.ts";
import type { AgentConfig, Config } from "../config/config.ts";
import { trySettings, type TriedSetting } from "../config/load.ts";
import { usableTokens } from "../context/usage.ts";
import { isTelling, MAX_FACTOR } from "../core/calibration.ts";
import { OperatorError } from "../core/errors.ts";
import { formatAddress } from "../core/ids.ts";
import { openModels } from "../llm/model-provider.ts";
import type { Models } from "../llm/models.ts";
import { loadPrompts, type Prompts, promptSources } from "../prompts/load.ts";
import type { ChannelRow } from "../store/channels/channels.ts";
import type { PastCalls, PastTurn } from "../store/turns/past.ts";
import type { Store } from "../store/store.ts";
import { formatTuning, type TuneColumn, type TuneReport } from "../tune/format.ts";
import { expectedLength } from "../tune/lengths.ts";
import { type Played, playLog } from "../tune/play.ts";
import { isTunable, settingOf, TUNABLE_KEYS, variantsOf } from "../tune/settings.ts";
import { type At, Simulation, type SimulationParts } from "../tune/simulation.ts";
import { type Agent, budgetOf } from "../turn/agent.ts";
import { assertWhole, type CommonOptions, type Io, say, sayJson } from "./shared/io.ts";
import { findChannel, onlyLooking, readConfig, withStore } from "./shared/open.ts";
import { placeOf } from "./shared/readable-config.ts";
import { Progress } from "./shared/progress.ts";

type TuneOptions = CommonOptions & {
  readonly set?: readonly string[];
  readonly from?: number;
  readonly to?: number;
  readonly at?: At;
  readonly summariserSeconds?: number;
  readonly json?: boolean;
};

/** A summariser's time if the channel has no measurement, ms. */
const SUMMARISER_MS = 20_000;
/** Shorter logs are played before a bar could be seen. */
const WORTH_A_BAR = 2000;

/**
 * `weir tune CHANNEL`: the cost of a channel's log, and what would have been visible, with other settings. It calls no model
 * and writes nothing.
 */
export async function tune(io: Io, name: string, options: TuneOptions): Promise<void> {
  const variants = variantsOf(options.set ?? []);
  const config = readConfig(io, options);
  await withStore(io, config, async (store) => {
    const channel = await findChannel(store, name);
    const agents = configsOf(io, { config, channel, options }, variants);
    await using models = await openModels(config.llm, { learned: onlyLooking(store) });
    const [now] = agents;
    const model = await models.resolve(now.model).catch(() => now.model);
    const { from, to, turns } = await rangeOf(store, channel, options);
    const known = {
      calls: await store.past.calls(channel.id),
      lengths: await store.past.summaryLengths(channel.id),
    };
    const common = {
      scene: sceneOf(channel),
      from,
      resets: (await store.past.resets(channel.id)).filter((seq) => seq <= to),
      lengths: known.lengths,
      summariserMs: summariserMs(options, known.calls).ms,
      ...(options.at !== undefined && { at: options.at }),
    };
    const { estimated, reported } = known.calls;
    const rate = isTelling(known.calls) ? Math.min(MAX_FACTOR, reported / estimated) : 1;
    const parts: SimulationParts[] = [];
    const prompts = loadPrompts(promptSources(config));
    for (const [index, one] of agents.entries()) {
      const isWindowTried = triesWindow(variants[index - 1]);
      const agent = await agentOf(one, { config, models, prompts, rate, isWindowTried });
      if (index === 0) await models.recallLearned();
      parts.push({ ...common, agent, budget: budgetOf(agent, model) });
    }
    const columns = await playColumns(
      io,
      parts,
      { store, channel: channel.id, from, to, turns },
      keysOf(variants),
    );
    if (columns === null) {
      assertWhole(io, "nothing can be said");
      return;
    }
    if (options.at !== undefined && columns.every(({ visible }) => visible === null))
      throw new OperatorError(
        "That turn has sent no request of this agent: all that it was to answer is deleted, or another agent has answered it.",
      );
    const report: TuneReport = {
      channel: formatAddress(channel.address),
      agent: now.id,
      model,
      from,
      to,
      assumed: assumedOf(options, known, rate),
      columns,
    };
    if (options.json === true) sayJson(io, report, 2);
    else say(io, formatTuning(report));
  });
}

type Variants = readonly (readonly TriedSetting[])[];

function keysOf([first = []]: Variants): string[] {
  return first.map(({ key }) => key);
}

function nameOf(index: number, columns: number): string {
  if (index === 0) return "now";
  return columns === 2 ? "changed" : `changed ${index}`;
}

/**
 * The channel's agent as configured, and with each list of settings.
 * @throws ConfigError, OperatorError if a requested setting is impossible
 */
function configsOf(
  io: Io,
  parts: { readonly config: Config; readonly channel: ChannelRow; readonly options: TuneOptions },
  variants: Variants,
): [AgentConfig, ...AgentConfig[]] {
  const { config, channel, options } = parts;
  const place = Math.max(
    0,
    config.agents.findIndex(({ id }) => id === channel.agent),
  );
  const now = config.agents[place];
  if (now === undefined) throw new OperatorError("The configuration has no agent.");
  const tried = variants.map((settings) => trySettings(placeOf(io, options), place, settings));
  const idle = keysOf(variants).find((key) => !isTunable(key));
  if (idle !== undefined)
    throw new OperatorError(
      `A log that is played again cannot show what ${idle} changes. What can be tried: ${TUNABLE_KEYS.join(", ")}.`,
    );
  return [now, ...tried];
}

function triesWindow(settings: readonly TriedSetting[] = []): boolean {
  return settings.some(({ key, value }) => key === "context_window" && value !== 0);
}

/** The agent as a start would make it. @throws OperatorError if its fixed part leaves no room for a conversation */
async function agentOf(
  one: AgentConfig,
  parts: {
    readonly config: Config;
    readonly models: Models;
    readonly prompts: Prompts;
    readonly rate: number;
    readonly isWindowTried: boolean;
  },
): Promise<Agent> {
  const { config, models, prompts, rate, isWindowTried } = parts;
  const { llm, agentsDir } = config;
  const known = isWindowTried ? onlyWindow(models, one.contextWindow) : models;
  const agents = createAgents({ agents: [one], llm, agentsDir }, known, prompts);
  await agents.readFolders();
  const { agent } = agents.first;
  return { ...agent, models: { ...agent.models, factorOf: () => rate } };
}

/** The models, each with this window, which overrides their known ones. */
function onlyWindow(models: Models, tokens: number): Models {
  return {
    model: models.model,
    isOffline: models.isOffline,
    describe: () => models.describe(),
    configure: () => undefined,
    trying: (_, work) => work(),
    resolve: async (configured, signal) => models.resolve(configured, signal),
    nameOf: (configured) => models.nameOf(configured),
    windowOf: () => tokens,
    knownWindow: () => ({ tokens, source: "configured", until: null }),
    learnWindow: () => undefined,
    evidenceOf: (name) => models.evidenceOf(name),
    factorOf: (name) => models.factorOf(name),
    learnFactor: () => undefined,
    recallLearned: async () => [],
    seesImages: (name) => models.seesImages(name),
    priceOf: (name) => models.priceOf(name),
    cacheRule: (name) => models.cacheRule(name),
    askPrices: async (signal) => models.askPrices(signal),
    [Symbol.asyncDispose]: async () => undefined,
  };
}

/** @throws OperatorError if the requested range is not in the log */
async function rangeOf(
  store: Store,
  channel: ChannelRow,
  { from = 1, to: last = Infinity, at }: TuneOptions,
): Promise<{ readonly from: number; readonly to: number; readonly turns: readonly PastTurn[] }> {
  const name = formatAddress(channel.address);
  if (channel.lastSeq === 0) throw new OperatorError(`Nothing has been said in ${name} yet.`);
  if (from < 1) throw new OperatorError("The first entry is 1.");
  if (from > last) throw new OperatorError(`--from ${from} comes behind --to ${last}.`);
  if (from > channel.lastSeq) throw new OperatorError(`The log of ${name} ends with ${channel.lastSeq}.`);
  const to = Math.min(last, channel.lastSeq);
  const turns = (await store.past.turns(channel.id, from, to)).filter(({ fromSeq }) => fromSeq >= from);
  if (at !== undefined && !turns.some((turn) => ("turn" in at ? turn.id === at.turn : turn.toSeq >= at.seq)))
    throw new OperatorError(
      "turn" in at
        ? `No turn ${at.turn} has ended among the entries ${from} to ${to} of ${name}.`
        : `No turn that answers entry ${at.seq} or a later one has ended among the entries ${from} to ${to} of ${name}.`,
    );
  return { from, to, turns };
}

function summariserMs(
  { summariserSeconds }: TuneOptions,
  calls: PastCalls,
): { readonly ms: number; readonly from: TuneReport["assumed"]["summariserSecondsFrom"] } {
  if (summariserSeconds !== undefined) return { ms: summariserSeconds * 1000, from: "given" };
  return calls.summariserMs === null
    ? { ms: SUMMARISER_MS, from: "default" }
    : { ms: calls.summariserMs, from: "calls" };
}

function assumedOf(
  options: TuneOptions,
  { calls, lengths }: { readonly calls: PastCalls } & Pick<SimulationParts, "lengths">,
  rate: number,
): TuneReport["assumed"] {
  const { ms, from } = summariserMs(options, calls);
  const leaf = expectedLength(lengths, { kind: "leaf", level: 1 });
  return {
    tokensPerEstimated: rate,
    summariserSeconds: ms / 1000,
    summariserSecondsFrom: from,
    summaryShare: { leaf: leaf.share, merge: expectedLength(lengths, { kind: "merge", level: 2 }).share },
    summaryShareFrom: leaf.from,
  };
}

/** @returns null: it was interrupted */
async function playColumns(
  io: Io,
  all: readonly SimulationParts[],
  played: Omit<Played, "signal" | "onEntry">,
  keys: readonly string[],
): Promise<TuneColumn[] | null> {
  const columns = all.map((parts) => ({ parts, simulation: new Simulation(parts) }));
  const entries = played.to - played.from + 1;
  const progress = entries < WORTH_A_BAR ? null : new Progress(io.stderr, entries);
  const isWhole = await playLog(
    columns.map(({ simulation }) => simulation),
    { ...played, signal: io.shutdown, onEntry: () => progress?.step() },
  );
  progress?.end();
  if (!isWhole) return null;
  return columns.map(({ parts: { agent, budget }, simulation: { outcome, visible } }, index) => ({
    name: nameOf(index, columns.length),
    settings: Object.fromEntries(keys.map((key) => [key, settingOf(agent.config, key)])),
    window: budget.window,
    usable: usableTokens(budget),
    outcome,
    visible,
  }));
}
