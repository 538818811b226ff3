import { mkdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { decide } from "../../src/compactor/policy/policy.ts";
import { formatAddress } from "../../src/core/ids.ts";
import { withDeadline } from "../../src/async/deadline.ts";
import { Database } from "../../src/store/database/database.ts";
import type { Connection } from "../../src/store/database/queryable.ts";
import { createStore, type Store } from "../../src/store/store.ts";
import { TAKEN_OUT } from "../../src/store/deletion/carriers/summaries.ts";
import { DeletedTexts } from "./checks/i12-deleted.ts";
import { differences } from "./checks/i9-fold.ts";
import { checkRows } from "./checks/rows.ts";
import { Chat } from "./chat.ts";
import { Deeds } from "./deeds.ts";
import { FoldDatabase } from "./fold-database.ts";
import { Incarnation } from "./incarnation.ts";
import { Findings, Ledger, type Versions } from "./ledger.ts";
import { ModelScript } from "./model-script.ts";
import type { Mutant } from "./mutants/mutant.ts";
import { observe, type View } from "./observe.ts";
import { AGENT, makeProfile, OFF, type Profile, reloadedProfile, SECOND_AGENT } from "./profile.ts";
import { WATCH_REMINDER_ENDS } from "./reminder-rows.ts";
import { INDEX_DELETED } from "./subagent-rows.ts";
import { RetryDelays } from "./retry-delays.ts";
import { ActivitySignal } from "./activity-signal.ts";
import { DOUBT_MS } from "./quiet.ts";
import { Random } from "./random.ts";
import type { Latencies } from "./sim/latencies.ts";
import type { Trace } from "./sim/trace.ts";
import { START } from "./sim/virtual-time.ts";
import { isGuestIn, isThreadOf, PLANS, type Room, roomShown } from "./rooms.ts";
import { newTally, type Tally } from "./tally.ts";
import { Witness } from "./witness.ts";
import { FEATURE_ROWS } from "../../src/features/stored.ts";

const STEP_MS = 20_000;
/** Connections that nothing holds are closed by then, ms. */
const RELEASED_WITHIN_MS = 2000;
/** More than the incarnations of a run have under way at once. */
const CONNECTIONS = 5;

/** What makes a run that can be had again. */
export interface Simulated {
  readonly latencies: Latencies;
  readonly trace: Trace;
}

/** Of the same length in each process: what a prompt names moves thresholds. */
function realAgentsDir(): string {
  return join(tmpdir(), `weir-fuzz-${String(process.pid).padStart(7, "0")}`);
}

/** All of one run: the database, the incarnations, the scripts, and what was seen of them. */
export class World implements AsyncDisposable {
  readonly findings = new Findings();
  readonly activity = new ActivitySignal();
  readonly retryDelays = new RetryDelays();
  readonly rooms: Room[] = [];
  readonly script: ModelScript;
  readonly chat = new Chat();
  readonly tally: Tally = newTally();
  readonly incarnations: Incarnation[] = [];
  readonly probe: Database;
  readonly deleted: DeletedTexts;
  readonly deeds: Deeds;
  readonly #shared: Database;
  readonly #probeStore: Store;
  readonly #foldStore: Store;
  readonly #connection: Connection;
  readonly #seed: number;
  readonly #ratio: number;
  readonly #mutant: Mutant | null;
  readonly #isStreaming: boolean;
  readonly #witness: Witness;
  #unpatch: (() => void) | undefined;
  readonly #profiles = new Set<Profile>();
  readonly #simulated: Simulated | null;
  readonly #agentsDir: string;
  #time = START;
  /** When the last two steps began. */
  #marked: readonly [number, number] = [this.#time, this.#time];
  profile: Profile;
  /** The incarnations race for the channels. */
  isRacing = false;
  /** There were two incarnations since the last start of one alone. */
  hadRivals = false;
  /** Attempts that a deadline has ended. */
  missedDeadlines = 0;
  /** Channels of which the owner that is left has not heard yet that another one had them meanwhile. */
  readonly unaware = new Set<string>();

  /** @param simulated null: real time passes */
  constructor(
    connection: Connection,
    seed: number,
    mutant: Mutant | null,
    simulated: Simulated | null = null,
  ) {
    const random = new Random(seed * 7 + 1);
    const log = pino({ level: "silent" });
    this.#connection = connection;
    this.#seed = seed;
    this.#mutant = mutant;
    this.#simulated = simulated;
    this.#agentsDir = simulated === null ? realAgentsDir() : "agents";
    this.findings.onNote = (what) => simulated?.trace.add(what);
    const usuallyStreams = random.chance(0.3);
    this.#isStreaming = mutant?.isStreaming ?? usuallyStreams;
    this.chat.hasRivals = () => this.hadRivals;
    this.probe = new Database(connection, log, { maxConnections: 2 });
    this.deleted = new DeletedTexts(this.probe);
    this.deeds = new Deeds({
      probe: this.probe,
      roomOf: (marker) => this.roomOf(marker),
      isSole: (one, room) => this.isSole(one, room),
    });
    this.#shared = new Database(connection, log, { maxConnections: CONNECTIONS });
    this.#probeStore = createStore(this.probe, FEATURE_ROWS);
    this.#foldStore = createStore(new FoldDatabase(connection, this.probe), FEATURE_ROWS);
    const usual = random.pick([null, 1, 1.2, 0.85]);
    const ratio = mutant?.ratio ?? usual;
    this.#ratio = ratio ?? 1;
    this.profile = makeProfile(seed, 0);
    this.#profiles.add(this.profile);
    this.#witness = new Witness(this);
    this.script = new ModelScript({
      ratio,
      isOfGuest: (prompt) => {
        const room = roomShown(this.rooms, prompt);
        return room !== undefined && isGuestIn(room, prompt.by);
      },
      replyTo: (marker) => this.roomOf(marker)?.ledger.byMarker.get(marker)?.reply ?? undefined,
      onSent: (request) => this.#witness.sent(request),
      onRequest: async (...call) => {
        simulated?.trace.add(JSON.stringify(call[1].messages));
        return this.#witness.requested(...call);
      },
      onRefused: () => this.tally.tooLong++,
      onChange: () => this.activity.notify(),
      onAnswer: (...call) => this.#witness.answered(...call),
    });
  }

  async open(): Promise<void> {
    this.#mutant?.forget?.();
    // Who has a folder keeps notes.
    await mkdir(join(this.#agentsDir, SECOND_AGENT), { recursive: true });
    this.#unpatch = this.#mutant?.patch?.();
    await this.#mutant?.install?.(this.probe);
    await this.probe.script(`${WATCH_REMINDER_ENDS}; ${INDEX_DELETED}`);
    // What is opened to another agent shows nowhere that its own would not.
    const opened = new Map([
      [AGENT, [SECOND_AGENT]],
      [SECOND_AGENT, [AGENT]],
    ]);
    await this.#probeStore.sharedMemories.open(opened);
    for (const plan of PLANS) {
      const isPublic = { isPrivate: false, sharesMemory: plan.agent === AGENT };
      const id = await this.#probeStore.channels.open({ ...plan, ...isPublic, workspace: "w" });
      const parent = this.rooms.find((room) => isThreadOf(plan, room))?.ledger ?? null;
      const ledger = new Ledger(plan.address.name, parent, this.findings, this.#profiles, this, this.#ratio);
      this.rooms.push({ ...plan, id, ledger, state: null, measured: null, lookedAt: null });
    }
    await this.look();
  }

  now(): Date {
    return new Date(this.#time);
  }

  pass(ms = STEP_MS): void {
    this.#time += ms;
  }

  /** @param number null: the worker tiers are off */
  setProfile(number: number | null): void {
    this.profile = makeProfile(this.#seed, number ?? OFF);
  }

  /** What those that live take up, and the next life begins with. @param number null: the worker tiers are off */
  reloadProfile(number: number | null): Profile {
    this.profile = reloadedProfile(this.#seed, number ?? OFF, this.profile);
    this.#profiles.add(this.profile);
    return this.profile;
  }

  /** As another daemon of the same database stores it: what was said before is nobody else's from then on. */
  async tellPrivacy({ address: channel, ledger }: Room, isPrivate: boolean): Promise<void> {
    if (isPrivate) ledger.isPrivate = true;
    await this.#probeStore.channels.tellPrivacy(channel.platform, [{ channel, isPrivate, at: this.now() }]);
    ledger.isPrivate = isPrivate;
    for (const marker of ledger.own) ledger.hidden.add(marker);
  }

  /** The room where this was said. */
  roomOf(marker: string): Room | undefined {
    return this.rooms.find(({ ledger }) => ledger.own.has(marker));
  }

  /** The incarnations that live and are not standing still. */
  awake(): Incarnation[] {
    return this.incarnations.filter(({ isAwake }) => isAwake);
  }

  /** It owns the channel, and no other one changes the rows behind its back. */
  isSole(incarnation: Incarnation, room: Room): boolean {
    const [one, other] = this.awake();
    const isAlone = !this.isRacing && other === undefined && one === incarnation;
    const isCertain = performance.now() > incarnation.cutAt + DOUBT_MS;
    return isAlone && isCertain && !this.unaware.has(formatAddress(room.address));
  }

  /** Begins a new life, with a registry and an epoch of its own. */
  async start(): Promise<Incarnation> {
    const { profile, chat, activity, retryDelays } = this;
    this.#profiles.add(profile);
    const incarnation = new Incarnation(this.incarnations.length + 1, {
      connection: this.#connection,
      agentsDir: this.#agentsDir,
      shared: this.#shared,
      activity,
      retryDelays,
      profile,
      chat,
      isStreaming: this.#isStreaming,
      now: () => this.now(),
      latencies: this.#simulated?.latencies ?? null,
      mutant: this.#mutant,
      onCrash: () => this.tally.crashes++,
      onCut: () => this.tally.cuts++,
      modelOf: (one) => {
        const model = this.script.front(one);
        return this.#mutant?.model?.(model) ?? model;
      },
      onDeed: async (...call) => this.deeds.done(...call),
      onEvent: (one, event) => this.#witness.happened(one, event),
      decide: (one, state) => {
        const decision = (this.#mutant?.decide ?? decide)(state);
        this.#witness.decided(one, state, decision);
        return decision;
      },
    });
    this.incarnations.push(incarnation);
    await Promise.race([incarnation.start(), incarnation.death]);
    return incarnation;
  }

  /** Looks at the rows of all channels, and checks them. */
  async look(): Promise<void> {
    const since = this.rooms.map(({ id, ledger }) => ({
      channel: id,
      seq: ledger.entries.size,
      summary: ledger.lastSummary,
      memory: ledger.lastMemory,
      snapshot: ledger.snapshot,
      turn: ledger.lastTurn,
    }));
    this.deeds.beginLook();
    for (const { ledger } of this.rooms) ledger.editedAwayBefore = new Set(ledger.editedAway.keys());
    const states = await observe(this.probe, since);
    for (const [index, room] of this.rooms.entries()) {
      const state = states[index];
      if (state === undefined) continue;
      checkRows(room.state, state, room.ledger);
      this.tally.reminded += state.entries.filter(({ reminds }) => reminds !== null).length;
      this.tally.handOffs += state.entries.filter(({ chain }) => chain !== null).length;
      room.state = state;
    }
    this.tally.notices = this.chat.notices;
    this.tally.deeds = this.deeds.count;
  }

  /** Folding the rows anew gives what the owner has in memory. The channel must be quiet. */
  async compareMemory(room: Room): Promise<void> {
    const [incarnation] = this.awake();
    const actor = incarnation?.actor(room.id);
    if (incarnation === undefined || actor === undefined || !this.isSole(incarnation, room)) return;
    // After a second failure it waits longer than a cut connection's doubt lasts. One that waited for ever would never be quiet.
    const { turnRunningForMs, due, delivering } = actor.status;
    const waitsToReadAgain = !actor.isIdle && turnRunningForMs === null && due > 0 && !delivering;
    if (waitsToReadAgain) return;
    // Who dies over a change of its history keeps it from all who wait for it, for ever.
    const inMemory = await Promise.race([actor.history.snapshot(), incarnation.death]);
    if (inMemory === "dead") return;
    const isOver = (): boolean => actor.history.current !== inMemory || incarnation.isDead;
    const quick = await this.#foldStore.load(room.id);
    if (isOver() || differences(quick.history, inMemory).length === 0) return;
    const { history } = await this.#probeStore.load(room.id);
    const shown = differences(history, inMemory);
    if (!isOver() && shown.length > 0)
      room.ledger.violate("I9", `memory is not the fold of the rows: ${shown.join("; ")}`);
  }

  /** @param deletions that were acknowledged or, to be sure, begun */
  versions({ ledger }: Room, state: View, deletions: number): Versions {
    return {
      summaries: Math.max(ledger.lastSummary, ...state.summaries.map(({ id }) => id)),
      coveredTo: state.channel.covered_to,
      omittedTo: state.channel.omitted_to,
      deletions,
      takenOut: state.summaries
        .map(({ text }) => text)
        .filter((text) => text.endsWith(TAKEN_OUT))
        .join("\n"),
      days: [...this.#marked, this.#time].map((time) => new Date(time).toISOString().slice(0, 10)),
    };
  }

  /** What happens from now on counts as later. */
  mark(): void {
    this.#marked = [this.#marked[1], this.#time];
    for (const room of this.rooms) room.ledger.goneBefore = new Set(room.ledger.gone);
    for (const room of this.rooms)
      if (room.state !== null) room.lookedAt = this.versions(room, room.state, room.ledger.deletions);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#unpatch?.();
    for (const incarnation of this.incarnations) {
      incarnation.crash();
      await incarnation.bury();
    }
    const released = Promise.all([this.probe[Symbol.asyncDispose](), this.#shared[Symbol.asyncDispose]()]);
    // Of a run that hangs, a connection never comes back: it ends with its database, which is dropped next.
    await withDeadline(released, RELEASED_WITHIN_MS);
    await rm(this.#agentsDir, { recursive: true, force: true });
  }
}
