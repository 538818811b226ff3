import { believedWindow, checkOwnRoom } from "./checks/i6-fits.ts";
import { createHash } from "node:crypto";
import type { CompactionState, Decision } from "../../src/compactor/policy/policy.ts";
import { formatAddress } from "../../src/core/ids.ts";
import type { ModelAnswer, ModelRequest } from "../../src/llm/model.ts";
import type { WeirEvent } from "../../src/telemetry/events.ts";
import { formFaults } from "../support/request-form.ts";
import { findUnpaired } from "./checks/i5-pairs.ts";
import { checkI14, isLandingPutOff } from "./checks/i14-settles.ts";
import { Healing } from "./checks/i15-heals.ts";
import { checkPrompt } from "./checks/prompts.ts";
import { checkSummaryPrompt, summariesIn } from "./checks/summary-prompts.ts";
import { shownToSubagent, subagentFaults } from "./checks/subagent-requests.ts";
import type { Incarnation } from "./incarnation.ts";
import type { Versions } from "./ledger.ts";
import { observeJobs, observeReplaced, observeView } from "./observe.ts";
import { MODEL, UNDERSTUDY } from "./profile.ts";
import { markersIn, takeApart } from "./prompt.ts";
import { MARKER, markerOf } from "./texts.ts";
import { isGuestIn, type Room, roomShown } from "./rooms.ts";
import type { Kind } from "./model-script.ts";
import { askedIn, taskIn } from "./scripted-subagent.ts";
import { askedBy } from "./scripted-calls.ts";
import type { World } from "./world.ts";

/** More failed attempts of one job than any way down the ladder has. */
const MAX_REFUSALS = 8;
/** Why an attempt failed that took too long. */
const DEADLINE = "no summary within the deadline";

/** Of smaller requests, estimated tokens, a server's count says too little. */
const LEAST_TELLING = 200;

/** Sees what an incarnation asks its models and tells of itself, and checks it. */
export class Witness {
  readonly #world: World;
  readonly #healing = new Map<Room, Healing>();
  /** What the last look before each request had shown of each room. */
  readonly #sent = new WeakMap<ModelRequest, ReadonlyMap<Room, Versions | null>>();

  constructor(world: World) {
    this.#world = world;
  }

  /** A request may be under way for several steps. */
  sent(request: ModelRequest): void {
    this.#sent.set(request, new Map(this.#world.rooms.map((room) => [room, room.lookedAt])));
  }

  async requested(
    incarnation: Incarnation,
    request: ModelRequest,
    kind: Kind,
    isForOneCall: boolean,
  ): Promise<void> {
    if (request.model === UNDERSTUDY) this.#world.tally.fallbacks++;
    if (kind === "turn") await this.#turnAsked(incarnation, request, isForOneCall);
    else if (kind === "summary") await this.#summaryAsked(incarnation, request);
    else await this.#subagentAsked(incarnation, request);
  }

  answered(incarnation: Incarnation, request: ModelRequest, answer: ModelAnswer, kind: Kind): void {
    if (kind === "turn") {
      this.#counted(incarnation, request, answer);
      this.#repeated(answer);
    }
    if (kind !== "summary" || answer.calls.length > 0) return;
    for (const { ledger } of this.#world.rooms) ledger.answeredTo.set(contentOf(request), answer.text);
  }

  /** What its calls say again of what people said. */
  #repeated({ calls }: ModelAnswer): void {
    const markers = calls.flatMap((call) => call.arguments.match(MARKER) ?? []);
    for (const { ledger } of this.#world.rooms)
      for (const marker of markers) {
        if (ledger.byMarker.has(marker)) ledger.told.add(marker);
        else if (ledger.own.has(marker)) ledger.called.add(marker);
      }
  }

  /** What the channel's next request has in real tokens can be known now. */
  #counted(incarnation: Incarnation, request: ModelRequest, { usage }: ModelAnswer): void {
    const prompt = takeApart(request);
    if (usage === undefined || prompt.model !== MODEL || prompt.tokens < LEAST_TELLING) return;
    const room = roomShown(this.#world.rooms, prompt);
    // What a guest's requests count says nothing of the channel's own.
    if (room !== undefined && !isGuestIn(room, prompt.by)) room.ledger.counted.add(incarnation);
  }

  async #turnAsked(incarnation: Incarnation, request: ModelRequest, isForOneCall: boolean): Promise<void> {
    const world = this.#world;
    world.tally.prompts++;
    const prompt = takeApart(request);
    const room = roomShown(world.rooms, prompt);
    if (room === undefined) return world.findings.violate("error", "a prompt does not say where it is");
    const { ledger } = room;
    const isGuest = isGuestIn(room, prompt.by);
    const window = believedWindow(incarnation, ledger.name, isGuest);
    for (const marker of [...prompt.markers, ...askedBy(prompt)]) ledger.asked.add(marker);
    world.activity.notify();
    const gone = ledger.goneHere;
    const isSole = world.isSole(incarnation, room);
    const order = ++ledger.arrived;
    if (room.state === null) return;
    const before = this.#sent.get(request)?.get(room) ?? world.versions(room, room.state, ledger.deletions);
    const state = await observeView(world.probe, room.id);
    // What came after it is another one's.
    if (incarnation.isDead) return;
    const deletions = ledger.deletions + (ledger.leaving.size - ledger.gone.size);
    const at = world.versions(room, state, deletions);
    const looked = { state, before, at, isSole, gone };
    checkPrompt({ prompt, isGuest, isForOneCall, order, incarnation, window, ...looked }, ledger);
  }

  async #subagentAsked(incarnation: Incarnation, request: ModelRequest): Promise<void> {
    const world = this.#world;
    world.tally.subagentCalls++;
    const task = taskIn(request);
    const room = world.roomOf(markerOf(askedIn(task)));
    if (room === undefined) return world.findings.violate("error", `a subagent works on no task: ${task}`);
    const isSole = world.isSole(incarnation, room);
    for (const what of await subagentFaults(world.probe, { request, task, isSole }, room))
      room.ledger.violate("I20", what);
    for (const what of shownToSubagent(request, isSole, room.ledger)) room.ledger.violate("I12", what);
    for (const what of [...findUnpaired(request.messages), ...formFaults(request.messages)])
      room.ledger.violate("I5", `a subagent's request: ${what}`);
  }

  async #summaryAsked(incarnation: Incarnation, request: ModelRequest): Promise<void> {
    const world = this.#world;
    const { rooms, probe } = world;
    world.tally.summaryCalls++;
    const sayer = this.#roomOf(request);
    const gone = sayer?.ledger.goneHere ?? new Set<string>();
    const editedAway = new Map(sayer?.ledger.editedAway);
    const jobs = await observeJobs(
      probe,
      (sayer === undefined ? rooms : [sayer]).map(({ id }) => id),
    );
    await this.#noteReplaced(request, jobs);
    const [job] = jobs;
    const room = sayer ?? (jobs.length === 1 ? rooms.find(({ id }) => id === job?.channel_id) : undefined);
    if (room === undefined) return;
    const isSole = world.isSole(incarnation, room);
    const content = contentOf(request);
    checkSummaryPrompt({ request, content, incarnation, job, isSole, gone, editedAway }, room.ledger);
  }

  /** Whose summary it is: what most of it was said in. Undefined: nothing tells. */
  #roomOf(request: ModelRequest): Room | undefined {
    const counts = new Map<Room, number>();
    for (const marker of markersIn(request.messages)) {
      const room = this.#world.roomOf(marker);
      if (room !== undefined) counts.set(room, (counts.get(room) ?? 0) + 1);
    }
    const [most] = [...counts].toSorted(([, a], [, b]) => b - a);
    return most?.[0];
  }

  /** Notes which summaries its job's model is shown; by their texts, so it may be one of several jobs. */
  async #noteReplaced(
    request: ModelRequest,
    jobs: readonly { readonly id: number; readonly channel_id: number }[],
  ): Promise<void> {
    const { rooms, probe } = this.#world;
    const shown = summariesIn(request);
    if (shown.size === 0) return;
    const replaced = await observeReplaced(
      probe,
      jobs.map(({ id }) => id),
    );
    for (const { job, from_seq: from, to_seq: to, text } of replaced) {
      const channel = jobs.find(({ id }) => id === job)?.channel_id;
      const room = rooms.find(({ id }) => id === channel);
      if (shown.has(text)) room?.ledger.shownTo(job).ranges.push({ from, to });
    }
  }

  decided(incarnation: Incarnation, state: CompactionState, decision: Decision): void {
    const { rooms, findings } = this.#world;
    const { isResting } = state;
    findings.note(`decided ${JSON.stringify(decision)}${isResting ? " (resting)" : ""}`);
    const isFull = state.tokens >= state.tokenBudgetAt(state.rules.backgroundThreshold);
    // Histories are values: the one that was measured belongs to the actor that has it.
    const room = rooms.find(({ id }) => incarnation.actor(id)?.history.current === state.history);
    if (room === undefined) return;
    const awaitsCold = isLandingPutOff(state, decision);
    room.measured = { incarnation, history: state.history, isFull, awaitsCold, decision };
    for (const what of checkOwnRoom(incarnation, state, room.ledger)) room.ledger.violate("I6", what);
    for (const what of checkI14(state, decision)) room.ledger.violate("I14", what);
    this.#healingOf(room).decided(incarnation, state, decision);
  }

  happened(incarnation: Incarnation, event: WeirEvent): void {
    const world = this.#world;
    const { tally, rooms } = world;
    world.findings.note(`${incarnation.number}: ${JSON.stringify(event)}`);
    const room =
      "channel" in event ? rooms.find(({ address }) => formatAddress(address) === event.channel) : undefined;
    if (room === undefined) return;
    if (event.type === "channel_loaded" && !world.isRacing) world.unaware.delete(event.channel);
    if (event.type === "channel_lost") tally.lost++;
    if (event.type === "emergency") tally.emergencies++;
    if (event.type === "emergency" && incarnation.actor(room.id)?.compactor.isRunning === true)
      tally.duringJob++;
    if (event.type === "turn_steered") tally.steered += event.messages;
    if (event.type === "tool_failed") tally.toolFailures++;
    if (event.type === "turn_settled") tally.turns++;
    this.#compacted(room, event);
    if (event.type === "compaction") this.#healed(incarnation, room, event);
    const isExpected = incarnation.isDead || !world.isSole(incarnation, room);
    if (event.type === "compaction_interrupted" && !isExpected)
      room.ledger.violate("error", `a compaction was interrupted: ${event.why}`);
  }

  #healingOf(room: Room): Healing {
    const healing = this.#healing.get(room) ?? new Healing();
    this.#healing.set(room, healing);
    return healing;
  }

  #healed(incarnation: Incarnation, room: Room, event: Extract<WeirEvent, { type: "compaction" }>): void {
    const { ledger } = room;
    const healing = this.#healingOf(room);
    if (!this.#world.isSole(incarnation, room)) healing.forget();
    else if (event.phase === "started") healing.started(incarnation, event);
    else if (event.phase === "committed")
      for (const what of healing.committed(event, ledger.refusals.has(event.job)))
        ledger.violate("I15", what);
  }

  #compacted(room: Room, event: WeirEvent): void {
    const { tally, retryDelays } = this.#world;
    // What was due then is done, or is decided anew.
    if (event.type === "compaction" && event.phase !== "started") room.measured = null;
    if (event.type === "compaction" && event.phase === "committed") {
      tally.commits++;
      if (event.kind === "merge") tally.merges++;
      if (event.kind === "redo") tally.redos++;
      if (event.model === "digest") tally.digests++;
    }
    if (event.type === "compaction" && event.phase === "stale") tally.stale++;
    if (event.type === "compaction" && event.phase === "failed" && event.reason !== DEADLINE)
      retryDelays.failed(event.ms);
    if (event.type === "compaction_blocked") tally.blocked++;
    if (event.type !== "compaction_refused") return;
    tally.refused++;
    if (event.why === DEADLINE) this.#world.missedDeadlines++;
    const count = (room.ledger.refusals.get(event.job) ?? 0) + 1;
    room.ledger.refusals.set(event.job, count);
    if (count > MAX_REFUSALS) room.ledger.violate("I14", `job ${event.job} has failed ${count} times`);
  }
}

function contentOf({ messages }: ModelRequest): string {
  return createHash("sha256").update(JSON.stringify(messages)).digest("base64");
}
