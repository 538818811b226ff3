import { randomUUID } from "node:crypto";
import { retryWrite } from "../../async/retry.ts";
import type { Seq } from "../../core/ids.ts";
import type { InboundMessage } from "../../core/message.ts";
import {
  MOST_OF_PERSON,
  MOST_REMINDERS,
  type ReminderPlan,
  type ReminderRefusal,
  type AskedInTurn,
  type ReminderStore,
} from "./reminder-store.ts";
import type { ChannelRow } from "../../store/channels/channels.ts";
import { describeRecurrence } from "../../text/recurrences.ts";
import { createTimeFormat } from "../../text/time.ts";
import { ReminderProblem } from "./reminder-plan.ts";

const WHY_NOT: Readonly<Record<ReminderRefusal, string>> = {
  gone: "Nothing is set: the message that asked for it was taken back.",
  changed: "Nothing is set: a message was edited or deleted meanwhile. Look at the conversation again first.",
  full: `Nothing is set: ${MOST_REMINDERS} reminders wait here, and no more may. One of them must be cancelled first.`,
  full_for_person: `Nothing is set: ${MOST_OF_PERSON} reminders of the same person wait here, and no more may. One of them must be cancelled first.`,
  soon: "Nothing is set: what follows on a reminder comes five minutes later at the soonest.",
};

/** Sets reminders for turns and commands, and notifies the reminder clock. */
export class ReminderDesk {
  readonly store: ReminderStore;
  readonly #now: () => Date;
  /** Called with the first time of a new reminder. */
  onSet: (at: Date) => void = () => undefined;

  constructor(store: ReminderStore, now: () => Date) {
    this.store = store;
    this.#now = now;
  }

  get now(): Date {
    return this.#now();
  }

  /**
   * Sets a reminder for a running turn. @returns the tool result for its model
   * @throws ReminderProblem if it is refused
   */
  async setInTurn(asked: AskedInTurn, plan: ReminderPlan): Promise<string> {
    const key = `turn/${asked.turn}/${randomUUID()}`;
    const now = this.#now();
    const { result } = await retryWrite(async () => this.store.addInTurn(asked, plan, key, now));
    if (result.refused !== null) throw new ReminderProblem(WHY_NOT[result.refused]);
    this.onSet(plan.at);
    return settingOf(result.id, plan);
  }

  /**
   * Sets a reminder for a command, and logs the command's message. @returns the reply, and the id and seq from the store
   * @throws ReminderProblem if it is refused
   */
  async setByCommand(
    channel: ChannelRow,
    message: InboundMessage,
    plan: ReminderPlan,
  ): Promise<{ readonly told: string; readonly id: number; readonly seq: Seq }> {
    const now = this.#now();
    const { result } = await retryWrite(async () => this.store.addByCommand(channel.id, message, plan, now));
    if (result.refused !== null) throw new ReminderProblem(WHY_NOT[result.refused]);
    this.onSet(plan.at);
    const { id, seq } = result;
    return { told: settingOf(id, plan), id, seq };
  }
}

/** `Reminder 3 is set: Tuesday 2026-12-01 09:00 Europe/Berlin.` */
function settingOf(id: number, { at, cron, timeZone }: ReminderPlan): string {
  const first = createTimeFormat(timeZone).full(at);
  return cron === null
    ? `Reminder ${id} is set: ${first}.`
    : `Reminder ${id} is set: first on ${first}, then ${describeRecurrence(cron)}.`;
}
