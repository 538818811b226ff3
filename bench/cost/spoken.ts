import type { Entry } from "../../src/core/entry.ts";
import { turnId } from "../../src/core/ids.ts";
import { estimateTokens } from "../../src/text/tokens.ts";
import type { ReplayedTurn } from "../../src/tune/simulation.ts";
import { createTalk } from "../support/conversation.ts";
import { readMessages, type RecordedMessage } from "../support/recordings.ts";

/** A recorded channel as a log with answers of an agent at intervals. */
export interface Spoken {
  readonly entries: readonly Entry[];
  readonly turns: readonly AnsweredTurn[];
}

export interface AnsweredTurn {
  readonly turn: ReplayedTurn;
  /** When it was asked, ms since 1970. */
  readonly at: number;
}

/** People's messages for each question to the agent. */
const ASKED_EVERY = { channel: 15, pair: 2 } as const;
/** Longest conversation, in messages. */
const MOST_MESSAGES = 1500;
/** Length of an answer, in characters. */
const ANSWER = 400;
/** From the question to its answer, ms. */
const ANSWER_MS = 3000;
/** Tokens of a line besides its text. */
const LINE_TOKENS = 20;

/** The first conversations of a recording. */
export function spokenIn(folder: string, recording: string, most: number): Spoken[] {
  const byTalk = Map.groupBy(readMessages(folder, recording), (one) => one.conversation_id);
  return [...byTalk.values()].slice(0, most).map((messages) => spoken(messages.slice(0, MOST_MESSAGES)));
}

function spoken(messages: readonly RecordedMessage[]): Spoken {
  const people = new Set(messages.map(({ author }) => author)).size;
  const every = people > 2 ? ASKED_EVERY.channel : ASKED_EVERY.pair;
  const answer = createTalk(12);
  const entries: Entry[] = [];
  const turns: AnsweredTurn[] = [];
  for (const [index, { author, text, ts }] of messages.entries()) {
    const addressed = index % every === every - 1;
    const at = new Date(Math.max(Date.parse(ts), entries.at(-1)?.at.getTime() ?? 0));
    const seq = entries.length + 1;
    const base = { at, deleted: false, tokens: estimateTokens(text) + estimateTokens(author) + LINE_TOKENS };
    entries.push({
      ...base,
      seq,
      kind: "user",
      author: { id: author, name: author, isBot: false },
      text,
      messageId: `m${seq}`,
      replyTo: null,
      addressed,
    });
    if (!addressed) continue;
    const id = turnId(turns.length + 1);
    const said = answer(ANSWER);
    entries.push({
      kind: "assistant",
      seq: seq + 1,
      at: new Date(at.getTime() + ANSWER_MS),
      deleted: false,
      tokens: estimateTokens(said),
      turnId: id,
      after: seq,
      text: said,
      stopped: false,
    });
    const turn = { id, fromSeq: seq, toSeq: seq, state: "answered" as const, lastSeq: seq + 1 };
    turns.push({ turn: { turn, recalled: [], remembered: [] }, at: at.getTime() });
  }
  return { entries, turns };
}
