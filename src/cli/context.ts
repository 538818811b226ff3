import { formatChannelReport } from "../admin/reports/channel-format.ts";
import { reportChannel } from "../admin/reports/channel-report.ts";
import { contextCard } from "../admin/reports/context-card.ts";
import { formatTurnContext, readTurnTexts, range, type TurnTexts } from "../admin/reports/turn-context.ts";
import type { Config } from "../config/config.ts";
import { isColourUnwanted } from "../config/load.ts";
import { OperatorError } from "../core/errors.ts";
import { folderTexts, readWaitedFor } from "../features/features.ts";
import { openModels } from "../llm/model-provider.ts";
import { drawCard } from "../platforms/terminal/card.ts";
import type { ChannelRow } from "../store/channels/channels.ts";
import type { Database } from "../store/database/database.ts";
import type { Store } from "../store/store.ts";
import { type CommonOptions, type Io, say, sayJson } from "./shared/io.ts";
import { findChannel, onlyLooking, timeFormatOf, withStore } from "./shared/open.ts";
import { createAgentsToLook } from "./shared/agents-to-look.ts";
import { readConfigToLook } from "./shared/readable-config.ts";
import { formatAddress, turnId, type TurnId } from "../core/ids.ts";
import { displayable } from "../text/displayable.ts";
import type { TimeFormat } from "../text/time.ts";
import { formatEntry } from "./log.ts";
import { type ContextRecord, KEPT_RECORDS } from "../store/turns/context-records.ts";

type ContextOptions = CommonOptions & {
  readonly json?: boolean;
  /** A turn's number, or `last`; undefined: the next model call. */
  readonly turn?: string;
  readonly text?: boolean;
};

/**
 * `weir context CHANNEL`: the content of the next model call; with `--turn`, of the last call of a turn.
 * @throws OperatorError if the turn is not stored
 */
export async function showContext(io: Io, name: string, options: ContextOptions): Promise<void> {
  if (options.text === true && options.turn === undefined)
    throw new OperatorError("--text goes with --turn: it shows what that turn had in view.");
  const config = readConfigToLook(io, options);
  await withStore(io, config, async (store, database) => {
    const channel = await findChannel(store, name);
    await (options.turn === undefined
      ? showNext(io, config, { store, database }, channel, options)
      : showTurn(io, config, store, channel, { ...options, turn: options.turn }));
  });
}

async function showNext(
  io: Io,
  config: Config,
  { store, database }: { readonly store: Store; readonly database: Database },
  channel: ChannelRow,
  options: ContextOptions,
): Promise<void> {
  await using models = await openModels(config.llm, { learned: onlyLooking(store) });
  const agents = await createAgentsToLook(io, config, models);
  await models.recallLearned();
  const also = config.bindings.filter(({ agent: own }) => own === channel.agent).flatMap((one) => one.also);
  const { agent, guests, compactorAgent } = agents.with(
    channel.agent,
    [...new Set(also)],
    channel.model?.name,
  );
  const { digester } = compactorAgent;
  const report = await reportChannel(
    {
      store,
      agent,
      guests,
      digester,
      readWaitedFor: async (id, time) => readWaitedFor(database, id, time),
      now: new Date(),
      isFresh: true,
      ...folderTexts(database),
    },
    channel,
  );
  const text = formatChannelReport(report, agent.time);
  if (options.json === true) return sayJson(io, report, 2);
  const { stdout } = io;
  // Piped output stays plain.
  if (!stdout.isTTY) return say(io, text);
  const looks = { colour: !isColourUnwanted(), columns: stdout.columns };
  stdout.write(`${drawCard(contextCard(report, agent.time, text), looks)}\n`);
}

async function showTurn(
  io: Io,
  config: Config,
  store: Store,
  channel: ChannelRow,
  { turn, json, text }: ContextOptions & { readonly turn: string },
): Promise<void> {
  const record = await findTurn(store, channel, turn);
  const texts = text === true ? await readTurnTexts(store, channel, record) : null;
  if (json === true) return sayJson(io, texts === null ? record : { ...record, texts }, 2);
  const time = timeFormatOf(config, channel.agent);
  say(io, formatTurnContext(record, channel, time));
  if (texts !== null) say(io, `\n${formatTurnTexts(texts, channel, time)}`);
}

/**
 * The record of a turn.
 * @param wanted a turn's number, or `last`
 * @throws OperatorError if it is not kept, with the turns that are
 */
async function findTurn(
  store: Pick<Store, "contextRecords">,
  channel: ChannelRow,
  wanted: string,
): Promise<ContextRecord> {
  const turn = parseTurn(wanted);
  const record = await store.contextRecords.find(channel.id, turn);
  if (record !== undefined) return record;
  const kept = await store.contextRecords.list(channel.id);
  const which = turn === null ? "any turn" : `turn ${turn}`;
  const list = kept.map((one) => `${one.turn} (${one.at.toISOString()})`).join(", ");
  const why = `The newest ${KEPT_RECORDS} turns are kept; a deletion, an edit or /forget takes those that may have seen the text.`;
  throw new OperatorError(
    `Of ${which} of ${formatAddress(channel.address)} no context is kept. ${why} ` +
      (list === "" ? "At present there is none." : `Kept are: ${list}.`),
  );
}

/** @returns null: the last one */
function parseTurn(wanted: string): TurnId | null {
  if (wanted === "last") return null;
  const [, digits] = /^#?([1-9]\d{0,14})$/.exec(wanted) ?? [];
  if (digits !== undefined) return turnId(Number(digits));
  throw new OperatorError(
    `--turn takes the number of a turn, or last; ${JSON.stringify(wanted.slice(0, 60))} is neither.`,
  );
}

function formatTurnTexts(texts: TurnTexts, channel: ChannelRow, time: TimeFormat): string {
  const summaries = texts.summaries.flatMap(({ compaction, fromSeq, toSeq, text }) => [
    `  summary of entries ${range(fromSeq, toSeq)}${compaction === null ? "" : ` (#${compaction})`}:`,
    ...displayable(text ?? "(it is not known any more)")
      .trim()
      .split("\n")
      .map((line) => `    ${line}`.trimEnd()),
  ]);
  const entries = texts.entries.map((entry) => formatEntry(entry, channel, time));
  return ["As it reads now, deletions and edits since then included:", ...summaries, ...entries].join("\n");
}
