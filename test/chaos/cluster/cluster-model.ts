import { steadyNow } from "../../../src/async/clock.ts";
import type { Random } from "../../fuzz/random.ts";
import { text } from "../../support/model-behaviours.ts";
import type { Behaviour, ChatRequest, ModelServer } from "../../support/model-server.ts";
import { DYNAMIC } from "../chaos-model.ts";
import type { ModelCall } from "./world-record.ts";

/** The bodies of so many requests are kept. */
const MOST_KEPT = 200;

/** The key by which the model tells daemons apart. */
export function keyOf(daemon: string): string {
  return `sk-${daemon}`;
}

/** From a request to the first word, ms. */
export interface ModelDelays {
  readonly fastest: number;
  /** 0: the words come without a pause. */
  readonly slowest: number;
}

/** A model that takes its time, and notes who has asked for what. */
export class ClusterModel {
  readonly calls: ModelCall[] = [];
  readonly #server: ModelServer;
  readonly #random: Random;
  readonly #delays: ModelDelays;

  constructor(server: ModelServer, random: Random, delays: ModelDelays) {
    this.#server = server;
    this.#delays = delays;
    this.#random = random;
    server.respond((request) => this.#serve(request));
  }

  #serve(body: ChatRequest): Behaviour {
    const { fastest, slowest } = this.#delays;
    const firstDelayMs = this.#random.int(fastest, slowest);
    const answer = `Answer ${this.calls.length + 1}: the gauge by the mill stood high.`;
    return async (exchange) => {
      const [, daemon = ""] = /^Bearer sk-(.*)$/.exec(exchange.request.headers.authorization ?? "") ?? [];
      const call = { at: steadyNow(), until: null as number | null, daemon, ...askedIn(body) };
      this.calls.push(call);
      if (this.#server.requests.length > MOST_KEPT) this.#server.forget();
      try {
        await text(answer, slowest === 0 ? {} : { firstDelayMs, delayMs: 15 })(exchange);
      } finally {
        call.until = steadyNow();
      }
    };
  }
}

/** The channel of a request, and the marks of the messages that it is to answer: all behind the last answer. */
function askedIn({ messages }: ChatRequest): Pick<ModelCall, "channel" | "due"> {
  const dynamic = messages.find(({ content }) => content?.startsWith(DYNAMIC) === true);
  const [, channel = ""] = /^> Place: "(\S+)" on \S+$/m.exec(dynamic?.content ?? "") ?? [];
  const answered = messages.findLastIndex(({ role }) => role === "assistant");
  const due = messages
    .slice(answered + 1)
    .flatMap(({ role, content }) => (role === "user" ? marksIn(content ?? "") : []));
  return { channel, due: [...new Set(due)] };
}

function marksIn(content: string): string[] {
  return [...content.matchAll(/\bg\d+\b/g)].map(([mark]) => mark);
}
