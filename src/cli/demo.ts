import path from "node:path";
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { withDeadline } from "../async/deadline.ts";
import { KnownSecrets } from "../admin/secrets.ts";
import { readVersion } from "../admin/version.ts";
import { isColourUnwanted, loadConfig } from "../config/load.ts";
import { buildDaemon, type Daemon } from "../daemon/daemon.ts";
import { createOfflineModel } from "../llm/offline/offline-model.ts";
import { bindPlatform } from "../router/bindings.ts";
import { DEMO_CHANNEL, DemoPlatform } from "./demo/demo-platform.ts";
import { Keys } from "./demo/keys.ts";
import { MENTION, Performance } from "./demo/performance.ts";
import { SlowSummaries } from "./demo/slow-summaries.ts";
import { Stage } from "./demo/stage.ts";
import { readRecording } from "./replay/recording.ts";
import { findAgent } from "./start.ts";
import { type Io, say } from "./shared/io.ts";
import { openLog } from "./shared/open.ts";
import { Spinner } from "./shared/progress.ts";
import { weirCommand } from "../files/installation.ts";
import type { Config } from "../config/config.ts";

interface DemoOptions {
  /** A multiple of the speed at which it is made to be watched; Infinity: without waits. */
  readonly speed: number;
  readonly color: boolean;
}

const RECORDING = path.join(import.meta.dirname, "demo", "recording.jsonl");
const MAX_WAIT_MS = 60_000;

const OPENING = `Five people plan a week in a mountain hut, from March to September, in 400
messages. Weir reads along, and answers when it is asked. Its window is small
here, so that it fills while you watch. This is the real engine on a throwaway
database. The model is the built-in stand-in: it only quotes, and its summaries
take as long as those of a model.
`;
const NEXT = `
Nothing of this is left on this machine. To go on:
  ${weirCommand("init")}    asks for your model and chat platform, and writes the configuration
  ${weirCommand("chat")}    talks to an agent right away, if need be with the stand-in
`;

/**
 * `weir demo`: a recorded conversation through the whole engine, with explanations. It neither reads nor changes the
 * operator's configuration and data, and it leaves nothing behind, also after Ctrl-C.
 */
export async function demo(io: Io, options: DemoOptions): Promise<void> {
  say(io, OPENING);
  const end = await perform(io, options);
  say(io, end === null ? "\nStopped. Nothing of this is left on this machine." : `\n${end}\n${NEXT}`);
}

/** @returns the figures; null: it was stopped */
async function perform(io: Io, { speed, color }: DemoOptions): Promise<string | null> {
  const recording = readRecording(RECORDING, { channel: DEMO_CHANNEL.name, replyEvery: 0 });
  const messages = recording.messages.map((one) => ({ ...one, addressed: one.text.startsWith(MENTION) }));
  using folder = makeThrowawayFolder(io.onExit);
  const hasColour = io.stdout.isTTY && color && !isColourUnwanted();
  const stage = new Stage({ stream: io.stdout, hasColour, speed, messages: messages.length });
  using keys = new Keys(io.stdin, (isPaused) => (stage.isPaused = isPaused));
  const slow = new SlowSummaries(createOfflineModel());
  const performance = new Performance({ stage, slow, speed });
  const platform = new DemoPlatform((message) => performance.sent(message));
  await using page = await openPage(io, folder);
  await using daemon = await start(io, folder, { platform, slow, now: () => performance.now });
  const ending = AbortSignal.any([io.shutdown, daemon.lost, keys.quit]);
  page?.show(daemon);
  stage.open();
  try {
    await performance.play(daemon, messages, { ending, running: async () => keys.running() });
    slow.end();
    // The end shows what became of the summaries under way.
    if (!ending.aborted) await withDeadline(daemon.registry.compactionsIdle(), MAX_WAIT_MS, ending);
    daemon.lost.throwIfAborted();
    return ending.aborted ? null : await performance.figures(daemon);
  } finally {
    await performance.settled();
    stage.close();
  }
}

async function start(
  io: Io,
  { config }: ThrowawayFolder,
  parts: { readonly platform: DemoPlatform; readonly slow: SlowSummaries; readonly now: () => Date },
): Promise<Daemon> {
  using _ = new Spinner(io.stderr, "making a throwaway database");
  const { platform, slow, now } = parts;
  const daemon = await buildDaemon({
    config,
    log: openLog(io, config, "error"),
    platforms: () => [platform],
    bindings: [bindPlatform(platform.name, findAgent(config, undefined))],
    standIn: slow.model,
    now,
  });
  await daemon.open();
  return daemon;
}

interface DemoPage extends AsyncDisposable {
  /** Prints an address that signs in. */
  show(daemon: Daemon): void;
}

/** Serves the page. @returns null: it cannot listen, and the demo goes on without it */
async function openPage(io: Io, { config }: ThrowawayFolder): Promise<DemoPage | null> {
  const [{ startHttpService }, { createMonitor }, { signInAddress }, { findPageKey }] = await Promise.all([
    import("../daemon/http/service.ts"),
    import("../daemon/metrics/metrics.ts"),
    import("../daemon/http/page/address.ts"),
    import("../daemon/http/token.ts"),
  ]);
  const { http, database } = config;
  if (http === null) return null;
  const version = readVersion();
  const parts = { monitor: createMonitor(version), log: openLog(io, config, "error") };
  const options = { config, http, version, secrets: KnownSecrets.of(config), ...parts };
  const service = await startHttpService(options).catch(() => null);
  const key = findPageKey(database.dataDir);
  if (service === null || service.page === null || key === null) return null;
  const { page } = service;
  return {
    show(daemon) {
      for (const watcher of [parts.monitor, service]) watcher.watch(daemon);
      const address = signInAddress(page, key, Date.now());
      say(io, `To see it in a browser, open this within a minute:\n  ${address}\n`);
    },
    [Symbol.asyncDispose]: async () => service[Symbol.asyncDispose](),
  };
}

/**
 * Small, so that 400 messages fill it several times. Summaries are not written ahead, so that each threshold shows when it acts;
 * and a paused demo must not run into the deadline of a summary.
 */
const CONFIG = `[database]
data_dir = "."
[[agents]]
id = "weir"
model = "offline"
context_window = 6000
max_output_tokens = 800
generation_reserve = 200
[agents.compaction]
write_ahead = false
deadline_ms = 3600000
`;

/** A home that lasts as long as the demo. Disposing it removes the folder with all that is in it. */
interface ThrowawayFolder extends Disposable {
  readonly config: Config;
}

/**
 * Makes a home of its own among the temporary files. It reads nothing of the operator's: no config.toml, no variable.
 * @param onExit see `Io`
 */
function makeThrowawayFolder(onExit: Io["onExit"]): ThrowawayFolder {
  const folder = mkdtempSync(path.join(realpathSync(tmpdir()), "weir-demo-"));
  const remove = (): void => rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  onExit(remove);
  writeFileSync(path.join(folder, "config.toml"), CONFIG);
  return { config: loadConfig({ cwd: folder, env: {} }), [Symbol.dispose]: remove };
}
