import { html } from "hono/html";
import { HTTPException } from "hono/http-exception";
import { describeReason } from "../../../../admin/explain-failure.ts";
import { readTurnTexts } from "../../../../admin/reports/turn-context.ts";
import type { Entry, RememberedStatement, ToolResultEntry } from "../../../../core/entry.ts";
import { type MemoryId, turnId, type TurnId } from "../../../../core/ids.ts";
import { whoseOf } from "../../../../core/memory.ts";
import type { ChannelRow } from "../../../../store/channels/channels.ts";
import type { ContextRecord } from "../../../../store/turns/context-records.ts";
import type { TurnCall, TurnDelivery, TurnDetail, TurnLine } from "../../../../store/turns/turn-details.ts";
import { displayable, displayableLine } from "../../../../text/displayable.ts";
import { formatNumber } from "../../../../text/format.ts";
import { counted } from "../../../../text/text.ts";
import type { TimeFormat } from "../../../../text/time.ts";
import { nextSections, type ReportedDaemon } from "../../channels.ts";
import { masked } from "../../masked.ts";
import { channelPath, type Markup, secondOf, table, timeCell, turnPath } from "../markup.ts";
import type { Asked, Place, Shown } from "../place.ts";
import type { ReadingRights } from "../reading-rights.ts";
import { entryList } from "../channel/entries.ts";
import { callsMarkup, durationOf, seconds } from "./turn-calls.ts";
import { readableRequest, requestMarkup, sameSections, type SentRequest } from "./turn-request.ts";
import path from "node:path";
import { READ_BYTES, readTurnLog } from "../../../../admin/reports/turn-log.ts";
import { weirCommand } from "../../../../files/installation.ts";

const TURNS_ON_PAGE = 20;
/** Entries of a request's view that are shown, the newest. */
const MOST_IN_VIEW = 100;
/** Found entries and memories that are looked up. */
const MOST_RECALLED = 50;
const STATES: Readonly<Record<TurnLine["state"], string>> = {
  running: "",
  answered: "ok",
  skipped: "",
  stopped: "warn",
  failed: "bad",
};
const DELIVERIES: Readonly<Record<TurnDelivery["state"], string>> = {
  pending: "warn",
  sent: "ok",
  failed: "bad",
};

interface TurnView {
  readonly channel: ChannelRow;
  /** By which the page calls it. */
  readonly name: string;
  readonly time: TimeFormat;
  readonly newest: readonly TurnLine[];
  readonly mayAct: boolean;
}

interface OneTurn {
  readonly turn: TurnDetail;
  readonly entries: readonly Entry[];
  readonly calls: readonly TurnCall[];
  readonly deliveries: readonly TurnDelivery[];
  readonly sent: SentRequest | null;
  readonly memories: readonly (readonly [MemoryId, RememberedStatement])[];
}

/** One turn: what it answered, what it was made of, and what came of it; without a number, a channel's newest turns. */
export const turnPlace: Place = {
  path: "/page/turn",
  name: null,
  viewer: "numbers; of a public channel what was said in public",
  async show({ reports, mask, query, rights, signal }: Asked): Promise<Shown> {
    return reports.read(async (daemon) => {
      const channel = await rights.find(daemon, query("id"));
      const name = rights.nameOf(channel);
      const { agent } = daemon.staffOf(channel);
      const newest = await daemon.store.turnDetails.newest(channel.id, TURNS_ON_PAGE);
      const view = { channel: masked(channel, mask), name, time: agent.time, newest, mayAct: rights.isAll };
      if (query("turn") === "") return { title: `Turns · ${mask(name)}`, body: listBody(name, view) };
      const read = await readTurn(daemon, channel, query("turn"));
      const one = maskedTurn(await readableTurn(daemon, channel, read, rights), mask);
      const { priceOf } = agent.models;
      return {
        title: `Turn ${one.turn.turn} · ${mask(name)}`,
        body: html`${turnHead(view, one)}
          <h2>Model calls</h2>
          ${callsMarkup(one.turn, one.calls, priceOf)}
          <h2>What was sent</h2>
          ${requestMarkup(one.sent, view)} ${recalledMarkup(view, one)}
          <h2>Deliveries</h2>
          ${deliveryTable(one.deliveries, view.time)}
          ${rights.isAll ? await turnLog(daemon, name, one.turn.turn, mask) : ""}`,
      };
    }, signal);
  },
};

/** @throws HTTPException if the channel has no such turn */
async function readTurn(daemon: ReportedDaemon, channel: ChannelRow, wanted: string): Promise<OneTurn> {
  const { store } = daemon;
  const number = /^[1-9]\d{0,14}$/.test(wanted) ? Number(wanted) : 0;
  const turn = await store.turnDetails.find(channel.id, turnId(number));
  if (turn === null) throw new HTTPException(404, { message: "This channel has no such turn." });
  const record = await store.contextRecords.find(channel.id, turn.turn);
  const found = {
    entries: turn.recalled.entries.slice(0, MOST_RECALLED),
    memories: turn.recalled.memories.slice(0, MOST_RECALLED),
  };
  const [entries, calls, deliveries, memories, sent] = await Promise.all([
    store.log.readAt(channel.id, [...turn.asked, ...turn.written, ...found.entries]),
    store.turnDetails.calls(turn.turn),
    store.turnDetails.deliveries(turn.turn),
    store.past.statements(channel.id, found.memories, turn.agent ?? undefined),
    record === undefined ? null : readSent(daemon, channel, record),
  ]);
  const known = found.memories.flatMap((id) => {
    const statement = memories.get(id);
    return statement === undefined ? [] : [[id, statement] as const];
  });
  return { turn, entries, calls, deliveries, memories: known, sent };
}

/** The turn as a role may read it: numbers stay. A reason may quote what a server says, which may quote a request. */
async function readableTurn(
  { store }: ReportedDaemon,
  channel: ChannelRow,
  one: OneTurn,
  rights: ReadingRights,
): Promise<OneTurn> {
  if (rights.isAll) return one;
  const known = await rights.memories(
    store,
    one.memories.map(([id]) => id),
  );
  return {
    ...one,
    turn: { ...one.turn, reason: null },
    entries: await rights.entries(store, channel, one.entries),
    deliveries: one.deliveries.map((delivery) => ({ ...delivery, reason: null })),
    memories: one.memories.filter(([id]) => known.has(id)),
    sent: one.sent && (await readableRequest(store, channel, one.sent, rights)),
  };
}

/** Texts are cut where they are shown: half a secret would not be found. */
function maskedTurn({ sent, ...rest }: OneTurn, mask: (text: string) => string): OneTurn {
  return {
    ...masked(rest, mask),
    sent: sent && {
      record: masked(sent.record, mask),
      texts: masked(sent.texts, mask),
      same: new Map([...sent.same].map(([key, text]) => [mask(key), mask(text)])),
    },
  };
}

async function readSent(
  daemon: ReportedDaemon,
  channel: ChannelRow,
  record: ContextRecord,
): Promise<SentRequest> {
  const { raw } = record;
  const newest = raw && { ...raw, fromSeq: Math.max(raw.fromSeq, raw.toSeq - MOST_IN_VIEW + 1) };
  const [texts, next] = await Promise.all([
    readTurnTexts(daemon.store, channel, { ...record, raw: newest }),
    // The next request is that of the channel's own agent.
    record.agent === undefined ? nextSections(daemon, channel) : [],
  ]);
  return { record, texts, same: sameSections(record.sections, next) };
}

function listBody(name: string, view: TurnView): Markup {
  const { newest, time, mayAct } = view;
  return html`<h1>Turns of <a href="${channelPath(name)}">${displayableLine(name)}</a></h1>
    ${mayAct ? html`<p><a href="${channelPath(name, "channel-acts")}">Summarise now, or stop the answer</a></p>` : ""}
    ${
      newest.length === 0
        ? html`<p>No turn began here yet: say something to the agent in this channel.</p>`
        : table(
            ["turn", "began", "state", "took", "agent"],
            newest.map(({ turn, state, agent, startedAt, settledAt }) => [
              html`<a href="${turnPath(name, turn)}">${String(turn)}</a>`,
              timeCell(secondOf(startedAt, time)),
              stateMark(state),
              took({ startedAt, settledAt }),
              displayableLine(agent ?? view.channel.agent),
            ]),
          )
    }`;
}

function took(turn: Pick<TurnLine, "startedAt" | "settledAt">): string {
  const ms = durationOf(turn);
  return ms === null ? "" : seconds(ms);
}

function stateMark(state: TurnLine["state"]): Markup {
  return html`<span class="${STATES[state]}">${state}</span>`;
}

function turnHead({ channel, name, time, newest }: TurnView, one: OneTurn): Markup {
  const { turn, entries } = one;
  const { state, agent, startedAt, modelMs, attempts, reason } = turn;
  const asked = entries.filter(({ seq }) => turn.asked.includes(seq));
  const written = entries.filter(({ seq }) => turn.written.includes(seq));
  const ms = durationOf(turn);
  const spent = ms === null ? "" : `, took ${seconds(ms)}, of which ${seconds(modelMs ?? 0)} the model`;
  const runs = attempts > 1 ? `, begun ${counted(attempts, "time")}` : "";
  return html`<h1>Turn ${String(turn.turn)} of <a href="${turnPath(name)}">${displayableLine(name)}</a></h1>
    <nav class="strip" aria-label="The newest turns">
      ${newest
        .toReversed()
        .map(
          (line) =>
            html`<a
              class="${STATES[line.state]}"
              href="${turnPath(name, line.turn)}"
              ${line.turn === turn.turn ? html`aria-current="page"` : ""}
              title="${line.state}"
              >${String(line.turn)}</a
            >`,
        )}
    </nav>
    <p>
      ${stateMark(state)} · agent ${displayableLine(agent ?? channel.agent)} · began
      ${time.minute(startedAt)}${spent}${runs}
    </p>
    ${reason === null ? "" : html`<p class="dim">Why: ${displayableLine(describeReason(reason))}</p>`}
    <h2>It answers</h2>
    ${
      asked.length === 0
        ? html`<p class="dim">None of its messages is in the log.</p>`
        : entryList({ entries: asked, channel, name, time })
    }
    <h2>It wrote</h2>
    ${written.length === 0 ? html`<p class="dim">Nothing so far.</p>` : entryList({ entries: written, channel, name, time })}
    ${toolTable(written)}`;
}

function toolTable(written: readonly Entry[]): Markup | "" {
  const calls = written.flatMap((entry) => (entry.kind === "tool_call" ? entry.calls : []));
  if (calls.length === 0) return "";
  const results = new Map(
    written.flatMap((entry): [string, ToolResultEntry][] =>
      entry.kind === "tool_result" ? [[entry.callId, entry]] : [],
    ),
  );
  return html`<h2>Tools</h2>
    ${table(
      ["call", "tool", "state"],
      calls.map(({ id, name }, index) => {
        const result = results.get(id);
        return [
          formatNumber(index + 1),
          displayableLine(name),
          result === undefined
            ? html`<span class="warn">no result</span>`
            : html`<span class="ok">entry ${formatNumber(result.seq)}</span>`,
        ];
      }),
    )}`;
}

function recalledMarkup({ channel, name, time }: TurnView, { turn, entries, memories }: OneTurn): Markup {
  const { recalled } = turn;
  const earlier = entries.filter(({ seq }) => recalled.entries.includes(seq));
  const looked = Math.min(recalled.memories.length, MOST_RECALLED);
  const gone = looked - memories.length;
  return html`<h2>Recalled</h2>
    ${
      memories.length === 0
        ? html`<p class="dim">${looked === 0 ? "No memory was found for it." : ""}</p>`
        : html`<ul>
            ${memories.map(
              ([id, memory]) =>
                html`<li>
                  #${String(id)} ${displayableLine(memory.statement)}
                  <span class="dim">${displayableLine(whoseOf(memory))}, ${time.day(memory.at)}</span>
                </li>`,
            )}
          </ul>`
    }
    ${gone === 0 ? "" : html`<p class="dim">${counted(gone, "memory", "memories")} forgotten or hidden since.</p>`}
    ${
      earlier.length === 0
        ? html`<p class="dim">No earlier message was looked up for it.</p>`
        : entryList({ entries: earlier, channel, name, time })
    }`;
}

function deliveryTable(deliveries: readonly TurnDelivery[], time: TimeFormat): Markup {
  if (deliveries.length === 0) return html`<p class="dim">Nothing of it was to be sent.</p>`;
  return table(
    ["part", "form", "state", "since", "why"],
    deliveries.map(({ part, piece, form, state, reason, createdAt, endedAt }) => [
      piece === 0 ? formatNumber(part + 1) : `${formatNumber(part + 1)}, piece ${formatNumber(piece + 1)}`,
      form,
      html`<span class="${DELIVERIES[state]}">${state}</span>`,
      timeCell(time.minute(endedAt ?? createdAt)),
      reason === null ? "" : displayableLine(reason),
    ]),
  );
}

/** What the log of this daemon has of a turn. @param name the channel's */
async function turnLog(
  { status }: ReportedDaemon,
  name: string,
  turn: TurnId,
  mask: (text: string) => string,
): Promise<Markup> {
  const { log } = status();
  // In words it is no file.
  const lines = log !== undefined && path.isAbsolute(log) ? await readTurnLog(log, turn) : null;
  return html`<h2>Log</h2>
    ${lines === null ? html`<p class="dim">This daemon keeps no log in a file: its standard error has it.</p>` : ""}
    ${
      lines?.length === 0
        ? html`<p class="dim">
            The newest ${formatNumber(READ_BYTES / 1_000_000)} MB of this daemon's log have no line of this
            turn: it is older, or another daemon's.
          </p>`
        : ""
    }
    ${
      lines === null || lines.length === 0
        ? ""
        : html`<pre>${displayable(mask(lines.join("\n")))}</pre>
            <p class="dim">
              Without its sentences, which may quote a request:
              <code>${weirCommand("logs")} --channel ${name}</code> has them.
            </p>`
    }`;
}
