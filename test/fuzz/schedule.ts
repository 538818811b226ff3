/**
 * How the model answers the message that asks for it. `hand`: another agent answers instead; `hand_on`: each that is asked hands on;
 * `spawn`: it has subagents at work, `spawn_slow`: which are held; `spawn_once`: it does without them when it is asked again;
 * `tools_slow`: it looks things up once it is released;
 * `act`: it calls what somebody has to allow, `act_slow`: once it is released, `act_again`: what it has called before; `remind`: it sets a
 * reminder; `quote`: it looks for what the newest edit has brought, `quote_slow`: for what was said before, beside a subagent that is
 * held; `note`: it notes what was said before; `noted_slow`: once it is released, it looks for what it is shown of notes.
 */
export type Reply =
  | "plain"
  | "long"
  | "tools"
  | "slow"
  | "tools_slow"
  | "fail"
  | "skip"
  | "hand"
  | "hand_on"
  | "spawn"
  | "spawn_slow"
  | "spawn_once"
  | "act"
  | "act_slow"
  | "act_again"
  | "remind"
  | "quote"
  | "quote_slow"
  | "note"
  | "noted_slow";
export type Size = "short" | "long" | "cjk" | "code" | "paste";

/** What the summariser does until it is told otherwise. `held`: it answers when released, or never. */
export type SummaryMode =
  | "good"
  | "held"
  | "empty"
  | "inflated"
  | "refused"
  | "cut_off"
  | "transport"
  | "mixed";

/** Where an incarnation dies: at the nth call of this kind from now on, before it is sent or behind its effect. */
export interface CrashPoint {
  readonly at: "database" | "turn" | "summary" | "subagent" | "platform" | "deed";
  /** Of the statements with this name alone; "": of all. */
  readonly statement: string;
  readonly when: "before" | "after";
  readonly nth: number;
}

export type DeletionTarget = "any" | "raw" | "covered" | "job" | "memory" | "newest" | "edited" | "expired";

/** Channel of the run: 0 is where most is said. */
export type RoomNumber = 0 | 1 | 2 | 3;

/** One step of a schedule. Each carries all chance that it needs, so that any part of a schedule is a schedule. */
export type Step =
  | {
      readonly do: "say";
      readonly room: RoomNumber;
      readonly n: number;
      readonly who: number;
      readonly size: Size;
      readonly reply: Reply | null;
      /** It names the other agent of its room, which then is asked. */
      readonly isForGuest: boolean;
      /** The next step does not wait for what becomes of it. */
      readonly hurry: boolean;
    }
  /** Somebody asks in each room in the same moment. */
  | {
      readonly do: "crowd";
      readonly ns: readonly number[];
      readonly who: number;
      readonly reply: "plain" | "slow";
    }
  | { readonly do: "redeliver"; readonly room: RoomNumber; readonly pick: number }
  | { readonly do: "edit"; readonly room: RoomNumber; readonly pick: number; readonly n: number }
  | {
      readonly do: "delete";
      readonly room: RoomNumber;
      readonly target: DeletionTarget;
      readonly pick: number;
    }
  | { readonly do: "release" }
  | { readonly do: "summariser"; readonly mode: SummaryMode }
  /** The model that answers people is away, or back. */
  | { readonly do: "talker"; readonly isAway: boolean }
  /** `/agents stop` of one that is open. */
  | { readonly do: "stop_agent"; readonly room: RoomNumber; readonly pick: number }
  /** Somebody decides about a call that waits, or comes too late. */
  | {
      readonly do: "decide";
      readonly room: RoomNumber;
      readonly pick: number;
      readonly how: "once" | "always" | "deny";
    }
  | { readonly do: "expire"; readonly room: RoomNumber; readonly pick: number }
  | { readonly do: "reset"; readonly room: RoomNumber }
  /** The platform tells that the room is private from now on, or public. */
  | { readonly do: "privacy"; readonly room: RoomNumber; readonly isPrivate: boolean }
  | { readonly do: "force"; readonly room: RoomNumber }
  | { readonly do: "evict" }
  /** All that is old enough to be no longer kept goes: whatever is settled and summarised. */
  | { readonly do: "retain" }
  | { readonly do: "pass"; readonly hours: number; readonly hurry?: boolean }
  /** Somebody takes back a reminder that waits. */
  | { readonly do: "cancel"; readonly room: RoomNumber; readonly pick: number }
  | { readonly do: "trouble"; readonly sends: number }
  | { readonly do: "crash"; readonly point: CrashPoint }
  /** So many of the next look-ups take longer than a tool may. */
  | { readonly do: "lag"; readonly calls: number }
  | { readonly do: "cut"; readonly point: CrashPoint }
  /** `same`: with the configuration that there was; `off`: with worker tiers that are off. */
  | { readonly do: "restart"; readonly profile: number | "same" | "off" }
  /** Another configuration is put in force in all that live: other instructions and thresholds; `off`: worker tiers that are off. */
  | { readonly do: "reload"; readonly profile: number | "off" }
  | { readonly do: "race" }
  | { readonly do: "end_race"; readonly pick: number; readonly how: "crash" | "drain" }
  | { readonly do: "stall" }
  /** The woken one is told of a message first, whose channels are another one's by now. */
  | { readonly do: "thaw"; readonly n: number }
  | { readonly do: "quiesce" };

/** One line for a person. */
export function tellStep(step: Step): string {
  const { do: name, ...values } = step;
  const told = Object.entries(values).map(([key, value]) => `${key}=${JSON.stringify(value)}`);
  return [name, ...told].join(" ");
}
