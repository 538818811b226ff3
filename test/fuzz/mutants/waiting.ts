import type { ModelAnswer, Model } from "../../../src/llm/model.ts";
import { type CompactionState, type Decision, decide } from "../../../src/compactor/policy/policy.ts";
import { DeliveryStore } from "../../../src/store/turns/deliveries.ts";
import type { RunningTurn } from "../../../src/store/turns/turn-rows.ts";
import { TurnStore } from "../../../src/store/turns/turns.ts";
import { SUMMARISER } from "../profile.ts";
import type { Mutant } from "./mutant.ts";

/** Asks about a message only when nothing is being summarised. */
function behindSummaries(model: Model): Model {
  const underWay = new Set<Promise<ModelAnswer>>();
  return {
    async answer(request, options) {
      if (request.task !== "summarise") {
        await Promise.allSettled(underWay);
        return model.answer(request, options);
      }
      const answer = model.answer(request, options);
      underWay.add(answer);
      return answer.finally(() => underWay.delete(answer));
    },
  };
}

let hasFailed = false;

/** Takes a summariser that failed once for one that is gone. */
function discouraged(state: CompactionState): Decision {
  hasFailed ||= state.isResting;
  return hasFailed ? { kind: "idle" } : decide(state);
}

/** Leaves an answer unsaid whose draft somebody deleted. */
class DiscouragedDeliveries extends DeliveryStore {
  override async postAnew(): Promise<boolean> {
    return Promise.resolve(false);
  }
}

/** Takes each start of a turn for a failure of it. */
class StrictTurns extends TurnStore {
  override async beginAgain(
    owner: { epoch: number },
    turn: RunningTurn,
    failures: number,
  ): Promise<RunningTurn> {
    const again = await super.beginAgain(owner, turn, failures);
    return { ...again, failures: again.attempts - 1 };
  }
}

/** Ways to wait, to hurry and to give up that are wrong. */
export const WAITING_MUTANTS: readonly Mutant[] = [
  { name: "a turn waits for the compaction", breaks: ["I13"], model: behindSummaries },
  {
    name: "gives up for good",
    breaks: ["I14", "I15"],
    forget: () => (hasFailed = false),
    decide: discouraged,
  },
  {
    name: "a deleted draft is the end of the answer",
    breaks: ["I9"],
    isStreaming: true,
    store: (store, db) => ({ ...store, deliveries: new DiscouragedDeliveries(db) }),
  },
  {
    name: "attempts without a bound",
    breaks: ["I14"],
    compactorAgent: (agent) => ({ ...agent, modelNames: () => Array.from({ length: 50 }, () => SUMMARISER) }),
  },
  {
    name: "the end of a process counts as an attempt",
    breaks: ["I9"],
    store: (store, db) => ({ ...store, turns: new StrictTurns(db) }),
  },
];
