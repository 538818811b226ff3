import type { Logger } from "pino";
import { BackoffTimer } from "../../async/backoff.ts";
import { steadyNow } from "../../async/clock.ts";
import { PollLoop } from "../../async/poll-loop.ts";
import { retryWrite } from "../../async/retry.ts";
import { errorMessage } from "../../core/errors.ts";
import { type AgentId, parseAddress } from "../../core/ids.ts";
import { OWN_AUTHOR } from "../../core/message.ts";
import type { ChannelRow } from "../../store/channels/channels.ts";
import { draftMessage, toAppended } from "../../store/log/message-rows.ts";
import type { DueReminder, PlacedSchedule, Reminder, ReminderStore } from "./reminder-store.ts";
import type { Store } from "../../store/store.ts";
import { nextOccurrence, pastOccurrences, MOST_COUNTED } from "../../async/occurrences.ts";
import type { TimeFormat } from "../../text/time.ts";
import type { Waker } from "../../channel/waker.ts";
import type { FeatureWorker, OpenParts, WorkParts } from "../feature.ts";
import { type Schedule, schedulesOf } from "./declaration.ts";
import type { ReminderDesk } from "./reminder-desk.ts";
import { displayName, sliceWhole } from "../../text/text.ts";

/** Longest time between two polls, ms: another daemon may have set a reminder and ended. */
const LOOK_MS = 3_600_000;
/** Interval between comparisons with the wall clock, ms: setting the clock, or a machine's sleep, moves no timer. */
const TICK_MS = 60_000;
/** Reminders read in one query. */
const PAGE = 100;
const BACKOFF = { fromMs: 1000, toMs: 60_000 };

/** A schedule of the configuration; its channel is an address. */
export interface ConfiguredSchedule extends Schedule {
  readonly agent: AgentId;
  readonly channel: string;
}

export interface ReminderClockParts {
  readonly reminders: ReminderStore;
  readonly store: Pick<Store, "channels">;
  readonly desk: ReminderDesk;
  readonly waker: Pick<Waker, "announce">;
  readonly log: Logger;
  readonly now: () => Date;
  readonly schedules: () => readonly ConfiguredSchedule[];
  /** Names of the platforms that are served. */
  readonly platforms: readonly string[];
  /** Whether this daemon can deliver to a channel now. */
  readonly serves: (channel: ChannelRow) => boolean;
  /** How often the clock is compared with the next reminder's time, ms; default: each minute. */
  readonly tickMs?: number;
  /** The time format of a channel's agent, and the delay up to which a reminder is late and not missed, ms. */
  readonly agentOf: (channel: ChannelRow) => { readonly time: TimeFormat; readonly graceMs: number };
}

export function createReminderClock({
  setup,
  platforms,
  platformOf,
  ...parts
}: OpenParts & WorkParts & Pick<ReminderClockParts, "reminders" | "desk">): ReminderClock {
  return new ReminderClock({
    ...parts,
    schedules: () =>
      setup().config.agents.flatMap((agent) =>
        schedulesOf(agent).map((one) => ({ ...one, agent: agent.id })),
      ),
    platforms: platforms.map(({ name }) => name),
    serves: ({ address }) => platformOf(address) !== undefined,
    agentOf({ agent }) {
      const { time, config: own } = setup().agents.of(agent).agent;
      return { time, graceMs: own.reminders.graceMs };
    },
  });
}

/**
 * Appends reminders to their channels when they are due. One timer, set for the next reminder; while none waits, it polls once an hour.
 * Due reminders follow from the rows, so a crash loses nothing, and exactly one of several daemons appends each occurrence.
 */
export class ReminderClock implements FeatureWorker, AsyncDisposable {
  readonly #parts: ReminderClockParts;
  readonly #again = new BackoffTimer(BACKOFF);
  #timer: NodeJS.Timeout | undefined;
  /** Time of the next known reminder; null: none waits. */
  #nextAt: Date | null = null;
  #lookedAt = 0;
  readonly #looks = new PollLoop(async () => this.#look());
  #isClosed = false;
  /** False: the schedules may differ from those in the database, or some wait for their channels. */
  #arePlaced = false;
  /** The last log message about that, to log each change once. */
  #placesTold = "";

  constructor(parts: ReminderClockParts) {
    this.#parts = parts;
    parts.desk.onSet = (at) => this.#set(at);
  }

  /** Starts the clock, and handles reminders that became due before. Returns at once. */
  start(): void {
    this.#looks.now();
  }

  /** The schedules may have changed: places them again. Returns at once. */
  reconfigured(): void {
    this.#arePlaced = false;
    this.#looks.now();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#again.cancel();
    await this.#looks[Symbol.asyncDispose]();
  }

  #set(at: Date): void {
    if (this.#nextAt === null || at < this.#nextAt) this.#nextAt = at;
    this.#arm();
  }

  #arm(): void {
    clearTimeout(this.#timer);
    if (this.#isClosed) return;
    const untilLook = this.#lookedAt + LOOK_MS - steadyNow();
    const untilNext =
      this.#nextAt === null
        ? Infinity
        : Math.min(this.#parts.tickMs ?? TICK_MS, this.#nextAt.getTime() - this.#parts.now().getTime());
    this.#timer = setTimeout(
      () => {
        const isDue = this.#nextAt !== null && this.#parts.now() >= this.#nextAt;
        if (isDue || steadyNow() >= this.#lookedAt + LOOK_MS) this.#looks.now();
        else this.#arm();
      },
      Math.max(0, Math.min(untilLook, untilNext)),
    ).unref();
  }

  /** Must not throw. */
  async #look(): Promise<null> {
    try {
      this.#lookedAt = steadyNow();
      if (!this.#arePlaced) await this.#placeAll();
      // One time for both queries: a reminder due between two times would be in neither.
      const at = this.#parts.now();
      const isWhole = await this.#tellDue(at);
      await this.#readNext(at);
      if (isWhole) this.#again.succeeded();
      else this.#again.schedule(() => this.#looks.now());
    } catch (error) {
      this.#parts.log.warn({ why: errorMessage(error), retryInMs: this.#again.waitMs }, "reminders_not_read");
      this.#again.schedule(() => this.#looks.now());
    }
    this.#arm();
    // The next poll has a timer of its own.
    return null;
  }

  async #readNext(at: Date): Promise<void> {
    const { reminders, platforms } = this.#parts;
    // A reminder that is set during the query sets it again.
    this.#nextAt = null;
    const next = await reminders.nextAt(platforms, at);
    if (next !== null) this.#set(next);
  }

  /** @returns false: at least one could not be appended; the others were */
  async #tellDue(at: Date): Promise<boolean> {
    const { reminders, platforms, log, serves } = this.#parts;
    let isWhole = true;
    for (let behind: number | undefined = 0; behind !== undefined && !this.#isClosed;) {
      const due: readonly DueReminder[] = await reminders.due(platforms, at, behind, PAGE);
      for (const reminder of due) {
        if (this.#isClosed) return true;
        if (!serves(reminder.channel)) continue;
        try {
          await this.#tell(reminder);
        } catch (error) {
          isWhole = false;
          log.warn({ reminder: reminder.id, why: errorMessage(error) }, "reminder_not_told_yet");
        }
      }
      behind = due.at(-1)?.id;
    }
    return isWhole;
  }

  async #tell(reminder: DueReminder): Promise<void> {
    const { reminders, waker, now, agentOf } = this.#parts;
    const { id, cron, timeZone, text, due, channel } = reminder;
    const at = now();
    const past = cron === null ? { last: due, before: 0 } : pastOccurrences({ cron, timeZone }, due, at);
    const next = cron === null ? null : nextOccurrence({ cron, timeZone }, at);
    const title = reminderTitle(
      reminder,
      { due: past.last, missed: past.before },
      { now: at, ...agentOf(channel) },
    );
    const draft = draftMessage({
      id: `reminder/${id}/${past.last.toISOString()}`,
      author: { id: OWN_AUTHOR, name: title, isBot: true },
      text,
      at,
      addressed: true,
    });
    const { result: fired, isRepeated } = await retryWrite(async () =>
      reminders.fire({ reminder, draft, next }),
    );
    const { seq, hasFired, isDue } = fired;
    // A daemon that appended an occurrence also wakes its channel.
    if (seq === null || !(hasFired || isRepeated)) return;
    waker.announce(channel.id, toAppended(draft, { seq, duplicate: !hasFired, due: isDue }));
  }

  async #placeAll(): Promise<void> {
    // Set before the work: `reconfigured` may reset it meanwhile.
    this.#arePlaced = true;
    let areAll = false;
    try {
      areAll = await this.#place();
    } finally {
      if (!areAll) this.#arePlaced = false;
    }
  }

  /**
   * Stores the schedules of the configuration for their channels, and logs changes.
   * @returns false: some wait for their channels
   */
  async #place(): Promise<boolean> {
    const { reminders, store, now, log } = this.#parts;
    const schedules = this.#parts.schedules();
    const placed: PlacedSchedule[] = [];
    const waiting: { agent: AgentId; schedule: string; channel: string; why: string | null }[] = [];
    for (const { channel, agent, ...schedule } of schedules) {
      const row = await store.channels.find(parseAddress(channel));
      const nextAt = nextOccurrence(schedule, now());
      const why =
        row === undefined
          ? "nobody has spoken there yet"
          : row.agent === agent
            ? null
            : `${row.agent} answers there`;
      if (row === undefined || nextAt === null || why !== null)
        waiting.push({ agent, schedule: schedule.name, channel, why });
      else placed.push({ ...schedule, agent, channel: row.id, nextAt });
    }
    await reminders.setSchedules(placed);
    const areAll = placed.length === schedules.length;
    const news = JSON.stringify([waiting, placed.map(({ nextAt: _nextAt, ...schedule }) => schedule)]);
    if (news === this.#placesTold) return areAll;
    this.#placesTold = news;
    for (const one of waiting) log.warn(one, "schedule_waits");
    for (const { agent, name, channel, nextAt } of placed)
      log.info({ agent, schedule: name, channel, nextAt }, "schedule_set");
    return areAll;
  }
}

/** Delay after which a reminder says that it is late, ms: the machine was asleep, or no daemon ran. */
const LATE_MS = 120_000;
const LONGEST_TITLE = 80;

/**
 * The title of an occurrence, in place of a person's name: `reminder 3, set by Ann, is due now`. Pure.
 * @param missed occurrences before it
 * @param graceMs delay up to which it counts as late, and after which it counts as missed
 */
function reminderTitle(
  { id, asker, schedule }: Pick<Reminder, "id" | "asker" | "schedule">,
  { due, missed }: { readonly due: Date; readonly missed: number },
  { now, graceMs, time }: { readonly now: Date; readonly graceMs: number; readonly time: TimeFormat },
): string {
  const lateMs = now.getTime() - due.getTime();
  const when =
    lateMs <= LATE_MS
      ? " is due now"
      : lateMs <= graceMs
        ? ` was due ${time.minute(due)}, late`
        : ` was missed at ${time.minute(due)}`;
  const count = missed >= MOST_COUNTED ? `${MOST_COUNTED} or more` : String(missed);
  const others = missed === 0 ? "" : `, ${count} missed before`;
  const kind = schedule === null ? `reminder ${id}` : "schedule ";
  const name = schedule ?? (asker === null ? "" : asker.name);
  const by = schedule === null && name !== "" ? ", set by " : "";
  const comma = by === "" ? "" : ",";
  const room = LONGEST_TITLE - kind.length - by.length - comma.length - when.length - others.length;
  return `${kind}${by}${sliceWhole(name === "" ? "" : displayName(name), 0, Math.max(0, room))}${comma}${when}${others}`;
}
