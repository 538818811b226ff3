import { pause } from "../async/clock.ts";
import { withDeadline } from "../async/deadline.ts";
import { besideCluster } from "../daemon/cluster.ts";
import { buildDaemon, type Daemon } from "../daemon/daemon.ts";
import type { Receipt } from "../core/message.ts";
import { aborted, assertWhole, type CommonOptions, type Io, say } from "./shared/io.ts";
import { openLog, readConfig } from "./shared/open.ts";
import { Progress, Spinner } from "./shared/progress.ts";
import { type Recording, readRecording } from "./replay/recording.ts";
import { ReplayTally } from "./replay/replay-tally.ts";
import { findAgent } from "./start.ts";
import { bindPlatform } from "../router/bindings.ts";
import { QuietPlatform } from "../platforms/absent-platform.ts";
import { PLATFORM_NAME } from "../platforms/terminal/intake.ts";

/** How long the end waits for compactions, ms; and without a word. */
const MAX_WAIT_MS = 60_000;
const QUIET_AT_ONCE_MS = 50;

type ReplayOptions = CommonOptions & {
  readonly channel?: string;
  readonly agent?: string;
  readonly replyEvery: number;
  readonly speed: "max" | "real";
};

/**
 * `weir replay FILE`: sends recorded messages through the same pipeline as live ones. Every N-th of a channel asks for a reply;
 * at full speed the next message waits for that reply, so that runs can be compared. A killed replay continues where it was:
 * messages that the log has are not appended again.
 */
export async function replay(io: Io, file: string, options: ReplayOptions): Promise<void> {
  const config = readConfig(io, options);
  const agent = findAgent(config, options.agent);
  const recording = readRecording(file, { channel: options.channel, replyEvery: options.replyEvery });
  const log = openLog(io, config, config.log.level === "info" ? "error" : config.log.level);
  const platform = new ReplayPlatform(new Set(recording.messages.map(({ channel }) => channel.name)));
  const bindings = [bindPlatform(platform.name, agent)];
  // Answers and summaries stand between messages of their own time.
  const clock = { at: recording.messages[0]?.at ?? new Date() };
  const now = (): Date => clock.at;
  const cluster = besideCluster(config);
  await using daemon = await buildDaemon({
    config,
    log,
    platforms: () => [platform],
    bindings,
    now,
    cluster,
  });
  if (daemon.models.isOffline) io.stderr.write(`${daemon.models.describe()}\n`);
  const tally = new ReplayTally();
  daemon.events.on((event) => {
    tally.count(event);
    if (event.type === "turn_settled") platform.settled(event.inReplyTo);
  });
  await daemon.open();
  const progress = new Progress(io.stderr, recording.messages.length);
  const shutdown = AbortSignal.any([io.shutdown, daemon.lost]);
  await run(shutdown, daemon, platform, recording, { speed: options.speed, tally, progress, clock });
  progress.end();
  await untilCompacted({ ...io, shutdown }, daemon);
  daemon.lost.throwIfAborted();
  say(io, tally.table({ stopped: io.shutdown.aborted, skippedLines: recording.skipped }));
  assertWhole(io, "run this again, and it goes on from here");
}

interface Run {
  readonly speed: "max" | "real";
  readonly tally: ReplayTally;
  readonly progress: Progress;
  /** The time in the recording. */
  readonly clock: { at: Date };
}

async function run(
  shutdown: AbortSignal,
  daemon: Daemon,
  platform: ReplayPlatform,
  recording: Recording,
  parts: Run,
): Promise<void> {
  const { speed, tally, progress, clock } = parts;
  let before: Date | null = null;
  for (const message of recording.messages) {
    if (shutdown.aborted) return;
    if (speed === "real" && before !== null) {
      const waitMs = Math.max(0, message.at.getTime() - before.getTime());
      await pause(waitMs, shutdown);
    }
    before = message.at;
    clock.at = message.at;
    const answered = message.addressed ? platform.untilSettled(message.id) : null;
    const receipt: Receipt = await daemon.inbox.receive(message);
    tally.receipt(receipt);
    progress.step();
    // Messages of an earlier run are answered independently: by that run, or by the resumed work.
    if (receipt.outcome !== "accepted") platform.forget(message.id);
    else if (speed === "max" && answered !== null) await Promise.race([answered, aborted(shutdown)]);
  }
  await Promise.race([platform.allSettled(), aborted(shutdown)]);
}

/** Summaries that are under way belong to the picture: waits for them, within reason. */
async function untilCompacted(io: Io, daemon: Daemon): Promise<void> {
  if (io.shutdown.aborted) return;
  const quiet = daemon.registry.compactionsIdle().then(() => true);
  if ((await withDeadline(quiet, QUIET_AT_ONCE_MS)) === true) return;
  using _line = new Spinner(io.stderr, "waiting for the last summaries");
  await withDeadline(quiet, MAX_WAIT_MS, io.shutdown);
}

/** Accepts replies and drops them: a replay is about the pipeline. */
class ReplayPlatform extends QuietPlatform {
  readonly #waiting = new Map<string, PromiseWithResolvers<void>>();

  constructor(channels: ReadonlySet<string>) {
    const serves: QuietPlatform["capabilities"]["serves"] = ({ platform, name }) =>
      platform === PLATFORM_NAME && channels.has(name);
    super(PLATFORM_NAME, { isHere: true, serves });
  }

  /** Resolves when the turn that owns the message is settled. */
  async untilSettled(messageId: string): Promise<void> {
    const waiting = Promise.withResolvers<void>();
    this.#waiting.set(messageId, waiting);
    return waiting.promise;
  }

  async allSettled(): Promise<void> {
    await Promise.all([...this.#waiting.values()].map(async ({ promise }) => promise));
  }

  settled(messageIds: readonly string[]): void {
    for (const id of messageIds) this.forget(id);
  }

  forget(messageId: string): void {
    this.#waiting.get(messageId)?.resolve();
    this.#waiting.delete(messageId);
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    for (const id of this.#waiting.keys()) this.forget(id);
  }
}
