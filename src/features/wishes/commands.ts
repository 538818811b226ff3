import type { Card } from "../../core/card.ts";
import type { ChannelId } from "../../core/ids.ts";
import type { Author } from "../../core/message.ts";
import { type Candidate, candidatesOf, type CandidateState } from "./candidates.ts";
import { WISHES } from "./key.ts";
import type { DoubtedWish, WishStore } from "./wish-store.ts";
import { retryWrite } from "../../async/retry.ts";
import { displayableLine } from "../../text/displayable.ts";
import { counted } from "../../text/text.ts";
import type { TimeFormat } from "../../text/time.ts";
import {
  type AskedCommand,
  type Command,
  type ForWhom,
  type CommandParts,
  ownsPlace,
  placeName,
  timeOf,
} from "../../admin/commands/command.ts";
import { howToOwn, type Typed } from "../../admin/commands/permissions.ts";

export const learnedCommand: Command = {
  name: "learned",
  help: "how the agent has learned to answer here, and who asked for it",
  isReport: true,
  argument: null,
  allowed: "everybody",
  run: describeLearned,
};

async function describeLearned(
  parts: CommandParts,
  { channel, typed, asker, isNamedOwner }: AskedCommand,
): Promise<string> {
  const { candidates, doubted } = await readLearned(parts.serviceOf(WISHES), channel.id, parts.now());
  return formatLearned(candidates, timeOf(parts, channel), {
    doubted: isNamedOwner ? doubted : [],
    place: placeName(channel),
    typed,
    asker: asker.id,
    isOwners: ownsPlace(parts, { channel, asker }),
  });
}

async function readLearned(
  store: WishStore,
  channel: ChannelId,
  now: Date,
): Promise<{ readonly candidates: readonly Candidate[]; readonly doubted: readonly DoubtedWish[] }> {
  const { believed, doubted, rejections } = await store.of(channel);
  const answeredAt = believed.length === 0 ? null : await store.answeredAt(channel);
  return { candidates: candidatesOf(believed, now, answeredAt, rejections), doubted };
}

/** The same facts as `/learned`, for an operator. */
export async function learnedLists(
  store: WishStore,
  channel: ChannelId,
  { time, now }: { readonly time: TimeFormat; readonly now: Date },
): Promise<Card["lists"]> {
  const { candidates, doubted } = await readLearned(store, channel, now);
  const lines = [
    ...toShow(candidates).map((one) => learnedLines(one, time, OPERATOR)),
    ...doubtedLines(doubted),
  ];
  return lines.length === 0 ? [] : [{ label: "Learned of how to answer", lines }];
}

/** Nobody's id: an operator is not shown as one of the channel's people. */
const OPERATOR = "";

/**
 * `/forget L12`, `/forget L12 me`: ends a learned candidate, and keeps the messages. Owners end a candidate for everybody;
 * other people end it for themselves.
 * @param number of the candidate
 * @param whom `me`: only for the asker, even if they are an owner
 */
export async function endLearned(
  parts: CommandParts,
  { channel, asker, typed }: AskedCommand,
  number: number,
  whom: ForWhom,
): Promise<string> {
  const { believed } = await parts.serviceOf(WISHES).of(channel.id);
  const candidate = candidatesOf(believed, parts.now()).find(({ id }) => id === number);
  if (candidate === undefined)
    return `There is no L${number} in ${placeName(channel)}. ${typed("learned")} shows what there is.`;
  const { person, wishes } = candidate;
  const isOwners = ownsPlace(parts, { channel, asker });
  if (person !== null && person !== asker.id && !isOwners) {
    const who = `whoever asked for it (${namesOf(candidate)}) or an owner`;
    return `Only ${who} may end L${number}. ${howToOwn(channel.address.platform)}`;
  }
  const isForAll = person === null && isOwners && whom === "all";
  const ids = wishes.map(({ id }) => id);
  await retryWrite(async () =>
    isForAll || person !== null
      ? parts.serviceOf(WISHES).end(channel.id, ids)
      : parts.serviceOf(WISHES).refuse(channel.id, ids, asker.id),
  );
  await parts.waker.changed(channel.id, 0, null);
  const what = `L${number}, "${displayableLine(candidate.wish)}"`;
  if (isForAll || person !== null)
    return `Ended: ${what}. Nobody is answered by it any more; the messages stay.`;
  const others = isOwners ? `${typed(`forget L${number}`)} ends it for all.` : "An owner may end it for all.";
  return `Ended for you: ${what}. You are not answered by it any more, unless others are answered with you. ${others}`;
}

/** Answers of `/learned`. Pure. */

/** Candidates that one answer shows. */
const SHOWN = 20;

/** The states, in words for people. */
const MEANING: Readonly<Record<CandidateState, string>> = {
  shadow: "watched, not used yet",
  promoted: "used from the next answer on",
  "in use": "in use",
  demoted: "taken back, not used",
  archived: "said too long ago, not used",
};

interface LearnedFormat {
  /** Shown to owners alone. */
  readonly doubted: readonly DoubtedWish[];
  readonly place: string;
  readonly typed: Typed;
  /** Id of the person to whom it is shown. */
  readonly asker: string;
  /** They may end for everybody what is for everybody. */
  readonly isOwners: boolean;
}

/** @param candidates by their ids */
function formatLearned(
  candidates: readonly Candidate[],
  time: TimeFormat,
  { doubted, place, typed, asker, isOwners }: LearnedFormat,
): string {
  const shown = toShow(candidates);
  const [newest] = shown.slice(-1);
  const lines =
    newest === undefined
      ? [`Nothing is learned of how to answer in ${place} yet.`]
      : [
          `Learned of how to answer in ${place}, the newest last. It is used for everybody once two people ask for it, and for one person once they ask twice.`,
          ...shown.map((one) => `- ${learnedLines(one, time, asker)}`),
          isOwners
            ? `${typed(`forget L${newest.id}`)} ends one, ${typed(`forget L${newest.id} me`)} for you alone.`
            : `${typed(`forget L${newest.id}`)} ends one for you.`,
        ];
  return [...lines, ...doubtedLines(doubted)].join("\n");
}

/** The newest; of those that are not used as many as leave room for those that are. */
function toShow(candidates: readonly Candidate[]): Candidate[] {
  const isUsed = ({ state, usedFor }: Candidate): boolean =>
    state === "promoted" || state === "in use" || usedFor.size > 0;
  const others = candidates.filter((one) => one.state !== "archived" && !isUsed(one));
  const used = candidates.filter(isUsed).slice(-SHOWN);
  return [...used, ...others.slice(Math.max(0, others.length - SHOWN + used.length))].toSorted(
    (a, b) => a.id - b.id,
  );
}

function learnedLines(candidate: Candidate, time: TimeFormat, asker: string): string {
  const { id, wish, topic, person, state, score, evidence, corrections, failures, wishes } = candidate;
  const { usedFor, refusedBy, wantedBy } = candidate;
  const whom = person === null ? "for everybody here" : `for ${namesOf(candidate)} alone`;
  const messages =
    person === null
      ? new Set(wishes.flatMap((one) => (wantedBy.has(one.asker) ? [one.message] : []))).size
      : evidence;
  const proofs = `${counted(messages, "message")}, score ${score.toFixed(2)}`;
  const corrected =
    corrections === 0
      ? ""
      : person === null
        ? `, ${counted(corrections, "person", "people")} against it`
        : `, corrected ${counted(corrections, "time")}`;
  const meaning =
    usedFor.size === 0
      ? MEANING[state]
      : `used for ${namesOf(candidate, new Set(usedFor.keys()))} alone, until somebody else asks for it`;
  const ended = refusedBy.has(asker) ? " · ended for you" : "";
  const failed =
    failures === 0
      ? ""
      : `, ${person === null ? `answers rejected by ${counted(failures, "person", "people")}` : `${counted(failures, "answer")} rejected`}`;
  const said = wishes.slice(-2).map(({ askerName, at, quote }) => {
    return `\n  ${displayableLine(askerName)}, ${time.day(at)}: "${displayableLine(quote)}"`;
  });
  return `L${id} ${displayableLine(wish)}\n  ${meaning} · ${topic}, ${whom} · ${proofs}${corrected}${failed}${ended}${said.join("")}`;
}

/** Why rows are not used, one line for each reason; with their numbers, and without their words. */
export function doubtedLines(doubted: readonly DoubtedWish[]): string[] {
  return Map.groupBy(doubted, ({ why }) => why)
    .entries()
    .map(([why, rows]) => {
      const ids = rows.map(({ id }) => id).toSorted((a, b) => a - b);
      const shown = `${ids.slice(0, SHOWN).join(", ")}${ids.length > SHOWN ? ", …" : ""}`;
      return `Not used: ${counted(rows.length, "row")} of wishes (${shown}), ${WHY_DOUBTED[why]}.`;
    })
    .toArray();
}

const WHY_DOUBTED: Readonly<Record<DoubtedWish["why"], string>> = {
  changed: "changed in the database by somebody else",
  "of another key": "signed under another key than this Weir has (signing.key in its data folder)",
  unreadable: "not to be checked: the key in the data folder cannot be read",
};

/** @param of ids; default: all who have asked for it */
function namesOf({ wishes }: Candidate, of?: ReadonlySet<Author["id"]>): string {
  const asked = wishes.filter(({ asker }) => of?.has(asker) ?? true);
  const names = new Map<Author["id"], string>(asked.map(({ asker, askerName }) => [asker, askerName]));
  return [...names.values()].map(displayableLine).join(", ");
}
