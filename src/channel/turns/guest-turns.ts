import type { Landed } from "../../core/compaction.ts";
import { answeredMessages, type TurnRange } from "../../core/history.ts";
import type { AgentId } from "../../core/ids.ts";
import type { Settlement } from "../../store/turns/turns.ts";
import type { TurnOutcome } from "../../turn/outcome.ts";
import type { TurnChannel } from "../../turn/turn-channel.ts";
import type { ActorParts } from "../channel-context.ts";
import type { GuardedHistory } from "../guarded-history.ts";
import { type FrozenTools, freezeTools } from "../frozen-tools.ts";
import { agentHere, answererOf } from "../guests.ts";
import { LastRequest, UsageAnchor } from "../model-usage.ts";
import { PrefixChain } from "./context-record.ts";
import { GuestView, type KeptBrief } from "./guest-view.ts";
import { handedOver } from "./hand-off.ts";

/** The parts of a channel's turns that make model requests. */
export interface RequestParts extends Pick<FrozenTools, "renewTools"> {
  readonly usage: UsageAnchor;
  readonly last: LastRequest;
  /** Must neither throw nor wait. */
  readonly onRequest: () => void;
  /** Must neither throw nor wait. */
  readonly onLanded: (landed: readonly Landed[], ms: number) => void;
}

export interface TurnParts {
  readonly parts: ActorParts;
  readonly request: RequestParts;
  /** Null: the channel's own agent answers. */
  readonly view: GuestView | null;
}

/** A channel's turns that guests answer, and the state of each guest between its turns. */
export class GuestTurns {
  readonly #parts: ActorParts;
  readonly #history: GuardedHistory;
  readonly #request: RequestParts;
  readonly #frozen = new Map<AgentId, FrozenTools>();
  readonly #briefs = new Map<AgentId, KeptBrief>();
  readonly #prefixes = new Map<AgentId | null, PrefixChain>();

  constructor(parts: ActorParts, history: GuardedHistory, request: RequestParts) {
    this.#parts = parts;
    this.#history = history;
    this.#request = request;
  }

  readonly answerer = (agent: AgentId | undefined): AgentId | undefined =>
    answererOf(this.#parts.guests, agent);

  /** The parts of an agent's turns. A guest's requests leave the measurements of the channel's own requests alone. */
  partsOf(agent: AgentId | undefined): ActorParts {
    const guest = this.#guest(agent);
    return guest === null ? this.#parts : { ...this.#parts, agent: guest.agent };
  }

  /** A guest with the tools that it has in this channel; null: the channel's own agent answers. */
  #guest(agent: AgentId | undefined): FrozenTools | null {
    const guest = agent === undefined ? undefined : this.#parts.guests.agent(agent);
    if (agent === undefined || guest === undefined) return null;
    const frozen = this.#frozen.get(agent) ?? freezeTools(guest, () => this.#history.current.coveredTo);
    this.#frozen.set(agent, frozen);
    return frozen;
  }

  of(turn: TurnRange): TurnParts {
    const guest = this.#guest(turn.agent);
    const parts = this.partsOf(turn.agent);
    if (turn.agent === undefined || guest === null) return { parts, request: this.#request, view: null };
    const request: RequestParts = {
      usage: new UsageAnchor(null),
      last: new LastRequest(parts.agent.config.model),
      onRequest: () => undefined,
      onLanded: () => undefined,
      renewTools: guest.renewTools,
    };
    const view = new GuestView(parts, this.#history, turn, this.#briefs.get(turn.agent) ?? null);
    return { parts, request, view };
  }

  /** Names of the agents that a turn's messages ask for and that no longer answer here. */
  missed(turn: TurnRange): string[] {
    const asked = answeredMessages(this.#history.current, turn).flatMap(({ agent }) => agent ?? []);
    const { agent: own, guests } = this.#parts;
    const gone = asked.filter((agent) => agentHere(own, guests, agent) === undefined);
    return [...new Set(gone)].map((agent) => guests.nameOf(agent));
  }

  /** The entry that a turn's settlement appends if it hands over. */
  handedOver(outcome: TurnOutcome, turn: TurnRange, at: Date): Pick<Settlement, "handOff"> {
    const handOff = "handOff" in outcome ? outcome.handOff : undefined;
    if (handOff === undefined) return {};
    const { agent, guests } = this.#parts;
    const nameOf = (id: AgentId | null): string => (id === null ? agent.config.name : guests.nameOf(id));
    return { handOff: handedOver(handOff, turn, this.#history.current, { at, nameOf }) };
  }

  keep(turn: TurnRange, view: GuestView | null): void {
    const kept = view?.kept ?? null;
    if (turn.agent !== undefined && kept !== null) this.#briefs.set(turn.agent, kept);
  }

  prefixes(agent: AgentId | undefined): PrefixChain {
    const chain = this.#prefixes.get(agent ?? null) ?? new PrefixChain();
    this.#prefixes.set(agent ?? null, chain);
    return chain;
  }
}

/** A channel as a guest's turn may change it: the view of the channel's own agent stays as it is. */
export function asGuest(channel: TurnChannel, view: GuestView | null): TurnChannel {
  if (view === null) return channel;
  return {
    ...channel,
    snapshot: async () => view.snapshot(),
    commitAhead: async () => false,
    async omit(toSeq) {
      view.omit(toSeq);
    },
    extract: async () => null,
  };
}
