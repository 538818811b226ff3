import type { MessageFate, SettlingTurn } from "../../store/turns/message-fate.ts";
import type { Refusal, RefusalReason } from "../../router/refusals.ts";
import { displayableLine, firstWords } from "../../text/displayable.ts";
import type { TimeFormat } from "../../text/time.ts";

/** Why a person's last message has no answer: from facts to one reason, and to words. Pure. */

/** The known facts about a person's last message in a channel. */
export interface LastMessageFacts {
  /** The message in the log; null: the log has no such message. */
  readonly logged: MessageFate | null;
  /** The newest message that was refused a turn, if this process knows one. */
  readonly refusal: Refusal | null;
  /** The outcome of the hand-off that ended its turn; null: there was no hand-off. */
  readonly handedOver: { readonly to: string; readonly reason: Unanswered | null } | null;
  /** What its turn still waits for, as the end of a sentence about the message; null: nothing. */
  readonly waitsFor: string | null;
  /** A period of lost messages, later than all known messages of the person and all answers. */
  readonly lost: { readonly from: Date; readonly to: Date } | null;
  /** Why the model chose not to answer, if this process knows it. */
  readonly skipReason: string | null;
  /** The binding of the channel answers only what is meant for it. */
  readonly isMentionRequired: boolean;
  /** When the newest turn of the channel failed; null: it did not. */
  readonly lastFailureAt: Date | null;
  readonly now: Date;
}

/** Why a message has no answer. */
export type Unanswered =
  /** The router refused it a turn. */
  | { readonly kind: RefusalReason; readonly isRead: boolean; readonly isEdited: boolean }
  /** It was only read, for a reason that is no longer known. */
  | { readonly kind: "only_read" }
  | { readonly kind: "read_late" }
  | { readonly kind: "lost"; readonly from: Date; readonly to: Date }
  | { readonly kind: "deleted" }
  | { readonly kind: "skipped"; readonly reason: string | null }
  | { readonly kind: "stopped" }
  | { readonly kind: "reset" }
  | { readonly kind: "too_many_calls" }
  | { readonly kind: "spent"; readonly purse: "agent" | "channel" | "person" | "unknown" }
  | {
      readonly kind: "failed";
      readonly at: Date;
      /** No turn of the channel has ended later. */
      readonly isLast: boolean;
      readonly notice: string | null;
      readonly reason: string | null;
    }
  /** Its turn has ended, and something of it waits: the end of a sentence. */
  | { readonly kind: "waits"; readonly what: string }
  | { readonly kind: "undelivered"; readonly isPending: boolean }
  | { readonly kind: "answering"; readonly since: Date; readonly attempts: number }
  | { readonly kind: "queued"; readonly since: Date | null }
  | { readonly kind: "handed_over"; readonly to: string; readonly outcome: Unanswered | null };

/** An answer still pending this long after its turn ended is reported as undelivered, ms. */
const SOON_MS = 10_000;
const SPENT = /^the budget of the (?<purse>agent|channel|person) is spent/;

/** @returns null: it was answered, or nothing is known about it */
export function whyUnanswered(facts: LastMessageFacts): Unanswered | null {
  const { logged, refusal, lost } = facts;
  if (lost !== null) return { kind: "lost", ...lost };
  if (
    refusal !== null &&
    (logged === null || refusal.messageId === logged.messageId || refusal.at > logged.at)
  )
    return refused(refusal, logged);
  if (logged === null) return null;
  if (!logged.isAddressed) return whyOnlyRead(logged, facts);
  if (!logged.isSettled) return logged.isDeleted ? { kind: "deleted" } : whyWaiting(logged);
  return logged.turn === null ? { kind: "reset" } : whySettled(logged, logged.turn, facts);
}

function refused({ messageId, why }: Refusal, logged: MessageFate | null): Unanswered {
  const isLogged = logged?.messageId === messageId;
  if (isLogged && logged.isDeleted) return { kind: "deleted" };
  return { kind: why, isRead: isLogged, isEdited: isLogged && logged.isEdited };
}

/** No row says why: it follows from how the message came in, and from the binding in force. */
function whyOnlyRead(
  { isDeleted, isUnheard, isLate, isEdited }: MessageFate,
  { isMentionRequired }: LastMessageFacts,
): Unanswered {
  if (isDeleted) return { kind: "deleted" };
  if (isUnheard) return { kind: "not_allowed", isRead: true, isEdited };
  if (isLate) return { kind: "read_late" };
  return isMentionRequired ? { kind: "not_addressed", isRead: true, isEdited } : { kind: "only_read" };
}

function whyWaiting({ running }: MessageFate): Unanswered {
  if (running === null) return { kind: "queued", since: null };
  const { startedAt, attempts, isOfMessage } = running;
  return isOfMessage
    ? { kind: "answering", since: startedAt, attempts }
    : { kind: "queued", since: startedAt };
}

function whySettled(
  { isDeleted }: MessageFate,
  turn: SettlingTurn,
  { handedOver, waitsFor, skipReason, lastFailureAt, now }: LastMessageFacts,
): Unanswered | null {
  const { state, reason, settledAt: at, delivery } = turn;
  const isSlow = delivery === "pending" && now.getTime() - at.getTime() > SOON_MS;
  if (state === "answered" && (delivery === "failed" || isSlow))
    return { kind: "undelivered", isPending: isSlow };
  if (handedOver !== null) return { kind: "handed_over", to: handedOver.to, outcome: handedOver.reason };
  if (waitsFor !== null) return { kind: "waits", what: waitsFor };
  if (state === "answered") return null;
  if (isDeleted) return { kind: "deleted" };
  if (state === "skipped") return { kind: "skipped", reason: turn.isChanged ? null : skipReason };
  if (state === "stopped") return { kind: reason === null ? "stopped" : "too_many_calls" };
  const purse = SPENT.exec(reason ?? "")?.groups?.["purse"];
  if (purse === undefined) {
    const isLast = lastFailureAt?.getTime() === at.getTime();
    return { kind: "failed", at, isLast, notice: turn.notice, reason };
  }
  // Another person's budget must not be revealed to the asker.
  if (purse === "person") return { kind: "spent", purse: turn.isAskersOwn ? "person" : "unknown" };
  return { kind: "spent", purse: purse === "channel" ? "channel" : "agent" };
}

/** Shown characters of a model's reason. */
const MOST_OF_REASON = 300;

interface Words {
  readonly time: Pick<TimeFormat, "minute">;
  readonly now: Date;
  /** Says more of a failure to a named owner; "" to others. */
  readonly explain: (reason: string | null) => string;
}

/** @param at when the message was said; null: that is not shown */
export function describeUnanswered(why: Unanswered, at: Date | null, words: Words): string {
  if (why.kind === "lost" || isLastFailure(why)) return describe(why, words);
  const when = at === null ? "" : `, from ${words.time.minute(at)},`;
  return `Your last message here${when} ${describe(why, words)}`;
}

function isLastFailure(why: Unanswered): boolean {
  return why.kind === "failed" && why.isLast;
}

function describe(why: Unanswered, words: Words): string {
  const { time, now } = words;
  const forSeconds = (since: Date): string =>
    `for ${(Math.max(0, now.getTime() - since.getTime()) / 1000).toFixed(1)} s now`;
  switch (why.kind) {
    case "unbound":
      return "has no answer: nobody answered in this channel then, and it was not read.";
    case "bot":
      return "has no answer: I take nothing here that a bot says.";
    case "not_allowed":
      return `has no answer: you were not one of those whom I answer here, by allow_users and allow_roles. ${readOrNot(why)}`;
    case "not_let_in":
      return "has no answer: you were not let in yet, and it was not read. Please say it again.";
    case "not_addressed":
      return (
        `has no answer: it was not meant for me. Here I answer what mentions me or replies to me. ${readOrNot(why)}` +
        (why.isEdited ? " A mention that an edit adds asks for nothing." : "")
      );
    case "too_often":
      return `has no answer: you had asked more than I may answer in a minute. ${readOrNot(why)} Please ask again.`;
    case "too_old":
      return "has no answer: I was away when it was said, or not here yet, and it was too old to be answered when I came to read it. Please ask again.";
    case "read_late":
      return "has no answer: I came to read it some time after it was said. Of such messages I answer those that are meant for me, and not too old. Please ask again.";
    case "only_read":
      return "has no answer: I only read it. It was too old when I came to read it, or you had asked more than I may answer in a minute. Please ask again.";
    case "lost":
      return `What was said here from ${time.minute(why.from)} to ${time.minute(why.to)} has not reached me: I was away. If you asked something then, please say it again.`;
    case "deleted":
      return "was deleted, so I have not answered it.";
    case "skipped":
      return why.reason === null
        ? "has no answer: the model chose not to answer. Its reason is not kept."
        : `has no answer: the model chose not to answer. Its reason: ${firstWords(why.reason, MOST_OF_REASON)}`;
    case "stopped":
      return "has no whole answer: somebody stopped me with /stop.";
    case "reset":
      return "has no answer: the conversation was reset first.";
    case "too_many_calls":
      return "has no whole answer: it had taken the most calls of the model that are allowed. Please ask again, in smaller steps.";
    case "spent":
      return `has no answer: ${PURSES[why.purse]}. Please ask again tomorrow.`;
    case "failed": {
      const said = why.notice === null || why.notice === "" ? "" : ` I said: ${displayableLine(why.notice)}`;
      const head = why.isLast ? "My last turn here" : "has no answer: my turn";
      return `${head} failed, at ${time.minute(why.at)}.${said}${words.explain(why.reason)}`;
    }
    case "waits":
      return why.what;
    case "undelivered":
      return why.isPending
        ? "is answered: the answer is on its way to the platform."
        : "is answered, but the platform did not take the answer. Please ask again.";
    case "answering":
      return `is being answered by the model and its tools, ${forSeconds(why.since)}${why.attempts > 1 ? `, in attempt ${why.attempts}` : ""}.`;
    case "queued":
      return why.since === null
        ? "waits for an answer: it comes next."
        : `waits behind another answer, which is being written ${forSeconds(why.since)}.`;
    case "handed_over": {
      const head = `was handed over to ${displayableLine(why.to)}`;
      if (why.outcome === null) return `${head}.`;
      const rest = describe(why.outcome, words);
      return isLastFailure(why.outcome) ? `${head}. ${rest}` : `${head}: there it ${rest}`;
    }
  }
}

const PURSES = {
  agent: "what I may spend today was used up",
  channel: "what I may spend here today was used up",
  person: "what I may spend on your questions today was used up",
  unknown: "a budget was used up",
} as const;

function readOrNot({ isRead }: { readonly isRead: boolean }): string {
  return isRead ? "I have read it." : "I have not read it.";
}
