import type { CommandAnswer } from "../../src/core/card.ts";
import type { Absence } from "../../src/core/entry.ts";
import type { GatewayPlace, KeptSession } from "../../src/core/gateway.ts";
import type { ChannelAddress } from "../../src/core/ids.ts";
import type {
  ChannelOnPlatform,
  ChannelPrivacy,
  ChannelRename,
  GapStep,
  InboundEvent,
  InboundMessage,
  Receipt,
  Server,
} from "../../src/core/message.ts";
import type {
  CatchUpLedger,
  ChannelPolicy,
  Gap,
  InboundCommand,
  PlatformInbox,
  SuggestedPrompt,
} from "../../src/platforms/platform.ts";

/** An inbox and its ledger, which remember what they were given, and answer as a log would. */
export class RecordingInbox implements PlatformInbox, CatchUpLedger {
  /** Every event that was taken, duplicates too. */
  readonly events: InboundEvent[] = [];
  readonly commands: InboundCommand[] = [];
  transcripts: PlatformInbox["transcripts"];
  /** What the next `receive` calls reject with; null: the call is taken. */
  readonly failures: (Error | null)[] = [];
  /** Called when an event was taken, before the receipt is on its way. */
  onEvent: (event: InboundEvent) => void = () => {};
  onCommand: (command: InboundCommand) => CommandAnswer | Promise<CommandAnswer> = ({ name }) =>
    `did ${name}`;
  readonly #seqs = new Map<string, number>();
  readonly #waiters: { count: number; resolve: () => void }[] = [];

  // oxlint-disable-next-line require-await -- an interface's method
  async receive(event: InboundEvent): Promise<Receipt> {
    const failure = this.failures.shift();
    if (failure instanceof Error) throw failure;
    this.events.push(event);
    const receipt = this.#receipt(event);
    this.onEvent(event);
    for (const { count, resolve } of this.#waiters) if (this.events.length >= count) resolve();
    return receipt;
  }

  /** Servers that the adapter has told of. */
  readonly servers: Server[] = [];

  async meetServers(_platform: string, list: () => Promise<readonly Server[]>): Promise<void> {
    this.servers.push(...(await list()));
  }

  /** What `promptsFor` answers. */
  prompts: readonly SuggestedPrompt[] = [];

  promptsFor(): readonly SuggestedPrompt[] {
    return this.prompts;
  }

  /** What was told of channels, by name. */
  readonly privacy = new Map<string, boolean>();
  /** When it became so, where the platform tells that. */
  readonly privacyAt = new Map<string, Date>();

  // oxlint-disable-next-line require-await -- an interface's method
  async meetChannels(_platform: string, channels: readonly ChannelPrivacy[]): Promise<void> {
    for (const { channel, isPrivate, at } of channels) {
      this.privacy.set(channel.name, isPrivate);
      if (at !== undefined) this.privacyAt.set(channel.name, at);
    }
  }

  async command(command: InboundCommand): Promise<CommandAnswer> {
    this.commands.push(command);
    return await this.onCommand(command);
  }

  /** What `policyOf` answers; a test sets it before it starts the platform. */
  policy: (channel: ChannelOnPlatform) => ChannelPolicy = () => ({
    isBound: true,
    listens: true,
    answersAll: false,
    isKnown: true,
  });
  /** People who may not say anything, by their ids. */
  readonly strangers = new Set<string>();
  /** What `openGaps` and `gapOf` tell. */
  gaps: readonly Gap[] = [];
  /** Gaps that were left open behind an id, by the channel's name. */
  readonly kept = new Map<string, string>();
  /** What `watermark` answers: the time up to which everything was received. */
  mark: Date | null = null;
  /** Channels whose gap was closed. */
  readonly closed: string[] = [];

  refuses({ author }: InboundMessage): boolean {
    return this.strangers.has(author.id);
  }

  // oxlint-disable-next-line require-await -- an interface's method
  async policyOf(channel: ChannelOnPlatform): Promise<ChannelPolicy> {
    return this.policy(channel);
  }

  /** Which gaps were asked for, in order. */
  readonly askedGaps: ("all" | "recorded")[] = [];

  // oxlint-disable-next-line require-await -- an interface's method
  async openGaps(_platform: string, which: "all" | "recorded" = "all"): Promise<readonly Gap[]> {
    this.askedGaps.push(which);
    return which === "all" ? this.gaps : this.gaps.filter(({ channel }) => this.kept.has(channel.name));
  }

  /** Ids that channels have since; a test may add some. */
  readonly renames: ChannelRename[] = [];

  // oxlint-disable-next-line require-await -- an interface's method
  async channelRenames(): Promise<readonly ChannelRename[]> {
    return [...this.renames];
  }

  // oxlint-disable-next-line require-await -- an interface's method
  async renameChannel(_platform: string, firstId: string, id: string): Promise<void> {
    this.renames.push({ id, firstId });
  }

  /** Places of connections, by shard. */
  readonly sessions = new Map<number, KeptSession>();

  // oxlint-disable-next-line require-await -- an interface's method
  async keptSession(_platform: string, shard: number): Promise<KeptSession | null> {
    return this.sessions.get(shard) ?? null;
  }

  // oxlint-disable-next-line require-await -- an interface's method
  async keepSession(_platform: string, place: GatewayPlace): Promise<boolean> {
    this.sessions.set(place.shard, { ...place, ageMs: 0 });
    return true;
  }

  // oxlint-disable-next-line require-await -- an interface's method
  async gapOf({ name }: ChannelAddress): Promise<Gap | null> {
    return this.gaps.find(({ channel }) => channel.name === name) ?? null;
  }

  // oxlint-disable-next-line require-await -- an interface's method
  async keepGap({ channel, afterId }: Gap): Promise<void> {
    this.kept.set(channel.name, afterId);
  }

  /** Steps by which gaps were filled, by the channel's name. */
  readonly steps: (GapStep & { readonly name: string })[] = [];
  /** What was said not to have been heard, by key. */
  readonly absences = new Map<string, Absence>();
  /** Channels that are being summarised. */
  readonly crowded = new Set<string>();

  // oxlint-disable-next-line require-await -- an interface's method
  async advanceGap({ name }: ChannelAddress, step: GapStep): Promise<void> {
    this.steps.push({ ...step, name });
    if (this.kept.get(name) === step.fromId) this.kept.set(name, step.toId);
  }

  // oxlint-disable-next-line require-await -- an interface's method
  async noteAbsence(_channel: ChannelOnPlatform, key: string, absence: Absence): Promise<void> {
    if (!this.absences.has(key)) this.absences.set(key, absence);
  }

  // oxlint-disable-next-line require-await -- an interface's method
  async hasMessage({ name }: ChannelAddress, id: string): Promise<boolean> {
    return this.#seqs.has(`${name}/${id}`);
  }

  isCrowded({ channel }: ChannelOnPlatform): boolean {
    return this.crowded.has(channel.name);
  }

  // oxlint-disable-next-line require-await -- an interface's method
  async watermark(): Promise<Date | null> {
    return this.mark;
  }

  // oxlint-disable-next-line require-await -- an interface's method
  async moveWatermark(_platform: string, _account: string, at: Date): Promise<void> {
    this.mark = this.mark === null || this.mark < at ? at : this.mark;
  }

  // oxlint-disable-next-line require-await -- an interface's method
  async closeGap({ name }: ChannelAddress): Promise<void> {
    this.closed.push(name);
  }

  // oxlint-disable-next-line require-await -- an interface's method
  async newestMessageIds({ name }: ChannelAddress, limit: number): Promise<readonly string[]> {
    const said = this.events.filter((event) => event.type === "message" && event.channel.name === name);
    return said
      .map(({ id }) => id)
      .toReversed()
      .slice(0, limit);
  }

  /** Resolves once at least so many events were taken. */
  async received(count: number): Promise<void> {
    if (this.events.length >= count) return;
    await new Promise<void>((resolve) => {
      this.#waiters.push({ count, resolve });
    });
  }

  /** `author: text` of the messages, in order. */
  get said(): string[] {
    return this.events.flatMap((event) =>
      event.type === "message" ? [`${event.author.name}: ${event.text}`] : [],
    );
  }

  #receipt(event: InboundEvent): Receipt {
    if (event.type !== "message") {
      const key = [...this.#seqs.keys()].find((known) => known.endsWith(`/${event.id}`));
      const seq = this.#seqs.get(key ?? "");
      return seq === undefined ? { outcome: "unknown_message" } : { outcome: "accepted", seq };
    }
    const key = `${event.channel.name}/${event.id}`;
    const known = this.#seqs.get(key);
    if (known !== undefined) return { outcome: "duplicate", seq: known };
    const seq = this.#seqs.size + 1;
    this.#seqs.set(key, seq);
    return { outcome: "accepted", seq };
  }
}
