import { steadyNow } from "../../../src/async/clock.ts";
import type { Random } from "../../fuzz/random.ts";
import { text } from "../../support/model-behaviours.ts";
import type { Behaviour, ChatRequest, ModelServer } from "../../support/model-server.ts";
import { ANSWER, marksIn } from "./ways-in.ts";
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
  readonly #channelOf: (mark: string) => string;

  /** @param channelOf where a message was said */
  constructor(server: ModelServer, random: Random, delays: ModelDelays, channelOf: (mark: string) => string) {
    this.#channelOf = channelOf;
    this.#server = server;
    this.#delays = delays;
    this.#random = random;
    server.respond((request) => this.#serve(request));
  }

  #serve(body: ChatRequest): Behaviour {
    const { fastest, slowest } = this.#delays;
    const firstDelayMs = this.#random.int(fastest, slowest);
    const due = dueIn(body);
    const answer = `${ANSWER.begins}${this.calls.length + 1} to ${due.join(" ")}: the gauge by the mill ${ANSWER.ends}`;
    return async (exchange) => {
      const [, daemon = ""] = /^Bearer sk-(.*)$/.exec(exchange.request.headers.authorization ?? "") ?? [];
      const channel = this.#channelOf(due[0] ?? "");
      const call = { at: steadyNow(), until: null as number | null, daemon, channel, due };
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

/** The marks of the messages that a request is to answer: all behind the last answer. */
function dueIn({ messages }: ChatRequest): string[] {
  const answered = messages.findLastIndex(({ role }) => role === "assistant");
  const due = messages
    .slice(answered + 1)
    .flatMap(({ role, content }) => (role === "user" ? marksIn(content ?? "") : []));
  return [...new Set(due)];
}
