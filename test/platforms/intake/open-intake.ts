import { pino } from "pino";
import type { ChannelOnPlatform, InboundEvent, Receipt } from "../../../src/core/message.ts";
import { Intake, type IntakeParts } from "../../../src/platforms/intake/intake.ts";
import { RecordingInbox } from "../recording-inbox.ts";
import { HOME, ScriptedHistory } from "./scripted-history.ts";

export const HOUR_MS = 3_600_000;

/** An intake over a past that a test writes. */
export function open(options: Partial<IntakeParts> & { pageSize?: number } = {}): {
  inbox: RecordingInbox;
  history: ScriptedHistory;
  intake: Intake;
  /** What the log got, as `+id` heard, `*id` asked, `~id` changed, `-id` taken back. */
  got: () => string[];
} {
  const inbox = new RecordingInbox();
  const history = new ScriptedHistory(options.pageSize ?? 10);
  const intake = new Intake({
    platform: "chat",
    account: async () => Promise.resolve("bot"),
    inbox,
    ledger: inbox,
    history,
    log: pino({ level: "silent" }),
    catchUpMaxAgeMs: HOUR_MS,
    now: () => new Date(1_000_000 + HOUR_MS),
    backOff: { fromMs: 5, toMs: 20 },
    ...options,
  });
  const sign = { edit: "~", deletion: "-", channel_deletion: "!" } as const;
  const got = (): string[] =>
    inbox.events.map((event) =>
      event.type === "message"
        ? `${event.addressed && event.isBackground !== true ? "*" : "+"}${event.id}`
        : `${sign[event.type]}${event.id}`,
    );
  return { inbox, history, intake, got };
}

/** The room may have more behind this message. */
export const gapAfter = (id: number): typeof HOME & { afterId: string } => ({ ...HOME, afterId: String(id) });

/** Hands in an event that is read already. */
export async function hand(
  intake: Intake,
  event: InboundEvent,
  home: ChannelOnPlatform,
): Promise<Receipt | undefined> {
  const { name } = home.channel;
  const receipts = await intake.hand({
    lane: name,
    read: async () => Promise.resolve([{ event, home }]),
    kind: event.type === "message" ? "message" : "change",
    name,
    where: async () => Promise.resolve([home]),
    isFetchedIfUnread: event.type === "message",
  });
  return receipts?.[0];
}
