import { randomInt } from "node:crypto";
import type { Logger } from "pino";
import { BoundedMap } from "../../async/bounded-map.ts";
import { steadyNow } from "../../async/clock.ts";
import { retryWrite } from "../../async/retry.ts";
import { errorMessage } from "../../core/errors.ts";
import { type ChannelAddress, formatAddress } from "../../core/ids.ts";
import { type InboundMessage, REACTION_PREFIX } from "../../core/message.ts";
import type { Platform } from "../../platforms/platform.ts";
import { CODE_VALID_MS, type PairingRequest, type PairingStore } from "./pairing-store.ts";
import { displayableLine } from "../../text/displayable.ts";
import { splitText } from "../../text/split-message.ts";
import type { Notices } from "../../router/notices.ts";
import type { PairedPeople } from "./paired-people.ts";
import { isSameSecret } from "../../network/same-secret.ts";

export interface PairingDeskParts {
  readonly store: PairingStore;
  readonly paired: PairedPeople;
  readonly platforms: readonly Platform[];
  readonly notices: Pick<Notices, "tell">;
  /** Ids of the owners of a platform, by the configuration of now. */
  readonly ownersOf: (platform: string) => readonly string[];
  readonly log: Logger;
}

/** Letters and digits that are taken for no other: no 0 and O, no 1, I and L, no 2 and Z, no 5 and S, no 8 and B. */
const ALPHABET = "ACDEFGHJKMNPQRTUVWXY34679";
const LENGTH = 8;

/** A new code that lets a person in: one of 150 thousand million. */
export function newPairingCode(): string {
  return Array.from({ length: LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join("");
}

/** Whether a person has typed this code, in any case, with spaces or hyphens. */
export function isPairingCode(typed: string, code: string): boolean {
  return isSameSecret(typed.toUpperCase().replaceAll(/[\s-]/g, ""), code);
}

/** The outcome of a typed code. */
export type LetIn =
  | { readonly outcome: "let_in"; readonly request: PairingRequest }
  /** `too_often`: after too many wrong codes, the person's codes are not checked for a while. */
  | { readonly outcome: "unknown" | "too_often" };

/** Wrong codes that one person may type in an hour. */
const MOST_WRONG = 5;
const HOUR_MS = 3_600_000;
const MOST_OWNERS = 10;
const REMEMBERED = 1000;
/** Wait before a failed notification of owners is retried, ms. */
const AGAIN_MS = 60_000;

export const STRANGERS_COMMAND =
  "I answer only people whom whoever runs me has let in. Write me a message here, and I tell you how to be one of them.";
const WELCOME =
  "You were let in: from now on I answer you here. What you wrote before was not kept, so please say it again.";

/**
 * Lets people into direct messages that are not answered yet. A stranger gets a code, once an hour; the operator sees it too,
 * and lets them in by it. The stranger's messages are not stored.
 */
export class PairingDesk {
  readonly #parts: PairingDeskParts;
  /** When each person has typed wrong codes. */
  readonly #wrong = new BoundedMap<readonly number[]>(REMEMBERED);
  /** By platform: timer of the next notification of its owners, about all requests since the last. */
  readonly #nextNews = new Map<string, NodeJS.Timeout>();
  /** Runs one at a time: each reports the requests that are new. */
  #telling: Promise<void> = Promise.resolve();
  /** A run is scheduled. */
  #isAsked = false;
  #isOver = false;

  constructor(parts: PairingDeskParts) {
    this.#parts = parts;
  }

  /**
   * Handles a stranger's direct message.
   * @returns true: they were let in in the meantime
   * @throws WeirError if the database does not answer
   */
  async meet(message: InboundMessage): Promise<boolean> {
    const { store, paired, notices, log } = this.#parts;
    const { author, channel, id, at, isBackground = false } = message;
    if (author.isBot || isBackground || id.startsWith(REACTION_PREFIX)) return false;
    const person = { platform: channel.platform, person: author.id, name: author.name };
    const code = newPairingCode();
    const { result: state } = await retryWrite(async () =>
      store.ask(person, { channel: channel.name, id, at }, code),
    );
    if (state === "paired") {
      await retryWrite(async () => paired.refresh());
      return paired.find(channel.platform, author.id) !== null;
    }
    if (state === "asked") {
      log.info({ platform: channel.platform, person: author.id }, "stranger_asked");
      notices.tell(channel, id, strangerText(code));
      this.tellOwners();
    }
    return false;
  }

  /**
   * Lets in the person with this code.
   * @param platform null: of any platform
   * @param by `platform:id` of the person who has typed it
   * @throws WeirError if the database does not answer
   */
  async letIn(typed: string, platform: string | null, by: string): Promise<LetIn> {
    const { store, paired, log } = this.#parts;
    const wrong = (this.#wrong.get(by) ?? []).filter((at) => steadyNow() - at < HOUR_MS);
    if (wrong.length >= MOST_WRONG) return { outcome: "too_often" };
    const request = await letInByCode(store, typed, platform, by);
    if (request === null) {
      this.#wrong.set(by, [...wrong, steadyNow()]);
      return { outcome: "unknown" };
    }
    log.info({ platform: request.platform, person: request.person, by }, "stranger_let_in");
    await paired.refresh();
    return { outcome: "let_in", request };
  }

  /** Refuses a request. The stranger is not told. @returns false: it is over */
  async refuse(request: PairingRequest, by: string): Promise<boolean> {
    const { store, log } = this.#parts;
    const isRefused = await store.refuse(request);
    if (isRefused) log.info({ platform: request.platform, person: request.person, by }, "stranger_refused");
    return isRefused;
  }

  /** Requests that are open. @param platform null: of all platforms */
  async open(platform: string | null): Promise<readonly PairingRequest[]> {
    return this.#parts.store.open(platform);
  }

  /** Notifies people who were let in, each once. Returns at once. */
  greet(): void {
    void this.#greet().catch((error: unknown) => {
      this.#parts.log.warn({ why: errorMessage(error) }, "people_not_greeted");
    });
  }

  async #greet(): Promise<void> {
    const { store, platforms, log } = this.#parts;
    for (const { platform, channel: name } of await store.toGreet(platforms.map((one) => one.name))) {
      try {
        await this.#say({ platform, name }, `paired-${name}-${Date.now()}`, WELCOME);
      } catch (error) {
        // The other people still get their notice.
        log.warn({ platform, why: errorMessage(error) }, "people_not_greeted");
      }
    }
  }

  /**
   * Notifies owners of new requests, at most once a minute: requests in between are reported together. A request is new until
   * any daemon has reported it to an owner. Returns at once.
   */
  tellOwners(): void {
    if (this.#isAsked) return;
    this.#isAsked = true;
    void this.news();
  }

  /** As {@link tellOwners}; resolves when the requests that may be reported now are. Must not throw. */
  async news(): Promise<void> {
    const before = this.#telling;
    this.#telling = (async () => {
      await before;
      this.#isAsked = false;
      for (const platform of this.#parts.platforms)
        this.#tellAgain(platform.name, await this.#tryNewsOf(platform));
    })();
    await this.#telling;
  }

  /** Ends the reports to owners: another daemon sends what is new, or this one after its next start. */
  [Symbol.dispose](): void {
    this.#isOver = true;
    for (const timer of this.#nextNews.values()) clearTimeout(timer);
  }

  #tellAgain(platform: string, inMs: number): void {
    clearTimeout(this.#nextNews.get(platform));
    this.#nextNews.delete(platform);
    if (inMs <= 0 || this.#isOver) return;
    const timer = setTimeout(() => this.tellOwners(), Math.ceil(inMs));
    this.#nextNews.set(platform, timer.unref());
  }

  /** As {@link #newsOf}. Must not throw. */
  async #tryNewsOf(platform: Platform): Promise<number> {
    try {
      return await this.#newsOf(platform);
    } catch (error) {
      this.#parts.log.warn({ platform: platform.name, why: errorMessage(error) }, "owners_not_told");
      return AGAIN_MS;
    }
  }

  /** @returns the wait before the next call, ms; 0: no call before the next request */
  async #newsOf(platform: Platform): Promise<number> {
    const { store, ownersOf } = this.#parts;
    if (this.#isOver) return 0;
    const { requests, waitMs } = await store.takeNews(platform.name);
    if (requests.length === 0) return waitMs;
    const owners = platform.directChannel === undefined ? [] : ownersOf(platform.name).slice(0, MOST_OWNERS);
    const told = await Promise.all(owners.map(async (owner) => this.#tellOwner(owner, requests, platform)));
    if (owners.length > 0 && !told.includes(true)) return AGAIN_MS;
    await retryWrite(async () => store.ownersKnow(platform.name, requests));
    return 0;
  }

  /** Where the platform lets the bot write to them. Must not throw. @returns whether it does */
  async #tellOwner(owner: string, requests: readonly PairingRequest[], platform: Platform): Promise<boolean> {
    const [first] = requests;
    const { commandPrefix = "/", maxTextLength } = platform.capabilities;
    try {
      const channel = await platform.directChannel?.(owner);
      if (channel === undefined || first === undefined) return false;
      const key = `pairing-${first.person}-${first.code}-${owner}`;
      if (requests.length === 1) await this.#say(channel, key, ownerText(first, platform), first.code);
      else
        for (const [index, part] of splitText(ownersText(requests, commandPrefix), maxTextLength).entries())
          await this.#say(channel, `${key}-${index}`, part);
      return true;
    } catch (error) {
      this.#parts.log.warn({ platform: platform.name, owner, why: errorMessage(error) }, "owner_not_told");
      return false;
    }
  }

  /**
   * @param code adds a button that lets in the person with this code
   * @throws PlatformError
   */
  async #say(channel: ChannelAddress, key: string, text: string, code?: string): Promise<void> {
    const platform = this.#parts.platforms.find(({ name }) => name === channel.platform);
    await platform?.send({
      channel,
      idempotencyKey: `${formatAddress(channel)}-${key}`,
      mayBeThere: false,
      text,
      ...(code !== undefined && {
        actions: [{ label: "Let in", style: "primary", command: "pair", argument: code }],
      }),
      final: true,
      inReplyTo: [],
      kind: "notice",
    });
  }
}

/**
 * Lets in the person with this code; null: no request has it.
 * @throws WeirError if the database does not answer
 */
export async function letInByCode(
  store: PairingStore,
  typed: string,
  platform: string | null,
  by: string,
): Promise<PairingRequest | null> {
  // Compares all of them, even after a match, for constant time.
  const found = (await store.open(platform)).filter(({ code }) => isPairingCode(typed, code));
  for (const request of found) if (await store.letIn(request, by)) return request;
  return null;
}

/** `Ann (discord:1234)`. Pure. */
export function describeStranger(stranger: Omit<PairingRequest, "code" | "askedAt">): string {
  const { platform, person, name } = stranger;
  return displayableLine(`${name} (${platform}:${person})`);
}

function strangerText(code: string): string {
  return (
    `I answer only people whom whoever runs me has let in. Your code is ${code}: tell it to them, and they can let you in. ` +
    `It is valid for ${CODE_VALID_MS / 60_000} minutes. What you write until then is not kept.`
  );
}

function ownerText(request: PairingRequest, { capabilities }: Platform): string {
  const { commandPrefix = "/", drawsActions } = capabilities;
  const typed = `${commandPrefix}pair ${request.code}`;
  const how = drawsActions === true ? `Press "Let in", or type ${typed} here` : `Type ${typed} here`;
  return (
    `${describeStranger(request)} wants to write to me in direct messages, and was told the code ${request.code}. ` +
    `${how}, within ${CODE_VALID_MS / 60_000} minutes, to let them in. Otherwise nothing happens.`
  );
}

function ownersText(requests: readonly PairingRequest[], commandPrefix: string): string {
  const lines = requests.map((one) => `- ${describeStranger(one)}: ${commandPrefix}pair ${one.code}`);
  return [
    `${requests.length} people ask to be let in: they want to write to me in direct messages, and were told these codes. ` +
      `What stands behind a name lets that person in, within ${CODE_VALID_MS / 60_000} minutes. Otherwise nothing happens.`,
    ...lines,
  ].join("\n");
}
